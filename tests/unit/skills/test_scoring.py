"""Choosing the start by relevance."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, nan
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.model import Usage
from knotwork.errors import InvalidInput, ModelFailed
from knotwork.ports.models import Embeddings
from knotwork.skills import (
    Candidate,
    EmbeddingScorer,
    EntryScorer,
    KeywordScorer,
    ScoringFailed,
    Skill,
    SkillContext,
    function_scorer,
    skill_graph,
)
from knotwork.skills.scoring import score_candidates, softmax, terms
from unit.skills.skill_graphs import says

PAGING = Skill("paging", "wake the engineer on call")
BILLING = Skill("billing", "questions about money: invoice, refund")
LOOKUP = Skill("lookup", "look up what a document says about a service")


class LetterEmbedder:
    """Counts letters: a real, if poor, embedder. Fails as told."""

    id = "letters"
    dimension = 26

    def __init__(self, failure: Exception | None = None, vector: Sequence[float] | None = None) -> None:
        self.failure, self.vector = failure, vector
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        if self.failure is not None:
            raise self.failure
        self.embedded += texts
        counted = [self.vector or [float(text.count(chr(97 + place))) for place in range(26)] for text in texts]
        return Embeddings(counted, Usage(input_tokens=len(texts)))

    async def close(self) -> None: ...


def graph_of(*skills: Skill, by: EntryScorer):
    builder = skill_graph().entry_by(by)
    for skill in skills:
        builder.entry(skill)
    return builder.build()


async def chosen(scorer: EntryScorer, message: str, *descriptions: str) -> str | None:
    candidates = [Candidate(str(place), text) for place, text in enumerate(descriptions)]
    return (await score_candidates(scorer, message, candidates)).chosen


async def test_the_keyword_scorer_chooses_the_entry_that_shares_words() -> None:
    graph = graph_of(PAGING, BILLING, LOOKUP, by=KeywordScorer())
    outcome = await graph.score_entries(SkillContext("Where is my REFUND for the invoice?"))
    assert outcome.chosen == "billing"
    assert outcome.scored_by == "keyword"
    assert not KeywordScorer().calls_model
    assert [score.skill_id for score in outcome.scores] == ["paging", "billing", "lookup"]
    assert outcome.scores[1].score > 0.3 > outcome.scores[0].score


async def test_what_was_chosen_starts_the_turn() -> None:
    graph = graph_of(PAGING, BILLING, by=KeywordScorer())
    cold = SkillContext("a refund please")
    assert graph.next_skill(cold) is None
    scoring = await graph.score_entries(cold)
    begun = SkillContext("a refund please", chosen_entry_id=scoring.chosen)
    assert graph.next_skill(begun) == "billing"
    assert graph.active_skills(begun) == ("billing",)
    assert graph.explain(begun).reason == "entry 'billing' was chosen for this turn"


@pytest.mark.parametrize(
    ("message", "right"),
    [
        ("我要退款", "处理退款和发票"),
        ("ฉันต้องการคืนเงิน", "การคืนเงินและใบแจ้งหนี้"),
        ("верните деньги", "вернуть деньги, счёт"),
        ("أريد استرداد المبلغ", "استرداد المبلغ"),
        ("मुझे धनवापसी चाहिए", "धनवापसी और चालान"),
        ("払い戻しをお願いします", "払い戻しと請求書"),
        ("환불 요청", "환불 및 청구서"),
        ("ＲＥＦＵＮＤ", "refund an invoice"),
        ("Café schließen", "das CAFÉ SCHLIESSEN"),
    ],
)
async def test_keywords_are_found_in_any_script(message: str, right: str) -> None:
    assert await chosen(KeywordScorer(), message, "wake the engineer", "值班工程师", right) == "2"


def test_terms_are_words_or_pairs_of_characters() -> None:
    assert list(terms("Retry-Budget, v2!")) == ["retry", "budget", "v2"]
    assert list(terms("退款了x退")) == ["退款", "款了", "x", "退"]
    assert list(terms("🙂 --")) == []


async def test_a_word_of_all_candidates_decides_little() -> None:
    descriptions = ("where is the cat", "a runbook", "where is the map", "where is the owl")
    assert await chosen(KeywordScorer(), "where is the runbook", *descriptions) == "1"


async def test_the_embedding_scorer_takes_the_nearest_and_reports_usage() -> None:
    embedder = LetterEmbedder()
    graph = skill_graph().entry(PAGING).entry(BILLING).entry_by_relevance(embedder).build()
    outcome = await graph.score_entries(SkillContext("wake the engineer on call"))
    assert outcome.chosen == "paging"
    assert outcome.scores[0].score == pytest.approx(1)
    assert outcome.scored_by == "embedding:letters"
    assert outcome.usage == Usage(input_tokens=3)
    assert outcome.fallback is None
    assert EmbeddingScorer(embedder).calls_model


async def test_descriptions_are_embedded_once() -> None:
    embedder = LetterEmbedder()
    graph = skill_graph().entry(PAGING).entry(BILLING).entry_by_relevance(embedder).build()
    await graph.score_entries(SkillContext("one"))
    outcome = await graph.score_entries(SkillContext("two"))
    assert embedder.embedded == ["one", PAGING.description, BILLING.description, "two"]
    assert outcome.usage == Usage(input_tokens=1)


@pytest.mark.parametrize(
    ("embedder", "reason"),
    [
        (LetterEmbedder(failure=ModelFailed("timed out")), "ModelFailed: timed out"),
        (LetterEmbedder(failure=OSError("unplugged")), "OSError: unplugged"),
        (LetterEmbedder(vector=[0.0] * 26), "ValueError: a vector of the embedder has no direction"),
        (LetterEmbedder(vector=[nan] * 26), "ValueError: a vector of the embedder has no direction"),
    ],
)
async def test_an_embedder_that_fails_falls_back_by_name(embedder: LetterEmbedder, reason: str) -> None:
    graph = graph_of(PAGING, BILLING, by=EmbeddingScorer(embedder))
    outcome = await graph.score_entries(SkillContext("refund"))
    assert outcome.chosen == "billing"
    assert outcome.scored_by == "keyword"
    assert outcome.fallback is not None
    assert (outcome.fallback.failed, outcome.fallback.used) == ("embedding:letters", "keyword")
    assert outcome.fallback.reason == reason


async def test_the_shares_of_a_fallback_follow_its_own_temperature() -> None:
    failing, keywords = LetterEmbedder(failure=ModelFailed("timed out")), KeywordScorer(0.5)
    fallen = await graph_of(PAGING, BILLING, by=EmbeddingScorer(failing, 0.01, keywords)).score_entries(
        SkillContext("refund")
    )
    direct = await graph_of(PAGING, BILLING, by=keywords).score_entries(SkillContext("refund"))
    assert fallen.scores == direct.scores


async def test_without_a_fallback_the_embedders_error_is_raised() -> None:
    scorer = EmbeddingScorer(LetterEmbedder(failure=ModelFailed("timed out")), fallback=None)
    with pytest.raises(ModelFailed, match="timed out"):
        await graph_of(PAGING, by=scorer).score_entries(SkillContext("refund"))


async def test_a_conditional_entry_that_does_not_match_is_no_candidate() -> None:
    graph = (
        skill_graph()
        .entry(PAGING, when=says("red"))
        .entry(BILLING, when=says("blue"))
        .entry_by(KeywordScorer())
        .build()
    )
    outcome = await graph.score_entries(SkillContext("wake the engineer blue"))
    assert [(score.skill_id, score.share) for score in outcome.scores] == [("billing", 1.0)]
    nobody = await graph.score_entries(SkillContext("wake the engineer"))
    assert (nobody.chosen, nobody.scores) == (None, ())


async def test_ties_go_to_the_entry_declared_first() -> None:
    even = function_scorer(lambda message, candidate: 0.5, name="even")
    assert (await graph_of(BILLING, PAGING, by=even).score_entries(SkillContext())).chosen == "billing"
    assert (await graph_of(PAGING, BILLING, by=even).score_entries(SkillContext())).chosen == "paging"


async def test_a_skill_with_two_entries_is_one_candidate() -> None:
    graph = skill_graph().entry(PAGING, when=says("a")).entry(PAGING, when=says("b")).entry_by(KeywordScorer()).build()
    assert len((await graph.score_entries(SkillContext("a b"))).scores) == 1


@pytest.mark.parametrize("bad", [nan, float("inf")])
async def test_a_score_that_is_no_number_is_refused(bad: float) -> None:
    scorer = function_scorer(lambda message, candidate: bad, name="broken")
    with pytest.raises(ScoringFailed, match="'broken'"):
        await graph_of(PAGING, by=scorer).score_entries(SkillContext())


async def test_a_graph_without_a_scorer_says_how_to_get_one() -> None:
    with pytest.raises(InvalidInput, match="entry_by"):
        await skill_graph().entry(PAGING).build().score_entries(SkillContext())


@pytest.mark.parametrize("temperature", [0.0, -1.0, nan, float("inf")])
def test_a_temperature_must_be_positive(temperature: float) -> None:
    with pytest.raises(InvalidInput, match="temperature"):
        KeywordScorer(temperature)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_shares_sum_to_one_and_keep_the_order_of_the_scores(scores: list[float], temperature: float) -> None:
    shares = softmax(scores, temperature)
    assert fsum(shares) == pytest.approx(1, abs=1e-12)
    assert all(0 <= share <= 1 for share in shares)
    ranked = sorted(zip(scores, shares, strict=True))
    assert [share for _, share in ranked] == sorted(shares)


def test_a_lower_temperature_is_more_decided() -> None:
    assert softmax([0.2, 0.1], 0.05)[0] > softmax([0.2, 0.1], 0.5)[0] > 0.5


@given(st.text(max_size=30), st.lists(st.text(max_size=30), min_size=1, max_size=5))
async def test_keyword_scores_are_cosines(message: str, descriptions: list[str]) -> None:
    candidates = [Candidate(str(place), text) for place, text in enumerate(descriptions)]
    raw = await KeywordScorer().score(message, candidates)
    assert all(0 <= score <= 1 + 1e-12 for score in raw.scores)
