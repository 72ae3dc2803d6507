"""Random graphs for the laws of the skill graph, each declared as plain data that both forms can be made of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hypothesis import strategies as st

from knotwork.skills import (
    GraphConfig,
    Skill,
    SkillContext,
    SkillGraph,
    StartAt,
    StepConfig,
    ToolResult,
    function_scorer,
    graph_from_config,
    skill_graph,
)

WORDS = ("red", "green", "blue")
TOOLS = ("search", "search_all", "close")
RESULTS = (0, 1, 2)


def says(word: str) -> Callable[[SkillContext], bool]:
    return lambda ctx: word in ctx.user_message.split()


def gave(value: int) -> Callable[[ToolResult], bool]:
    return lambda last: last.result == value


ENTRY_CONDITIONS = (None, *(says(word) for word in WORDS))
RESULT_CONDITIONS = tuple(gave(value) for value in RESULTS)
TOOL_CONDITIONS = (*TOOLS, re.compile("^search"), re.compile("l"))
SCORER = function_scorer(lambda message, candidate: float(len(candidate.skill_id)), name="by length")


Choice: TypeAlias = Literal["first-match", "scorer", "read"]
CHOICES: tuple[Choice, ...] = ("first-match", "scorer", "read")


@dataclass(frozen=True)
class PlainRoute:
    from_id: str
    to_id: str
    when: Callable[[ToolResult], bool] | None
    on_tool_return: Any
    label: str | None
    priority: int | None


@dataclass(frozen=True)
class PlainGraph:
    """A flat graph as data. `unlisted` ids are wired without being among the skills."""

    skills: tuple[Skill, ...]
    entries: tuple[tuple[str, Callable[[SkillContext], bool] | None, str | None], ...]
    routes: tuple[PlainRoute, ...]
    choice: Choice

    def as_config(self) -> SkillGraph:
        config: GraphConfig = {"skills": self.skills, "check": "off"}
        starts = [_start_at(*entry) for entry in self.entries]
        if self.choice == "scorer":
            config["start"] = {"entries": starts, "scored_by": SCORER}
        elif self.choice == "read":
            config["start"] = {"entries": starts}
        elif starts:
            config["start"] = {"rules": starts}
        config["steps"] = [_step(route) for route in self.routes]
        return graph_from_config(config)

    def as_builder(self, order: list[int] | None = None) -> SkillGraph:
        """Declared call by call; `order` interleaves the calls, each kind in its own order."""
        builder = skill_graph()
        calls: list[list[Callable[[], object]]] = [
            [lambda skill=skill: builder.skill(skill) for skill in self.skills],
            [lambda entry=entry: builder.entry(entry[0], when=entry[1], label=entry[2]) for entry in self.entries],
            [
                lambda route=route: builder.route(
                    route.from_id,
                    route.to_id,
                    when=route.when,
                    on_tool_return=route.on_tool_return,
                    label=route.label,
                    priority=route.priority,
                )
                for route in self.routes
            ],
        ]
        for kind in order or []:
            if calls[kind]:
                calls[kind].pop(0)()
        for rest in calls:
            for call in rest:
                call()
        if self.choice == "scorer":
            builder.entry_by(SCORER)
        elif self.choice == "read":
            builder.entry_by_read()
        return builder.build(check="off")


def _start_at(skill_id: str, when: Callable[[SkillContext], bool] | None, label: str | None) -> StartAt:
    start: StartAt = {"use": skill_id}
    if when is not None:
        start["when"] = when
    if label is not None:
        start["label"] = label
    return start


def _step(route: PlainRoute) -> StepConfig:
    step: StepConfig = {"from": route.from_id, "to": route.to_id}
    if route.when is not None:
        step["when"] = route.when
    if route.on_tool_return is not None:
        step["on_tool_return"] = route.on_tool_return
    if route.label is not None:
        step["label"] = route.label
    if route.priority is not None:
        step["priority"] = route.priority
    return step


def labels() -> st.SearchStrategy[str | None]:
    return st.none() | st.text(min_size=1, max_size=8)


@st.composite
def plain_graphs(draw: st.DrawFn, *, sound: bool = False, odd_ids: bool = False) -> PlainGraph:
    """Flat graphs of a few skills and many routes, so that routes compete.

    `sound`: every edge's ends are listed, and there is an entry. `odd_ids`: ids of any characters.
    """
    names = st.text(min_size=1, max_size=4).filter(str.strip) if odd_ids else st.sampled_from("abcd")
    ids = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    skills = tuple(Skill(skill_id, description=f"about {skill_id}") for skill_id in ids)
    ends = st.sampled_from(ids if sound else [*ids, "missing"])
    entries = draw(
        st.lists(st.tuples(ends, st.sampled_from(ENTRY_CONDITIONS), labels()), min_size=1 if sound else 0, max_size=4)
    )
    routes = draw(st.lists(_routes(ends), max_size=12))
    choice = draw(st.sampled_from(CHOICES))
    return PlainGraph(skills, tuple(entries), tuple(routes), choice)


@st.composite
def _routes(draw: st.DrawFn, ends: st.SearchStrategy[str]) -> PlainRoute:
    when = draw(st.none() | st.sampled_from(RESULT_CONDITIONS))
    tools = st.sampled_from(TOOL_CONDITIONS)
    tool = draw(tools if when is None else st.none() | tools)
    return PlainRoute(draw(ends), draw(ends), when, tool, draw(labels()), draw(st.none() | st.integers(-2, 2)))


def messages() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(WORDS), unique=True).map(" ".join)


def tool_results() -> st.SearchStrategy[ToolResult]:
    return st.builds(ToolResult, st.sampled_from(TOOLS), st.sampled_from(RESULTS))
