"""A peer on gevent: a greenlet a connection, which reads and writes as if it were blocking."""

import socket

import gevent.socket
from commands import Conversation, Keyspace
from gevent.server import StreamServer

READ_BYTES_MAX = 64 * 1024


def serve(host: str, port: int) -> None:
    keyspace = Keyspace()

    def converse(client: gevent.socket.socket, _address: object) -> None:
        conversation = Conversation(keyspace)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while not conversation.lost and (received := client.recv(READ_BYTES_MAX)):
                if replies := conversation.answer(received):
                    client.sendall(replies)
        except ConnectionError:
            pass  # The client went away in the middle; there is nobody to tell.
        finally:
            client.close()

    StreamServer((host, port), converse).serve_forever()
