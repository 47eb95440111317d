"""A peer on asyncio's transports and protocols: one callback a read, one write a callback."""

import asyncio
from typing import cast

from commands import Conversation, Keyspace


class Connection(asyncio.Protocol):
    def __init__(self, keyspace: Keyspace) -> None:
        self._conversation = Conversation(keyspace)
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do all that asyncio's do and are no subclass of them.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if replies := self._conversation.answer(data):
            self._transport.write(replies)
        if self._conversation.lost:
            self._transport.close()

    def pause_writing(self) -> None:
        """From a client that takes no replies no requests are taken."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()


async def serve(host: str, port: int) -> None:
    keyspace = Keyspace()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(keyspace), host, port)
    await server.serve_forever()
