"""Mode auto: runs the built-in skill graph over one question, and tells which skill answered and why."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import structlog

from knotwork.domain.model import NO_USAGE, Passage
from knotwork.domain.question_form import form_of
from knotwork.domain.retrieval import Mode, Reader, RetrievalResult, RetrieveOptions, checked_query
from knotwork.errors import AmbiguousName, LimitReached, ModelFailed, ModelRefused, PlatformError, StoreUnavailable
from knotwork.ports.models import Embedder
from knotwork.ports.retriever import MeteredRetriever, Retriever
from knotwork.services.auto_graph import TOOL, Came, came_of, mode_graph
from knotwork.skills import EntryScoring, Move, MoveCause, SkillContext, SkillGraph, ToolResult

log = structlog.get_logger()

STEPS = 3  # searches for one question, at most
TIME_S = 30.0  # for one question, at most; a mode that asks a model may take 20

# What a mode may end with and another may do without; anything else is an error of the question, whatever the mode.
FAILURES = (StoreUnavailable, AmbiguousName, LimitReached, ModelFailed, ModelRefused)


@dataclass(frozen=True, slots=True)
class _Step:
    """One search: the move that led to it, what came back, and what of that routes look at."""

    mode: Mode
    move: Move
    came: Came
    found: RetrievalResult
    error: PlatformError | None = None


@dataclass(slots=True)
class _Turn:
    """A question under way."""

    scoring: EntryScoring | None = None
    steps: list[_Step] = field(default_factory=list[_Step])
    stopped: str | None = None  # the ceiling that ended it: "steps" or "time"

    def answer(self) -> _Step | None:
        """The last step that found passages, else the last that answered."""
        answered = [step for step in self.steps if step.error is None]
        return next((step for step in reversed(answered) if step.found.passages), answered[-1] if answered else None)


class AutoRetriever:
    """The passages of the mode to which the skill graph leads; scores are those of that mode.

    The explanation always carries the trace, under `auto`. With the packaged embedder, equal questions over equal
    stores give equal answers and traces.
    """

    def __init__(
        self,
        retrievers: Mapping[Mode, Retriever],
        embedder: Embedder,
        *,
        steps: int = STEPS,
        time_s: float = TIME_S,
    ) -> None:
        """`retrievers`: what is wired; `steps` and `time_s` are ceilings for one question."""
        self._retrievers = dict(retrievers)
        self._steps, self._time_s = steps, time_s
        self.graph: SkillGraph = mode_graph(self._retrievers, embedder)

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        return (await self.retrieve_with_usage(reader, query, options)).passages

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        """See `MeteredRetriever`; `min_score` holds on the scale of each mode that is searched.

        A mode that fails gives way to the next, and the trace names its error.

        Raises:
            LimitReached: no mode answered in the time that a question may take.
            StoreUnavailable, AmbiguousName, ModelFailed, ModelRefused: no mode answered; the last one's error.
        """
        query, turn, limit = checked_query(query), _Turn(), asyncio.timeout(self._time_s)
        try:
            async with limit:
                await self._run(turn, reader, query, options)
        except TimeoutError:
            if not limit.expired():  # not ours: a fault of whatever raised it
                raise
            turn.stopped = "time"
        answer = turn.answer()
        if answer is None:
            if turn.steps and (error := turn.steps[-1].error):
                raise error
            raise LimitReached(f"no mode answered within {self._time_s:g} s; ask again in one mode, such as keyword")
        return RetrievalResult(
            answer.found.passages,
            sum((step.found.usage for step in turn.steps), turn.scoring.usage if turn.scoring else NO_USAGE),
            {**(answer.found.explanation or {}), "auto": _trace(query, turn, answer)},
            _asked(turn),
        )

    async def _run(self, turn: _Turn, reader: Reader, query: str, options: RetrieveOptions) -> None:
        """Ask the graph and do as it says, until it stays where it is or a ceiling is reached."""
        ctx = SkillContext(query)
        turn.scoring = await self.graph.score_entries(ctx)
        ctx = replace(ctx, chosen_entry_id=turn.scoring.chosen)
        while (move := self.graph.explain(ctx)).by is not MoveCause.STAY and move.to_id is not None:
            if len(turn.steps) == self._steps:
                turn.stopped = "steps"
                return
            step = await self._search(move, Mode(move.to_id), turn, reader, query, options)
            turn.steps.append(step)
            ctx = ctx.next(move.to_id, ToolResult(TOOL, step.came))

    async def _search(
        self, move: Move, mode: Mode, turn: _Turn, reader: Reader, query: str, options: RetrieveOptions
    ) -> _Step:
        retriever = self._retrievers[mode]
        tried = [*(step.mode.value for step in turn.steps), mode.value]
        try:
            if isinstance(retriever, MeteredRetriever):
                found = await retriever.retrieve_with_usage(reader, query, options)
            else:
                found = RetrievalResult(tuple(await retriever.retrieve(reader, query, options)))
        except FAILURES as error:
            log.info("auto_mode_failed", mode=mode.value, code=error.code)
            return _Step(mode, move, Came(0, failed=error.code, tried=frozenset(tried)), RetrievalResult(()), error)
        texts = [f"{passage.metadata.get('title', '')}\n{passage.text}" for passage in found.passages]
        return _Step(mode, move, came_of(query, texts, tried=tried), found)


def _asked(turn: _Turn) -> tuple[Mode, ...]:
    """The modes searched, after auto itself where the scorer asked its model."""
    scorer = (Mode.AUTO,) if turn.scoring and turn.scoring.usage != NO_USAGE else ()
    return (*scorer, *(step.mode for step in turn.steps))


def _trace(query: str, turn: _Turn, answer: _Step) -> dict[str, object]:
    """How the answer came about, as JSON; nothing of it depends on the clock unless time ran out."""
    form, scoring = form_of(query), turn.scoring
    told: dict[str, object] = {
        "mode": answer.mode.value,
        "why": answer.move.reason,
        "question": {
            "names": list(form.names),
            "codes": list(form.codes),
            "quotations": list(form.quotations),
            "cues": sorted(cue.value for cue in form.cues),
        },
        "scored_by": scoring.scored_by if scoring else None,
        "scores": [
            {"mode": one.skill_id, "score": round(one.score, 4), "share": round(one.share, 4)}
            for one in (scoring.scores if scoring else ())
        ],
        "steps": [_told(step) for step in turn.steps],
    }
    if scoring and scoring.fallback:
        told["fallback"] = {
            "from": scoring.fallback.failed,
            "to": scoring.fallback.used,
            "reason": scoring.fallback.reason,
        }
    if turn.stopped:
        told["stopped_by"] = turn.stopped
    return told


def _told(step: _Step) -> dict[str, object]:
    """A step: the skill, the edge that led to it, and what came back."""
    edge = step.move.edge
    told: dict[str, object] = {
        "mode": step.mode.value,
        "from": step.move.from_id,
        "edge": edge.label if edge else None,
        "why": step.move.reason,
        "passages": step.came.passages,
        "best": round(step.found.passages[0].score, 4) if step.found.passages else None,
    }
    if step.error is not None:
        told["error"] = {"code": step.error.code, "message": str(step.error)}
    return told
