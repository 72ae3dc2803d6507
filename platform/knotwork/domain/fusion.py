"""Joining rankings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import fsum, inf

from knotwork.domain.model import ChunkId
from knotwork.domain.retrieval import Scored
from knotwork.errors import InvalidRanking


def fuse_rankings(
    rankings: Sequence[Sequence[ChunkId]], *, k: int = 60, weights: Sequence[float] | None = None
) -> list[Scored]:
    """Merge rankings of chunks into one by reciprocal rank fusion, divided by its maximum.

    score(c) is the sum of w / (k + rank of c) over the rankings that hold c, w being a ranking's weight, over the sum
    of all w / (k + 1); ranks start at 1.

    Args:
        rankings: R rankings, each best first and without repeats; lengths may differ or be 0.
        k: Damping, in ranks, > 0. 60 is the source's value.
        weights: One a ranking, ≥ 0; a ranking of weight 0 is left out. None: all weigh the same.
    Returns:
        One Scored per distinct chunk, best first, ties by id; unitless, in (0, 1].
    Raises:
        InvalidRanking: k is not positive, weights are too few, too many or negative, or a ranking names a chunk twice.
    Source: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion outperforms Condorcet ...", SIGIR 2009.
    """
    if k <= 0:
        raise InvalidRanking(f"k must be positive, got {k}")
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings) or any(not 0 <= weight < inf for weight in weights):
        raise InvalidRanking(f"{len(rankings)} rankings need as many weights of 0 or more, got {list(weights)}")
    terms: defaultdict[ChunkId, list[float]] = defaultdict(list)
    for ranking, weight in zip(rankings, weights, strict=True):
        if len(set(ranking)) != len(ranking):
            raise InvalidRanking("a ranking names a chunk twice")
        for rank, chunk_id in enumerate(ranking, start=1):
            if weight:
                terms[chunk_id].append(weight / (k + rank))
    best = fsum(weight / (k + 1) for weight in weights)  # rounded as the terms are, or a score may exceed 1
    # fsum, not sum: rounding must not depend on the order in which the retrievers answered.
    hits = [Scored(chunk_id, fsum(parts) / best) for chunk_id, parts in terms.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))
