"""Who calls: API keys, their scopes, and whose eyes a query is answered with."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from knotwork.domain.model import EVERYONE, Subject, TenantId
from knotwork.domain.retrieval import Reader
from knotwork.errors import NotAllowed, NotAuthenticated, NotFound, SetupFailed, StoreUnavailable
from knotwork.ports.keys import ApiKey, KeyStore, Scope
from knotwork.run_ids import new_run_id

T = TypeVar("T")

SECRET_PREFIX = "kw_"  # noqa: S105 - so that a leaked key is recognised by scanners
SECRET_BYTES = 32
FIRST_KEY = "first"  # id and name of the key that the settings bring
FRESH_S = 2.0  # how long a key read from the store is believed: the longest a revoked key lives on
ANSWER_S = 2.0  # how long a call waits for the store before what was last known is believed
STALE_S = 600.0  # how long it is believed while the store does not answer


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls and what they may do. `subjects` None sees every source of the tenant."""

    tenant: TenantId
    scopes: frozenset[Scope]
    subjects: tuple[Subject, ...] | None = None

    def require(self, scope: Scope) -> None:
        """Raises: NotAllowed: the caller lacks the scope."""
        if scope not in self.scopes:
            raise NotAllowed(f"this needs the scope {scope.value!r}, which the key does not carry")

    def reader(self, acting_for: Sequence[Subject] | None = None) -> Reader:
        """With whose eyes sources are read: the caller's own, or those of an end user with exactly these subjects.

        Raises:
            NotAllowed: `acting_for` is given and the caller lacks the scope act-as.
        """
        if acting_for is not None:
            self.require(Scope.ACT_AS)
            return Reader(self.tenant, _with_everyone(acting_for))
        return Reader(self.tenant, None if self.subjects is None else _with_everyone(self.subjects))

    def may_grant(self, scopes: frozenset[Scope], subjects: Sequence[Subject] | None) -> None:
        """See that a key gives no more than its maker has.

        Raises:
            NotAllowed: a scope, or a source, would be opened that is closed to the caller.
        """
        self.require(Scope.ADMIN)
        for scope in sorted(scopes):
            self.require(scope)
        if not self.covers(subjects):
            raise NotAllowed("a key for other subjects than your own needs a key that sees every source")

    def covers(self, subjects: Sequence[Subject] | None) -> bool:
        """Whether the caller sees every source that a key for these subjects sees."""
        return self.subjects is None or (subjects is not None and set(subjects) <= {*self.subjects, EVERYONE})

    def require_whole_tenant(self) -> None:
        """Raises: NotAllowed: the caller is limited to some subjects, and what it asks concerns every source."""
        if self.subjects is not None:
            raise NotAllowed("this concerns every source of the tenant; it needs a key without subjects")


def operator(tenant: TenantId) -> Caller:
    """Whoever runs the platform: every scope, sees everything."""
    return Caller(tenant, frozenset(Scope))


class Access:
    """Makes and checks API keys. Checks are cached for moments, and for longer while the store is away."""

    def __init__(self, keys: KeyStore) -> None:
        self._keys = keys
        self._known: dict[str, tuple[float, ApiKey]] = {}
        self._guarded: tuple[float, bool] = (float("-inf"), True)

    async def create(
        self, tenant: TenantId, *, name: str, scopes: frozenset[Scope], subjects: tuple[Subject, ...] | None
    ) -> tuple[ApiKey, str]:
        """Make a key; the secret is told once and stored nowhere.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        secret = SECRET_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        key = ApiKey(new_run_id(), _hash(secret), tenant, scopes, subjects, name)
        await self._keys.put_key(key)
        self._guarded = (float("-inf"), True)
        return key, secret

    async def adopt_first(self, tenant: TenantId, secret: str) -> None:
        """Make the first key, with every scope, from a secret chosen outside; nothing happens once there was a key.

        Raises:
            SetupFailed: the secret is too short to guard anything.
        """
        if len(secret) < len(SECRET_PREFIX) + SECRET_BYTES or not secret.startswith(SECRET_PREFIX):
            raise SetupFailed(
                f"KNOTWORK_FIRST_KEY must be {SECRET_PREFIX!r} and at least {SECRET_BYTES} random characters, "
                "such as `kw_` and the output of `openssl rand -hex 32`"
            )
        if not await self._keys.is_guarded():
            await self._keys.put_key(ApiKey(FIRST_KEY, _hash(secret), tenant, frozenset(Scope), None, FIRST_KEY))

    async def list(self, caller: Caller) -> list[ApiKey]:
        """The keys of the caller's tenant that see no more than the caller, without their secrets."""
        return [key for key in await self._keys.keys(caller.tenant) if caller.covers(key.subjects)]

    async def delete(self, caller: Caller, key_id: str) -> None:
        """Revoke a key; this process forgets it at once, others within moments.

        Raises:
            NotFound: the caller's tenant has no such key, or it sees more than the caller.
        """
        if key_id not in {key.id for key in await self.list(caller)}:
            raise NotFound("key", key_id)
        self._known = {hash_: known for hash_, known in self._known.items() if known[1].id != key_id}
        if not await self._keys.delete_key(caller.tenant, key_id):
            raise NotFound("key", key_id)

    async def is_guarded(self) -> bool:
        """Whether every call needs a key: one exists, or existed, as the end of the last must not open the service.

        While the store is away: what was last known.
        """
        read_at, guarded = self._guarded
        if time.monotonic() - read_at > FRESH_S:
            with suppress(StoreUnavailable):  # and then do not ask again for a moment: each caller would wait
                guarded = await answer_soon(self._keys.is_guarded())
            self._guarded = (time.monotonic(), guarded)
        return guarded

    async def check(self, secret: str) -> Caller:
        """The caller whose key this is.

        Raises:
            NotAuthenticated: no such key.
            StoreUnavailable: the store does not answer, and the key was not seen lately.
        """
        hash_ = _hash(secret)
        read_at, key = self._known.get(hash_, (float("-inf"), None))
        age_s = time.monotonic() - read_at
        if key is None or age_s > FRESH_S:
            try:
                key = await answer_soon(self._keys.key_by_hash(hash_))
            except StoreUnavailable:
                if key is None or age_s > STALE_S:
                    raise
            else:
                if key is None:
                    self._known.pop(hash_, None)
                    raise NotAuthenticated("this API key is not known; it may have been deleted")
                self._known[hash_] = (time.monotonic(), key)
        return Caller(key.tenant, key.scopes, key.subjects)


async def answer_soon(question: Awaitable[T], *, within_s: float = ANSWER_S) -> T:
    """Neo4j's answer, or StoreUnavailable: adapters repeat a question for longer than a caller should wait."""
    try:
        async with asyncio.timeout(within_s):
            return await question
    except TimeoutError as error:
        raise StoreUnavailable("Neo4j", f"no answer within {within_s:g} s") from error


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _with_everyone(subjects: Sequence[Subject]) -> tuple[Subject, ...]:
    return tuple(sorted({*subjects, EVERYONE}))
