"""Choosing a start by relevance: scorers, and what is made of their scores.

A scorer gives one raw score for each candidate. Shares, ties and the choice are made here, once for all scorers, so
that the explanation and the decision cannot differ. Scoring is asynchronous, since an embedder is; it runs once a
turn, before the first iteration, and the cursor itself stays synchronous and pure.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, fsum, isfinite, log, sqrt
from typing import Protocol

from knotwork.domain.model import NO_USAGE, Usage, Vector
from knotwork.errors import InvalidInput
from knotwork.ports.models import Embedder
from knotwork.skills.errors import ScoringFailed

DEFAULT_TEMPERATURE = 0.1  # cosines of one message with several descriptions lie within a few tenths of each other


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry whose `when` holds for this context."""

    skill_id: str
    description: str


@dataclass(frozen=True, slots=True)
class Fallback:
    """A scorer that failed, the one that answered in its place, and why."""

    failed: str
    used: str
    reason: str


@dataclass(frozen=True, slots=True)
class RawScores:
    """A scorer's answer: one number for each candidate, in their order; higher is more relevant.

    `temperature` is that of the scorer that answered, where another one fell back on it.
    """

    scores: Sequence[float]
    usage: Usage = NO_USAGE
    fallback: Fallback | None = None
    temperature: float | None = None


class EntryScorer(Protocol):
    """Message and candidates → raw scores. A user's own scorer implements this, or is made by `function_scorer`."""

    @property
    def name(self) -> str:
        """What a trace calls it."""
        ...

    @property
    def calls_model(self) -> bool:
        """Whether scoring calls a model, on this machine or another."""
        ...

    @property
    def temperature(self) -> float:
        """Of the softmax that makes shares of the scores, in units of the scores, > 0; lower is more decided."""
        ...

    async def score(self, message: str, candidates: Sequence[Candidate]) -> RawScores: ...


@dataclass(frozen=True, slots=True)
class EntryScore:
    """One candidate's raw score and its share, in [0, 1]; shares sum to 1."""

    skill_id: str
    score: float
    share: float


@dataclass(frozen=True, slots=True)
class EntryScoring:
    """The outcome: candidates in the order declared, and the chosen one (None when there was no candidate)."""

    scores: tuple[EntryScore, ...]
    chosen: str | None
    scored_by: str  # the scorer that answered; see `fallback` where it is not the one configured
    usage: Usage = NO_USAGE
    fallback: Fallback | None = None


async def score_candidates(scorer: EntryScorer, message: str, candidates: Sequence[Candidate]) -> EntryScoring:
    """Score, share and choose. Equal scores go to the one declared first; without candidates nothing is called.

    Raises:
        ScoringFailed: the scorer's answer is not one finite number for each candidate.
    """
    if not candidates:
        return EntryScoring((), None, scorer.name)
    raw = await scorer.score(message, candidates)
    if len(raw.scores) != len(candidates) or not all(isfinite(score) for score in raw.scores):
        raise ScoringFailed(scorer.name, f"gave {list(raw.scores)!r} for {len(candidates)} candidates")
    shares = softmax(raw.scores, raw.temperature or scorer.temperature)
    best = max(range(len(candidates)), key=lambda place: (raw.scores[place], -place))
    return EntryScoring(
        scores=tuple(
            EntryScore(candidate.skill_id, score, share)
            for candidate, score, share in zip(candidates, raw.scores, shares, strict=True)
        ),
        chosen=candidates[best].skill_id,
        scored_by=scorer.name if raw.fallback is None else raw.fallback.used,
        usage=raw.usage,
        fallback=raw.fallback,
    )


def softmax(scores: Sequence[float], temperature: float) -> list[float]:
    """Shares proportional to exp(score / temperature), summing to 1; no score is too large or too small."""
    top = max(scores)  # subtracted, so that exp cannot overflow
    weights = [exp((score - top) / temperature) for score in scores]
    total = fsum(weights)
    return [weight / total for weight in weights]


# Keywords --------------------------------------------------------------------------------------------------------

# Scripts written without spaces between words: pairs of neighbouring characters stand in for words.
_UNSPACED = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


@dataclass(frozen=True, slots=True)
class KeywordScorer:
    """Words that the message shares with a candidate's id and description. No dependency, no model, any script.

    The score is the cosine of both sets of terms, in [0, 1], each term weighted by ln((1 + N) / df): N candidates,
    df of which have it, so that a word of all of them counts little.
    """

    temperature: float = DEFAULT_TEMPERATURE

    def __post_init__(self) -> None:
        _positive(self.temperature)

    @property
    def name(self) -> str:
        return "keyword"

    @property
    def calls_model(self) -> bool:
        return False

    async def score(self, message: str, candidates: Sequence[Candidate]) -> RawScores:
        """The cosine of each candidate with the message; 0 where they share nothing."""
        asked = frozenset(terms(message))
        offered = [frozenset(terms(f"{item.skill_id} {item.description}")) for item in candidates]
        frequency = Counter(term for own in offered for term in own)
        weight = {term: log((1 + len(candidates)) / df) ** 2 for term, df in frequency.items()}
        # Terms that no candidate has lengthen the message alike for all; they are left out of its norm.
        asked_norm = fsum(weight[term] for term in sorted(asked & frequency.keys()))
        return RawScores([_cosine(asked & own, own, asked_norm, weight) for own in offered])


def _cosine(shared: frozenset[str], own: frozenset[str], asked_norm: float, weight: dict[str, float]) -> float:
    if not shared:
        return 0.0
    return fsum(weight[term] for term in shared) / sqrt(asked_norm * fsum(weight[term] for term in own))


def terms(text: str) -> Iterator[str]:
    """The terms of a text: case-folded words of letters, marks and digits; pairs of characters in unspaced scripts."""
    for word in _words(unicodedata.normalize("NFKC", text).casefold()):
        if len(word) == 1 or not _unspaced(word[0]):
            yield word
        else:
            yield from map("".join, pairwise(word))


def _words(text: str) -> Iterator[str]:
    """Runs of letters, marks and digits, parted also where spaced and unspaced scripts meet."""
    word = ""
    for character in text:
        belongs = unicodedata.category(character)[0] in "LMN"
        if word and (not belongs or _unspaced(character) != _unspaced(word[-1])):
            yield word
            word = ""
        if belongs:
            word += character
    if word:
        yield word


def _unspaced(character: str) -> bool:
    return character > "\u0e00" and unicodedata.name(character, "").startswith(_UNSPACED)


# Embeddings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EmbeddingScorer:
    """The cosine of the message with each candidate's description, in [-1, 1].

    When the embedder fails, `fallback` answers and the outcome names both scorers and the reason; with None the
    embedder's error is raised. Descriptions are embedded once and kept for the life of the scorer.
    """

    embedder: Embedder
    temperature: float = DEFAULT_TEMPERATURE
    fallback: EntryScorer | None = field(default_factory=KeywordScorer)
    _kept: dict[str, Vector] = field(default_factory=dict[str, Vector], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _positive(self.temperature)

    @property
    def name(self) -> str:
        return f"embedding:{self.embedder.id}"

    @property
    def calls_model(self) -> bool:
        return True

    async def score(self, message: str, candidates: Sequence[Candidate]) -> RawScores:
        """One call for the message, and one for the descriptions not seen before."""
        try:
            return await self._cosines(message, candidates)
        except Exception as error:  # an embedder is a user's object: whatever it raises, the turn goes on, by name
            if self.fallback is None:
                raise
            answer = await self.fallback.score(message, candidates)
            reason = f"{type(error).__name__}: {error}"
            named = Fallback(self.name, self.fallback.name, reason)
            return RawScores(answer.scores, answer.usage, named, self.fallback.temperature)

    async def _cosines(self, message: str, candidates: Sequence[Candidate]) -> RawScores:
        asked = await self.embedder.embed([message], purpose="query")
        usage = asked.usage
        texts = [candidate.description or candidate.skill_id for candidate in candidates]
        new = list(dict.fromkeys(text for text in texts if text not in self._kept))
        if new:
            answer = await self.embedder.embed(new, purpose="passage")
            usage += answer.usage
            self._kept.update(zip(new, answer.vectors, strict=True))
        (query,) = asked.vectors
        return RawScores([cosine(query, self._kept[text]) for text in texts], usage)


def cosine(left: Vector, right: Vector) -> float:
    """The cosine of two vectors of one dimension.

    Raises:
        ValueError: the dimensions differ, or a vector has no direction (all zeros, NaN or infinite).
    """
    length = sqrt(fsum(x * x for x in left)) * sqrt(fsum(y * y for y in right))
    if not isfinite(length) or length == 0:
        raise ValueError("a vector of the embedder has no direction")
    return fsum(x * y for x, y in zip(left, right, strict=True)) / length


# The user's own --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FunctionScorer:
    """A scorer made of a plain function of (message, candidate). Made by `function_scorer`."""

    function: Callable[[str, Candidate], float]
    name: str
    calls_model: bool
    temperature: float = DEFAULT_TEMPERATURE

    def __post_init__(self) -> None:
        _positive(self.temperature)

    async def score(self, message: str, candidates: Sequence[Candidate]) -> RawScores:
        return RawScores([self.function(message, candidate) for candidate in candidates])


def function_scorer(
    function: Callable[[str, Candidate], float],
    *,
    name: str,
    calls_model: bool = False,
    temperature: float = DEFAULT_TEMPERATURE,
) -> EntryScorer:
    """The user's own scorer from a function; `calls_model` must say so where it does."""
    return FunctionScorer(function, name, calls_model, temperature)


def _positive(temperature: float) -> None:
    if not (isfinite(temperature) and temperature > 0):
        raise InvalidInput(f"a temperature is a finite number above 0, got {temperature}; 0.1 suits cosines")
