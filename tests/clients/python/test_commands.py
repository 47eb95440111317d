"""The commands of strings, keys, bitmaps and the server, through the method each library has for it and its way to read the reply."""

import datetime
import time

import pytest
import redis


def test_set_and_its_options(client):
    assert client.set("k", "1", nx=True) is True
    assert client.set("k", "2", nx=True) is None
    assert client.set("k", "3", xx=True, get=True) == b"1"
    assert client.set("k", "4", px=100_000) is True
    assert 0 < client.pttl("k") <= 100_000
    assert client.set("k", "5", keepttl=True) is True
    assert client.pttl("k") > 0
    assert client.set("k", "6", exat=int(time.time()) + 50) is True
    assert 0 < client.ttl("k") <= 50
    assert client.getset("k", "7") == b"6"
    assert client.setnx("k", "8") is False
    assert client.setex("k", 10, "9") is True
    assert client.psetex("k", 10_000, "10") is True
    assert client.getdel("k") == b"10"
    assert client.exists("k") == 0


def test_numbers(client, library):
    assert client.incr("n") == 1
    assert client.incrby("n", 41) == 42
    assert client.decr("n", 2) == 40
    assert client.incrbyfloat("n", 0.5) == 40.5
    assert client.get("n") == b"40.5"
    with pytest.raises(library.module.exceptions.ResponseError, match="value is not an integer or out of range"):
        client.incr("n")
    client.set("n", 9223372036854775807)
    with pytest.raises(library.module.exceptions.ResponseError, match="increment or decrement would overflow"):
        client.incr("n")


def test_parts_of_strings(client):
    assert client.append("k", "Hello") == 5
    assert client.append("k", " World") == 11
    assert client.strlen("k") == 11
    assert client.getrange("k", -5, -1) == b"World"
    assert client.substr("k", 0, 4) == b"Hello"
    assert client.setrange("k", 6, "Redis") == 11
    assert client.get("k") == b"Hello Redis"
    assert client.setrange("padded", 3, "x") == 4
    assert client.get("padded") == b"\x00\x00\x00x"


def test_lcs(client):
    client.mset({"a": "ohmytext", "b": "mynewtext"})
    assert client.lcs("a", "b") == b"mytext"
    assert client.lcs("a", "b", len=True) == 6
    found = client.lcs("a", "b", idx=True, withmatchlen=True)
    if isinstance(found, list):
        found = dict(zip(found[::2], found[1::2]))
    by_name = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
    assert by_name["len"] == 6
    assert by_name["matches"] == [[[4, 7], [5, 8], 4], [[2, 3], [0, 1], 2]]


def test_many_keys(client):
    pairs = {f"key:{i}": str(i) for i in range(500)}
    assert client.mset(pairs) is True
    assert client.mget(list(pairs)) == [str(i).encode() for i in range(500)]
    assert client.mget("key:1", "absent", "key:2") == [b"1", None, b"2"]
    assert client.msetnx({"key:1": "x", "new": "y"}) in (False, 0)
    assert client.exists("new") == 0
    assert client.dbsize() == 500
    assert sorted(client.keys("key:1?")) == [f"key:{i}".encode() for i in range(10, 20)]
    assert client.unlink(*pairs) == 500


def test_expiry(client):
    client.set("k", "v")
    assert client.ttl("k") == -1
    assert client.ttl("absent") == -2
    assert client.expire("k", 100) in (True, 1)
    assert client.expire("k", 50, gt=True) in (False, 0)
    assert client.expire("k", 50, lt=True) in (True, 1)
    assert 0 < client.ttl("k") <= 50
    at = int(time.time()) + 1000
    assert client.expireat("k", at) in (True, 1)
    assert client.expiretime("k") == at
    assert client.pexpiretime("k") == at * 1000
    assert client.pexpireat("k", datetime.datetime.fromtimestamp(at + 1)) in (True, 1)
    assert client.persist("k") in (True, 1)
    assert client.persist("k") in (False, 0)
    assert client.pexpire("k", 30) in (True, 1)
    time.sleep(0.05)
    assert client.get("k") is None
    assert client.exists("k") == 0


def test_getex(client):
    client.set("k", "v")
    assert client.getex("k", ex=60) == b"v"
    assert 0 < client.ttl("k") <= 60
    assert client.getex("k", persist=True) == b"v"
    assert client.ttl("k") == -1
    assert client.getex("k", pxat=int(time.time() * 1000) + 5000) == b"v"
    assert 0 < client.pttl("k") <= 5000
    assert client.getex("absent") is None


def test_bits(client):
    assert client.setbit("b", 7, 1) == 0
    assert client.getbit("b", 7) == 1
    assert client.get("b") == b"\x01"
    client.set("b", "foobar")
    assert client.bitcount("b") == 26
    assert client.bitcount("b", 1, 1) == 6
    assert client.bitcount("b", 5, 30, "BIT") == 17
    client.set("c", b"\xff\xf0\x00")
    assert client.bitpos("c", 0) == 12
    assert client.bitpos("c", 1, 2) == -1
    assert client.bitop("XOR", "d", "c", "c") == 3
    assert client.get("d") == b"\x00\x00\x00"
    assert client.bitop("NOT", "d", "c") == 3
    assert client.get("d") == b"\x00\x0f\xff"


def test_bitfield(client):
    field = client.bitfield("f")
    assert field.set("u8", 0, 255).get("u8", 0).get("u4", "#1").execute() == [0, 255, 15]
    assert client.bitfield("f", default_overflow="FAIL").incrby("u8", 0, 1).execute() == [None]
    assert client.bitfield("f", default_overflow="SAT").incrby("u8", 0, 1).execute() == [255]
    assert client.bitfield("f").incrby("u8", 0, 1, overflow="WRAP").execute() == [0]
    client.set("g", b"\x80")
    assert client.bitfield_ro("g", "i8", 0, [("u4", 0)]) == [-128, 8]


def test_scan(client):
    names = {f"scan:{i}".encode() for i in range(1500)}
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.set(name, b"x")
    pipe.execute()
    client.set("other", "x")
    found = list(client.scan_iter(match="scan:*", count=100))
    assert set(found) == names
    assert set(client.scan_iter(match="scan:*", _type="string")) == names
    assert list(client.scan_iter(_type="list")) == []
    cursor, some = client.scan(0, count=10)
    assert isinstance(cursor, int) and cursor != 0
    assert all(isinstance(name, bytes) for name in some)
    assert client.randomkey() in names | {b"other"}


def test_keys_as_things(client, library):
    client.set("a", "1")
    assert client.type("a") in (b"string", "string")
    assert client.rename("a", "b") is True
    assert client.copy("b", "c") in (True, 1)
    assert client.copy("b", "c") in (False, 0)
    assert client.copy("b", "c", replace=True) in (True, 1)
    assert client.renamenx("b", "c") in (False, 0)
    assert client.move("b", 9) in (True, 1)
    assert client.exists("b") == 0
    assert client.touch("c", "b") == 1
    assert client.object("encoding", "c") in (b"int", "int")
    assert client.object("refcount", "c") >= 1
    assert client.object("idletime", "c") <= 1
    assert client.memory_usage("c") > 0
    assert client.swapdb(0, 9) is True
    assert client.get("b") == b"1"
    with pytest.raises(library.module.exceptions.ResponseError, match="no such key"):
        client.rename("absent", "x")


@pytest.mark.parametrize("value", [b"", b"\r\n", bytes(range(256)), b"\x00" * 10, b"$5\r\nhello\r\n", b"x" * 1_000_000], ids=len)
def test_binary_data(client, value):
    assert client.set(value, value) is True
    assert client.get(value) == value
    assert client.keys("*") == [value]
    assert client.echo(value) == value
    assert client.mget([value]) == [value]


def test_info(client):
    info = client.info()
    assert len(info["redis_version"].split(".")) == 3
    assert info["redis_mode"] == "standalone"
    assert info["role"] == "master"
    assert info["loading"] == 0
    assert info["connected_clients"] >= 1
    assert info["tcp_port"] > 0
    assert info["used_memory"] > 0
    assert set(client.info("replication")) >= {"role", "connected_slaves"}
    client.set("k", "v", ex=100)
    assert client.info("keyspace")["db0"]["keys"] == 1
    assert client.info("keyspace")["db0"]["expires"] == 1
    assert client.info("commandstats")["cmdstat_set"]["calls"] >= 1
    assert client.info("everything")["run_id"] == info["run_id"]


def test_clients(client, library):
    mine = client.client_id()
    assert isinstance(mine, int)
    listed = client.client_list()
    me = [entry for entry in listed if int(entry["id"]) == mine]
    assert len(me) == 1 and me[0]["user"] == "default"
    assert [int(entry["id"]) for entry in client.client_list(client_id=[str(mine)])] == [mine]
    assert client.client_setname("x") is True
    assert client.client_no_evict("ON") in (b"OK", "OK", True)
    assert client.client_pause(1) is True
    assert client.client_unpause() in (True, b"OK", "OK")
    assert client.client_getredir() == -1


def test_config(client, library):
    assert client.config_get("maxclients").keys() == {"maxclients"}
    assert "save" in client.config_get("save", "appendonly") and "appendonly" in client.config_get("save", "appendonly")
    before = client.config_get("timeout")["timeout"]
    assert client.config_set("timeout", 100) is True
    assert client.config_get("time*t")["timeout"] == "100"
    assert client.config_set("timeout", before) is True
    assert client.config_resetstat() is True
    with pytest.raises(library.module.exceptions.ResponseError):
        client.config_set("no-such-parameter", "1")
    assert client.config_get("no-such-parameter") == {}


def test_server(client, library):
    seconds, micros = client.time()
    assert abs(seconds - time.time()) < 5 and 0 <= micros < 1_000_000
    assert client.lastsave() is not None
    assert client.role()[0] in (b"master", "master")
    assert client.slowlog_len() >= 0
    assert isinstance(client.slowlog_get(10), list)
    assert client.slowlog_reset() is True
    assert client.latency_latest() == []
    assert client.wait(0, 10) == 0
    assert b"Redis" in as_bytes(client.lolwut()) or b"redlet" in as_bytes(client.lolwut())
    assert client.script_exists("a" * 40) == [False]
    assert client.script_flush() in (True, b"OK", "OK")
    assert client.flushdb() is True
    assert client.flushall(asynchronous=True) is True
    assert client.memory_stats()
    with pytest.raises(library.module.exceptions.ResponseError, match="cluster support disabled"):
        client.execute_command("CLUSTER", "NODES")


def test_command_table(client, library):
    table = client.command()
    assert len(table) == client.command_count()
    get = table["get"]
    assert get["arity"] == 2
    assert get["first_key_pos"] == 1
    assert {"readonly", "fast"} <= {flag.decode() if isinstance(flag, bytes) else flag for flag in get["flags"]}
    assert client.command_getkeys("MSET", "a", 1, "b", 2) in ([b"a", b"b"], ["a", "b"])
    assert "get" in {as_bytes(name).decode() for name in client.command_list()}
    docs = client.execute_command("COMMAND DOCS", "set")
    if isinstance(docs, list):
        docs = dict(zip(docs[::2], docs[1::2]))
    docs = {as_bytes(name): entry for name, entry in docs.items()}
    assert set(docs) == {b"set"}


def test_monitor(client, library, server):
    with library.open(server) as other, other.monitor() as monitor:
        client.set("watched", "a b")
        seen = monitor.next_command()
        while seen["command"].split()[:2] != ["SET", "watched"]:
            seen = monitor.next_command()
        assert seen["db"] == 0
        assert seen["client_type"] == "tcp"


def test_errors_by_their_class_and_their_words(client, library):
    errors = library.module.exceptions
    with pytest.raises(errors.ResponseError, match="unknown command 'NO-SUCH', with args beginning with: 'a' 'b'"):
        client.execute_command("NO-SUCH", "a", "b")
    with pytest.raises(errors.ResponseError, match="wrong number of arguments for 'get' command"):
        client.execute_command("GET")
    with pytest.raises(errors.ResponseError, match="syntax error"):
        client.execute_command("SET", "k", "v", "NOPE")
    with pytest.raises(errors.ResponseError, match="invalid expire time in 'set' command"):
        client.set("k", "v", ex=0)
    with pytest.raises(errors.ResponseError, match="DB index is out of range"):
        client.execute_command("SELECT", 16)
    assert client.ping() is True


def test_decoding(library, server):
    with library.open(server, decode_responses=True) as client:
        assert client.set("k", "gr\u00fc\u00df") is True
        assert client.get("k") == "gr\u00fc\u00df"
        assert client.config_get("maxclients").keys() == {"maxclients"}
        client.set("k", b"\xff\xfe")
        with pytest.raises(UnicodeDecodeError):
            client.get("k")
        # The reply was read to its end, so the connection is still in step.
        assert client.ping() is True
        assert client.echo("next") == "next"
    with library.open(server, decode_responses=True, encoding_errors="replace") as client:
        assert client.get("k") == "\ufffd\ufffd"


def test_new_response_shapes_of_redis_py(server):
    with redis.Redis(host=server.host, port=server.port, legacy_responses=False) as client:
        assert client.set("k", "v")
        assert client.get("k") == b"v"
        assert client.command_count() > 80
        assert client.config_get("maxclients")


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text
