"""Skill graphs of a tenant: kept in versions, checked, drawn, and stepped through without a state of ours.

Declarations are strangers' texts. Whatever compiles or evaluates one runs in a worker process under limits of time and
memory, so that a runaway expression delays neither this process nor any other kind of work.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, TypeVarTuple

from knotwork.domain.ids import content_hash
from knotwork.domain.model import TenantId
from knotwork.domain.normalise import clean_text
from knotwork.domain.skill_graphs import Drawing, DrawnEdge, DrawnNode, GraphVersion, StoredGraph, checked_graph_name
from knotwork.errors import ModelFailed, NotFound
from knotwork.ports.models import Embedder
from knotwork.ports.skill_store import SkillStore
from knotwork.skills.checkup import Level
from knotwork.skills.errors import InvalidSkillGraph, PredicateFailed
from knotwork.skills.evaluation import Inspection, StepAnswer, ToScore, evaluate, evaluate_scored, inspect
from knotwork.skills.model import SkillContext
from knotwork.skills.scoring import EmbeddingScorer, EntryScoring, score_candidates

Args = TypeVarTuple("Args")
Result = TypeVar("Result")

KEPT_SCORERS = 64  # graphs whose descriptions' vectors are remembered; without, each start embeds them all anew
SHOWN_ERRORS = 5


class Pool(Protocol):
    """Runs functions in worker processes."""

    async def run(self, function: Callable[[*Args], Result], *args: *Args, timeout_s: float | None = None) -> Result:
        """Call a module-level function in a worker.

        Raises:
            ModelFailed: it took too long, ended its process, or failed with an error that is not the platform's.
        """
        ...


@dataclass(frozen=True, slots=True)
class PutGraph:
    """A graph as it was put: its version, whether that changed anything, and what the check-up says of it."""

    version: GraphVersion
    changed: bool
    inspection: Inspection


@dataclass(frozen=True, slots=True)
class Stepped:
    """One iteration, and the version that decided it."""

    version: GraphVersion
    answer: StepAnswer


class SkillGraphs:
    """The skill graphs of one platform."""

    def __init__(self, *, store: SkillStore, pool: Pool, embedder: Embedder, timeout_s: float) -> None:
        """`timeout_s` is for one evaluation; waiting for a free worker is not counted."""
        self._store, self._pool, self._embedder, self._timeout_s = store, pool, embedder, timeout_s
        self._scorers: OrderedDict[tuple[TenantId, str], EmbeddingScorer] = OrderedDict()

    async def put(self, tenant: TenantId, name: str, declaration: str) -> PutGraph:
        """Make a declaration the present version of a graph; equal content changes nothing.

        Raises:
            InvalidDeclaration: the text cannot be read.
            InvalidSkillGraph: it has errors, and asks (`check: throw`, the default) not to be taken with them.
            InvalidInput: the name is not usable.
            UnknownTenant: there is no such tenant.
        """
        name, declaration = checked_graph_name(name), clean_text(declaration)
        found = await self.check(declaration)
        if found.check == "throw" and not found.ok:
            errors = [one["message"] for one in found.data["problems"] if one["level"] == Level.ERROR.value]
            more = f" (and {len(errors) - SHOWN_ERRORS} more)" if len(errors) > SHOWN_ERRORS else ""
            raise InvalidSkillGraph(f"the graph has errors: {'; '.join(errors[:SHOWN_ERRORS])}{more}")
        version, changed = await self._store.put_graph(
            tenant, name, version=content_hash(declaration), declaration=declaration, drawing=_drawing(found.data)
        )
        return PutGraph(version, changed, found)

    async def get(self, tenant: TenantId, name: str, version: str | None = None) -> StoredGraph:
        """A version of a graph, the present one unless named.

        Raises:
            NotFound: the tenant has none such.
        """
        found = await self._store.graph(tenant, clean_text(name), None if version is None else clean_text(version))
        if found is None:
            raise NotFound("skill graph", name if version is None else f"{name} in version {version}")
        return found

    async def versions(self, tenant: TenantId, name: str) -> list[GraphVersion]:
        """All versions of a graph, by number."""
        return await self._store.versions(tenant, clean_text(name))

    async def list(self, tenant: TenantId, *, after: str = "", limit: int = 100) -> list[GraphVersion]:
        """The tenant's graphs, by name."""
        return await self._store.graphs(tenant, after=after, limit=limit)

    async def delete(self, tenant: TenantId, name: str) -> None:
        """Remove a graph with all its versions.

        Raises:
            NotFound: the tenant has none such.
        """
        if not await self._store.delete_graph(tenant, clean_text(name)):
            raise NotFound("skill graph", name)

    async def check(self, declaration: str) -> Inspection:
        """What a declaration compiles to, its problems and its drawing; nothing is stored.

        Raises:
            InvalidDeclaration: the text cannot be read.
            InvalidSkillGraph: it cannot be meant, or takes too long or too much memory to compile.
        """
        try:
            return await self._pool.run(inspect, clean_text(declaration), timeout_s=self._timeout_s)
        except ModelFailed as error:  # the pool's word for a call that took too long, ended its process, or failed
            raise InvalidSkillGraph(
                f"the graph could not be compiled ({error}); make it, or its regular expressions, smaller"
            ) from error

    async def inspect(self, tenant: TenantId, name: str, version: str | None = None) -> Inspection:
        """`check` of a stored version. Raises as `get` and `check`."""
        return await self.check((await self.get(tenant, name, version)).declaration)

    async def step(
        self,
        tenant: TenantId,
        name: str,
        ctx: SkillContext,
        *,
        version: str | None = None,
        jump_to: str | None = None,
    ) -> Stepped:
        """One iteration of a conversation whose state is all in `ctx`.

        A graph with a scorer that stands at its start, and has no `chosen_entry_id` yet, is scored first.

        Raises:
            NotFound: the tenant has no such graph or version.
            UnknownSkill: the cursor names a skill that the graph does not hold.
            JumpRefused: `jump_to` or `chosen_entry_id` is not reachable.
            PredicateFailed: a condition failed, or all of them together took too long.
            ScoringFailed: a scorer's answer is unusable.
        """
        stored = await self.get(tenant, name, version)
        found = await self._run(evaluate, stored.declaration, ctx, jump_to)
        if isinstance(found, StepAnswer):
            return Stepped(stored.version, found)
        scoring = await self._score(tenant, stored.version.version, ctx.user_message, found)
        chosen = replace(ctx, chosen_entry_id=scoring.chosen)
        answer = await self._run(evaluate_scored, stored.declaration, chosen)
        return Stepped(stored.version, replace(answer, scoring=scoring))

    async def _run(self, function: Callable[[*Args], Result], *args: *Args) -> Result:
        try:
            return await self._pool.run(function, *args, timeout_s=self._timeout_s)
        except ModelFailed as error:  # as in `check`
            raise PredicateFailed("this graph", f"{error}; simplify its regular expressions") from error

    async def _score(self, tenant: TenantId, version: str, message: str, asked: ToScore) -> EntryScoring:
        """By a scorer that remembers what it embedded for this version; never for another tenant's."""
        scorer = self._scorers.pop((tenant, version), None) or EmbeddingScorer(self._embedder, asked.temperature)
        self._scorers[tenant, version] = scorer  # at the end: the one not used for longest goes first
        if len(self._scorers) > KEPT_SCORERS:
            self._scorers.popitem(last=False)
        return await score_candidates(scorer, message, asked.candidates)


def _drawing(data: dict[str, Any]) -> Drawing:
    """The nodes and edges of `SkillGraph.as_data()`."""
    descriptions = {skill["id"]: skill["description"] for skill in data["skills"]}
    return Drawing(
        [
            DrawnNode(node["id"], node["kind"], node["label"], descriptions.get(node["id"], ""))
            for node in data["nodes"]
        ],
        [DrawnEdge(edge["from"], edge["to"], edge["kind"], edge["label"]) for edge in data["edges"]],
    )
