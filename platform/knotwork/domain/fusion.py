"""Joining rankings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import fsum

from knotwork.domain.model import ChunkId
from knotwork.domain.retrieval import Scored
from knotwork.errors import InvalidRanking


def fuse_rankings(rankings: Sequence[Sequence[ChunkId]], *, k: int = 60) -> list[Scored]:
    """Merge rankings of chunks into one by reciprocal rank fusion, divided by its maximum.

    score(c) is the sum of 1 / (k + rank of c) over the rankings that hold c, over R / (k + 1); ranks start at 1.

    Args:
        rankings: R rankings, each best first and without repeats; lengths may differ or be 0.
        k: Damping, in ranks, > 0. 60 is the source's value.
    Returns:
        One Scored per distinct chunk, best first, ties by id; unitless, in (0, 1].
    Raises:
        InvalidRanking: k is not positive, or one ranking names a chunk twice.
    Source: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion outperforms Condorcet ...", SIGIR 2009.
    """
    if k <= 0:
        raise InvalidRanking(f"k must be positive, got {k}")
    terms: defaultdict[ChunkId, list[float]] = defaultdict(list)
    for ranking in rankings:
        if len(set(ranking)) != len(ranking):
            raise InvalidRanking("a ranking names a chunk twice")
        for rank, chunk_id in enumerate(ranking, start=1):
            terms[chunk_id].append(1 / (k + rank))
    best = len(rankings) / (k + 1)
    # fsum, not sum: rounding must not depend on the order in which the retrievers answered.
    hits = [Scored(chunk_id, fsum(parts) / best) for chunk_id, parts in terms.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))
