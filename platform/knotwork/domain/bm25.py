"""Keyword search: text → BM25 term weights, as sparse vectors for an engine that adds the inverse document frequency.

A hit's score is the sum over the query's distinct terms of idf(t) * weight(t, d), where

    weight(t, d) = tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / AVERAGE_LENGTH))
    idf(t)       = ln(1 + (N - n + 0.5) / (n + 0.5)),  N visible documents with text, n of them holding t

The weights are a function of the document alone: the average length is a constant, or one tenant's documents would move
the scores of another's. The engine computes the idf over the points that the caller may see.

Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; idf as in Lucene.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from hashlib import blake2b

K1 = 1.2
B = 0.75
OUTLINE_LENGTH = 16  # tokens; the average length of a title with its headings, where those are weighed alone
OUTLINE = 0x9E3779B9  # sets the terms of titles and headings apart from the same words of texts
TIE = 1e-3  # weight of a text's words beside those of its title and headings: they decide between equals only
AVERAGE_LENGTH = 128  # tokens; a chunk of the default 160 model tokens holds about so many words and parts of words

_COMBINING = re.compile("[\u0300-\u036f]+")  # diacritics of Latin, Greek and Cyrillic letters
_FORMAT = re.compile("[\u00ad\u200c-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")  # soft hyphen, joiners, directions, BOM
_SAME_SIGN = str.maketrans({"\u2019": "'", "\u2010": "-"})  # typographic apostrophe and hyphen
_JOINER = "_+|[-./\\\\:@'&]"
_SPLIT = re.compile(_JOINER)
_PARTS = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # HTTP2Server → HTTP, 2, Server
_WORD = f"{{0}}+(?:(?:{_JOINER}){{0}}+)*(?:[+#]+(?!{{0}}))?"  # {0}: one letter, mark or digit
_ASCII = re.compile(_WORD.format("[A-Za-z0-9]"))
_UNSPACED = (  # scripts written without spaces: blocks of Thai, Lao, Myanmar, Khmer, Japanese and Chinese
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
_SPACED_END = 0x20000  # all letters beyond are Chinese
_CACHED_PIECE = 64  # characters; longer pieces are too rare to be worth the memory


def document_terms(text: str, outline: str = "") -> dict[int, float]:
    """Weights of a document's terms, by term id; empty when the text holds no word.

    A run of a script without spaces gives its characters besides its pairs, so that a query of one character finds it.
    `outline`, title and headings, gives terms of its own, which only `outline_query_terms` ask for.
    """
    headings = term_weights(outline, OUTLINE_LENGTH) if outline else {}
    return {term ^ OUTLINE: weight for term, weight in headings.items()} | term_weights(text)


def term_weights(text: str, average_length: int = AVERAGE_LENGTH) -> dict[int, float]:
    """Weight of each term of a text, by term id, among texts of this average length in tokens."""
    counts = Counter(_terms(text, singles=True))
    norm = K1 * (1 - B + B * counts.total() / average_length)
    weights = {tf: tf * (K1 + 1) / (tf + norm) for tf in set(counts.values())}
    return {term: weights[tf] for term, tf in counts.items()}


def query_terms(text: str) -> dict[int, float]:
    """Weight 1 for each distinct term of a query, by term id; empty when the text holds no word."""
    return dict.fromkeys(_terms(text, singles=False), 1.0)


def outline_query_terms(text: str) -> dict[int, float]:
    """The terms of a query that titles and headings answer; between equals of those, their texts."""
    terms = _terms(text, singles=False)
    return dict.fromkeys(terms, TIE) | dict.fromkeys((term ^ OUTLINE for term in terms), 1.0)


def tokenise(text: str, *, singles: bool = False) -> list[str]:
    """The tokens of a text, in order.

    Words are runs of letters, marks and digits of any script, compared without case, compatibility forms and the
    diacritics of Latin, Greek and Cyrillic. An identifier (`retry_budget`, `HTTP2Server`, `INC-2041`, `a/b.py`) gives
    itself, then its parts; `C++` and `C#` keep their signs. Scripts written without spaces give pairs of neighbouring
    characters, one character where it stands alone, and with `singles` each character too. No stop words, no stemming.
    """
    return [token for piece in text.split() for token in _tokens(piece, singles)]


def term_id(token: str) -> int:
    """A token's dimension of the sparse vector: a stable 32-bit hash.

    Two tokens that share one are counted as one term. Of 100,000 distinct tokens about one pair does.
    """
    return int.from_bytes(blake2b(token.encode(), digest_size=4).digest(), "big")


def _terms(text: str, *, singles: bool) -> list[int]:
    """Term ids of a text's tokens, in order.

    White space ends a word in every script, so the pieces between are read alone and remembered: most of a text are
    pieces seen before, and the words of a document cost a tenth of reading them anew.
    """
    terms: list[int] = []
    for piece in text.split():
        terms += (_cached_term_ids if len(piece) <= _CACHED_PIECE else _term_ids)(piece, singles)
    return terms


def _term_ids(piece: str, singles: bool) -> tuple[int, ...]:
    return tuple(term_id(token) for token in _tokens(piece, singles))


_cached_term_ids = lru_cache(maxsize=1 << 16)(_term_ids)


def _tokens(piece: str, singles: bool) -> list[str]:
    return [token for word in _words(piece) for token in _split(word, singles)]


def _words(text: str) -> list[str]:
    """The words as written, and runs of scripts without spaces, in order."""
    if text.isascii():
        return _ASCII.findall(text)
    folded = _COMBINING.sub("", unicodedata.normalize("NFKD", _FORMAT.sub("", text)))
    return _any_script().findall(unicodedata.normalize("NFC", folded).translate(_SAME_SIGN))


def _split(word: str, singles: bool) -> list[str]:
    """The tokens of a word, or of a run of a script without spaces."""
    if not word.isascii() and _is_unspaced(word[0]):
        pairs = [word[i : i + 2] for i in range(len(word) - 1)]
        return [*pairs, *word] if singles or not pairs else pairs
    if word[-2:] in {"'s", "'S"}:
        word = word[:-2]
    tokens = [word.casefold()]
    bare = word.rstrip("+#")
    pieces = _SPLIT.split(bare)
    if len(pieces) > 1 or bare != word:
        tokens += [piece.casefold() for piece in pieces]
    for piece in pieces:
        parts = _PARTS.findall(piece) if piece.isascii() else []
        if len(parts) > 1:
            tokens += [part.lower() for part in parts if len(part) > 1]
    return tokens


@cache
def _any_script() -> re.Pattern[str]:
    """The pattern of words and runs in any script; built from Python's Unicode tables when first needed (0.1 s)."""
    unspaced = [code for first, last in _UNSPACED for code in range(first, last + 1) if _is_of_a_word(code)]
    spaced = sorted(set(filter(_is_of_a_word, range(_SPACED_END))).difference(unspaced))
    return re.compile(f"[{_ranges(unspaced)}]+|{_WORD.format(f'[{_ranges(spaced)}]')}")


def _is_of_a_word(code: int) -> bool:
    return unicodedata.category(chr(code))[0] in "LMN"


def _is_unspaced(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _UNSPACED)


def _ranges(codes: Iterable[int]) -> str:
    """Ascending code points as the inside of a regular expression's class."""
    spans: list[list[int]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)
