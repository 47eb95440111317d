"""The two libraries, in both protocols, as one parameter: every test that takes `client` runs four times."""

from dataclasses import dataclass
from types import ModuleType

import pytest
import redis
import redis.asyncio
import valkey
import valkey.asyncio


@dataclass(frozen=True)
class Library:
    module: ModuleType
    name: str
    protocol: int

    @property
    def sync(self):
        return getattr(self.module, self.name)

    @property
    def asyncio(self):
        return getattr(self.module.asyncio, self.name)

    @property
    def pool(self):
        return self.module.ConnectionPool

    def open(self, server, **options):
        return self.sync(host=server.host, port=server.port, protocol=self.protocol, **options)

    def open_async(self, server, **options):
        return self.asyncio(host=server.host, port=server.port, protocol=self.protocol, **options)


LIBRARIES = [Library(module, name, protocol) for module, name in ((redis, "Redis"), (valkey, "Valkey")) for protocol in (2, 3)]


@pytest.fixture(params=LIBRARIES, ids=lambda library: f"{library.module.__name__}-resp{library.protocol}")
def library(request):
    return request.param


@pytest.fixture
def client(library, server):
    with library.open(server) as opened:
        yield opened
