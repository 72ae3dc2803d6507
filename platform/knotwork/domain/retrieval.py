"""Values of retrieval: modes, options, results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from knotwork.domain.filters import Filter
from knotwork.domain.model import NO_USAGE, ChunkId, Passage, Subject, TenantId, Usage
from knotwork.domain.normalise import clean_text
from knotwork.errors import InvalidInput

MAX_TOP_K = 200
MAX_QUERY_BYTES = 8 * 1024
MAX_WEIGHT = 1000


class Mode(StrEnum):
    """The ways to answer a query."""

    SEMANTIC = "semantic"  # nearest chunks by embedding
    KEYWORD = "keyword"  # BM25 over chunks
    HYBRID = "hybrid"  # both, fused by reciprocal rank
    NAVIGATE = "navigate"  # choose documents by their outlines, then read them
    LOCAL = "local"  # the question's entities, what the graph ties to them, and chunks near it or like it in words
    GLOBAL = "global"  # community summaries
    PATHS = "paths"  # typed, directed paths between entities
    AUTO = "auto"  # one of the others, chosen by the skill graph


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks, and of which tenant. `subjects` None is the operator, who sees every source of the tenant."""

    tenant: TenantId
    subjects: tuple[Subject, ...] | None = None


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """What the rankings that hybrid joins weigh; 0 leaves one out."""

    semantic: float = 1.0
    keyword: float = 1.0

    def __post_init__(self) -> None:
        weights = (self.semantic, self.keyword)
        if not all(0 <= weight <= MAX_WEIGHT for weight in weights) or not any(weights):
            raise InvalidInput(f"weights are 0 to {MAX_WEIGHT}, and one of them above 0")


@dataclass(frozen=True, slots=True)
class RetrieveOptions:
    """How much is returned: the best `top_k` passages (1 to 200) with score ≥ min_score that meet the filter.

    `diversity` (0 to 1) chooses them among more candidates so that they repeat each other less; they keep scores and
    order. `rerank` has a reranker score the candidates: scores, and with them `min_score`, are then the reranker's.
    """

    top_k: int = 5
    filter: Filter | None = None
    min_score: float | None = None  # applied before the cut, on the scale of the mode; None: no floor
    explain: bool = False  # tell how the answer came about, where the mode can
    diversity: float = 0.0
    rerank: bool = False
    weights: FusionWeights | None = None  # of mode hybrid; None: both alike

    def __post_init__(self) -> None:
        if not 1 <= self.top_k <= MAX_TOP_K:
            raise InvalidInput(f"top_k is {self.top_k}; it must be 1 to {MAX_TOP_K}")
        if not 0 <= self.diversity <= 1:
            raise InvalidInput(f"diversity is {self.diversity}; it must be 0 to 1")


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """Passages, best first, ties by id, what the models of the query counted, and how it came about if asked for."""

    passages: tuple[Passage, ...]
    usage: Usage = NO_USAGE
    explanation: Mapping[str, object] | None = None  # JSON; what stands in it is the mode's
    asked: tuple[Mode, ...] = ()  # the modes whose models counted; none: that of the query


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk with a score; higher is more relevant."""

    id: ChunkId
    score: float


def checked_query(query: str) -> str:
    """The query as it is searched for: lone surrogates and NUL replaced, trimmed.

    Raises:
        InvalidInput: it is empty, or over 8 KB.
    """
    cleaned = clean_text(query).strip()
    if not cleaned:
        raise InvalidInput("the query is empty; ask something")
    if (size := len(cleaned.encode())) > MAX_QUERY_BYTES:
        raise InvalidInput(f"the query has {size} bytes; at most {MAX_QUERY_BYTES} are read, so shorten it")
    return cleaned
