"""Publish and subscribe, and the keyspace events that come through it, blocking and asyncio."""

import asyncio
import time
from contextlib import closing

import pytest
from waiting import SECONDS, until, until_async


def next_message(pubsub):
    # None is what get_message() gives for a confirmation that is not wanted too.
    return until(lambda: pubsub.get_message(timeout=1))


def plain(message):
    kind, pattern, channel, data = (message[field] for field in ("type", "pattern", "channel", "data"))
    return kind, pattern, channel, data


@pytest.fixture
def pubsub(client):
    with closing(client.pubsub()) as opened:
        yield opened


def test_channels_and_patterns(client, pubsub):
    pubsub.subscribe("a", "b")
    pubsub.psubscribe("a*")
    assert [plain(next_message(pubsub)) for _ in range(3)] == [
        ("subscribe", None, b"a", 1),
        ("subscribe", None, b"b", 2),
        ("psubscribe", None, b"a*", 3),
    ]
    assert client.publish("a", "1") == 2
    assert client.publish("b", b"\x00\xff\r\n") == 1
    assert client.publish("c", "nobody") == 0
    assert [plain(next_message(pubsub)) for _ in range(3)] == [
        ("message", None, b"a", b"1"),
        ("pmessage", b"a*", b"a", b"1"),
        ("message", None, b"b", b"\x00\xff\r\n"),
    ]
    pubsub.unsubscribe("a")
    assert plain(next_message(pubsub)) == ("unsubscribe", None, b"a", 2)
    pubsub.punsubscribe()
    assert plain(next_message(pubsub)) == ("punsubscribe", None, b"a*", 1)
    assert client.publish("a", "2") == 0
    pubsub.ping("hello")
    assert next_message(pubsub)["type"] == "pong"


def test_who_is_subscribed(client, pubsub):
    pubsub.subscribe("a", "b")
    pubsub.psubscribe("p*")
    for _ in range(3):
        next_message(pubsub)
    assert sorted(client.pubsub_channels()) == [b"a", b"b"]
    assert client.pubsub_channels("b*") == [b"b"]
    assert client.pubsub_numpat() == 1
    assert dict(client.pubsub_numsub("a", "nobody")) == {b"a": 1, b"nobody": 0}
    assert [int(entry["sub"]) for entry in client.client_list(_type="pubsub")] == [2]
    pubsub.close()
    until(lambda: client.pubsub_channels() == [] and client.pubsub_numpat() == 0)


def test_order_of_a_pipeline_of_messages(client, pubsub):
    pubsub.subscribe("c")
    assert next_message(pubsub)["type"] == "subscribe"
    with client.pipeline(transaction=False) as pipe:
        for i in range(2000):
            pipe.publish("c", i)
        assert pipe.execute() == [1] * 2000
    with client.pipeline() as pipe:
        for i in range(2000, 2100):
            pipe.publish("c", i)
        assert pipe.execute() == [1] * 100
    assert [int(next_message(pubsub)["data"]) for _ in range(2100)] == list(range(2100))


def test_listen_and_handlers(client):
    handled = []
    with closing(client.pubsub(ignore_subscribe_messages=True)) as pubsub:
        pubsub.subscribe("end", handled=handled.append)
        pubsub.psubscribe(**{"h*": handled.append})
        until(lambda: client.pubsub_numpat() == 1)
        client.publish("handled", "x")
        client.publish("end", "y")
        heard = [plain(message) for message in _first(pubsub.listen(), 1)]
    assert heard == [("message", None, b"end", b"y")]
    assert [plain(message) for message in handled] == [
        ("message", None, b"handled", b"x"),
        ("pmessage", b"h*", b"handled", b"x"),
    ]


def _first(messages, count):
    found = []
    for message in messages:
        if message:
            found.append(message)
        if len(found) == count:
            return found
    raise AssertionError(f"the connection ended after {found}")


def test_run_in_thread(client):
    heard = []
    pubsub = client.pubsub()
    pubsub.subscribe(news=lambda message: heard.append(message["data"]))
    thread = pubsub.run_in_thread(sleep_time=0.01, daemon=True)
    try:
        until(lambda: client.publish("news", "first") == 1)
        for i in range(100):
            client.publish("news", i)
        until(lambda: heard == [b"first", *(str(i).encode() for i in range(100))])
    finally:
        thread.stop()
        thread.join(SECONDS)
    assert not thread.is_alive()


def patience(library, retry):
    """Options by which both libraries reconnect of themselves. valkey-py leaves that to who asks for it."""
    errors = [library.module.exceptions.ConnectionError]
    return {"retry": retry.Retry(library.module.backoff.ConstantBackoff(0.05), 100), "retry_on_error": errors}


@pytest.fixture
def patient_pubsub(library, server):
    with library.open(server, **patience(library, library.module.retry)) as opened, closing(opened.pubsub()) as pubsub:
        yield pubsub


def test_a_killed_subscriber_subscribes_again(client, patient_pubsub):
    pubsub = patient_pubsub
    pubsub.subscribe("c")
    pubsub.psubscribe("p*")
    assert [next_message(pubsub)["type"] for _ in range(2)] == ["subscribe", "psubscribe"]
    assert client.client_kill_filter(_type="pubsub") == 1
    confirmed = {next_message(pubsub)["type"] for _ in range(2)}
    assert confirmed == {"subscribe", "psubscribe"}
    assert client.publish("c", "again") == 1
    assert client.publish("p1", "again") == 1
    assert [plain(next_message(pubsub)) for _ in range(2)] == [
        ("message", None, b"c", b"again"),
        ("pmessage", b"p*", b"p1", b"again"),
    ]


def test_sharded_channels(client, pubsub):
    pubsub.ssubscribe("s")
    assert plain(next_message(pubsub)) == ("ssubscribe", None, b"s", 1)
    assert client.publish("s", "not there") == 0
    assert client.execute_command("SPUBLISH", "s", "x") == 1
    assert plain(next_message(pubsub)) == ("smessage", None, b"s", b"x")
    assert client.execute_command("PUBSUB", "SHARDCHANNELS") == [b"s"]
    pubsub.sunsubscribe("s")
    assert plain(next_message(pubsub)) == ("sunsubscribe", None, b"s", 0)


def test_asyncio(library, server):
    async def body():
        async with library.open_async(server, **patience(library, library.module.asyncio.retry)) as client:
            pubsub = client.pubsub()

            async def heard():
                return plain(await until_async(lambda: pubsub.get_message(timeout=1)))

            await pubsub.subscribe("c")
            await pubsub.psubscribe("p*")
            assert await heard() == ("subscribe", None, b"c", 1)
            assert await heard() == ("psubscribe", None, b"p*", 2)
            assert await asyncio.gather(*(client.publish("c", i) for i in range(20))) == [1] * 20
            assert {(await heard())[3] for _ in range(20)} == {str(i).encode() for i in range(20)}
            assert await client.publish("p1", "x") == 1
            assert await anext(pubsub.listen()) == {"type": "pmessage", "pattern": b"p*", "channel": b"p1", "data": b"x"}
            assert await client.client_kill_filter(_type="pubsub") == 1
            assert {(await heard())[0] for _ in range(2)} == {"subscribe", "psubscribe"}
            assert await client.publish("c", "again") == 1
            assert await heard() == ("message", None, b"c", b"again")
            await pubsub.unsubscribe()
            assert await heard() == ("unsubscribe", None, b"c", 1)
            await pubsub.aclose()

    asyncio.run(asyncio.wait_for(body(), 50))


@pytest.fixture
def events(client, pubsub):
    """A subscriber to all events of all keys. The server tells them while a test has this."""
    before = client.config_get("notify-keyspace-events")["notify-keyspace-events"]
    assert client.config_set("notify-keyspace-events", "KEA") is True
    pubsub.psubscribe("__key*__:*")
    assert next_message(pubsub)["type"] == "psubscribe"
    yield pubsub
    assert client.config_set("notify-keyspace-events", before) is True


def test_keyspace_events(client, events):
    client.set("k", "v", ex=100)
    client.append("k", "w")
    client.rename("k", "n")
    client.delete("n")
    heard = [plain(next_message(events))[2:] for _ in range(12)]
    told = [("k", "set"), ("k", "expire"), ("k", "append"), ("k", "rename_from"), ("n", "rename_to"), ("n", "del")]
    expected = []
    for key, event in told:
        expected.append((b"__keyspace@0__:" + key.encode(), event.encode()))
        expected.append((b"__keyevent@0__:" + event.encode(), key.encode()))
    assert heard == expected


def test_keyspace_events_of_a_transaction(client, events):
    with client.pipeline() as pipe:
        assert pipe.set("a", 1).incr("a").delete("a", "absent").execute() == [True, 2, 1]
    heard = [plain(next_message(events))[2] for _ in range(6)]
    assert heard[1::2] == [b"__keyevent@0__:set", b"__keyevent@0__:incrby", b"__keyevent@0__:del"]


def test_a_key_expires_without_being_asked_for(client, events):
    began = time.monotonic()
    client.set("k", "v", px=100)
    assert [plain(next_message(events))[2] for _ in range(4)][3] == b"__keyevent@0__:expire"
    assert plain(next_message(events))[2:] == (b"__keyspace@0__:k", b"expired")
    assert plain(next_message(events))[2:] == (b"__keyevent@0__:expired", b"k")
    assert 0.09 < time.monotonic() - began
