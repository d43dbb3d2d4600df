"""What each tenant may use, in `access/tenants.json` of a data directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headgate.model import HeadgateError, check_name
from headgate.server.access import files
from headgate.server.access.tokens import check_tenant
from headgate.spark.store.directory import ACCESS

FILE, KIND = "tenants.json", "tenants"
ALL_CLASSES = "*"


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """What a tenant may use; these are the values of one for which nothing was set."""

    queries: int = 20  # that it may have at a time
    rows: int = 1_000_000  # of results that are kept
    waiting: int = 500_000  # tuples that wait for its queries
    bytes_per_minute: int = 50_000_000  # that it may push
    classes: tuple[str, ...] = (ALL_CLASSES,)  # that it may use; "*" for all

    def __post_init__(self) -> None:
        for name in ("queries", "rows", "waiting", "bytes_per_minute"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
                raise HeadgateError(f"{name} must be a whole number from 0, found {value}", hint="write for example 20")
        for name in self.classes:
            if name != ALL_CLASSES:
                check_name(name, "the name of a class")

    @property
    def allowed(self) -> frozenset[str] | None:
        """The classes, None for all."""
        return None if ALL_CLASSES in self.classes else frozenset(self.classes)

    def to_json(self) -> dict[str, Any]:
        """As it is stored and shown."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> TenantLimits:
        return cls(**{**entry, "classes": tuple(entry["classes"])})


class TenantFile:
    """Sets and reads tenants' limits; a server that reads the same file notices it at the next request."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._watched = files.Watched(directory / ACCESS / FILE, KIND, _read)

    def all(self) -> Mapping[str, TenantLimits]:
        """The tenants for which something was set."""
        return self._watched.value()

    def limits(self, tenant: str) -> TenantLimits:
        """What a tenant may use."""
        return self.all().get(tenant, TenantLimits())

    def set(self, tenant: str, **changes: Any) -> TenantLimits:
        """Change some limits of a tenant; the others stay."""
        check_tenant(tenant)
        with files.changing(self._directory) as folder:
            tenants = dict(_read(files.read(folder / FILE, KIND)))
            tenants[tenant] = replace(tenants.get(tenant, TenantLimits()), **changes)
            files.write(folder / FILE, KIND, {name: limits.to_json() for name, limits in tenants.items()})
        return tenants[tenant]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _read(content: Any) -> Mapping[str, TenantLimits]:
    return MappingProxyType({name: TenantLimits.from_json(entry) for name, entry in (content or {}).items()})
