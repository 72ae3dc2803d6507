"""A view as parameters of statements: who reads, and which sources."""

from __future__ import annotations

from typing import Any

from knotwork.domain.filters import AnyOf, Between
from knotwork.ports.vector_store import View

# Fields of a filter that are properties of the source under another name; `metadata.<name>` is one under its own.
PROPERTY_OF = {"source_type": "type", "source_id": "id"}


def view_parameters(view: View) -> dict[str, Any]:
    """Parameters $subjects and $conditions of every reading statement."""
    conditions = view.filter.conditions if view.filter else ()
    return {
        "subjects": None if view.subjects is None else list(view.subjects),
        "conditions": [_condition(condition) for condition in conditions],
    }


def _condition(condition: AnyOf | Between) -> dict[str, object]:
    field = PROPERTY_OF.get(condition.field, condition.field)
    if isinstance(condition, AnyOf):
        return {"field": field, "values": list(condition.values), "gte": None, "lte": None}
    return {"field": field, "values": None, "gte": condition.gte, "lte": condition.lte}
