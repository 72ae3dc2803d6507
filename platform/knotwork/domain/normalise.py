"""From spellings to names and types: the rules that decide which spellings are one entity.

They hold no language model, no stemming and no similarity, so that an id never changes with a model; and they read
Unicode 14.0 only (`knotwork.domain.text`), so that it never changes with Python.

`normalise_name` is idempotent but for one rule: an article is dropped once, so `The A Team` gives `a team`, which would
give `team`. A stored name is therefore joined to an id as it is (`knotwork.domain.ids.join_entity_id`) and never
normalised again. `normalise_type` and `clean_text` are idempotent.
"""

from __future__ import annotations

import re
from functools import lru_cache

from knotwork.domain.text import UNASSIGNED, casefold, category, first_word_of_name, nfc, nfkd

MAX_NAME_CHARS = 256
MAX_TYPE_CHARS = 64
UNKNOWN_TYPE = "unknown"

_ZERO_WIDTH_SPACE = "\u200b"
# Invisible like the format characters, but marks or letters by category: the grapheme joiner, Hangul fillers, Khmer
# inherent vowels, and variation selectors, without which a heart and a heart drawn in colour would differ.
_INVISIBLE_TOO = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Fathatan to sukun, superscript alef, and the open forms of tanwin. Madda and hamza (U+0653-0655) spell other letters.
_HARAKAT = re.compile("[\u064b-\u0652\u0670\u08f0-\u08f2]")
_SCRIPTS_WITH_DIACRITICS = frozenset({"LATIN", "GREEK", "CYRILLIC"})
_YPOGEGRAMMENI = "\u0345"  # a mark of Greek alone, which case folding would make a letter
_SURROGATE = re.compile("[\ud800-\udfff]")
# After `_TO_WORDS`, anything but a space, + and # belongs to a word. The group holds a run that stays.
_SIGNS = re.compile(r"((?<=[^ +#])[+#]+(?![^ ]))|[+#]+")
# Read before the signs are: the first letter of `A+B` is no article, or it would be one word and meet `B`.
_ARTICLE = re.compile(r"^ *(?:the|an?) (?=.*[^ +#])")


def clean_text(text: str) -> str:
    """Text that every store accepts: lone surrogates become U+FFFD, NUL is dropped; all else stays as it is.

    Two surrogates that make a pair become the character that they encode.
    """
    if not text.isascii() and _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "")


def normalise_name(name: str) -> str:
    """The form in which spellings of one name meet; "" when the name cannot name an entity.

    In this order: NFKD; diacritics of Latin, Greek and Cyrillic letters, Hebrew points and Arabic harakat dropped; case
    folded; format characters deleted, a zero-width space being a space; all but letters, marks, numbers and
    unassigned code points becomes one space, except a run of + or # that ends a word; one leading article dropped
    when a word follows; NFC. A diacritic left without a letter or number (`≠`, `´`) goes with its sign.

    Returns:
        At most MAX_NAME_CHARS characters; "" for a name that is longer, or of which nothing is left.
    """
    text = casefold(_without_diacritics(nfkd(clean_text(name)))).translate(_TO_WORDS)
    text = _SIGNS.sub(lambda run: run[1] or " ", _ARTICLE.sub("", text))
    text = nfc(" ".join(text.split()))
    return text if len(text) <= MAX_NAME_CHARS else ""


@lru_cache(maxsize=1024)  # a corpus has few types and asks for each of them again and again
def normalise_type(type_: str) -> str | None:
    """The form of an entity's, relationship's or source's type: folded words joined by `-`, such as `incident-report`.

    Each run of anything but letters, marks, digits and unassigned code points becomes one `-`; those at the ends
    go. Composed (NFC), so that both encodings of `Café` are one type.

    Returns:
        UNKNOWN_TYPE when nothing is left; None when more than MAX_TYPE_CHARS characters are, and what has this type is
        to be dropped.
    """
    text = nfc(casefold(nfc(clean_text(type_)))).translate(_TO_TYPE)
    text = "-".join(text.split()) or UNKNOWN_TYPE
    return text if len(text) <= MAX_TYPE_CHARS else None


def _without_diacritics(text: str) -> str:
    if text.isascii():
        return text
    kept: list[str] = []
    base = ""  # the character that marks stand on
    for char in text:
        if _is_invisible(char):  # goes later, and must not part a mark from its letter
            pass
        elif category(char)[0] != "M":
            base = char
        elif _is_dropped(char, base):
            continue
        kept.append(char)
    return "".join(kept)


@lru_cache(maxsize=4096)
def _is_dropped(mark: str, base: str) -> bool:
    if mark == _YPOGEGRAMMENI or _HARAKAT.match(mark):
        return True
    script = first_word_of_name(mark)
    # Folded, for the one capital that only its small letter's name tells to be Latin (U+2183).
    if script == "HEBREW" or (base and first_word_of_name(casefold(base)[0]) in _SCRIPTS_WITH_DIACRITICS):
        return True
    return script == "COMBINING" and not (base and _is_of_words(base))  # the marks of no script of their own


@lru_cache(maxsize=65_536)
def _is_invisible(char: str) -> bool:
    return char != _ZERO_WIDTH_SPACE and (category(char) == "Cf" or _INVISIBLE_TOO.match(char) is not None)


def _is_of_words(char: str) -> bool:
    kind = category(char)
    return kind[0] in "LMN" or kind == UNASSIGNED


class _ToWords(dict[int, str]):
    """For `str.translate`, filled as characters are met: what is invisible goes, what is of no word is a space."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if _is_invisible(char):
            self[code] = ""
        else:
            self[code] = char if char in "+#" or _is_of_words(char) else " "
        return self[code]


class _ToType(dict[int, str]):
    """For `str.translate`, filled as characters are met: what is of no type is a space."""

    def __missing__(self, code: int) -> str:
        kind = category(chr(code))
        self[code] = chr(code) if kind[0] in "LM" or kind in {"Nd", UNASSIGNED} else " "
        return self[code]


_TO_WORDS = _ToWords()
_TO_TYPE = _ToType()
