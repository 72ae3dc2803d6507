"""Whether a plan reads one tenant and nothing else: judged by what the database would do, not by how a text looks.

Every way into the graph is a leaf of the plan: a scan, a seek, a procedure. A leaf is allowed when it is a seek of an
index whose first part is `tenant = $tenant`; from there on a plan walks relationships, and those never leave a tenant.
So whatever a statement says, its rows, counts and errors come from that tenant alone. That holds for the statement and
not just for this plan of it: another plan of the same statement gives the same rows.

Whatever is not known here, an operator or a leaf of another form, is refused: what is not understood is not proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from knotwork.domain.traversals import TraversalScope


@dataclass(frozen=True, slots=True)
class PlanStep:
    """An operator of a plan, the words with which it is described, and the steps that feed it."""

    operator: str
    details: str = ""
    children: tuple[PlanStep, ...] = ()


# Operators of reading plans (Neo4j 5 and 2025, "Operators"), by what they do to the graph.
SEEKS = frozenset({"NodeIndexSeek", "NodeIndexSeekByRange"})
EMPTY_LEAVES = frozenset({"Argument", "EmptyRow", "EmptyResult"})  # they read nothing
WALKS = frozenset(
    {
        "Expand(All)",
        "Expand(Into)",
        "OptionalExpand(All)",
        "OptionalExpand(Into)",
        "VarLengthExpand(All)",
        "VarLengthExpand(Into)",
        "VarLengthExpand(Pruning)",
        "VarLengthExpand(Pruning,BFS,All)",
        "VarLengthExpand(Pruning,BFS,Into)",
        "BFSPruningVarLengthExpand",
        "PruningVarLengthExpand",
        "ShortestPath",
        "StatefulShortestPath(All)",
        "StatefulShortestPath(Into)",
        "Repeat(Trail)",
        "BidirectionalRepeat(Trail)",
        "ProjectEndpoints",
    }
)
ROWS = frozenset(
    {
        "Aggregation",
        "AntiConditionalApply",
        "AntiSemiApply",
        "Anti",
        "Apply",
        "AssertSameNode",
        "CacheProperties",
        "CartesianProduct",
        "ConditionalApply",
        "Distinct",
        "Eager",
        "EagerAggregation",
        "ExhaustiveLimit",
        "Filter",
        "LeftOuterHashJoin",
        "LetAntiSemiApply",
        "LetSelectOrAntiSemiApply",
        "LetSelectOrSemiApply",
        "LetSemiApply",
        "Limit",
        "NodeHashJoin",
        "NodeLeftOuterHashJoin",
        "NodeRightOuterHashJoin",
        "NonFuseable",
        "Optional",
        "OrderedAggregation",
        "OrderedDistinct",
        "OrderedUnion",
        "Partial Sort",
        "PartialSort",
        "PartialTop",
        "ProduceResults",
        "Projection",
        "RightOuterHashJoin",
        "RollUpApply",
        "SelectOrAntiSemiApply",
        "SelectOrSemiApply",
        "SemiApply",
        "Skip",
        "Sort",
        "Top",
        "Top1WithTies",
        "TriadicBuild",
        "TriadicFilter",
        "TriadicSelection",
        "Union",
        "Unwind",
        "ValueHashJoin",
    }
)
SCANS = re.compile(r"(All|Label|Type|Node|Relationship|Index|Id).*(Scan|Seek|Lookup|Store)|.*Seek.*|.*Scan.*")
OPERATORS_PROCEDURES = frozenset(  # of an operator's file: what the database is made of, never its rows
    {"db.labels", "db.relationshipTypes", "db.propertyKeys", "db.schema.visualization", "dbms.components"}
)

# Where a traversal may begin; keys, jobs and whole texts are none of its business.
LABELS = frozenset({"Entity", "Fact", "Source", "Chunk", "Community"})

_PART = r"[A-Za-z_][A-Za-z0-9_]*"
_ANCHORED = re.compile(  # variable:Label(properties) WHERE predicates, cached properties
    rf"RANGE INDEX {_PART}:(?P<label>{_PART})\(tenant(?:, {_PART})*\) "
    r"WHERE tenant = \$tenant(?:(?: AND |, cache\[).*)?",
    re.DOTALL,
)
_SUBQUERY = re.compile(r"\b(?:EXISTS|COUNT|COLLECT)\s*\{", re.IGNORECASE)


def refusal(plan: PlanStep, scope: TraversalScope, *, only_reads: bool) -> str | None:
    """Why a statement with this plan is not run; None: it may be.

    Args:
        plan: Of the statement.
        scope: What its header says; an operator's need not keep to one tenant.
        only_reads: Whether the database takes it for a reading statement.
    """
    for step in steps_of(plan):
        if step.operator == "LoadCSV":
            return "it uses LOAD CSV"
        if step.operator.startswith("ProcedureCall"):
            name = step.details.partition("(")[0].strip()
            if scope is not TraversalScope.OPERATOR or name not in OPERATORS_PROCEDURES:
                return f"it calls the procedure {name or '?'}, which is not on the list of allowed ones"
        elif scope is TraversalScope.TENANT and (reason := _unanchored(step)):
            return reason
    if not only_reads:
        return "it writes, or does more than read the graph"
    return None


def steps_of(plan: PlanStep) -> Iterator[PlanStep]:
    """Every step of a plan."""
    yield plan
    for child in plan.children:
        yield from steps_of(child)


def _unanchored(step: PlanStep) -> str | None:
    if _SUBQUERY.search(step.details):  # the plan of one that stands in an expression is not among the steps
        return "it has a subquery inside another expression, whose plan is not shown; use CALL { ... } instead"
    if step.operator in EMPTY_LEAVES | ROWS | WALKS:
        return None
    if step.operator in SEEKS and (found := _ANCHORED.fullmatch(step.details)):
        label = found["label"]
        return None if label in LABELS else f"it reads {label}; a traversal begins at {', '.join(sorted(LABELS))}"
    if step.operator in SEEKS or SCANS.fullmatch(step.operator):
        return _advice(step)
    return f"its plan has the operator {step.operator!r}, which is not known to keep to a tenant"


def _advice(step: PlanStep) -> str:
    what = step.details.partition(" WHERE ")[0] or step.operator
    return (
        f"it reads without $tenant ({step.operator} {what}); begin every MATCH at a node found by an index on tenant, "
        "such as (e:Entity {tenant: $tenant, id: $entity}) or (e:Entity {tenant: $tenant}) WHERE e.id IS NOT NULL"
    )
