"""API keys: only their hashes are stored."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from knotwork.domain.model import Subject, TenantId


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"  # tenants, settings and keys
    ACT_AS = "act-as"  # may pass an end user's auth subjects


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as stored. `subjects` None: sees every source of the tenant."""

    id: str
    hash: str  # SHA-256 of the secret, hex; the secret has 256 random bits, so no slow hash is needed
    tenant: TenantId
    scopes: frozenset[Scope]
    subjects: tuple[Subject, ...] | None = None
    name: str = ""


class KeyStore(Protocol):
    """Every method raises StoreUnavailable when the store does not answer."""

    async def put_key(self, key: ApiKey) -> None:
        """Store a key, in place of one of the same id; from the first one on the store is guarded.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        ...

    async def key_by_hash(self, hash_: str) -> ApiKey | None: ...

    async def keys(self, tenant: TenantId) -> list[ApiKey]:
        """The tenant's keys, by id."""
        ...

    async def delete_key(self, tenant: TenantId, key_id: str) -> bool:
        """Whether there was such a key."""
        ...

    async def is_guarded(self) -> bool:
        """Whether a key of any tenant exists or ever existed; neither its end nor its tenant's changes that."""
        ...
