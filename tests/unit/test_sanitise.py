"""Whatever a model answers becomes a valid contribution, or an empty one."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import ChunkId, Contribution
from knotwork.domain.normalise import normalise_name
from knotwork.domain.sanitise import MAX_DESCRIPTION_CHARS, MAX_SPELLING_CHARS, sanitise_extraction

CHUNK = ChunkId("document:a:0:0")
EMPTY = Contribution()

ANY_TEXT = st.text(st.characters(codec=None), max_size=8)
NAMES = (
    st.sampled_from(["Ada", "ADA", "ada!", "Bob", "bob", "The Ada", "C++", "😀", "", "\ud800", "x" * 300]) | ANY_TEXT
)
KEYS = st.sampled_from(
    [
        "entities",
        "nodes",
        "relationships",
        "relations",
        "edges",
        "name",
        "type",
        "description",
        "from",
        "source",
        "to",
        "target",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | NAMES
KEYED = KEYS | st.integers() | st.none() | ANY_TEXT
JSON_LIKE = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYED, inner, max_size=5))
ENTITY = st.fixed_dictionaries({"name": NAMES}, optional={"type": NAMES, "description": NAMES})
RELATIONSHIP = st.fixed_dictionaries({"from": NAMES, "to": NAMES}, optional={"type": NAMES, "description": NAMES})
ANSWERS = st.fixed_dictionaries(
    {"entities": st.lists(ENTITY | JSON_LIKE, max_size=6), "relationships": st.lists(RELATIONSHIP, max_size=6)}
)


def entities(*records: Any) -> Contribution:
    return sanitise_extraction(CHUNK, {"entities": list(records)})


def edges(*records: Any, names: tuple[str, ...] = ("Ada", "Bob")) -> list[str]:
    raw = {"entities": [{"name": name, "type": "person"} for name in names], "relationships": list(records)}
    return [relationship.id for relationship in sanitise_extraction(CHUNK, raw).relationships]


def test_entities_and_relationships_come_with_their_chunk() -> None:
    found = sanitise_extraction(
        CHUNK,
        {
            "entities": [
                {"name": "  Ada\n Lovelace ", "type": "Person", "description": " Wrote programs. "},
                {"name": "Engine", "type": "Machine"},
            ],
            "relationships": [{"from": "ada lovelace", "to": "The Engine", "type": "Writes For", "description": "d"}],
        },
    )
    engine, ada = found.entities
    assert (ada.id, ada.type, ada.name) == ("person:ada lovelace", "person", "Ada Lovelace")
    assert (ada.description, ada.surface_forms, ada.provenance) == ("Wrote programs.", ("Ada Lovelace",), (CHUNK,))
    (edge,) = found.relationships
    assert edge.id == "person:ada lovelace|writes-for|machine:engine"
    assert (edge.from_id, edge.type, edge.to_id) == (ada.id, "writes-for", engine.id)
    assert (edge.description, edge.provenance, edge.weight) == ("d", (CHUNK,), 1)


@pytest.mark.parametrize(
    "name", [42, None, True, 1.5, ["Ada"], {"name": "Ada"}, b"Ada", "", " ", "😀", "--", "x" * 257]
)
def test_an_entity_without_a_usable_name_is_dropped(name: object) -> None:
    assert entities({"name": name, "type": "person", "description": "d"}) == EMPTY
    assert entities({"type": "person"}) == EMPTY


def test_a_spelling_too_long_to_be_a_name_is_dropped() -> None:
    assert entities({"name": "!" * (MAX_SPELLING_CHARS - 3) + "Ada"}).entities[0].id == "concept:ada"
    assert entities({"name": "!" * (MAX_SPELLING_CHARS - 2) + "Ada"}) == EMPTY


@pytest.mark.parametrize(
    ("record", "id_"),
    [
        ({}, "concept:ada"),
        ({"type": None}, "concept:ada"),
        ({"type": 42}, "concept:ada"),
        ({"type": ["person"]}, "concept:ada"),
        ({"type": ""}, "unknown:ada"),
        ({"type": "!"}, "unknown:ada"),
        ({"type": "Person, Artist"}, "person-artist:ada"),
        ({"type": "a`b"}, "a-b:ada"),
    ],
)
def test_an_entity_has_the_type_it_gives_or_is_a_concept(record: dict[str, object], id_: str) -> None:
    assert [entity.id for entity in entities({"name": "Ada", **record}).entities] == [id_]


def test_what_has_a_type_too_long_is_dropped() -> None:
    assert entities({"name": "Ada", "type": "x" * 65}) == EMPTY
    assert edges({"from": "Ada", "to": "Bob", "type": "x" * 65}) == []


def test_of_one_entity_twice_the_longer_description_the_first_name_and_all_spellings_stay() -> None:
    (ada,) = entities(
        {"name": "ada", "description": "bb"},
        {"name": "Ada", "description": "aa"},
        {"name": "ADA!", "description": "z"},
        {"name": "ada"},
    ).entities
    assert ada.name == "ADA!"
    assert ada.surface_forms == ("ADA!", "Ada", "ada")
    assert ada.description == "aa"


def test_spellings_of_one_thing_are_one_entity() -> None:
    (electrons,) = entities({"name": "Electrons"}, {"name": "An electrons"}, {"name": "ELECTRONS"}).entities
    assert electrons.id == "concept:electrons"
    assert electrons.surface_forms == ("An electrons", "ELECTRONS", "Electrons")


def test_a_long_description_is_cut_with_an_ellipsis() -> None:
    def described(text: str) -> str:
        return entities({"name": "Ada", "description": text}).entities[0].description

    assert described("x" * MAX_DESCRIPTION_CHARS) == "x" * MAX_DESCRIPTION_CHARS
    assert described("x" * (MAX_DESCRIPTION_CHARS + 1)) == "x" * (MAX_DESCRIPTION_CHARS - 1) + "…"
    assert described("x" * 470 + " " * 20 + "y") == "x" * 470 + "…"
    assert described("\ud800a\0") == "\ufffda"


@pytest.mark.parametrize("type_", [None, 42, {}])
def test_a_relationship_without_a_type_is_related_to(type_: object) -> None:
    assert edges({"from": "Ada", "to": "Bob", "type": type_}) == ["person:ada|related-to|person:bob"]
    assert edges({"from": "Ada", "to": "Bob"}) == ["person:ada|related-to|person:bob"]


@pytest.mark.parametrize(
    ("from_", "to"),
    [("Ada", "Eve"), ("Eve", "Bob"), ("Ada", "ada!"), ("Ada", 42), (None, "Bob"), ("", "Bob"), ("😀", "Bob")],
)
def test_a_relationship_without_two_extracted_ends_is_dropped(from_: object, to: object) -> None:
    assert edges({"from": from_, "to": to, "type": "knows"}) == []


def test_an_end_is_found_under_any_type_and_the_smallest_id_wins() -> None:
    raw = {
        "entities": [{"name": "Ada", "type": type_} for type_ in ("ship", "person", "a-b", "a")] + [{"name": "Bob"}],
        "relationships": [{"from": "ADA", "to": "bob", "type": "x"}, {"from": "Ada", "to": "the Ada", "type": "x"}],
    }
    assert [edge.id for edge in sanitise_extraction(CHUNK, raw).relationships] == ["a-b:ada|x|concept:bob"]


def test_two_verbs_are_two_relationships_and_direction_counts() -> None:
    assert edges(
        {"from": "Ada", "to": "Bob", "type": "founded"},
        {"from": "Ada", "to": "Bob", "type": "sued"},
        {"from": "Bob", "to": "Ada", "type": "sued"},
    ) == ["person:ada|founded|person:bob", "person:ada|sued|person:bob", "person:bob|sued|person:ada"]


def test_one_relationship_twice_in_a_chunk_has_weight_1() -> None:
    edge = {"from": "Ada", "to": "Bob", "type": "knows"}
    raw = {"entities": [{"name": "Ada"}, {"name": "Bob"}], "relationships": [edge, edge, {**edge, "weight": 9}]}
    (found,) = sanitise_extraction(CHUNK, raw).relationships
    assert found.weight == 1


SCHEMA = {
    "title": "Extraction",
    "type": "object",
    "properties": {
        "entities": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "type": {"type": "string"}}},
        },
        "relationships": {"type": "array", "items": {"$ref": "#/$defs/Relationship"}},
    },
    "$defs": {"Relationship": {"properties": {"from": {"type": "string"}, "to": {"type": "string"}}}},
    "required": ["entities", "relationships"],
}


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "",
        "prose",
        '{"entities": [{"name": "Ada"}]}',
        b"Ada",
        42,
        10**5000,
        float("nan"),
        [],
        {},
        {"entities": None, "relationships": None},
        {"entities": "Ada", "relationships": 42},
        {"entities": ["Ada", 42, None, [{"name": "Ada"}]]},
        {"relationships": [{"from": "Ada", "to": "Bob"}]},
        {"name": None, "type": None, "description": None},
        {"entities": [{"name": {"type": "string"}, "type": {"type": "string"}, "description": {"type": "string"}}]},
        {1: 2, None: [], ("a",): "b"},
        SCHEMA,
        SCHEMA["properties"],
        {"entities": SCHEMA},
        object(),
        {"Ada"},
    ],
    ids=lambda raw: type(raw).__name__ if type(raw) in {int, object} else ascii(raw)[:40],
)
def test_an_answer_that_names_nothing_is_empty(raw: object) -> None:
    assert sanitise_extraction(CHUNK, raw) == EMPTY


@pytest.mark.parametrize(
    "raw",
    [
        {"nodes": [{"name": "Ada"}, {"name": "Bob"}], "edges": [{"source": "Ada", "target": "Bob"}]},
        {"entities": ({"name": "Ada"}, {"name": "Bob"}), "relations": {"from": "Ada", "to": "Bob"}},
        [{"name": "Ada"}, {"name": "Bob"}, {"from": "Ada", "to": "Bob"}],
        [
            {"entities": [{"name": "Ada"}]},
            {"nodes": {"name": "Bob"}, "relationships": [{"from": "Ada", "target": "Bob"}]},
        ],
        {
            "entities": [{"name": "Ada"}],
            "nodes": [{"name": "Bob"}],
            "edges": [{"from": 1, "source": "Ada", "to": "Bob"}],
        },
    ],
)
def test_the_names_and_shapes_that_models_often_give_are_read(raw: object) -> None:
    found = sanitise_extraction(CHUNK, raw)
    assert [entity.id for entity in found.entities] == ["concept:ada", "concept:bob"]
    assert [edge.id for edge in found.relationships] == ["concept:ada|related-to|concept:bob"]


def test_an_answer_that_holds_itself_or_is_very_deep_does_no_harm() -> None:
    loop: dict[str, Any] = {"name": "Ada"}
    loop["entities"] = [loop, {"name": "Bob", "description": loop}]
    assert [entity.id for entity in sanitise_extraction(CHUNK, loop).entities] == ["concept:ada", "concept:bob"]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert sanitise_extraction(CHUNK, {"entities": deep}) == EMPTY


@given(JSON_LIKE | ANSWERS)
def test_any_value_gives_a_valid_contribution(raw: object) -> None:
    found = sanitise_extraction(CHUNK, raw)
    ids = [entity.id for entity in found.entities]
    assert ids == sorted(set(ids))
    for entity in found.entities:
        assert entity.id == f"{entity.type}:{normalise_name(entity.name)}"
        assert entity.name == entity.surface_forms[0] == min(entity.surface_forms)
        assert {normalise_name(form) for form in entity.surface_forms} == {normalise_name(entity.name)}
        assert entity.provenance == (CHUNK,)
        assert len(entity.description) <= MAX_DESCRIPTION_CHARS
    edge_ids = [edge.id for edge in found.relationships]
    assert edge_ids == sorted(set(edge_ids))
    for edge in found.relationships:
        assert edge.id == f"{edge.from_id}|{edge.type}|{edge.to_id}"
        assert edge.from_id in ids
        assert edge.to_id in ids
        assert edge.from_id != edge.to_id
        assert edge.provenance == (CHUNK,)
    json.dumps([str(found)], ensure_ascii=False).encode()  # every string can be stored
    assert merge_contributions([found]) == found


@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_order_of_the_answer_does_not_show(raw: dict[str, list[object]], order: random.Random) -> None:
    shuffled = {key: order.sample(raw[key], len(raw[key])) for key in order.sample(sorted(raw), len(raw))}
    assert sanitise_extraction(CHUNK, shuffled) == sanitise_extraction(CHUNK, raw)


def test_ten_thousand_entities_and_relationships_take_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        raw = {
            "entities": [{"name": f"Name {i}", "type": f"T {i % 9}", "description": "d"} for i in range(count)] * 2,
            "relationships": [{"from": f"Name {i % 7}", "to": f"name {i}"} for i in range(count)],
        }
        start = time.process_time()
        found = sanitise_extraction(CHUNK, raw)
        assert len(found.entities) == count
        return time.process_time() - start

    seconds(100)  # fills the tables of characters
    long, short = seconds(10_000), seconds(1000)
    assert long < 40 * short  # 10 times as long is linear, 100 times quadratic
    assert long < 5
