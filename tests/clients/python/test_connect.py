"""What a library does on a fresh connection: handshake, names, databases, passwords, the Unix socket, and being refused."""

import signal
import threading

import pytest
import redis
import valkey
from server import PASSWORD


def version_of(client):
    return tuple(int(part) for part in client.info("server")["redis_version"].split("."))


@pytest.mark.parametrize("sync", [redis.Redis, valkey.Valkey])
def test_everything_left_at_its_default(sync, server):
    with sync(host=server.host, port=server.port) as client:
        assert client.ping() is True
        assert client.set("k", "v") is True
        assert client.get("k") == b"v"
        assert client.get("absent") is None
        assert client.delete("k", "absent") == 1


@pytest.mark.parametrize("module,scheme", [(redis, "redis"), (valkey, "valkey")])
def test_from_url(module, scheme, server):
    with module.from_url(f"{scheme}://{server.host}:{server.port}/3?decode_responses=True") as client:
        assert client.set("k", "v") is True
        assert client.get("k") == "v"
        assert client.client_info()["db"] == 3


def test_the_names_the_library_gives_itself(library, server):
    with library.open(server, client_name="the-name", db=5) as client:
        assert client.client_getname() in ("the-name", b"the-name")
        info = client.client_info()
        assert info["name"] == "the-name"
        assert info["db"] == 5
        assert info["cmd"] == "client|info"
        if version_of(client) >= (7, 2):
            assert info["lib-name"] == ("redis-py" if library.module is redis else "valkey-py")
            assert info["lib-ver"] == library.module.__version__
            assert int(info["resp"]) == library.protocol


def test_password(library, locked):
    with library.open(locked, password=PASSWORD) as client:
        assert client.set("k", "v") is True
        assert client.get("k") == b"v"
    with library.open(locked, username="default", password=PASSWORD) as client:
        assert client.get("k") == b"v"


def test_password_missing_or_wrong(library, locked):
    errors = library.module.exceptions
    never = library.module.retry.Retry(library.module.backoff.NoBackoff(), 0)
    with library.open(locked, retry=never) as client, pytest.raises(errors.AuthenticationError):
        client.get("k")
    with library.open(locked, password="wrong", retry=never) as client, pytest.raises(errors.AuthenticationError):
        client.get("k")


def test_unix_socket(library, own_server):
    with library.sync(unix_socket_path=own_server.socket_path, protocol=library.protocol) as client:
        assert client.set("k", b"\x00\xff") is True
        assert client.get("k") == b"\x00\xff"
        assert client.client_info()["addr"].startswith(own_server.socket_path)


def test_health_checks(library, server):
    with library.open(server, health_check_interval=1, single_connection_client=True) as client:
        client.connection.next_health_check = 0.001
        assert client.set("k", "v") is True
        assert client.connection.next_health_check > 0.001, "a PING went before the SET"


def test_killed_by_another_connection(library, server):
    with library.open(server) as client, library.open(server) as other:
        client.set("k", "v")
        assert other.client_kill_filter(_id=client.client_id()) == 1
        assert client.get("k") == b"v"


def test_kill_of_an_unknown_address(library, client):
    with pytest.raises(library.module.exceptions.ResponseError, match="No such client"):
        client.client_kill("127.0.0.1:1")


def test_server_gone_and_back(library, own_server):
    # A refused connection is an OSError, which valkey-py does not retry of itself.
    errors = (library.module.exceptions.ConnectionError, OSError)
    retry = library.module.retry.Retry(library.module.backoff.ConstantBackoff(0.2), 50, errors)
    with library.open(own_server, retry=retry) as client:
        assert client.set("k", "before") is True
        own_server.stop(signal.SIGKILL)
        again = threading.Timer(1.0, own_server.start)
        again.start()
        try:
            assert client.get("k") is None
            assert client.set("k", "after") is True
        finally:
            again.join()


def test_sigterm_is_an_orderly_end(library, own_server):
    with library.open(own_server) as client:
        assert client.ping() is True
        assert own_server.stop(signal.SIGTERM) == 0


def test_quit_and_reset(library, server):
    with library.open(server, db=2, single_connection_client=True) as client:
        assert client.client_info()["db"] == 2
        # RESET goes back to RESP2 and database 0, and the parsers of both libraries read RESP2 in either mode.
        assert client.execute_command("RESET") in (b"RESET", "RESET")
        assert client.client_info()["db"] == 0
        assert client.execute_command("QUIT") in (b"OK", "OK", True)
