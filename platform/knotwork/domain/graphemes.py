"""Where text may be cut without splitting a grapheme, a character as a reader sees it.

A conservative subset of Unicode's rules: it may refuse a place where a cut would be right, but each place that it
allows is a boundary of extended grapheme clusters. Source: Unicode Standard Annex 29, section 3.1.1 (GB3 to GB13).
"""

from __future__ import annotations

from unicodedata import category, combining

_ZWJ = "\u200d"
# Format characters that join what follows (property Prepend), Unicode 16.
_PREPEND = frozenset(
    map(
        chr,
        (
            *range(0x600, 0x606),
            *(0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0xD4E, 0x110BD, 0x110CD, 0x111C2, 0x111C3, 0x113D1),
            *(0x1193F, 0x11941, *range(0x11A84, 0x11A8A), 0x11A3A, 0x11D46, 0x11F02),
        ),
    )
)
# Characters that join what stands before them although their category is not Mark: zero-width non-joiner and joiner,
# Thai and Lao AM, half-width Katakana voicing marks, emoji skin tones, tag characters.
_EXTEND = frozenset(
    map(chr, (0x200C, 0x200D, 0xE33, 0xEB3, 0xFF9E, 0xFF9F, *range(0x1F3FB, 0x1F400), *range(0xE0020, 0xE0080)))
)


def is_boundary(text: str, at: int, *, since: int = 0) -> bool:
    """Whether `text` may be cut before character `at` without splitting a grapheme.

    Args:
        text: Any text.
        at: A place in it, from 0 (before the first character) to its length.
        since: A place at or before `at` known to be a boundary; nothing before it is read, which bounds the work.
    """
    if at <= since or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after < "\u0300" and before < "\u0300":  # no joiner, mark or jamo below U+0300; the usual case, so it goes first
        return not (before == "\r" and after == "\n")
    if category(before) in {"Cc", "Zl", "Zp"}:  # GB4: controls join nothing
        return True
    if before in _PREPEND or before == _ZWJ or _extends(after) or _hangul_joins(before, after):
        return False
    if _is_regional(before) and _is_regional(after):
        return _run_of_regionals(text, at, since) % 2 == 0
    return not (_extends(before) and category(after) == "Lo" and _ends_in_linker(text, at, since))


def next_boundary(text: str, at: int, *, since: int = 0) -> int:
    """The first boundary at or after `at`."""
    while not is_boundary(text, at, since=since):
        at += 1
    return at


def previous_boundary(text: str, at: int, *, since: int = 0) -> int:
    """The last boundary at or before `at`; `since` at the least."""
    while not is_boundary(text, at, since=since):
        at -= 1
    return at


def _extends(char: str) -> bool:
    # An unassigned character may be a mark in a later Unicode: to join it is the safe side.
    return char in _EXTEND or category(char) in {"Mn", "Me", "Mc", "Cn"}


def _hangul_joins(before: str, after: str) -> bool:
    """GB6 to GB8, a little wider: a syllable takes any vowel or final jamo that follows."""
    if "\u1160" <= after <= "\u11ff" or "\ud7b0" <= after <= "\ud7fb":
        return "\u1100" <= before <= "\u11ff" or "\ua960" <= before <= "\ua97c" or "\uac00" <= before <= "\ud7fb"
    leading = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c"
    return leading and ("\u1100" <= after <= "\u115f" or "\ua960" <= after <= "\ua97c" or "\uac00" <= after <= "\ud7a3")


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _run_of_regionals(text: str, at: int, since: int) -> int:
    start = at
    while start > since and _is_regional(text[start - 1]):
        start -= 1
    return at - start


def _ends_in_linker(text: str, at: int, since: int) -> bool:
    """GB9c, a little wider: whether a virama is among the marks that end just before `at`."""
    while at > since and _extends(text[at - 1]):
        at -= 1
        if combining(text[at]) == 9:  # noqa: PLR2004 - Unicode's combining class of viramas
            return True
    return False
