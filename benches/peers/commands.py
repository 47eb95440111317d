"""What every Python peer answers: GET and SET, and the little that load generators ask for besides.

Bytes in, bytes out: it knows no socket and no event loop, so that the peers differ in nothing else.
"""

from collections.abc import Callable

import hiredis

Handler = Callable[[list[bytes]], bytes]

OK = b"+OK\r\n"
NULL = b"$-1\r\n"
SYNTAX = b"-ERR syntax error\r\n"

# redis-benchmark asks for these two before it starts, and only warns where they are missing.
SETTINGS = {b"save": b"", b"appendonly": b"no"}

# As many bytes of an unknown command are shown in the error as Redis shows.
SHOWN_BYTES_MAX = 128


def bulk(value: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(value), value)


class Keyspace:
    """The keys of one server, shared by its connections."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self._handlers: dict[bytes, Handler] = {
            b"GET": self._get,
            b"SET": self._set,
            b"PING": self._ping,
            b"DBSIZE": self._dbsize,
            b"CONFIG": self._config,
        }

    def answer(self, request: list[bytes]) -> bytes:
        """The reply to one request, the command's name included."""
        handler = self._handlers.get(request[0].upper())
        return handler(request) if handler else unknown_command(request)

    def _get(self, request: list[bytes]) -> bytes:
        if len(request) != 2:
            return wrong_arity(request)
        value = self._values.get(request[1])
        return NULL if value is None else bulk(value)

    def _set(self, request: list[bytes]) -> bytes:
        if len(request) != 3:
            # None of SET's options is known here.
            return SYNTAX if len(request) > 3 else wrong_arity(request)
        self._values[request[1]] = request[2]
        return OK

    def _ping(self, request: list[bytes]) -> bytes:
        if len(request) > 2:
            return wrong_arity(request)
        return bulk(request[1]) if len(request) == 2 else b"+PONG\r\n"

    def _dbsize(self, request: list[bytes]) -> bytes:
        return b":%d\r\n" % len(self._values) if len(request) == 1 else wrong_arity(request)

    def _config(self, request: list[bytes]) -> bytes:
        if len(request) < 3 or request[1].upper() != b"GET":
            return b"-ERR only CONFIG GET is known here\r\n"
        # Under the name that was asked for, its capitals included, as Redis 7.0 answers.
        found = {word: SETTINGS[name] for word in request[2:] if (name := word.lower()) in SETTINGS}
        pairs = (bulk(name) + bulk(value) for name, value in found.items())
        return b"*%d\r\n%b" % (2 * len(found), b"".join(pairs))


def wrong_arity(request: list[bytes]) -> bytes:
    return b"-ERR wrong number of arguments for '%b' command\r\n" % request[0].lower()


def unknown_command(request: list[bytes]) -> bytes:
    arguments = b""
    for word in request[1:]:
        if len(arguments) >= SHOWN_BYTES_MAX:
            break
        arguments += b"'%b' " % word[: SHOWN_BYTES_MAX - len(arguments)]
    text = b"unknown command '%b', with args beginning with: %b" % (request[0][:SHOWN_BYTES_MAX], arguments)
    # A line break in what was sent would end the error early.
    return b"-ERR %b\r\n" % text.replace(b"\r", b" ").replace(b"\n", b" ")


class Conversation:
    """One connection's requests and replies. Once `lost` is true the connection is to be closed."""

    def __init__(self, keyspace: Keyspace) -> None:
        self._answer = keyspace.answer
        self._reader = hiredis.Reader()
        self.lost = False

    def answer(self, received: bytes) -> bytes:
        """The replies to all requests that `received` completes, joined so that they need one write."""
        self._reader.feed(received)
        replies: list[bytes] = []
        try:
            # False says that the next request is not complete; None and an empty list are requests that ask for nothing.
            while (request := self._reader.gets()) is not False:
                if request:
                    replies.append(self._answer(request))
        except (hiredis.ProtocolError, AttributeError, TypeError):
            # hiredis reads whatever a server might send; a request is only ever a list of byte strings.
            replies.append(b"-ERR Protocol error\r\n")
            self.lost = True
        return b"".join(replies)
