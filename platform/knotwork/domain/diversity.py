"""Diversity: of what was found, passages that are relevant and do not repeat each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import mul

from knotwork.domain.model import ChunkId, Vector
from knotwork.domain.retrieval import Scored


def diversify(
    hits: Sequence[Scored], vectors: Mapping[ChunkId, Vector], *, diversity: float, limit: int
) -> list[Scored]:
    """Choose `limit` of the hits by maximal marginal relevance.

    The best hit is chosen first; then, again and again, the one with the largest
    (1 - diversity) * relevance - diversity * greatest cosine with one that is chosen, ties by id. Relevance is the
    score, the best being 1 and the last 0, so that modes of any scale are treated alike.

    Args:
        hits: Best first, each id once.
        vectors: Of length 1; a hit without one is like no other.
        diversity: In [0, 1]; 0 takes the best, 1 looks at nothing but how the hits differ.
        limit: Hits chosen, at most.
    Returns:
        The chosen hits, in the order of `hits`.
    Source: Carbonell, Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents ...", SIGIR 1998.
    """
    if len(hits) <= limit or diversity == 0:
        return list(hits[:limit])
    best, spread = hits[0].score, hits[0].score - hits[-1].score
    gain = {hit.id: (1 - diversity) * (1 - (best - hit.score) / spread if spread else 1.0) for hit in hits}
    likeness = dict.fromkeys(gain, 0.0)  # of each that is left, with the chosen one that it is most like
    chosen: list[ChunkId] = []
    is_first = True
    while len(chosen) < limit:
        taken = hits[0].id if is_first else min(gain, key=lambda id_: (diversity * likeness[id_] - gain[id_], id_))
        chosen.append(taken)
        del gain[taken]
        vector = vectors.get(taken)
        for id_ in gain:
            other = vectors.get(id_)
            alike = 0.0 if vector is None or other is None else sum(map(mul, vector, other))
            likeness[id_] = alike if is_first else max(likeness[id_], alike)
        is_first = False
    kept = frozenset(chosen)
    return [hit for hit in hits if hit.id in kept]
