from __future__ import annotations

import asyncio

import pytest

from knotwork.domain.model import TenantId
from knotwork.domain.retrieval import Reader
from knotwork.errors import NotAllowed, NotAuthenticated, NotFound, SetupFailed, StoreUnavailable
from knotwork.ports.keys import ApiKey, Scope
from knotwork.services import access
from knotwork.services.access import FIRST_KEY, Access, Caller, operator

ACME = TenantId("acme")


class Keys:
    """Keys in a dict; `is_away` makes the store fail, `hangs` makes it never answer."""

    def __init__(self) -> None:
        self.by_hash: dict[str, ApiKey] = {}
        self.is_away = self.hangs = self.had_keys = False
        self.asked = 0

    async def put_key(self, key: ApiKey) -> None:
        self.by_hash[key.hash] = key
        self.had_keys = True

    async def key_by_hash(self, hash_: str) -> ApiKey | None:
        await self._answer()
        return self.by_hash.get(hash_)

    async def keys(self, tenant: TenantId) -> list[ApiKey]:
        return [key for key in self.by_hash.values() if key.tenant == tenant]

    async def delete_key(self, tenant: TenantId, key_id: str) -> bool:
        found = [hash_ for hash_, key in self.by_hash.items() if (key.tenant, key.id) == (tenant, key_id)]
        for hash_ in found:
            del self.by_hash[hash_]
        return bool(found)

    async def is_guarded(self) -> bool:
        await self._answer()
        return self.had_keys

    async def _answer(self) -> None:
        self.asked += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_away:
            raise StoreUnavailable("Neo4j", "told to be away")


async def test_a_key_is_known_by_its_secret_and_stored_without_it() -> None:
    keys = Keys()
    key, secret = await Access(keys).create(ACME, name="", scopes=frozenset({Scope.READ}), subjects=("user:a",))
    assert secret not in repr(key)
    assert await Access(keys).check(secret) == Caller(ACME, frozenset({Scope.READ}), ("user:a",))
    with pytest.raises(NotAuthenticated):
        await Access(keys).check(secret + "x")


async def test_a_revoked_key_is_refused_at_once() -> None:
    keys = Keys()
    access_ = Access(keys)
    key, secret = await access_.create(ACME, name="", scopes=frozenset({Scope.READ}), subjects=None)
    assert await access_.is_guarded()
    await access_.check(secret)
    await access_.delete(operator(ACME), key.id)
    with pytest.raises(NotAuthenticated):
        await access_.check(secret)
    assert await Access(keys).is_guarded()  # the end of the last key opens nothing


async def test_a_limited_caller_lists_and_deletes_only_keys_that_see_no_more() -> None:
    access_ = Access(Keys())
    made = {
        name: (await access_.create(ACME, name=name, scopes=frozenset({Scope.READ}), subjects=subjects))[0]
        for name, subjects in {"all": None, "a": ("user:a",), "b": ("user:b",), "everyone": ("*",)}.items()
    }
    limited = Caller(ACME, frozenset({Scope.ADMIN}), ("user:a",))
    assert {key.name for key in await access_.list(limited)} == {"a", "everyone"}
    for name in ("all", "b"):
        with pytest.raises(NotFound):
            await access_.delete(limited, made[name].id)
    await access_.delete(limited, made["a"].id)
    assert {key.name for key in await access_.list(operator(ACME))} == {"all", "b", "everyone"}


def test_what_concerns_every_source_needs_a_caller_who_sees_them_all() -> None:
    operator(ACME).require_whole_tenant()
    with pytest.raises(NotAllowed):
        Caller(ACME, frozenset(Scope), ("*",)).require_whole_tenant()


async def test_while_the_store_is_away_known_keys_are_believed_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = Keys()
    access_ = Access(keys)
    _, secret = await access_.create(ACME, name="", scopes=frozenset({Scope.READ}), subjects=None)
    await access_.check(secret)
    monkeypatch.setattr(access, "FRESH_S", -1.0)
    keys.is_away = True
    assert (await access_.check(secret)).tenant == ACME
    with pytest.raises(StoreUnavailable):
        await access_.check("kw_other")


async def test_a_service_that_never_read_its_keys_is_guarded() -> None:
    keys = Keys()
    keys.is_away = True
    assert await Access(keys).is_guarded()


async def test_a_store_that_hangs_delays_one_call_for_a_moment_and_the_next_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "ANSWER_S", 0.01)
    keys = Keys()
    keys.hangs = True
    access_ = Access(keys)
    assert await access_.is_guarded()
    assert await access_.is_guarded()
    assert keys.asked == 1


@pytest.mark.parametrize(
    ("scopes", "subjects", "granted"),
    [
        ({Scope.READ}, ("user:a",), True),
        ({Scope.READ}, ("*", "user:a"), True),
        ({Scope.READ, Scope.ADMIN}, ("user:a",), True),
        ({Scope.ACT_AS}, ("user:a",), False),
        ({Scope.READ}, ("user:b",), False),
        ({Scope.READ}, None, False),
    ],
)
def test_a_key_never_gives_more_than_its_maker_has(
    scopes: set[Scope], subjects: tuple[str, ...] | None, *, granted: bool
) -> None:
    maker = Caller(ACME, frozenset({Scope.READ, Scope.ADMIN}), ("user:a",))
    if granted:
        maker.may_grant(frozenset(scopes), subjects)
    else:
        with pytest.raises(NotAllowed):
            maker.may_grant(frozenset(scopes), subjects)


def test_the_operator_grants_all_and_sees_all() -> None:
    operator(ACME).may_grant(frozenset(Scope), None)
    assert operator(ACME).reader() == Reader(ACME, None)


def test_an_end_user_is_read_for_with_exactly_their_subjects_and_everyones() -> None:
    page = Caller(ACME, frozenset({Scope.READ, Scope.ACT_AS}), ("group:page",))
    assert page.reader(()) == Reader(ACME, ("*",))
    assert page.reader(("user:a",)) == Reader(ACME, ("*", "user:a"))
    assert page.reader() == Reader(ACME, ("*", "group:page"))
    with pytest.raises(NotAllowed):
        Caller(ACME, frozenset({Scope.READ})).reader(("user:a",))


async def test_the_first_key_is_made_from_the_settings_until_there_was_a_key() -> None:
    keys, secret = Keys(), "kw_" + "0123456789abcdef" * 2
    await Access(keys).adopt_first(ACME, secret)
    assert await Access(keys).check(secret) == Caller(ACME, frozenset(Scope), None)
    await Access(keys).adopt_first(ACME, secret.replace("0", "1"))
    assert len(keys.by_hash) == 1
    await Access(keys).delete(operator(ACME), FIRST_KEY)
    await Access(keys).adopt_first(ACME, secret)  # the next start
    assert not keys.by_hash


@pytest.mark.parametrize("secret", ["", "kw_short", "0123456789abcdef" * 3])
async def test_a_first_key_that_guards_nothing_is_refused(secret: str) -> None:
    with pytest.raises(SetupFailed):
        await Access(Keys()).adopt_first(ACME, secret)
