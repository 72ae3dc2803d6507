"""A view as parameters of statements: who reads, and which sources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from knotwork.domain.filters import AnyOf, Between
from knotwork.ports.vector_store import View

# Fields of a filter that are properties of the source under another name; `metadata.<name>` is one under its own.
PROPERTY_OF = {"source_type": "type", "source_id": "id"}


def source_parameters(view: View) -> dict[str, Any]:
    """Parameters $subjects and $conditions of the statements that read sources."""
    return {"subjects": None if view.subjects is None else list(view.subjects), "conditions": _conditions(view)}


def evidence_parameters(view: View, audiences: Iterable[str] | None) -> dict[str, Any]:
    """Parameters $audiences and $conditions of the statements that read evidence.

    A chunk's own audience says who reads it, as `move_chunks` left it, not the subjects that its source has by now.
    """
    return {"audiences": None if audiences is None else sorted(audiences), "conditions": _conditions(view)}


def _conditions(view: View) -> list[dict[str, object]]:
    return [_condition(condition) for condition in view.filter.conditions] if view.filter else []


def _condition(condition: AnyOf | Between) -> dict[str, object]:
    field = PROPERTY_OF.get(condition.field, condition.field)
    if isinstance(condition, AnyOf):
        return {"field": field, "values": list(condition.values), "gte": None, "lte": None}
    return {"field": field, "values": None, "gte": condition.gte, "lte": condition.lte}
