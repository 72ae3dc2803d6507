"""Unicode as it stood in version 14.0, whatever Python runs.

Ids are computed from these functions, so they must not change when Python's Unicode tables do (3.11 has 14.0, 3.12 has
15.0, 3.13 has 15.1). Code points assigned after 14.0 are treated as what they were then: unassigned, without category,
decomposition, case or combining class. The properties used here of every older code point are equal in all three.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

# First and last of each run of code points that 14.0 leaves unassigned and 15.0 or 15.1 assigns.
# Source: unicodedata of Python 3.11 and 3.13, compared. A Python with newer tables needs more rows; tests/unit/
# test_normalise.py fails there until they are added.
ASSIGNED_LATER = (
    (0xCF3, 0xCF3),
    (0xECE, 0xECE),
    (0x2FFC, 0x2FFF),
    (0x31EF, 0x31EF),
    (0x10EFD, 0x10EFF),
    (0x1123F, 0x11241),
    (0x11B00, 0x11B09),
    (0x11F00, 0x11F10),
    (0x11F12, 0x11F3A),
    (0x11F3E, 0x11F59),
    (0x1342F, 0x1342F),
    (0x13439, 0x13455),
    (0x1B132, 0x1B132),
    (0x1B155, 0x1B155),
    (0x1D2C0, 0x1D2D3),
    (0x1DF25, 0x1DF2A),
    (0x1E030, 0x1E06D),
    (0x1E08F, 0x1E08F),
    (0x1E4D0, 0x1E4F9),
    (0x1F6DC, 0x1F6DC),
    (0x1F774, 0x1F776),
    (0x1F77B, 0x1F77F),
    (0x1F7D9, 0x1F7D9),
    (0x1FA75, 0x1FA77),
    (0x1FA87, 0x1FA88),
    (0x1FAAD, 0x1FAAF),
    (0x1FABB, 0x1FABD),
    (0x1FABF, 0x1FABF),
    (0x1FACE, 0x1FACF),
    (0x1FADA, 0x1FADB),
    (0x1FAE8, 0x1FAE8),
    (0x1FAF7, 0x1FAF8),
    (0x2B739, 0x2B739),
    (0x2EBF0, 0x2EE5D),
    (0x31350, 0x323AF),
)
UNASSIGNED = "Cn"

# The group makes `split` keep the runs: assigned text and later code points alternate.
_LATER = re.compile("([" + "".join(f"{chr(first)}-{chr(last)}" for first, last in ASSIGNED_LATER) + "]+)")


@lru_cache(maxsize=65_536)  # more characters than a corpus uses
def category(char: str) -> str:
    """The general category of one character, such as "Lu"; "Cn" for what Unicode 14.0 leaves unassigned."""
    return UNASSIGNED if _LATER.match(char) else unicodedata.category(char)


def first_word_of_name(char: str) -> str:
    """The first word of the character's Unicode name, which tells the script of a letter ("LATIN"); "" without one."""
    return "" if _LATER.match(char) else unicodedata.name(char, "").partition(" ")[0]


def nfkd(text: str) -> str:
    """Compatibility decomposition."""
    return _but_for_later(text, lambda part: unicodedata.normalize("NFKD", part))


def nfc(text: str) -> str:
    """Canonical composition."""
    return _but_for_later(text, lambda part: unicodedata.normalize("NFC", part))


def casefold(text: str) -> str:
    """Full case folding."""
    return _but_for_later(text, str.casefold)


def capitalise(word: str) -> str:
    """The word with its first character in upper case and the others as they are."""
    return _but_for_later(word[:1], str.upper) + word[1:]


def _but_for_later(text: str, change: Callable[[str], str]) -> str:
    # An unassigned code point is a starter that neither decomposes nor composes, so that normalising the text
    # around it piece by piece gives what normalising the whole gives under the tables of 14.0.
    if text.isascii() or not _LATER.search(text):
        return change(text)
    parts = _LATER.split(text)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)
