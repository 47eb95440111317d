"""Starts one Python peer: `python benches/peers KIND PORT`. Each kind imports only what it needs."""

import asyncio
import contextlib
import sys

HOST = "127.0.0.1"
KINDS = ("asyncio-protocol", "asyncio-streams", "uvloop-protocol", "uvloop-streams", "gevent")


def serve(kind: str, port: int) -> None:
    if kind == "gevent":
        import gevent_server

        gevent_server.serve(HOST, port)
        return

    if kind.endswith("-protocol"):
        from asyncio_protocol import serve as peer
    else:
        from asyncio_streams import serve as peer
    if kind.startswith("uvloop"):
        import uvloop

        uvloop.run(peer(HOST, port))
    else:
        asyncio.run(peer(HOST, port))


def main(words: list[str]) -> int:
    if len(words) != 2 or words[0] not in KINDS or not words[1].isdecimal():
        print(f"usage: python benches/peers KIND PORT\nKIND is one of {', '.join(KINDS)}", file=sys.stderr)
        return 2
    # Ctrl-C is how a server in the foreground is ended.
    with contextlib.suppress(KeyboardInterrupt):
        serve(words[0], int(words[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
