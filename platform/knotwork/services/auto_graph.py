"""The built-in skill graph: one skill for each mode that is wired, and every decision that mode auto takes.

Entries are scored on the question, routes go by what came back. Whoever runs the graph (`services/auto.py`) asks it
which mode is next, and chooses nothing itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from unicodedata import normalize

from knotwork.domain.question_form import Cue, form_of
from knotwork.domain.retrieval import Mode
from knotwork.ports.models import Embedder
from knotwork.services.auto_scoring import QuestionScorer
from knotwork.services.auto_ways import WAYS
from knotwork.skills import Skill, SkillContext, SkillGraph, ToolResult, skill_graph
from knotwork.skills.model import ContextPredicate

TOOL = "retrieve"  # the one tool of each skill: it searches in the skill's mode
SEVERAL = 2
LOOKED_AT = 5  # passages, the best ones: what is decided must not depend on how many are asked for

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Came:
    """What a search brought, as far as routes look at it.

    `failed` is the code of the error that took the place of an answer. `unmet`: the question names several things, one
    of which stands in no passage. `missing`: none of its codes and quotations stands in a passage. `tried` are
    the modes searched in this turn, this one included.
    """

    passages: int
    failed: str | None = None
    unmet: bool = False
    missing: bool = False
    tried: frozenset[str] = frozenset()


def came_of(question: str, texts: Sequence[str], *, tried: Iterable[str]) -> Came:
    """What these passages, best first, each with its title, are to a question."""
    form = form_of(question)
    spoken = [f" {_words(text)} " for text in texts[:LOOKED_AT]]

    def stands(part: str) -> bool:
        return any(f" {_words(part)} " in text for text in spoken)

    named, exact = [*form.names, *form.codes], [*form.codes, *form.quotations]
    return Came(
        passages=len(texts),
        unmet=len(named) >= SEVERAL and not all(map(stands, named)),
        missing=bool(exact) and not any(map(stands, exact)),
        tried=frozenset(tried),
    )


def _words(text: str) -> str:
    """The words of a text in one spelling, cheaper than names are compared: a whole passage is read."""
    return " ".join(_WORD.findall(normalize("NFKC", text).casefold()))


def _nothing(came: Came) -> bool:
    return came.passages == 0 or came.failed is not None


def _unmet(came: Came) -> bool:
    return came.unmet


def _missing(came: Came) -> bool:
    return _nothing(came) or came.missing


# (from, to, label, condition on what came back), in the order in which the routes of a skill are asked.
ROUTES: Sequence[tuple[Mode, Mode, str, Callable[[Came], bool]]] = (
    (Mode.KEYWORD, Mode.HYBRID, "nothing has these words or this code", _missing),
    (Mode.PATHS, Mode.LOCAL, "no path between the names", _nothing),
    (Mode.PATHS, Mode.HYBRID, "no path between the names", _nothing),
    (Mode.NAVIGATE, Mode.HYBRID, "nothing in the documents chosen", _nothing),
    (Mode.LOCAL, Mode.HYBRID, "nothing found", _nothing),
    (Mode.GLOBAL, Mode.LOCAL, "nothing found", _nothing),
    (Mode.GLOBAL, Mode.HYBRID, "nothing found", _nothing),
    (Mode.HYBRID, Mode.LOCAL, "one of several names is in no passage", _unmet),
    (Mode.HYBRID, Mode.KEYWORD, "nothing found", _nothing),
    (Mode.SEMANTIC, Mode.LOCAL, "one of several names is in no passage", _unmet),
    (Mode.SEMANTIC, Mode.HYBRID, "nothing found", _nothing),
    (Mode.SEMANTIC, Mode.KEYWORD, "nothing found", _nothing),
)


def mode_graph(modes: Iterable[Mode], embedder: Embedder, *, likeness: float = 1.0) -> SkillGraph:
    """The graph over the modes that are wired; a mode that is not leaves its skill, entry and routes out.

    A skill's id is its mode. An entry's condition is left out where no mode without one is wired, so that every
    question has a start. A route leads to no mode that was tried in this turn.

    Args:
        modes: At least one that `WAYS` holds; `auto` itself and others are passed over.
        embedder: Compares questions with the examples of each mode.
        likeness: What a cosine of 1 with an example is worth, in points of cues.
    """
    wired = frozenset(modes)
    ways = [way for way in WAYS if way.mode in wired]
    builder = skill_graph().entry_by(QuestionScorer(embedder, {way.mode.value: way for way in ways}, likeness))
    has_open = any(not way.only_if for way in ways)
    for way in ways:
        when = _shows(way.only_if) if way.only_if and has_open else None
        builder.entry(Skill(way.mode.value, description=way.description, tools=(TOOL,)), when=when, label=way.label)
    for place, (start, end, label, condition) in enumerate(ROUTES):
        if {start, end} <= wired:
            builder.route(
                start.value, end.value, on_tool_return=TOOL, when=_leads(end, condition), label=label, priority=place
            )
    return builder.build(check="throw")


def _shows(cues: frozenset[Cue]) -> ContextPredicate:
    def holds(ctx: SkillContext) -> bool:
        return not cues.isdisjoint(form_of(ctx.user_message).cues)

    return holds


def _leads(end: Mode, condition: Callable[[Came], bool]) -> Callable[[ToolResult], bool]:
    def holds(last: ToolResult) -> bool:
        came: Came = last.result
        return end.value not in came.tried and condition(came)

    return holds
