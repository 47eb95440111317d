"""redis-benchmark runs to its end on every test that needs strings alone, and finds nothing to warn about."""

import re
import subprocess

import pytest
from server import PASSWORD

SECONDS = 50
TESTS = "ping,set,get,incr,mset"
TITLES = ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET (10 keys)"]


def benchmark(server, *arguments, stderr=""):
    command = ["redis-benchmark", "-h", server.host, "-p", str(server.port), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, f"{command}: {done}"
    assert re.fullmatch(stderr, done.stderr), f"{command}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["-3"],
        ["-P", "100"],
        ["--threads", "2"],
        ["--threads", "2", "-P", "100", "-3"],
        ["-c", "1", "-n", "2000"],
        ["-c", "200"],
        ["-r", "1000", "-d", "3000"],
        ["--dbnum", "3"],
        ["-P", "16", "-r", "100000"],
    ],
    ids=" ".join,
)
def test_to_its_end_without_a_warning(server, options):
    report = benchmark(server, "-t", TESTS, "-q", "-n", "10000", *options)
    assert "WARNING" not in report and "ERR" not in report, report
    lines = re.split(r"[\r\n]+", report)
    finished = [line.split(":")[0].strip() for line in lines if "requests per second" in line]
    assert finished == TITLES, report


def test_what_it_reports_about_the_server(server):
    report = benchmark(server, "-t", "set", "-n", "1000")
    assert "keep alive: 1" in report
    assert re.search(r'host configuration "save": ?.*\n', report), report
    assert re.search(r'host configuration "appendonly": no', report), report


def test_a_connection_for_each_request(server):
    # The warning is redis-benchmark's own, about this machine, and comes whatever the server is.
    report = benchmark(server, "-t", "get", "-n", "1000", "-k", "0", "-q", stderr=r"WARNING: Keepalive disabled\..*\n")
    assert "requests per second" in report


def test_csv_and_a_command_of_ones_own(server):
    rows = benchmark(server, "-t", "set,get", "-n", "1000", "--csv").splitlines()
    assert [row.split(",")[0] for row in rows] == ['"test"', '"SET"', '"GET"']
    assert "requests per second" in benchmark(server, "-n", "1000", "-q", "-r", "50", "setex", "key:__rand_int__", "100", "v")


def test_with_a_password(locked):
    assert "requests per second" in benchmark(locked, "-a", PASSWORD, "-t", "get", "-n", "1000", "-q")
