"""A declaration and a context in, plain values out: what a process of its own runs, so that it can be ended.

A declaration may come from a stranger. Its regular expressions are searched under a time limit (`patterns`), but many
of them together, or what they need of memory, is bounded only by whoever can end the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from knotwork.errors import ModelFailed
from knotwork.ports.models import Embeddings
from knotwork.skills.compile import CheckMode
from knotwork.skills.config import graph_from_config
from knotwork.skills.cursor import Move
from knotwork.skills.declared import read_config
from knotwork.skills.graph import SkillGraph, Step
from knotwork.skills.model import SkillContext
from knotwork.skills.scoring import Candidate, EmbeddingScorer, EntryScoring

KEPT_GRAPHS = 8  # compiled graphs a process remembers


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a declaration compiles to. `data` is `SkillGraph.as_data()`; `ok`: no error, warnings may remain."""

    ok: bool
    check: CheckMode  # as declared
    calls_model: bool  # to choose the start
    data: dict[str, Any]
    mermaid: str


@dataclass(frozen=True, slots=True)
class ActiveSkill:
    """A skill to be loaded now."""

    id: str
    instructions: str


@dataclass(frozen=True, slots=True)
class ReachableSkill:
    """A line of the menu from which the model may pick."""

    id: str
    description: str


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """One iteration. `scoring` is there where a scorer chose the start."""

    move: Move
    active: tuple[ActiveSkill, ...]
    tools: tuple[str, ...]
    reachable: tuple[ReachableSkill, ...]
    scoring: EntryScoring | None = None


@dataclass(frozen=True, slots=True)
class ToScore:
    """The start depends on an embedder, which this process does not have."""

    candidates: tuple[Candidate, ...]
    temperature: float


def inspect(declaration: str) -> Inspection:
    """Compile, check and draw, whatever `check` the declaration asks for.

    Raises:
        InvalidDeclaration: the text cannot be read.
        InvalidSkillGraph: what was read cannot be meant.
    """
    graph, check = _compiled(declaration)
    calls_model = graph.scorer is not None and graph.scorer.calls_model
    return Inspection(graph.checkup().ok, check, calls_model, graph.as_data(), graph.to_mermaid())


def evaluate(declaration: str, ctx: SkillContext, jump_to: str | None = None) -> StepAnswer | ToScore:
    """One iteration, with the start chosen by the graph's scorer where it has one and the context has none.

    Args:
        declaration: The graph.
        ctx: Of this iteration.
        jump_to: A skill that the model asks for.
    Raises as `inspect`, `SkillGraph.step`, `SkillGraph.jump` and `SkillGraph.score_entries`.
    """
    graph, _ = _compiled(declaration)
    if jump_to is not None:
        return answer(graph, graph.jump_step(ctx, jump_to))
    if graph.scorer is None or ctx.current_skill_id is not None or ctx.chosen_entry_id is not None:
        return answer(graph, graph.step(ctx))
    if isinstance(graph.scorer, EmbeddingScorer):
        return ToScore(graph.candidates(ctx), graph.scorer.temperature)
    scoring = asyncio.run(graph.score_entries(ctx))
    return answer(graph, graph.step(replace(ctx, chosen_entry_id=scoring.chosen)), scoring)


def evaluate_scored(declaration: str, ctx: SkillContext) -> StepAnswer:
    """The iteration that `evaluate` gave as ToScore, with what was chosen in the context; None where nothing was."""
    graph, _ = _compiled(declaration)
    return answer(graph, graph.step(ctx))


def answer(graph: SkillGraph, step: Step, scoring: EntryScoring | None = None) -> StepAnswer:
    """A step with what a caller needs of its skills."""
    return StepAnswer(
        step.move,
        tuple(ActiveSkill(skill_id, graph.skill(skill_id).instructions) for skill_id in step.active),
        step.tools,
        tuple(ReachableSkill(skill_id, graph.skill(skill_id).description) for skill_id in step.reachable),
        scoring,
    )


class _Elsewhere:
    """Stands for the embedder in a process that has none; `evaluate` never asks it."""

    id = "elsewhere"
    dimension = 0

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        del texts, purpose
        raise ModelFailed("no embedder is at hand here; score the entries where there is one")

    async def close(self) -> None:
        pass


@lru_cache(maxsize=KEPT_GRAPHS)
def _compiled(declaration: str) -> tuple[SkillGraph, CheckMode]:
    config = read_config(declaration, embedder=_Elsewhere())
    check = config.get("check", "throw")
    config["check"] = "off"
    return graph_from_config(config), check
