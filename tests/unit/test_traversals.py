"""A traversal's file: its header, its parameters, and what its text alone refuses."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.cypher_tokens import Kind, tokens_of
from knotwork.domain.traversals import Parameter, ParameterType, TraversalScope, read_traversal
from knotwork.errors import InvalidInput

HEADER = """// Name:        named
// Question:    What is named like this?
// Parameter:   $prefix STRING 1..64: how its id begins,
//              type and all.
// Parameter:   $depth INTEGER 1..8 = 3: steps.
// Parameter:   $types LIST<STRING> = ["a", "b"]: types.
// Column:      id STRING: the entity.
"""
BODY = """MATCH (e:Entity {tenant: $tenant}) WHERE e.id STARTS WITH $prefix AND $depth > 0 AND size($types) > 0
RETURN e.id AS id LIMIT $limit"""


def file(body: str = BODY, header: str = HEADER) -> str:
    return header + body


def refused(text: str, name: str = "named") -> str:
    with pytest.raises(InvalidInput) as raised:
        read_traversal(name, text)
    return str(raised.value)


def test_a_header_declares_question_parameters_and_columns() -> None:
    found = read_traversal("named", file())
    assert (found.name, found.question, found.scope) == ("named", "What is named like this?", TraversalScope.TENANT)
    assert found.parameters == (
        Parameter("prefix", ParameterType.STRING, "how its id begins, type and all.", None, 1, 64),
        Parameter("depth", ParameterType.INTEGER, "steps.", 3, 1, 8),
        Parameter("types", ParameterType.STRINGS, "types.", ["a", "b"]),
    )
    assert [(column.name, column.type) for column in found.columns] == [("id", "STRING")]
    assert not found.uses_audiences


def test_values_are_typed_bounded_and_defaulted() -> None:
    found = read_traversal("named", file())
    assert found.values({"prefix": "team:"}) == {"prefix": "team:", "depth": 3, "types": ["a", "b"]}
    assert found.values({"prefix": "x", "depth": "5", "types": "one"}) == {"prefix": "x", "depth": 5, "types": ["one"]}


@pytest.mark.parametrize(
    "given_",
    [
        {},
        {"prefix": ""},
        {"prefix": "x" * 65},
        {"prefix": 1},
        {"prefix": None},
        {"prefix": ["a"]},
        {"prefix": "x", "depth": 9},
        {"prefix": "x", "depth": 0},
        {"prefix": "x", "depth": 2.5},
        {"prefix": "x", "depth": True},
        {"prefix": "x", "depth": "2; DROP"},
        {"prefix": "x", "depth": 2**63},
        {"prefix": "x", "depth": "9" * 400},
        {"prefix": "x", "types": [1]},
        {"prefix": "x", "types": ["x" * 1001]},
        {"prefix": "x", "types": {"a": 1}},
        {"prefix": "x", "tenant": "other"},
        {"prefix": "x", "audiences": []},
        {"prefix": "x", "limit": 5},
    ],
)
def test_a_value_of_no_use_is_refused_by_name(given_: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"prefix|depth|types|tenant|audiences|limit"):
        read_traversal("named", file()).values(given_)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BODY, "lacks"),
        ("", "lacks"),
        (file(header=HEADER.replace("// Column:      id STRING: the entity.\n", "")), "Column"),
        (file(header=HEADER.replace("INTEGER", "WHATEVER")), "parameter"),
        (file(header=HEADER.replace("1..8", "8..1")), "wrong way"),
        (file(header=HEADER.replace("= 3", "= 99")), "whole number"),
        (file(header=HEADER.replace("= 3", "= {")), "JSON"),
        (file(header=HEADER.replace("$prefix", "$tenant")), "always given"),
        (file(header=HEADER.replace("$types", "$depth")), "twice"),
        (file(header=HEADER + "// Scope: everybody\n"), "Scope"),
        (file(BODY.replace("$depth", "$other")), "does not declare"),
        (file(BODY.replace("$depth > 0", "true")), "does not use"),
        (file(BODY + ";\nMATCH (n) DELETE n"), "semicolon"),
        (file(BODY.replace("(e:", "(`e`:")), "backticks"),
        (file("// \\u000aMATCH (n) DETACH DELETE n\n" + BODY), "code point"),
        (file(BODY.replace("$prefix", "'\\u0027'")), "code point"),
        (file(BODY.replace("$prefix", "$prefix + 'WHERE tenant = $tenant'")), "holds"),
        (file(BODY.replace("STARTS", "ＳＴＡＲＴＳ")), "outside a string"),
        (file(BODY + " 'open"), "without an end"),
        (file(header=HEADER.replace("named", "other")), "name of its file"),
        (file(BODY.replace("$depth > 0", "apoc.cypher.runFirstColumnSingle('x', {}) > $depth")), "apoc.cypher"),
        (file(BODY.replace("$depth > 0", "graph . byName('x') > $depth")), "graph.byName"),
        (file("PROFILE " + BODY), "begin"),
        (file("EXPLAIN " + BODY), "begin"),
        (file("CYPHER runtime=slotted " + BODY), "begin"),
        (file("USE system " + BODY), "begin"),
        (file("SHOW DATABASES"), "begin"),
        (file("LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row"), "begin"),
        (file("CREATE (n) RETURN n"), "begin"),
        (file("DROP CONSTRAINT entity_key"), "begin"),
        (file(BODY + "\x00"), "control"),
        (file(BODY + " // \u2028 MATCH (n) RETURN n"), "control"),
        (file(BODY + " " * 70_000), "KB"),
        (file(BODY.replace("$depth", "[" * 101 + "$depth" + "]" * 101)), "nested"),
    ],
)
def test_a_file_that_is_not_as_it_must_be_is_refused_with_the_reason(text: str, reason: str) -> None:
    assert reason in refused(text)


@pytest.mark.parametrize("name", ["", "Named", "a b", "../x", "a--b", "-a", "a/b", "é", "a" + chr(10)])
def test_a_name_is_plain(name: str) -> None:
    assert "name" in refused(file(), name)


def test_functions_of_cypher_and_procedures_pass_the_text() -> None:
    read_traversal("named", file(BODY.replace("$depth > 0", "date.truncate('year', date()) > date() AND $depth > 0")))
    read_traversal("named", file("CALL db.labels() YIELD label " + BODY))


def test_a_parameter_in_a_comment_or_a_string_is_none() -> None:
    assert not read_traversal("named", file("// $audiences\n/* $audiences */ " + BODY)).uses_audiences
    assert not read_traversal("named", file(BODY + " // and '$audiences'")).uses_audiences
    assert read_traversal("named", file(BODY.replace("$depth > 0", "e.x IN $audiences AND $depth > 0"))).uses_audiences


@given(st.text(alphabet="'\"\\/*$a1 \n{}().`;", max_size=30))
def test_any_text_is_read_or_refused_and_tokens_stand_where_they_say(text: str) -> None:
    try:
        tokens = tokens_of(text)
    except InvalidInput:
        return
    assert all(text.startswith(token.text, token.start) for token in tokens)
    assert all(";" not in token.text and "`" not in token.text for token in tokens if token.kind is not Kind.STRING)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text() | st.integers())))
def test_whatever_is_given_is_of_the_declared_type_or_refused(value: object) -> None:
    types = {
        ParameterType.STRING: str,
        ParameterType.ENTITY: str,
        ParameterType.INTEGER: int,
        ParameterType.FLOAT: float,
        ParameterType.BOOLEAN: bool,
        ParameterType.STRINGS: list,
    }
    for type_, kind in types.items():
        with suppress(InvalidInput):
            assert type(Parameter("p", type_, "p").checked(value)) is kind


def test_the_documentation_shows_each_shipped_traversal_with_its_question() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "reference" / "traversals.md").read_text(encoding="utf-8")
    files = sorted((root / "cypher" / "traversals").glob("*.cypher"))
    shipped = [read_traversal(path.stem, path.read_text(encoding="utf-8")) for path in files]
    assert len(shipped) >= 12
    assert all(one.uses_audiences and one.scope is TraversalScope.TENANT for one in shipped)
    for one in shipped:
        names = ", ".join(f"`{parameter.name}`" for parameter in one.parameters[:1])
        assert f"| `{one.name}` | {one.question} | {names}" in page


def test_a_shipped_traversal_says_by_which_index_each_of_its_beginnings_is_found() -> None:
    """Else the planner may scan one just after a store was filled, and the file is refused."""
    for path in (Path(__file__).parents[2] / "cypher" / "traversals").glob("*.cypher"):
        text = path.read_text(encoding="utf-8")
        assert text.count("tenant: $tenant") == text.count("USING INDEX SEEK") > 0, path.name


def test_the_example_of_the_documentation_is_a_traversal() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "traversals.md").read_text(encoding="utf-8")
    example = page.split("```cypher\n")[1].split("```")[0]
    assert read_traversal("teams-of", example).uses_audiences
