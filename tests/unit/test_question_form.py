"""What a question looks like: names, codes and cues, in many shapes and scripts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.question_form import LOOKED_AT, Cue, form_of


@pytest.mark.parametrize(
    "code",
    ["LGR-1207", "ERR_LOCK_TIMEOUT", "0x80070057", "14644-1", "parse_header()", "GPT-4o", "--force", "maxRetries"],
)
def test_a_code_is_told_from_words(code: str) -> None:
    form = form_of(f"please explain {code}, then go on")
    assert (form.codes, form.names) == ((code,), ())
    assert form_of(f"please explain it ({code.removesuffix('()')}, that is)").names == ()
    assert Cue.EXACT in form_of(code).cues


@pytest.mark.parametrize("word", ["2026", "sign-in", "0.2%", "x", "don't", "90", "mother-in-law"])
def test_numbers_and_hyphens_are_no_codes(word: str) -> None:
    assert form_of(f"we saw {word} today").codes == ()


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How is Kassaro tied to the Storage team?", ("Kassaro", "Storage")),
        ("Where did Sylvia Burka's husband die?", ("Sylvia Burka",)),
        ("Who was born first, Ada King or Dr. Grace Hopper?", ("Ada King", "Dr Grace Hopper")),
        ("What should I do?", ()),
        ("WHO OWNS THE LEDGER", ()),
        ("Does Ørsted, Москва or Ἀθῆναι follow?", ("Ørsted", "Москва", "Ἀθῆναι")),
    ],
)
def test_names_are_runs_of_capitalised_words(question: str, names: tuple[str, ...]) -> None:
    assert form_of(question).names == names


@pytest.mark.parametrize(
    ("question", "cue"),
    [
        ("Who leads the team whose service is down?", Cue.UNNAMED),
        ("Who manages the contract with the vendor behind it?", Cue.UNNAMED),
        ("What nationality is the director of film Blood Street?", Cue.UNNAMED),
        ("Where did Sylvia Burka's husband die?", Cue.UNNAMED),
        ("Which services are affected if the bus stops?", Cue.DEPENDENTS),
        ("In what way are both of them connected?", Cue.CONNECTION),
        ("Is there a link between tea and milk?", Cue.CONNECTION),
        ("Who was born first, Ada King or Grace Hopper?", Cue.COMPARISON),
        ("How much does Anvil cost compared with Crane?", Cue.COMPARISON),
        ("What does the travel policy say?", Cue.DOCUMENT),
        ("What are the main themes of last quarter?", Cue.OVERVIEW),
        ("What do guests talk about?", Cue.OVERVIEW),
    ],
)
def test_a_turn_of_phrase_is_a_cue(question: str, cue: Cue) -> None:
    assert cue in form_of(question).cues


@pytest.mark.parametrize(
    "question",
    [
        "How fast must we replace a key that may have leaked?",
        "Can the search page still be used while the database is down?",
        "Is there a danger in starting a failed weekly transfer run once more?",
    ],
)
def test_a_plain_question_shows_no_other_cue(question: str) -> None:
    assert form_of(question).cues == {Cue.PLAIN}


@pytest.mark.parametrize(
    ("query", "is_terms"),
    [
        ("payouts delayed weekly run", True),
        ("Rufbereitschaft Ledger Feiertage", True),
        ("支払い 遅延", True),
        ("支付服务出了问题的时候应该先联系哪一个团队", False),
        ("谁负责支付服务？", False),
        ("who owns payouts", False),
        ("payouts?", False),
        ("one two three four five six", False),
    ],
)
def test_search_terms_are_few_words_without_grammar_or_question_mark(query: str, is_terms: bool) -> None:
    assert (Cue.TERMS in form_of(query).cues) is is_terms


@pytest.mark.parametrize(
    "question", ["Is one older than the other?", "Which film has the director who is older, Anvil or Crane?"]
)
def test_only_things_that_are_named_are_compared(question: str) -> None:
    assert Cue.COMPARISON not in form_of(question).cues


def test_names_codes_and_quotations_are_masked_as_whole_words() -> None:
    form = form_of('Why does Al say "no" to Alba about KES-030, also twice?')
    assert form.masked == "Why does X say X to X about X, also twice?"
    assert (form.names, form.codes, form.quotations) == (("Al", "Alba"), ("KES-030",), ("no",))


@given(st.text(max_size=300))
def test_any_text_has_a_form_and_always_the_same(text: str) -> None:
    assert form_of(text) == form_of(text)
    assert (Cue.NAMED in form_of(text).cues) != (Cue.PLAIN in form_of(text).cues)


@pytest.mark.parametrize(
    "part", ["link ", "the same ", "how ", '"', "the a of the ", "A's ", "Aa ", "a_", "the x-", "“"]
)
def test_a_hostile_question_is_read_at_once(part: str) -> None:
    form_of("warm up")
    started = time.process_time()
    form_of(part * (8192 // len(part)))
    assert time.process_time() - started < 0.2
    assert form_of(part * 8192) == form_of((part * 8192)[:LOOKED_AT])
