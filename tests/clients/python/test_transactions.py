"""MULTI and WATCH as the libraries use them: the default pipeline is a transaction, and `transaction()` is a WATCH loop."""

import asyncio
import threading

import pytest

THREADS = 6
ROUNDS = 15


def test_the_default_pipeline_is_a_transaction(client):
    with client.pipeline() as pipe:
        replies = pipe.set("k", 1).incr("k").get("k").mget("k", "absent").exists("k").execute()
    assert replies == [True, 2, b"2", [b"2", None], 1]
    with client.pipeline() as pipe:
        assert pipe.execute() == []


def test_a_transaction_of_5000(client):
    with client.pipeline() as pipe:
        for i in range(5000):
            pipe.set(f"k{i}", i)
        assert pipe.execute() == [True] * 5000
    assert client.dbsize() == 5000


def test_300_transactions_in_one_pipeline(client):
    with client.pipeline(transaction=False) as pipe:
        for i in range(300):
            pipe.execute_command("MULTI").incrby("n", i).execute_command("INCR", "m").execute_command("EXEC")
        replies = pipe.execute()
    assert replies[3::4] == [[sum(range(i + 1)), i + 1] for i in range(300)]


def test_large_values_in_a_transaction(client):
    value = bytes(range(256)) * 1024
    with client.pipeline() as pipe:
        for i in range(16):
            pipe.set(f"k{i}", value).get(f"k{i}")
        assert pipe.execute() == [True, value] * 16


def test_an_error_inside_leaves_the_rest(client, library):
    response_error = library.module.exceptions.ResponseError
    with client.pipeline() as pipe:
        pipe.set("k", "text").incr("k").append("k", "!")
        replies = pipe.execute(raise_on_error=False)
    assert isinstance(replies[1], response_error) and "not an integer" in str(replies[1])
    assert [replies[0], replies[2]] == [True, 5]
    with client.pipeline() as pipe, pytest.raises(response_error, match=r"Command # 2 \(INCRBY k 1\).*not an integer"):
        pipe.set("k", "text").incr("k").append("k", "?").execute()
    assert client.get("k") == b"text?"


def test_an_error_while_queueing_aborts_all(client, library, server):
    errors = library.module.exceptions
    with client.pipeline() as pipe, pytest.raises(errors.ResponseError, match="unknown command 'NO-SUCH'"):
        pipe.set("k", "v").execute_command("NO-SUCH").execute()
    assert client.get("k") is None
    with library.open(server, single_connection_client=True) as raw:
        raw.execute_command("MULTI")
        with pytest.raises(errors.ResponseError, match="wrong number of arguments for 'set' command"):
            raw.execute_command("SET", "k")
        with pytest.raises(errors.ExecAbortError, match="Transaction discarded because of previous errors"):
            raw.execute_command("EXEC")
        with pytest.raises(errors.ResponseError, match="EXEC without MULTI"):
            raw.execute_command("EXEC")


def test_discard(client, library, server):
    with library.open(server, single_connection_client=True) as raw:
        raw.execute_command("MULTI")
        assert raw.execute_command("INCR", "n") in (b"QUEUED", "QUEUED")
        assert raw.execute_command("DISCARD") in (True, b"OK", "OK")
        assert raw.get("n") is None


def test_watched_keys(client, library, server):
    with library.open(server) as other, client.pipeline() as pipe:
        pipe.watch("k")
        assert pipe.get("k") is None
        pipe.multi()
        pipe.set("k", "mine")
        other.set("unrelated", "x")
        assert pipe.execute() == [True]

        pipe.watch("k", "also")
        other.set("also", "theirs")
        pipe.multi()
        pipe.set("k", "lost")
        with pytest.raises(library.module.exceptions.WatchError):
            pipe.execute()
        assert client.get("k") == b"mine"

        pipe.watch("k")
        other.delete("k")
        pipe.unwatch()
        pipe.multi()
        pipe.set("k", "kept")
        assert pipe.execute() == [True]


def test_nobody_sees_the_half_of_a_transaction(library, server):
    stop = threading.Event()
    torn = []

    def look():
        with library.open(server) as reader:
            while not stop.is_set():
                a, b = reader.mget("a", "b")
                if a != b:
                    torn.append((a, b))

    with library.open(server) as writer:
        writer.mset({"a": "0", "b": "0"})
        reader = threading.Thread(target=look)
        reader.start()
        try:
            for _ in range(300):
                writer.pipeline().incr("a").incr("b").execute()
        finally:
            stop.set()
            reader.join(20)
    assert not reader.is_alive()
    assert torn == []


def test_increments_of_many_threads_by_watch(library, server):
    failures = []
    together = threading.Barrier(THREADS)

    def increment(pipe):
        value = int(pipe.get("n") or 0)
        pipe.multi()
        pipe.set("n", value + 1)

    def by_hand(client):
        with client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch("n")
                    increment(pipe)
                    return pipe.execute()
                except library.module.exceptions.WatchError:
                    continue

    def work(number):
        try:
            with library.open(server) as client:
                together.wait(20)
                for _ in range(ROUNDS):
                    replies = client.transaction(increment, "n") if number % 2 else by_hand(client)
                    assert replies == [True]
        except Exception as error:  # noqa: BLE001  (whatever it is, the test must show it)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []
    with library.open(server) as client:
        assert int(client.get("n")) == THREADS * ROUNDS


def test_asyncio(library, server):
    errors = library.module.exceptions

    async def body():
        async with library.open_async(server) as client:
            async with client.pipeline() as pipe:
                assert await pipe.set("k", "text").append("k", "!").get("k").execute() == [True, 5, b"text!"]
            async with client.pipeline() as pipe:
                replies = await pipe.set("k", "text").incr("k").get("k").execute(raise_on_error=False)
                assert isinstance(replies[1], errors.ResponseError) and replies[2] == b"text"
            async with client.pipeline() as pipe:
                await pipe.watch("k")
                await client.set("k", "theirs")
                pipe.multi()
                pipe.set("k", "lost")
                with pytest.raises(errors.WatchError):
                    await pipe.execute()

            async def increment(pipe):
                value = int(await pipe.get("n") or 0)
                pipe.multi()
                pipe.set("n", value + 1)

            async def work():
                for _ in range(ROUNDS):
                    assert await client.transaction(increment, "n") == [True]

            await asyncio.gather(*(work() for _ in range(THREADS)))
            assert int(await client.get("n")) == THREADS * ROUNDS

    asyncio.run(asyncio.wait_for(body(), 50))
