"""The asyncio half of both libraries."""

import asyncio
import signal

import pytest
from server import PASSWORD


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 40))


def test_commands(library, server):
    async def body():
        async with library.open_async(server, client_name="async", db=1) as client:
            assert await client.ping() is True
            assert await client.set("k", "v", ex=100) is True
            assert await client.get("k") == b"v"
            assert 0 < await client.ttl("k") <= 100
            assert await client.mset({"a": "1", "b": "2"}) is True
            assert await client.mget("a", "b", "c") == [b"1", b"2", None]
            assert {name async for name in client.scan_iter("*")} == {b"k", b"a", b"b"}
            assert (await client.info("server"))["redis_mode"] == "standalone"
            assert (await client.client_info())["name"] == "async"
            with pytest.raises(library.module.exceptions.ResponseError, match="not an integer"):
                await client.incr("k")

    run(body())


def test_pipeline(library, server):
    async def body():
        async with library.open_async(server) as client:
            async with client.pipeline(transaction=False) as pipe:
                for i in range(1000):
                    pipe.incrby("n", i)
                replies = await pipe.execute()
            assert replies[-1] == sum(range(1000))

    run(body())


def test_a_hundred_tasks(library, server):
    async def body():
        async with library.open_async(server) as client:

            async def one(i):
                await client.set(f"k{i}", i)
                return int(await client.get(f"k{i}"))

            assert await asyncio.gather(*(one(i) for i in range(100))) == list(range(100))

    run(body())


def test_password(library, locked):
    async def body():
        async with library.open_async(locked, password=PASSWORD) as client:
            assert await client.set("k", "v") is True
        never = library.module.asyncio.retry.Retry(library.module.backoff.NoBackoff(), 0)
        async with library.open_async(locked, retry=never) as client:
            with pytest.raises(library.module.exceptions.AuthenticationError):
                await client.get("k")

    run(body())


def test_unix_socket(library, own_server):
    async def body():
        async with library.asyncio(unix_socket_path=own_server.socket_path, protocol=library.protocol) as client:
            assert await client.set("k", "v") is True
            assert await client.get("k") == b"v"

    run(body())


def test_reconnects(library, own_server):
    async def body():
        async with library.open_async(own_server) as client:
            assert await client.set("k", "v") is True
            own_server.stop(signal.SIGKILL)
            with pytest.raises(library.module.exceptions.ConnectionError):
                await client.get("k")
            own_server.start()
            assert await client.get("k") is None

    run(body())


def test_killed_by_another_connection(library, server):
    async def body():
        async with library.open_async(server) as client, library.open_async(server) as other:
            await client.set("k", "v")
            assert await other.client_kill_filter(_id=await client.client_id()) == 1
            assert await client.get("k") == b"v"

    run(body())
