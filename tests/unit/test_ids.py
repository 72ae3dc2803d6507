"""Ids are deterministic, no two things share one, and each can be read back."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knotwork.domain.ids import (
    MAX_KEY_BYTES,
    POINT_NAMESPACE,
    RESERVED_LABELS,
    audience_id,
    chunk_id,
    community_id,
    content_hash,
    entity_id,
    entity_label,
    join_entity_id,
    point_id,
    relationship_id,
    source_public_id,
    split_chunk_id,
    split_entity_id,
    split_relationship_id,
    storage_key,
)
from knotwork.domain.model import EntityId, SourceRef, TenantId
from knotwork.domain.normalise import normalise_name, normalise_type
from knotwork.errors import InvalidInput

ANY_TEXT = st.text(st.characters(codec=None))  # lone surrogates included
SEPARATORS = st.text(st.sampled_from(":\\|/a \n"), max_size=6)
PARTS = SEPARATORS | ANY_TEXT
SOURCES = st.builds(SourceRef, PARTS, PARTS)
TYPES = ANY_TEXT | st.sampled_from(["person", "a|b", "a:b", "Incident Report", ""])

ACME = TenantId("acme")
README = SourceRef("document", "docs/readme.md")
ADA = EntityId("person:ada")
TEAM = EntityId("team:core")


def test_ids_are_readable() -> None:
    assert entity_id("Concept", "The Retry-Budget") == "concept:retry budget"
    assert relationship_id(ADA, "member-of", TEAM) == "person:ada|member-of|team:core"
    assert source_public_id(README) == "document:docs/readme.md"
    assert chunk_id(README, "Hi.", 2) == f"document:docs/readme.md:{content_hash('Hi.')}:2"
    assert storage_key(ACME, "concept:retry budget") == "acme:concept:retry budget"


def test_only_separators_are_escaped() -> None:
    assert source_public_id(SourceRef("web", "http://x.org/é 😀")) == "web:http://x.org/é 😀"
    assert chunk_id(SourceRef("web", "http://x.org"), "", 0).startswith("web:http:://x.org:e3b0")


def test_an_entity_without_a_usable_name_or_type_has_no_id() -> None:
    assert entity_id("person", "😀") is None
    assert entity_id("person", "x" * 257) is None
    assert entity_id("x" * 65, "Ada") is None
    assert entity_id("", "Ada") == "unknown:ada"


def test_people_of_one_name_share_an_id_and_products_with_numbers_do_not() -> None:
    assert entity_id("Person", "Li Wei") == entity_id("person", "LI WEI")
    names = [
        "GPT-4",
        "GPT-4o",
        "Boeing 737",
        "Boeing 747",
        "John Doe",
        "John T. Doe",
        "Mr. Doe",
        "苹果",
        "香蕉",
        "Москва",
    ]
    assert len({entity_id("x", name) for name in names}) == len(names)


@given(TYPES, ANY_TEXT | st.sampled_from(["the the who", "a|b", "a:b", "C++", "#"]))
def test_an_entity_id_splits_into_its_normalised_parts(type_: str, name: str) -> None:
    id_ = entity_id(type_, name)
    if id_ is not None:
        assert split_entity_id(id_) == (normalise_type(type_), normalise_name(name))
        assert join_entity_id(*split_entity_id(id_)) == id_  # not normalised again


@given(st.tuples(TYPES, ANY_TEXT), TYPES, st.tuples(TYPES, ANY_TEXT))
def test_a_relationship_id_splits_into_its_parts(a: tuple[str, str], type_: str, b: tuple[str, str]) -> None:
    from_id, middle, to_id = entity_id(*a), normalise_type(type_), entity_id(*b)
    if from_id and middle and to_id:
        assert split_relationship_id(relationship_id(from_id, middle, to_id)) == (from_id, middle, to_id)


def test_a_relationship_id_keeps_its_direction() -> None:
    assert relationship_id(ADA, "leads", TEAM) != relationship_id(TEAM, "leads", ADA)


@given(SOURCES, PARTS, st.integers(0, 10**6))
@example(SourceRef("a:", "b"), "", 0)
@example(SourceRef("a", ":b"), "", 0)
@example(SourceRef("", ""), "", 0)
@example(SourceRef("file", "\\\\server\\share: x"), "", 0)
def test_chunk_ids_round_trip(source: SourceRef, text: str, ordinal: int) -> None:
    assert split_chunk_id(chunk_id(source, text, ordinal)) == (source, content_hash(text), ordinal)


@given(st.tuples(SOURCES, PARTS, st.integers(0, 20)), st.tuples(SOURCES, PARTS, st.integers(0, 20)))
@example((SourceRef("a:", "b"), "", 0), (SourceRef("a", ":b"), "", 0))
@example((SourceRef("a", ":"), "", 0), (SourceRef("a:", ""), "", 0))
def test_two_sources_or_chunks_never_share_an_id(a: tuple[SourceRef, str, int], b: tuple[SourceRef, str, int]) -> None:
    assert (source_public_id(a[0]) == source_public_id(b[0])) == (a[0] == b[0])
    assert (chunk_id(*a) == chunk_id(*b)) == (a == b)


def test_equal_text_in_two_sources_or_twice_in_one_is_two_chunks() -> None:
    other = SourceRef("document", "b/readme.md")
    assert len({chunk_id(README, "x", 0), chunk_id(other, "x", 0), chunk_id(README, "x", 1)}) == 3


@given(st.tuples(PARTS, PARTS), st.tuples(PARTS, PARTS))
@example(("a:", "b"), ("a", ":b"))
def test_two_pairs_of_tenant_and_id_never_share_a_key_or_a_point(a: tuple[str, str], b: tuple[str, str]) -> None:
    keys = {storage_key(TenantId(tenant), id_) for tenant, id_ in (a, b)}
    points = {point_id(TenantId(tenant), id_) for tenant, id_ in (a, b)}
    assert len(keys) == len(points) == len({a, b})


def test_a_key_over_the_limit_holds_a_hash_that_no_id_looks_like() -> None:
    fits = "é" * ((MAX_KEY_BYTES - len("acme:")) // 2)
    assert storage_key(ACME, fits) == f"acme:{fits}"
    too_long = fits + "é"
    hashed = storage_key(ACME, too_long)
    assert hashed == f"acme:\\sha256:{content_hash(too_long)}"
    assert storage_key(ACME, hashed.removeprefix("acme:")) != hashed
    assert storage_key(TenantId("other"), too_long) != hashed


@pytest.mark.parametrize("id_", ["./data/x y.txt", "😀", "x" * 4096, "\udcff", "C:\\x", ":", ""])
def test_any_source_id_is_legal(id_: str) -> None:
    source = SourceRef("document", id_)
    chunk = chunk_id(source, "Hi.", 0)
    assert split_chunk_id(chunk)[0] == source
    assert len(storage_key(ACME, chunk).encode("utf-8", "surrogatepass")) <= MAX_KEY_BYTES
    assert uuid.UUID(point_id(ACME, chunk)).version == 5


def test_a_point_id_is_the_standard_uuid5_of_the_key_and_never_changes() -> None:
    assert point_id(ACME, "concept:é") == str(uuid.uuid5(POINT_NAMESPACE, "acme:concept:é"))
    assert point_id(ACME, "concept:retry budget") == "f49f05b6-8e24-5528-bf96-75889f911e01"


def test_a_content_hash_is_the_sha256_of_the_utf8_text() -> None:
    assert content_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert content_hash("\ud800") != content_hash("\ufffd")


@pytest.mark.parametrize(
    "id_", ["", "x", ":", "person:", ":ada"], ids=["empty", "no separator", "separator", "no name", "no type"]
)
def test_what_is_no_entity_id_is_refused(id_: str) -> None:
    with pytest.raises(InvalidInput, match="type:name"):
        split_entity_id(id_)


@pytest.mark.parametrize("id_", ["", "a:b", "a:b|c", "a:b||c:d", "a:b|c|d:e|f"])
def test_what_is_no_relationship_id_is_refused(id_: str) -> None:
    with pytest.raises(InvalidInput, match=r"from-id\|type\|to-id"):
        split_relationship_id(id_)


@pytest.mark.parametrize(
    "id_",
    [
        "",
        "a:b",
        "a:b:c:0",
        f"a:b:{'0' * 64}:01",
        f"a:b:{'0' * 64}:x",
        f"a:b:{'0' * 64}:0:1",
        f"a:b:{'A' * 64}:0",
        f"a::b:{'0' * 64}:0",
        f"a:\\b:{'0' * 64}:0",
        f"a::{'0' * 64}:0",
    ],
)
def test_what_is_no_chunk_id_is_refused(id_: str) -> None:
    with pytest.raises(InvalidInput, match="chunk id"):
        split_chunk_id(id_)


@given(PARTS)
def test_an_id_that_splits_is_the_only_one_of_its_parts(front: str) -> None:
    id_ = f"{front}:{content_hash('')}:0"
    try:
        source, _, ordinal = split_chunk_id(id_)
    except InvalidInput:
        return
    assert chunk_id(source, "", ordinal) == id_


@given(st.lists(PARTS))
def test_the_id_of_a_set_knows_neither_order_nor_repeats(values: list[str]) -> None:
    again = sorted(values, reverse=True) + values[:2]
    assert audience_id(again) == audience_id(values)
    members = [EntityId(value) for value in values]
    assert community_id(1, [EntityId(value) for value in again]) == community_id(1, members)


def test_sets_that_differ_have_ids_that_differ() -> None:
    sets = [["a", "b"], ["a,b"], ["ab"], ['a", "b'], [], [""], ["a"]]
    assert len({audience_id(subjects) for subjects in sets}) == len(sets)
    assert community_id(0, [ADA]) != community_id(1, [ADA])
    assert community_id(0, [ADA]) != community_id(0, [TEAM])


@pytest.mark.parametrize(
    ("type_", "label"),
    [
        ("incident-report", "IncidentReport"),
        ("person", "Person"),
        ("v2", "V2"),
        ("人-物", "人物"),
        ("été", "Été"),
        ("", "Unknown"),
        ("source", "Source_"),
        ("source-text", "SourceText_"),
        ("api-key", "ApiKey_"),
        ("vector-sync", "VectorSync_"),
        ("entity", "Entity_"),
    ],
)
def test_a_label_is_the_type_in_capitals(type_: str, label: str) -> None:
    assert entity_label(type_) == label


@given(TYPES | st.sampled_from(sorted(RESERVED_LABELS)))
def test_a_label_is_safe_whatever_the_type_was(raw: str) -> None:
    type_ = normalise_type(raw)
    if type_ is not None:
        label = entity_label(type_)
        assert label
        assert label not in RESERVED_LABELS
        assert not set(label) & set("`\\\0 :-.'\"")
