"""A conversation with a skill graph, step by step; the model's part is played by whoever types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from knotwork.errors import InvalidInput
from knotwork.skills import EntryScoring, SkillContext, SkillGraph, Step, ToolResult

HELP = "a message, /tool NAME [JSON], or /jump SKILL; the end of input ends the conversation"
FORM = 'an object with "message" (and "metadata"), "tool" (and "result"), or "jump"'


@dataclass(frozen=True, slots=True)
class Said:
    """The user's message: a new turn."""

    message: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool's result: the next iteration of the turn."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class Jump:
    """The model asks for a skill."""

    skill_id: str


Event = Said | Returned | Jump


class Conversation:
    """Keeps what the caller of a graph keeps: the cursor, and the context of this turn."""

    def __init__(self, graph: SkillGraph) -> None:
        self._graph = graph
        self._ctx = SkillContext()

    async def step(self, event: Event) -> tuple[Step, EntryScoring | None]:
        """One iteration; the scores too, where a scorer chose the start.

        Raises:
            JumpRefused: the skill asked for is not reachable.
            PredicateFailed: a condition failed.
        """
        scoring: EntryScoring | None = None
        cursor = self._ctx.current_skill_id
        match event:
            case Said(message, metadata):
                self._ctx = SkillContext(message, current_skill_id=cursor, metadata=metadata)
                if cursor is None and self._graph.scorer is not None:
                    scoring = await self._graph.score_entries(self._ctx)
                    self._ctx = replace(self._ctx, chosen_entry_id=scoring.chosen)
                step = self._graph.step(self._ctx)
            case Returned(result):
                self._ctx = self._ctx.next(cursor, result)
                step = self._graph.step(self._ctx)
            case Jump(skill_id):
                self._ctx = self._ctx.next(cursor)
                step = self._graph.jump_step(self._ctx, skill_id)
        self._ctx = replace(self._ctx, current_skill_id=step.move.to_id)
        return step, scoring


def read_script(lines: Iterable[str]) -> Iterator[Event]:
    """The events of a script of JSON lines; blank ones are passed over.

    Raises:
        InvalidInput: a line is no event; the message names it.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = _event(json.loads(line))
        except (ValueError, RecursionError):
            event = None
        if event is None:
            raise InvalidInput(f"line {number} of the script is no event; write {FORM}")
        yield event


def read_typed(line: str) -> Event:
    """What was typed, as an event.

    Raises:
        InvalidInput: a command that is none, or a result that is no JSON.
    """
    word, _, rest = line.strip().partition(" ")
    if not word.startswith("/"):
        return Said(line, {})
    name, _, result = rest.strip().partition(" ")
    if word == "/jump" and rest.strip():
        return Jump(rest.strip())
    if word != "/tool" or not name:
        raise InvalidInput(f"{word} is no command here; type {HELP}")
    try:
        return Returned(ToolResult(name, json.loads(result) if result.strip() else None))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the result of {name} is no JSON ({error}); put a text in quotes") from None


def _event(value: object) -> Event | None:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    match fields:
        case {"message": str(message)} if fields.keys() <= {"message", "metadata"}:
            metadata: object = fields.get("metadata", {})
            return Said(message, cast("dict[str, Any]", metadata)) if isinstance(metadata, dict) else None
        case {"tool": str(tool)} if fields.keys() <= {"tool", "result"}:
            return Returned(ToolResult(tool, fields.get("result")))
        case {"jump": str(skill_id)} if len(fields) == 1:
            return Jump(skill_id)
        case _:
            return None
