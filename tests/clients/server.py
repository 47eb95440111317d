"""Starts the server under test, redlet or redis-server, on a free port of the loopback.

It knows how the two are started and nothing else: no test and no client belongs here.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

# Needs quoting on a command line and is not ASCII.
PASSWORD = "se cret\u00e9"

START_SECONDS = 20
STOP_SECONDS = 10

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("REDLET_TEST_SERVER", str(ROOT / "target" / "debug" / "redlet"))
IS_REDLET = Path(BINARY).name == "redlet"


class Server:
    """One server process. Its directory, its socket file and the process are gone after stop()."""

    host = "127.0.0.1"

    def __init__(self, *flags, port=0):
        self.directory = tempfile.mkdtemp(prefix="redlet-test-")
        self.socket_path = os.path.join(self.directory, "s.sock")
        self.log_path = os.path.join(self.directory, "log")
        self.flags = flags
        self.port = port
        self.process = None

    def start(self):
        command = [BINARY, "--unixsocket", self.socket_path, *self.flags]
        if IS_REDLET:
            command += ["--port", str(self.port)]
        else:
            self.port = self.port or free_port()
            command += ["--port", str(self.port), "--bind", self.host, "--save", "", "--dir", self.directory]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE if IS_REDLET else log, stderr=log, stdin=subprocess.DEVNULL
            )
        if IS_REDLET:
            self.port = self._announced_port()
        self._wait_until_it_listens()
        return self

    def stop(self, with_signal=signal.SIGTERM):
        """Ends the process and returns its exit code. A server that ignores the signal fails the test."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.send_signal(with_signal)
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"still running {STOP_SECONDS} s after signal {with_signal!r}") from None
        finally:
            if process.stdout:
                process.stdout.close()

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self):
        return Path(self.log_path).read_text(errors="replace")

    def _announced_port(self):
        if self.port:
            # A restart on the port of before: it was asked for, not chosen.
            return self.port
        line = self.process.stdout.readline().decode().strip()
        name, _, number = line.partition("=")
        assert name == "PORT" and number.isdigit(), f"first line is {line!r}, log: {self.log()}"
        return int(number)

    def _wait_until_it_listens(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"{BINARY} ended at its start: {self.log()}"
            try:
                with socket.create_connection((self.host, self.port), 1):
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"{BINARY} does not listen on port {self.port}: {self.log()}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
