"""How the passages of an answer hang together."""

from __future__ import annotations

from typing import Any

from knotwork.cli.facts import Joint, Link, joints, links
from knotwork.cli.passages import excerpt, heading_trail


def passage(citation: int, source: str, entities: list[str], facts: list[tuple[str, str, str]]) -> dict[str, Any]:
    stated = [{"id": f"{a}|{type_}|{b}", "from": a, "type": type_, "to": b} for a, type_, b in facts]
    return {
        "citation": citation,
        "source": {"type": "document", "id": source},
        "metadata": {"entities": entities, "relationships": stated},
    }


OWNS = ("Edge team", "owns", "Gateway")
USES = ("Gateway", "uses", "Kestrel")
APART = ("Broom", "cleans", "Attic")


def test_facts_are_followed_from_the_names_in_the_question() -> None:
    found = links("Who owns the users of Kestrel?", [passage(1, "a", [], [OWNS, APART]), passage(2, "b", [], [USES])])

    assert found == [Link(0, *USES, (2,)), Link(1, *OWNS, (1,))]


def test_a_fact_that_two_passages_state_is_shown_once_with_both() -> None:
    found = links("Gateway?", [passage(1, "a", [], [USES]), passage(2, "b", [], [USES])])

    assert found == [Link(0, *USES, (1, 2))]


def test_a_question_that_names_nothing_has_no_chain() -> None:
    assert links("What else?", [passage(1, "a", [], [OWNS])]) == []


def test_a_name_of_passages_of_two_documents_joins_them_under_whatever_types() -> None:
    found = joints(
        [
            passage(1, "a", ["service:kestrel", "concept:alone"], []),
            passage(2, "b", ["product:kestrel"], []),
            passage(3, "a", ["concept:twice in one"], []),
            passage(4, "a", ["concept:twice in one"], []),
        ]
    )

    assert found == [Joint("kestrel", (1, 2))]


def test_a_heading_trail_names_each_level_once() -> None:
    assert heading_trail({"title": "Gateway", "headings": ["Gateway", "Limits"]}) == "Gateway > Limits"
    assert heading_trail({}) == ""


def test_an_excerpt_ends_at_a_word() -> None:
    assert excerpt("one two\n\nthree", 9) == "one two ..."
    assert excerpt("one two", None) == "one two"
