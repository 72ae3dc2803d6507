"""Traversals: the shipped ones and the user's own, each at an address of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from knotwork.api.addresses import NAME
from knotwork.api.auth import Identity, Reading
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import Body
from knotwork.api.state import state_of
from knotwork.domain.traversals import Parameter
from knotwork.ports.keys import Scope
from knotwork.services.traversals import DEFAULT_ROWS, Entry

router = APIRouter(prefix="/v1/traversals", tags=["traversals"])


class ParameterOut(BaseModel):
    name: str
    type: str = Field(description="STRING, INTEGER, FLOAT, BOOLEAN, LIST<STRING> or ENTITY.")
    meaning: str
    required: bool
    default: Any = None
    least: float | None = Field(description="Of a STRING or LIST<STRING>: of its length.")
    most: float | None

    @classmethod
    def of(cls, parameter: Parameter) -> Self:
        return cls(
            name=parameter.name,
            type=parameter.type.value,
            meaning=parameter.meaning,
            required=parameter.default is None,
            default=parameter.default,
            least=parameter.least,
            most=parameter.most,
        )


class ColumnOut(BaseModel):
    name: str
    type: str
    meaning: str


class TraversalOut(BaseModel):
    name: str
    question: str
    scope: str = Field(description="tenant; or operator: it reads more than one tenant.")
    parameters: list[ParameterOut]
    columns: list[ColumnOut]
    shipped: bool
    refused: str | None = Field(description="Why it does not run; null: it does. Only operators and admins see it.")

    @classmethod
    def of(cls, entry: Entry) -> Self:
        traversal = entry.traversal
        return cls(
            name=entry.name,
            question=traversal.question if traversal else "",
            scope=traversal.scope.value if traversal else "tenant",
            parameters=[ParameterOut.of(one) for one in traversal.parameters] if traversal else [],
            columns=[ColumnOut.model_validate(one, from_attributes=True) for one in traversal.columns]
            if traversal
            else [],
            shipped=entry.is_shipped,
            refused=entry.refused,
        )


class TraversalList(BaseModel):
    items: list[TraversalOut]


class RunBody(Body):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"parameters": {"entity": "concept:retry budget"}, "limit": 20}]}
    )
    parameters: dict[str, Any] = Field(default_factory=dict, description="As the traversal declares them.")
    limit: int = Field(DEFAULT_ROWS, ge=1, description="Rows, at most; KNOTWORK_TRAVERSAL_ROWS is the most.")


class RunAnswer(BaseModel):
    name: str
    question: str
    columns: list[ColumnOut]
    rows: list[list[Any]] = Field(description="In the order of the columns.")
    truncated: bool = Field(description="Whether there are more rows than were asked for.")
    elapsed_ms: int


@router.get("", responses=problem_responses(*ALWAYS))
async def list_traversals(request: Request, identity: Reading) -> TraversalList:
    """Every traversal by name, with its question, parameters and columns."""
    with_refused = identity.is_operator or Scope.ADMIN in identity.caller.scopes
    entries = state_of(request).platform.traversals.entries(with_refused=with_refused)
    return TraversalList(items=[TraversalOut.of(entry) for entry in entries])


RUN_PROBLEMS = problem_responses(
    *ALWAYS, "not_found", "ambiguous_name", "traversal_refused", "every_source_needed", "limit_reached"
)


@router.get(f"/{{name:{NAME}}}", responses=RUN_PROBLEMS)
async def run_traversal_by_address(
    request: Request,
    identity: Reading,
    name: str,
    limit: Annotated[int, Query(ge=1, description="Rows, at most.")] = DEFAULT_ROWS,
) -> RunAnswer:
    """Run a traversal whose parameters stand in the address, such as `?entity=concept:retry budget&depth=2`.

    A parameter given more than once is a list.
    """
    given: dict[str, object] = {}
    for parameter in request.query_params:
        if parameter != "limit":
            values = request.query_params.getlist(parameter)
            given[parameter] = values[0] if len(values) == 1 else values
    return await _run(request, identity, name, given, limit)


@router.post(f"/{{name:{NAME}}}", responses=RUN_PROBLEMS)
async def run_traversal(request: Request, identity: Reading, name: str, body: RunBody) -> RunAnswer:
    """Run a traversal and return its first rows, as the reader may see them. It cannot write."""
    return await _run(request, identity, name, body.parameters, body.limit)


async def _run(request: Request, identity: Identity, name: str, given: Mapping[str, object], limit: int) -> RunAnswer:
    started = time.monotonic()
    traversal, rows = await state_of(request).platform.traversals.run(
        identity.reader, name, given, limit=limit, is_operator=identity.is_operator
    )
    return RunAnswer(
        name=traversal.name,
        question=traversal.question,
        columns=[ColumnOut.model_validate(one, from_attributes=True) for one in traversal.columns],
        rows=[list(row) for row in rows.rows],
        truncated=rows.has_more,
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )
