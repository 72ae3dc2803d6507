from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knotwork.adapters.models.openai_embedder import into_batches

TEXTS = st.lists(st.text(max_size=20), max_size=30)


@given(TEXTS, st.integers(1, 8), st.integers(1, 50))
def test_batches_keep_every_text_in_order_and_both_limits(texts: list[str], max_texts: int, max_bytes: int) -> None:
    batches = into_batches(texts, max_texts, max_bytes)
    assert [text for batch in batches for text in batch] == texts
    for batch in batches:
        assert 1 <= len(batch) <= max_texts
        assert len(batch) == 1 or sum(len(text.encode()) for text in batch) <= max_bytes


def test_texts_that_fit_share_a_batch() -> None:
    assert into_batches(["aa", "bb", "cc"], 2, 100) == [["aa", "bb"], ["cc"]]
    assert into_batches(["ä", "ö", "ü"], 9, 4) == [["ä", "ö"], ["ü"]]
