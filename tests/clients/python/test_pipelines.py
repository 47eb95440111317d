"""Pipelines, pools and threads: many requests in one write, and many connections at once."""

import threading

import pytest

THREADS = 50
ROUNDS = 40


def test_a_pipeline_of_1000(client):
    with client.pipeline(transaction=False) as pipe:
        for i in range(1000):
            pipe.set(f"k{i}", i)
        assert pipe.execute() == [True] * 1000
        for i in range(1000):
            pipe.get(f"k{i}")
        assert pipe.execute() == [str(i).encode() for i in range(1000)]
    assert client.dbsize() == 1000


def test_an_error_in_the_middle_leaves_the_rest(client, library):
    with client.pipeline(transaction=False) as pipe:
        pipe.set("k", "text").incr("k").get("k").execute_command("NO-SUCH")
        pipe.mget("k", "absent")
        replies = pipe.execute(raise_on_error=False)
    assert replies[0] is True
    assert "not an integer" in str(replies[1])
    assert replies[2] == b"text"
    assert isinstance(replies[3], library.module.exceptions.ResponseError)
    assert replies[4] == [b"text", None]


def test_large_values_in_a_pipeline(client):
    value = bytes(range(256)) * 1024
    with client.pipeline(transaction=False) as pipe:
        for i in range(32):
            pipe.set(f"k{i}", value).get(f"k{i}")
        replies = pipe.execute()
    assert replies == [True, value] * 32


def test_fifty_threads_share_a_pool(library, server):
    pool = library.pool(host=server.host, port=server.port, protocol=library.protocol, max_connections=THREADS)
    client = library.sync(connection_pool=pool)
    failures = []
    together = threading.Barrier(THREADS)

    def work(number):
        try:
            together.wait(20)
            for i in range(ROUNDS):
                key = f"t{number}:{i}"
                assert client.set(key, key) is True
                assert client.get(key) == key.encode()
                client.incr("shared")
        except Exception as error:  # noqa: BLE001  (whatever it is, the test must show it)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []
    assert client.get("shared") == str(THREADS * ROUNDS).encode()
    pool.disconnect()


def test_a_pool_has_a_limit(library, server):
    pool = library.pool(host=server.host, port=server.port, protocol=library.protocol, max_connections=2)
    holders = [library.sync(connection_pool=pool, single_connection_client=True) for _ in range(2)]
    third = library.sync(connection_pool=pool)
    with pytest.raises(library.module.exceptions.ConnectionError):
        third.ping()
    holders[0].close()
    assert third.ping() is True
    holders[1].close()
    pool.disconnect()
