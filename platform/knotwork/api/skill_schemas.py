"""The JSON of skill graphs. Names are those of knotwork.skills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, Field

from knotwork.api.schemas import Body, Finite, UsageOut
from knotwork.domain.skill_graphs import GraphVersion, StoredGraph
from knotwork.services.skill_graphs import PutGraph, Stepped
from knotwork.skills import (
    EdgeKind,
    EntryScoring,
    Level,
    MoveCause,
    ProblemCode,
    SkillContext,
    SkillEdge,
    ToolResult,
)
from knotwork.skills.document import MAX_CHARACTERS
from knotwork.skills.evaluation import Inspection

EXAMPLE = """skills:
  - {id: triage, description: an alert or an error code, instructions: Search for the code., tools: [search]}
  - {id: owner, instructions: Name the primary on call., tools: [rota]}
start: triage
steps:
  - {from: triage, to: owner, on_tool_return: search, when: result, label: found}
"""


class DeclarationBody(Body):
    """A skill graph declared as data."""

    declaration: str | dict[str, Any] = Field(
        description=f"The text of a YAML or JSON file, at most {MAX_CHARACTERS} characters, or the JSON object itself. "
        "Its schema is printed by `knotwork skills schema`.",
        examples=[EXAMPLE],
    )


class ProblemFound(BaseModel):
    code: ProblemCode
    level: Level
    ids: list[str] = Field(description="The skills concerned.")
    message: str = Field(description="What is wrong and what to do.")


class CheckAnswer(BaseModel):
    """`ok`: no errors; warnings may remain."""

    ok: bool
    problems: list[ProblemFound]
    calls_model: bool = Field(description="Choosing the start calls the embedder.")
    mermaid: str

    @classmethod
    def of(cls, found: Inspection) -> Self:
        return cls(ok=found.ok, problems=_problems(found), calls_model=found.calls_model, mermaid=found.mermaid)


class DrawingAnswer(BaseModel):
    mermaid: str


class GraphVersionOut(BaseModel):
    """`version` is the SHA-256 of the declaration, `number` counts the versions as they came."""

    name: str
    version: str
    number: int
    is_current: bool

    @classmethod
    def of(cls, version: GraphVersion) -> Self:
        return cls.model_validate(version, from_attributes=True)


class SkillGraphPage(BaseModel):
    items: list[GraphVersionOut]
    next: str | None = Field(description="Pass it as `after` for the next page; null: this is the last.")


class GraphPut(GraphVersionOut):
    changed: bool = Field(description="False: this very declaration was the present version already.")
    problems: list[ProblemFound]

    @classmethod
    def done(cls, put: PutGraph) -> Self:
        return cls(**_version_fields(put.version), changed=put.changed, problems=_problems(put.inspection))


class GraphDetail(GraphVersionOut):
    declaration: str
    versions: list[GraphVersionOut]

    @classmethod
    def stored(cls, graph: StoredGraph, versions: Sequence[GraphVersion]) -> Self:
        return cls(
            **_version_fields(graph.version),
            declaration=graph.declaration,
            versions=[GraphVersionOut.of(one) for one in versions],
        )


class ToolResultIn(Body):
    tool_name: str
    result: Any = None


class ContextIn(Body):
    """All that routing looks at, for one iteration of one turn."""

    user_message: str = ""
    iteration: int = Field(0, ge=0)
    current_skill_id: str | None = Field(None, description="`cursor` of the iteration before; null: cold.")
    last_tool_result: ToolResultIn | None = Field(
        None, description="Of the iteration just before; send it once, or it is routed on twice."
    )
    metadata: dict[str, Any] = Field(default_factory=dict)
    chosen_entry_id: str | None = Field(
        None, description="A start chosen by the caller or its model. Absent: a graph with a scorer is scored."
    )

    def value(self) -> SkillContext:
        last = self.last_tool_result
        return SkillContext(
            self.user_message,
            self.iteration,
            self.current_skill_id,
            None if last is None else ToolResult(last.tool_name, last.result),
            self.metadata,
            self.chosen_entry_id,
        )


class StepBody(Body):
    context: ContextIn = Field(
        default_factory=lambda: ContextIn.model_validate({}),
        examples=[{"user_message": "LGR-1207 on Ledger, whom do I wake?"}],
    )
    jump_to: str | None = Field(None, description="A skill that the model asks for, out of `reachable_skills`.")


class EdgeOut(BaseModel):
    from_: str | None = Field(alias="from", description="Null is the start.")
    to: str
    kind: EdgeKind
    label: str | None

    @classmethod
    def of(cls, edge: SkillEdge) -> Self:
        return cls.model_validate({"from": edge.from_id, "to": edge.to_id, "kind": edge.kind, "label": edge.label})


class ActiveSkillOut(BaseModel):
    id: str
    instructions: str


class ReachableSkillOut(BaseModel):
    id: str
    description: str


class EntryScoreOut(BaseModel):
    skill_id: str
    score: Finite
    share: Finite


class FallbackOut(BaseModel):
    failed: str
    used: str
    reason: str


class ScoringOut(BaseModel):
    """How the start was chosen: raw scores, shares that sum to 1, and by which scorer."""

    scores: list[EntryScoreOut]
    chosen: str | None
    scored_by: str
    fallback: FallbackOut | None
    usage: UsageOut

    @classmethod
    def of(cls, scoring: EntryScoring) -> Self:
        return cls.model_validate(scoring, from_attributes=True)


class StepOut(BaseModel):
    """One iteration."""

    graph: str
    version: str
    cursor: str | None = Field(description="Where the conversation stands now; null: nothing matched or was chosen.")
    by: MoveCause = Field(description="The rule that decided.")
    reason: str
    edge: EdgeOut | None = Field(description="The edge taken, if any.")
    active_skills: list[ActiveSkillOut]
    active_tools: list[str]
    reachable_skills: list[ReachableSkillOut]
    scoring: ScoringOut | None = Field(description="Where the service scored the entries in this step.")

    @classmethod
    def of(cls, stepped: Stepped) -> Self:
        answer = stepped.answer
        return cls(
            graph=stepped.version.name,
            version=stepped.version.version,
            cursor=answer.move.to_id,
            by=answer.move.by,
            reason=answer.move.reason,
            edge=None if answer.move.edge is None else EdgeOut.of(answer.move.edge),
            active_skills=[ActiveSkillOut.model_validate(one, from_attributes=True) for one in answer.active],
            active_tools=list(answer.tools),
            reachable_skills=[ReachableSkillOut.model_validate(one, from_attributes=True) for one in answer.reachable],
            scoring=None if answer.scoring is None else ScoringOut.of(answer.scoring),
        )


def _version_fields(version: GraphVersion) -> dict[str, Any]:
    return {
        "name": version.name,
        "version": version.version,
        "number": version.number,
        "is_current": version.is_current,
    }


def _problems(found: Inspection) -> list[ProblemFound]:
    return [ProblemFound.model_validate(one) for one in found.data["problems"]]
