"""A peer on asyncio's streams: a task a connection, which reads, writes once and waits until that is taken."""

import asyncio

from commands import Conversation, Keyspace

READ_BYTES_MAX = 64 * 1024


async def serve(host: str, port: int) -> None:
    keyspace = Keyspace()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = Conversation(keyspace)
        try:
            while not conversation.lost and (received := await reader.read(READ_BYTES_MAX)):
                if replies := conversation.answer(received):
                    writer.write(replies)
                    await writer.drain()
        except ConnectionError:
            pass  # The client went away in the middle; there is nobody to tell.
        finally:
            writer.close()

    server = await asyncio.start_server(converse, host, port)
    await server.serve_forever()
