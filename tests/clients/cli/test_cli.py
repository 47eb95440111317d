"""redis-cli: its one-shot modes through pipes, and everything else in a terminal, which terminal.exp plays."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from server import PASSWORD

HERE = Path(__file__).parent
SECONDS = 40


def cli(server, *arguments, stdin="", code=0, stderr=""):
    """What redis-cli prints. `stderr` is all that it may say beside it."""
    command = ["redis-cli", "-h", server.host, "-p", str(server.port), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=SECONDS, errors="surrogateescape")
    assert done.returncode == code, f"{command}: {done}"
    assert done.stderr == stderr, f"{command}: {done}"
    return done.stdout


def fill(server, count=300):
    for i in range(0, count, 100):
        pairs = [text for n in range(i, i + 100) for text in (f"key:{n}", "x" * (n + 1))]
        assert cli(server, "mset", *pairs) == "OK\n"


def test_in_a_terminal(server, locked, tmp_path):
    arguments = [server.host, str(server.port), str(locked.port), PASSWORD, str(tmp_path)]
    done = subprocess.run(
        ["expect", "-f", str(HERE / "terminal.exp"), *arguments], capture_output=True, text=True, timeout=55, errors="replace"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "ok"


def test_replies(server):
    assert cli(server, "set", "k", "v") == "OK\n"
    assert cli(server, "get", "k") == "v\n"
    assert cli(server, "get", "none") == "\n"
    assert cli(server, "--no-raw", "get", "none") == "(nil)\n"
    assert cli(server, "--no-raw", "strlen", "k") == "(integer) 1\n"
    assert cli(server, "-n", "3", "get", "k") == "\n"
    assert cli(server, "-r", "3", "-i", "0.01", "incr", "n") == "1\n2\n3\n"
    assert cli(server, "-2", "config", "get", "maxclients").startswith("maxclients\n")
    assert cli(server, "-s", server.socket_path, "get", "k") == "v\n"
    assert cli(server, "-u", f"redis://{server.host}:{server.port}/0", "get", "k") == "v\n"


def test_errors(server):
    assert cli(server, "get") == "ERR wrong number of arguments for 'get' command\n\n"
    assert cli(server, "-e", "get", code=1, stderr="ERR wrong number of arguments for 'get' command\n") == ""
    assert "unknown command" in cli(server, "nosuch")


def test_other_formats(server):
    cli(server, "mset", "a", "1", "b", 'quo"te')
    assert cli(server, "--csv", "mget", "a", "none", "b") == '"1",NULL,"quo\\"te"\n'
    assert cli(server, "--json", "mget", "a", "none", "b") == '["1",null,"quo\\"te"]\n'
    assert json.loads(cli(server, "--json", "config", "get", "maxclients")).keys() == {"maxclients"}
    assert json.loads(cli(server, "-2", "--json", "config", "get", "maxclients"))[0] == "maxclients"
    assert cli(server, "--json", "incr", "n") == "1\n"
    assert cli(server, "--quoted-json", "set", "k", "\u00e9") == '"OK"\n'
    assert cli(server, "-3", "--no-raw", "config", "get", "maxclients").startswith('1# "maxclients" => "')


def test_input_from_a_pipe(server):
    assert cli(server, "-x", "set", "k", stdin="from stdin") == "OK\n"
    assert cli(server, "get", "k") == "from stdin\n"
    assert cli(server, "-X", "tag", "set", "tag", "v", stdin="the-key") == "OK\n"
    assert cli(server, "get", "the-key") == "v\n"
    assert cli(server, "--quoted-input", "set", '"a\\x00b"', "v") == "OK\n"
    assert cli(server, "--no-raw", "--quoted-input", "exists", '"a\\x00b"') == "(integer) 1\n"
    assert cli(server, stdin="set k 1\nincr k\nget k\n") == "OK\n2\n2\n"


def test_pipe_mode_with_10000_inserts(server):
    requests = "".join(f"*3\r\n$3\r\nSET\r\n${len(f'k{i}')}\r\nk{i}\r\n${len(str(i))}\r\n{i}\r\n" for i in range(10_000))
    assert cli(server, "--pipe", stdin=requests).splitlines()[-1] == "errors: 0, replies: 10000"
    assert cli(server, "dbsize") == "10000\n"
    assert cli(server, "get", "k9999") == "9999\n"
    lines = "".join(f"SET inline:{i} {i}\r\n" for i in range(1000)) + "INCR\r\n"
    command = ["redis-cli", "-p", str(server.port), "--pipe"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout.splitlines()[-1] == "errors: 1, replies: 1001"
    assert "wrong number of arguments" in done.stderr


def test_scan(server):
    fill(server)
    found = cli(server, "--scan", "--pattern", "key:1?").split()
    assert sorted(found) == [f"key:{n}" for n in range(10, 20)]
    assert len(set(cli(server, "--scan").split())) == 300
    assert len(set(cli(server, "--scan", "--quoted-pattern", '"key:2*"').split())) == 111


@pytest.mark.parametrize("mode", ["--bigkeys", "--memkeys"])
def test_big_keys(server, mode):
    fill(server)
    report = cli(server, mode, "-i", "0.01")
    assert "Sampled 300 keys in the keyspace!" in report
    # Keys of about one length may take the same memory, so only their lengths have one winner.
    winner = "key:299" if mode == "--bigkeys" else r"key:\d+"
    assert re.search(rf"Biggest string found '\"{winner}\"' has \d+ bytes", report), report
    assert re.search(r"300 strings with \d+ bytes \(100\.00% of keys", report), report


def test_hot_keys_want_an_lfu_policy(server):
    fill(server, 100)
    report = subprocess.run(
        ["redis-cli", "-p", str(server.port), "--hotkeys"], capture_output=True, text=True, timeout=SECONDS
    )
    assert report.returncode == 1
    assert "ERR An LFU maxmemory policy is not selected, access frequency not tracked." in report.stdout + report.stderr


def test_latency_through_a_pipe(server):
    smallest, largest, mean, samples = cli(server, "--latency", "-i", "0.3").split()
    assert int(smallest) <= float(mean) <= int(largest)
    assert int(samples) > 1
    assert len(cli(server, "--latency", "-i", "0.3", "--csv").split(",")) == 4


def test_info(server):
    fill(server, 100)
    everything = cli(server, "info")
    for section in ("Server", "Clients", "Memory", "Stats", "Replication", "CPU", "Keyspace"):
        assert f"# {section}\n" in everything.replace("\r\n", "\n")
    fields = dict(line.split(":", 1) for line in everything.splitlines() if ":" in line)
    assert re.fullmatch(r"\d+\.\d+\.\d+", fields["redis_version"])
    assert fields["tcp_port"] == str(server.port)
    assert fields["db0"].startswith("keys=100,expires=0,avg_ttl=0")
    two = cli(server, "info", "server", "keyspace")
    assert "# Server" in two and "# Keyspace" in two and "# Clients" not in two
    assert "cmdstat_mset:calls=" in cli(server, "info", "commandstats")


def test_passwords(server, locked):
    warning = "Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe.\n"
    assert cli(locked, "-a", PASSWORD, "ping", stderr=warning) == "PONG\n"
    assert cli(locked, "-a", PASSWORD, "--no-auth-warning", "ping") == "PONG\n"
    assert cli(locked, "--user", "default", "--pass", PASSWORD, "--no-auth-warning", "ping") == "PONG\n"
    assert cli(locked, "-3", "-a", PASSWORD, "--no-auth-warning", "ping") == "PONG\n"
    assert cli(locked, "ping") == "NOAUTH Authentication required.\n\n"
    wrong = "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.\n"
    assert cli(locked, "-a", "wrong", "--no-auth-warning", "ping", stderr=wrong) == "NOAUTH Authentication required.\n\n"
    none_set = (
        "AUTH failed: ERR AUTH <password> called without any password configured for the default user. "
        "Are you sure your configuration is correct?\n"
    )
    assert cli(server, "-a", "any", "--no-auth-warning", "ping", stderr=none_set) == "PONG\n"
