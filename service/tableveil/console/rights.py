"""The calls that a visitor's roles allow: no link leads to one that the service would refuse."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from tableveil import v1
from tableveil.v1 import access_pb2
from tableveil.v1.admin_service_pb2 import ServerInfo

Link = tuple[str, str, str]
"""A page's address, its name, and the method that it calls."""

_MENU: tuple[Link, ...] = (
    ("/releases", "Releases", "ListReleases"),
    ("/jobs", "Jobs", "ListJobs"),
    ("/approvals", "Approvals", "ApproveRelease"),
    ("/tables", "Tables", "ListTables"),
    ("/worksheets", "Worksheets", "ListWorksheets"),
    ("/server", "Server", "GetServerInfo"),
)


@dataclass(frozen=True, slots=True)
class Rights:
    """The roles that somebody has anywhere, and those on the whole server."""

    roles: frozenset[int] = frozenset()
    server_roles: frozenset[int] = frozenset()

    @classmethod
    def of(cls, info: ServerInfo) -> Rights:
        """The rights that the service tells a caller."""
        return cls(frozenset(info.roles), frozenset(info.server_roles))

    @property
    def menu(self) -> list[Link]:
        """The links of the menu."""
        return self.among(_MENU)

    def among(self, links: Iterable[Link]) -> list[Link]:
        """The links whose methods these roles allow."""
        return [link for link in links if self.allow(link[2])]

    def allow(self, method: str) -> bool:
        """Whether these roles may call the method."""
        access = _declared()[method]
        return not (self.server_roles if access.whole_server else self.roles).isdisjoint(access.roles)


@cache
def _declared() -> Mapping[str, access_pb2.Access]:
    """The access to each method by its name, as the protos declare it."""
    modules = [module.name for module in pkgutil.iter_modules(v1.__path__) if module.name.endswith("_service_pb2")]
    return {
        method.name: method.GetOptions().Extensions[access_pb2.access]
        for name in modules
        for service in import_module(f"tableveil.v1.{name}").DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
