"""Whether a plan keeps to one tenant, on plans as Neo4j 5.26 describes them."""

from __future__ import annotations

import pytest

from knotwork.domain.cypher_plan import PlanStep, refusal
from knotwork.domain.traversals import TraversalScope

SEEK = PlanStep("NodeIndexSeek", "RANGE INDEX e:Entity(tenant, id) WHERE tenant = $tenant AND id = $entity")


def plan(*steps: PlanStep) -> PlanStep:
    return PlanStep("ProduceResults", "id", (PlanStep("Apply", "", steps),))


def judged(*steps: PlanStep, scope: TraversalScope = TraversalScope.TENANT, only_reads: bool = True) -> str | None:
    return refusal(plan(*steps), scope, only_reads=only_reads)


@pytest.mark.parametrize(
    "details",
    [
        "RANGE INDEX e:Entity(tenant, id) WHERE tenant = $tenant AND id IS NOT NULL",
        "RANGE INDEX e:Entity(tenant, id) WHERE tenant = $tenant AND id = $x, cache[e.id]",
        "RANGE INDEX s:Source(tenant, type, id) WHERE tenant = $tenant AND type = $autostring_0 AND id IS NOT NULL",
        "RANGE INDEX anon_3:Fact(tenant, id) WHERE tenant = $tenant AND id STARTS WITH $type + $autostring_1",
        "RANGE INDEX c:Community(tenant) WHERE tenant = $tenant",
        "RANGE INDEX c:Community(tenant) WHERE tenant = $tenant, cache[c.tenant]",
    ],
)
def test_a_seek_that_begins_with_the_tenant_is_anchored(details: str) -> None:
    assert judged(PlanStep("NodeIndexSeek", details), PlanStep("Argument", "e")) is None


@pytest.mark.parametrize(
    ("operator", "details"),
    [
        ("AllNodesScan", "n"),
        ("NodeByLabelScan", "n:Entity"),
        ("NodeIndexScan", "RANGE INDEX e:Entity(tenant, id) WHERE tenant IS NOT NULL AND id IS NOT NULL"),
        ("NodeIndexSeek", "RANGE INDEX e:Entity(tenant, id) WHERE tenant = tenant AND id = $x"),
        ("NodeIndexSeek", "RANGE INDEX e:Entity(tenant, id) WHERE tenant = $tenants AND id = $x"),
        ("NodeIndexSeek", "RANGE INDEX e:Entity(tenant, id) WHERE tenant = $tenant + $x AND id = $x"),
        ("NodeIndexSeek", "RANGE INDEX e:Entity(tenant, id) WHERE tenant IN [$tenant, $x] AND id = $x"),
        ("NodeIndexSeek", "RANGE INDEX e:Entity(tenant, id) WHERE tenant >= $tenant AND id IS NOT NULL"),
        ("NodeIndexSeek", "RANGE INDEX e:Entity(name_key) WHERE name_key = $x AND tenant = $tenant"),
        ("NodeIndexSeek", "RANGE INDEX `tenant = $tenant`:Entity(x) WHERE x = $x"),
        ("NodeUniqueIndexSeek", "UNIQUE e:Entity(key) WHERE key = $tenant + $x"),
        ("MultiNodeIndexSeek", "RANGE INDEX e:Entity(tenant, id) WHERE tenant = $tenant, UNIQUE f:Fact(key) WHERE 1"),
        ("NodeByIdSeek", "n WHERE id(n) = $x"),
        ("NodeByElementIdSeek", "n WHERE elementId(n) = $x"),
        ("DirectedRelationshipTypeScan", "(a)-[r:RELATES]->(b)"),
        ("UndirectedRelationshipIndexSeek", "RANGE INDEX (a)-[r:RELATES(tenant)]-(b) WHERE tenant = $tenant"),
        ("NodeCountFromCountStore", "count( (:Entity) ) AS c"),
        ("RelationshipCountFromCountStore", "count( ()-[:RELATES]->() ) AS c"),
    ],
)
def test_any_other_way_into_the_graph_is_refused_beside_an_anchored_one(operator: str, details: str) -> None:
    assert "without $tenant" in (judged(SEEK, PlanStep(operator, details)) or "")
    assert judged(SEEK, PlanStep("Optional", "e", (PlanStep(operator, details),))) is not None


@pytest.mark.parametrize("label", ["ApiKey", "IndexRun", "SourceText", "Tenant"])
def test_keys_jobs_and_whole_texts_are_no_beginning(label: str) -> None:
    details = f"RANGE INDEX k:{label}(tenant) WHERE tenant = $tenant"
    assert label in (judged(PlanStep("NodeIndexSeek", details)) or "")


def test_what_is_not_known_is_refused() -> None:
    for operator in ("SetProperty", "Create", "TransactionForeach", "ShowIndexes", "SomethingNew", ""):
        assert judged(SEEK, PlanStep(operator, "x")) is not None
    assert "writes" in (judged(SEEK, only_reads=False) or "")


@pytest.mark.parametrize(
    "details",
    [
        "[x IN range($a, $b) | COUNT { MATCH (m)   WHERE m:Entity AND m.weight IN [x] }] AS c",
        "any(x IN $autolist_1 WHERE EXISTS { MATCH (m) })",
        "CASE   WHEN n.x THEN COLLECT { MATCH (m) RETURN m.name AS `m.name` }   ELSE $autolist_1 END AS c",
    ],
)
def test_a_subquery_whose_plan_is_hidden_is_refused(details: str) -> None:
    assert "subquery" in (judged(SEEK, PlanStep("Projection", details)) or "")
    seek = SEEK.details + f" AND id IN {details}"
    assert "subquery" in (judged(PlanStep("NodeIndexSeek", seek)) or "")


def test_files_and_procedures_are_named() -> None:
    for scope in TraversalScope:
        assert "LOAD CSV" in (judged(PlanStep("LoadCSV", "row"), scope=scope) or "")
        called = PlanStep("ProcedureCall", "dbms.listConfig() :: (name :: STRING)")
        assert "dbms.listConfig" in (judged(called, scope=scope) or "")
    labels = PlanStep("ProcedureCall", "db.labels() :: (label :: STRING)")
    assert "db.labels" in (judged(labels) or "")
    assert judged(labels, scope=TraversalScope.OPERATOR) is None


def test_an_operators_file_may_read_every_tenant_and_still_not_write() -> None:
    assert judged(PlanStep("AllNodesScan", "n"), scope=TraversalScope.OPERATOR) is None
    assert judged(PlanStep("AllNodesScan", "n"), scope=TraversalScope.OPERATOR, only_reads=False) is not None
