"""The service of skill graphs over the store in memory: what is kept, what is refused, and who is asked for scores."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, Literal

import pytest

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.api.problems import STATUS
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import TenantId
from knotwork.errors import InvalidInput, ModelFailed, NotFound, PlatformError
from knotwork.ports.models import Embeddings
from knotwork.services.skill_graphs import SkillGraphs
from knotwork.skills import InvalidSkillGraph, PredicateFailed, SkillContext, errors
from knotwork.skills.errors import InvalidDeclaration, JumpRefused, ScoringFailed, UnknownSkill
from support.stores import Stores, memory_stores, new_tenant

MENU = """skills: [{id: a, description: herons wait}, {id: b, description: quolls hunt}]
start: {entries: [a, {use: b, when: 'metadata.quolls != false'}], by_relevance: true}
"""


class Here:
    """Runs functions in threads of this process; `lost` makes each call fail as one that was ended."""

    lost = False

    async def run(self, function: Callable[..., Any], *args: Any, timeout_s: float | None = None) -> Any:
        assert timeout_s == 1.5
        if self.lost:
            raise ModelFailed("evaluate took over 1.5 s and was ended")
        return await asyncio.to_thread(function, *args)


class CountingEmbedder(HashEmbedder):
    """Notes what it embeds; `fails` makes it fail."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.fails = False

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        self.asked += texts
        if self.fails:
            raise ModelFailed("away")
        return await super().embed(texts, purpose=purpose)


class World:
    """A service, its parts, and a tenant."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.pool, self.embedder = stores, Here(), CountingEmbedder()
        self.graphs = SkillGraphs(store=stores.skills, pool=self.pool, embedder=self.embedder, timeout_s=1.5)

    async def tenant(self) -> TenantId:
        tenant = new_tenant()
        await self.stores.catalogue.put_tenant(tenant, TenantSettings())
        return tenant


@pytest.fixture
def world() -> World:
    return World(memory_stores())


async def test_the_embedder_is_asked_once_for_a_description_and_for_each_message(world: World) -> None:
    tenant = await world.tenant()
    await world.graphs.put(tenant, "menu", MENU)
    assert world.embedder.asked == []
    for message in ("quolls hunt", "herons wait"):
        stepped = await world.graphs.step(tenant, "menu", SkillContext(message))
        assert stepped.answer.scoring is not None
        assert stepped.answer.move.to_id == stepped.answer.scoring.chosen
    assert world.embedder.asked == ["quolls hunt", "herons wait", "quolls hunt", "herons wait"]


async def test_what_one_tenant_had_embedded_is_not_used_for_another(world: World) -> None:
    for tenant in (await world.tenant(), await world.tenant()):
        world.embedder.asked.clear()
        await world.graphs.put(tenant, "menu", MENU)
        await world.graphs.step(tenant, "menu", SkillContext("quolls hunt"))
        assert len(world.embedder.asked) == 3


async def test_only_entries_that_match_are_scored_and_without_any_nobody_is_asked(world: World) -> None:
    tenant = await world.tenant()
    await world.graphs.put(tenant, "menu", MENU)
    stepped = await world.graphs.step(tenant, "menu", SkillContext("quolls hunt", metadata={"quolls": False}))
    assert stepped.answer.move.to_id == "a"
    world.embedder.asked.clear()
    only_b = MENU.replace("entries: [a, {", "entries: [{")
    await world.graphs.put(tenant, "menu", only_b)
    stepped = await world.graphs.step(tenant, "menu", SkillContext("quolls", metadata={"quolls": False}))
    assert stepped.answer.move.to_id is None
    assert world.embedder.asked == []


async def test_a_cursor_or_a_choice_of_the_caller_needs_no_embedder(world: World) -> None:
    tenant = await world.tenant()
    await world.graphs.put(tenant, "menu", MENU)
    for ctx in (SkillContext("x", current_skill_id="b"), SkillContext("x", chosen_entry_id="b")):
        stepped = await world.graphs.step(tenant, "menu", ctx)
        assert (stepped.answer.move.to_id, stepped.answer.scoring) == ("b", None)
    assert (await world.graphs.step(tenant, "menu", SkillContext(), jump_to="a")).answer.move.to_id == "a"
    assert world.embedder.asked == []


async def test_an_embedder_that_fails_is_named_and_keywords_decide(world: World) -> None:
    tenant = await world.tenant()
    await world.graphs.put(tenant, "menu", MENU)
    world.embedder.fails = True
    scoring = (await world.graphs.step(tenant, "menu", SkillContext("quolls hunt"))).answer.scoring
    assert scoring is not None
    assert (scoring.chosen, scoring.scored_by) == ("b", "keyword")
    assert scoring.fallback is not None
    assert "away" in scoring.fallback.reason


async def test_an_evaluation_that_was_ended_is_the_graphs_fault(world: World) -> None:
    tenant = await world.tenant()
    await world.graphs.put(tenant, "menu", MENU)
    world.pool.lost = True
    with pytest.raises(PredicateFailed, match="simplify"):
        await world.graphs.step(tenant, "menu", SkillContext("x", current_skill_id="a"))
    with pytest.raises(InvalidSkillGraph, match="smaller"):
        await world.graphs.put(tenant, "menu", MENU)


async def test_a_graph_with_errors_changes_nothing(world: World) -> None:
    tenant = await world.tenant()
    before = await world.graphs.put(tenant, "menu", MENU)
    with pytest.raises(InvalidSkillGraph, match="'c'"):
        await world.graphs.put(tenant, "menu", MENU.replace("[a,", "[c,"))
    with pytest.raises(InvalidDeclaration):
        await world.graphs.put(tenant, "menu", "[")
    assert await world.graphs.versions(tenant, "menu") == [before.version]


@pytest.mark.parametrize("name", ["", " a", "a ", "a/b", "a\nb", "a\u202eb", "x" * 201])
async def test_a_name_of_no_use_is_refused(world: World, name: str) -> None:
    with pytest.raises(InvalidInput):
        await world.graphs.put(await world.tenant(), name, MENU)


@pytest.mark.parametrize("name", ["a", "on call", "当番", "हिन्दी", "😀", ".", "a:b"])
async def test_a_name_of_any_script_is_kept(world: World, name: str) -> None:
    tenant = await world.tenant()
    await world.graphs.put(tenant, name, MENU)
    assert (await world.graphs.get(tenant, name)).declaration == MENU


async def test_a_version_that_is_not_kept_is_not_found(world: World) -> None:
    tenant = await world.tenant()
    await world.graphs.put(tenant, "menu", MENU)
    with pytest.raises(NotFound):
        await world.graphs.get(tenant, "menu", "0" * 64)
    with pytest.raises(NotFound):
        await world.graphs.step(await world.tenant(), "menu", SkillContext())


def test_every_error_of_a_graph_has_a_status() -> None:
    kinds = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, PlatformError)]
    assert len(kinds) > 6
    for kind in kinds:
        assert HTTPStatus(STATUS[kind.code]) >= HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize(
    "error",
    [
        InvalidDeclaration("no", line=2, column=3),
        UnknownSkill("a", known=["b"]),
        JumpRefused(None, "a", reachable=["b"]),
        PredicateFailed("route", "no"),
        ScoringFailed("keyword", "no"),
        NotFound("graph", "a"),
    ],
    ids=lambda error: error.code,
)
def test_an_error_crosses_the_border_of_a_process_whole(error: PlatformError) -> None:
    there = pickle.loads(pickle.dumps(error))
    assert (type(there), str(there), vars(there)) == (type(error), str(error), vars(error))
