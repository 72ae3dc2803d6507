"""Errors of the skill graph. Each says what to do; nothing of the graph or the conversation was changed."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.errors import InvalidInput, PlatformError


class InvalidSkillGraph(InvalidInput):
    """A declaration that cannot be compiled, or that the check-up refuses."""

    code = "invalid_skill_graph"


class InvalidDeclaration(InvalidSkillGraph):
    """A graph declared as data that cannot be read. `line` and `column` count from 1."""

    code = "invalid_declaration"

    def __init__(self, reason: str, *, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason, self.line, self.column = reason, line, column


class UnknownSkill(InvalidInput):
    """The cursor or a request names a skill that the graph does not hold."""

    code = "unknown_skill"

    def __init__(self, skill_id: str, *, known: Sequence[str]) -> None:
        super().__init__(
            f"the graph holds no skill {skill_id!r}; it holds {listed(known)}. "
            "Start the turn cold (current_skill_id=None), or name one of these"
        )
        self.skill_id = skill_id


class JumpRefused(InvalidInput):
    """A jump to a skill that is not reachable from where the cursor stands."""

    code = "jump_refused"

    def __init__(self, from_id: str | None, to_id: str, *, reachable: Sequence[str]) -> None:
        place = "the start" if from_id is None else f"skill {from_id!r}"
        super().__init__(
            f"skill {to_id!r} is not reachable from {place}; choose one of {listed(reachable)}, "
            f"or declare a route to {to_id!r} or make it an entry"
        )
        self.from_id, self.to_id, self.reachable = from_id, to_id, tuple(reachable)


class PredicateFailed(PlatformError):
    """A condition of the graph raised; its exception is the cause (`__cause__`)."""

    code = "predicate_failed"

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"the condition of {where} failed ({reason}); a condition must answer for every input")
        self.where = where


class ScoringFailed(PlatformError):
    """A scorer's answer is not one finite number for each candidate."""

    code = "scoring_failed"

    def __init__(self, scorer: str, reason: str) -> None:
        super().__init__(f"scorer {scorer!r} {reason}; it must give one finite number for each candidate, in order")
        self.scorer = scorer


def listed(ids: Sequence[str], limit: int = 20) -> str:
    """Ids for a message; of many, the first ones and how many more there are."""
    shown = ", ".join(repr(skill_id) for skill_id in ids[:limit])
    rest = f" and {len(ids) - limit} more" if len(ids) > limit else ""
    return (shown + rest) or "none"
