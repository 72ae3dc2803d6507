from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain import audiences
from knotwork.domain.audiences import (
    Account,
    Known,
    combined,
    from_evidence,
    visible,
    with_account,
    without_account,
)

said = st.builds(
    Account,
    audience=st.just("all"),
    description=st.sampled_from(["", "b", "a", "longer", "larger"]),
    name=st.sampled_from(["Ada", "ADA", "ada"]),
)


def known_from(evidence: list[Account]) -> Known | None:
    return from_evidence(len(evidence), {one.name for one in evidence}, {one.description for one in evidence})


def read_again(evidence: list[Account]) -> Known | None:
    """As a store reads it: descriptions with counts, one under each name, down to the length of the third row."""
    rows = sorted(Counter((one.name, one.description) for one in evidence).items(), key=lambda row: -len(row[0][1]))
    least = len(rows[:3][-1][0][1]) if rows else 0
    spares = tuple((text, count) for (_, text), count in rows if len(text) >= least)
    return from_evidence(len(evidence), {one.name for one in evidence}, {text for text, _ in spares}, spares)


@given(st.lists(said, min_size=1))
def test_hearing_one_by_one_gives_what_hearing_all_gives(evidence: list[Account]) -> None:
    known = None
    for one in evidence:
        known = with_account(known, one)
    assert known == known_from(evidence)


@given(st.lists(said, min_size=1), st.data())
def test_taking_back_gives_what_never_hearing_gives_or_asks_to_read_again(
    evidence: list[Account], data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(evidence))
    rest = list((Counter(evidence) - Counter([gone])).elements())
    known = known_from(evidence)
    assert known is not None
    after, read_again = without_account(known, gone)
    assert read_again or after == known_from(rest)


@given(st.lists(said, min_size=1), st.lists(st.tuples(st.booleans(), said), max_size=30))
def test_of_a_hub_the_next_best_description_is_known_or_asked_for(
    evidence: list[Account], changes: list[tuple[bool, Account]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audiences, "SPARES_FROM", 1)
        patch.setattr(audiences, "SPARES", 3)
        heard, known = list(evidence), read_again(evidence)
        for speaks, said_now in changes:
            if speaks:
                heard.append(said_now)
                known = with_account(known, said_now)
            elif said_now in heard:
                heard.remove(said_now)
                assert known is not None
                known, doubt = without_account(known, said_now)
                if doubt:
                    known = read_again(heard)
            assert known == known_from(heard)
            assert known is None or not known.spares or known.spares[0][0] == known.description
            said_by = Counter(one.description for one in heard)
            for text, count in known.spares if known else ():
                assert said_by[text] == count


@given(st.dictionaries(st.sampled_from("xyz"), st.lists(said, min_size=1), min_size=1), st.data())
def test_a_reader_knows_what_the_evidence_of_their_audiences_says(
    evidence: dict[str, list[Account]], data: st.DataObject
) -> None:
    known = {audience: one for audience, heard in evidence.items() if (one := known_from(heard))}
    mine = frozenset(data.draw(st.sets(st.sampled_from("xyz"))))
    heard = [one for audience in sorted(mine & evidence.keys()) for one in evidence[audience]]
    assert visible(known, mine) == (known_from(heard) if heard else None)


def test_the_operator_knows_what_all_audiences_know() -> None:
    known = {"x": Known(1, "B", "short"), "y": Known(2, "A", "longer")}
    assert visible(known, None) == combined(known.values()) == Known(3, "A", "longer")
