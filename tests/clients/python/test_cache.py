"""Client-side caching: redis-py's cache, and the requests that rueidis sends for its own."""

import socket
from contextlib import contextmanager

import pytest
import redis
import valkey
from redis.cache import CacheConfig
from redis.connection import CacheProxyConnection
from waiting import until


@pytest.fixture
def cached(server, monkeypatch):
    """A client of redis-py with its cache. It takes servers from 7.4 on, though what it needs of them came with 6.0."""
    with redis.Redis(host=server.host, port=server.port) as asking:
        version = asking.info("server")["redis_version"]
    if version.startswith("7.0."):
        monkeypatch.setattr(CacheProxyConnection, "MIN_ALLOWED_VERSION", version)
    with redis.Redis(host=server.host, port=server.port, protocol=3, cache_config=CacheConfig()) as client:
        yield client


@pytest.fixture
def other(server):
    with redis.Redis(host=server.host, port=server.port) as client:
        yield client


def gets(other):
    """How many GETs came to the server so far."""
    return other.info("commandstats").get("cmdstat_get", {"calls": 0})["calls"]


def test_a_hit_does_not_reach_the_server(cached, other):
    other.mset({"k": "v", "m": "w"})
    before = gets(other)
    assert [cached.get("k") for _ in range(50)] == [b"v"] * 50
    assert [cached.mget("k", "m") for _ in range(50)] == [[b"v", b"w"]] * 50
    assert gets(other) == before + 1
    assert cached.get_cache().size == 2


@pytest.mark.parametrize("write", [
    lambda other: other.set("k", "new"),
    lambda other: other.append("k", "x"),
    lambda other: other.delete("k"),
    lambda other: other.expire("k", 100),
    lambda other: other.pipeline().set("a", "1").set("k", "2").execute(),
    lambda other: other.flushdb(),
    lambda other: other.flushall(),
], ids=["set", "append", "delete", "expire", "transaction", "flushdb", "flushall"])
def test_a_write_of_another_connection_invalidates(cached, other, write):
    other.set("k", "v")
    assert [cached.get("k"), cached.get("k")] == [b"v", b"v"]
    before = gets(other)
    write(other)
    # The cache gives its entry until the invalidation has come, and then it asks again.
    until(lambda: cached.get("k") is None or gets(other) > before)
    assert cached.get("k") == other.get("k")


def test_its_own_write_invalidates(cached, other):
    assert cached.set("k", "v") is True
    assert cached.get("k") == b"v"
    assert cached.set("k", "w") is True
    assert cached.get("k") == b"w"


def test_a_deadline_that_passes_invalidates(cached, other):
    other.set("k", "v", px=200)
    assert cached.get("k") == b"v"
    # Nobody asks the server for the key: that it is gone comes from the server's own clock.
    until(lambda: cached.get("k") is None)
    assert other.dbsize() == 0


def test_what_was_not_read_is_not_told(cached, other):
    other.set("k", "v")
    assert cached.get("k") == b"v"
    before = gets(other)
    for i in range(100):
        other.set(f"unread:{i}", i)
    assert cached.get("k") == b"v"
    assert gets(other) == before


def test_two_clients_with_caches(server, cached, other):
    with redis.Redis(host=server.host, port=server.port, protocol=3, cache_config=CacheConfig()) as second:
        other.set("k", "v")
        assert [cached.get("k"), second.get("k")] == [b"v", b"v"]
        cached.set("k", "w")
        until(lambda: second.get("k") == b"w")
        second.set("k", "x")
        until(lambda: cached.get("k") == b"x")


def test_only_what_changed_is_asked_for_again(cached, other):
    names = [f"k{i}" for i in range(100)]
    other.mset({name: "v" for name in names})
    assert [cached.get(name) for name in names] == [b"v"] * 100
    before = gets(other)
    other.set("k7", "w")
    until(lambda: cached.get("k7") == b"w")
    assert [cached.get(name) for name in names if name != "k7"] == [b"v"] * 99
    assert gets(other) == before + 1


def test_a_killed_connection_forgets_what_it_knew(cached, other):
    other.set("k", "v")
    assert cached.get("k") == b"v"
    assert other.client_kill_filter(_type="normal", skipme=True) == 1
    # Nobody can be told of this write: the cache has to go with its connection.
    other.set("k", "w")
    until(lambda: cached.get("k") == b"w")


@pytest.mark.parametrize("sync", [redis.Redis, valkey.Valkey])
def test_redirected_to_a_subscriber(sync, server, other):
    """How a client that speaks RESP2 hears of it: on a second connection, which subscribes."""
    alone = sync(host=server.host, port=server.port, protocol=2, single_connection_client=True)
    with alone as client, client.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe("__redis__:invalidate")
        listener = int(other.client_list(_type="pubsub")[0]["id"])
        assert client.client_tracking_on(clientid=listener) in (True, b"OK", "OK")
        assert client.client_getredir() == listener
        for change, told in ((lambda: other.set("k", "v"), [b"k"]), (other.flushall, None)):
            client.get("k")
            change()
            assert until(lambda: pubsub.get_message(timeout=0.2))["data"] == told
        assert client.client_tracking_off() in (True, b"OK", "OK")
        assert client.client_getredir() == -1


class Rueidis:
    """What rueidis, a client of Go, writes and reads. Its toolchain is not needed for that."""

    def __init__(self, server):
        self.socket = socket.create_connection((server.host, server.port), 20)
        self.replies = self.socket.makefile("rb")

    def close(self):
        self.replies.close()
        self.socket.close()

    def send(self, *requests):
        def bulk(word):
            return b"$%d\r\n%s\r\n" % (len(word), word.encode())

        self.socket.sendall(b"".join(b"*%d\r\n%s" % (len(words), b"".join(map(bulk, words))) for words in map(str.split, requests)))

    def read(self):
        """The next reply. A push is a tuple, an error is given as its text."""
        line = self.replies.readline()
        assert line.endswith(b"\r\n"), "the server closed the connection"
        kind, rest = line[:1], line[1:-2]
        if kind in b"+-":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"_":
            return None
        if kind in b"$=":
            return self.replies.read(int(rest) + 2)[:-2].decode()
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        assert kind in b"*>", line
        return (tuple if kind == b">" else list)(self.read() for _ in range(int(rest)))

    def exchange(self, *requests):
        self.send(*requests)
        return [self.read() for _ in requests]


@contextmanager
def connected(server):
    client = Rueidis(server)
    try:
        replies = client.exchange(
            "HELLO 3",
            "CLIENT TRACKING ON OPTIN",
            "CLIENT SETINFO LIB-NAME rueidis",
            "CLIENT SETINFO LIB-VER 1.0.76",
        )
        assert replies[0]["proto"] == 3
        assert replies[1] == "OK"
        # CLIENT SETINFO came with 7.2. rueidis goes on without it.
        assert replies[0]["version"].startswith("7.0.") or replies[2:] == ["OK", "OK"]
        yield client
    finally:
        client.close()


def caching(key):
    return "CLIENT CACHING YES", "MULTI", f"PTTL {key}", f"GET {key}", "EXEC"


def cached_get(client, key):
    replies = client.exchange(*caching(key))
    assert replies[:4] == ["OK", "OK", "QUEUED", "QUEUED"]
    return replies[4]


def test_rueidis_is_told_of_what_it_cached(server, other):
    other.mset({"k": "v", "uncached": "x"})
    with connected(server) as client:
        assert cached_get(client, "k") == [-1, "v"]
        assert client.exchange("GET uncached") == ["x"]
        other.mset({"uncached": "y", "k": "w"})
        assert client.read() == ("invalidate", ["k"])
        # One invalidation for what was read once: the next comes after the key was read again.
        other.set("k", "unheard")
        assert client.exchange("PING") == ["PONG"]
        assert cached_get(client, "k") == [-1, "unheard"]
        other.flushall()
        assert client.read() == ("invalidate", None)


def test_rueidis_is_told_of_a_deadline(server, other):
    other.set("k", "v", px=300)
    with connected(server) as client:
        remaining, value = cached_get(client, "k")
        assert 0 < remaining <= 300 and value == "v"
        assert client.read() == ("invalidate", ["k"])


def test_rueidis_caches_many_at_once(server, other):
    other.mset({f"k{i}": i for i in range(200)})
    with connected(server) as client:
        requests = [request for i in range(200) for request in caching(f"k{i}")]
        assert client.exchange(*requests)[4::5] == [[-1, str(i)] for i in range(200)]
        assert other.delete(*(f"k{i}" for i in range(200))) == 200
        told = set()
        while len(told) < 200:
            kind, names = client.read()
            assert kind == "invalidate"
            told.update(names)
        assert told == {f"k{i}" for i in range(200)}
