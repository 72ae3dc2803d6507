"""Names that are spelt so nearly alike that they most likely mean one thing, told by their words alone."""

from __future__ import annotations

from collections.abc import Sequence

# Words by which the name of a company or a person may be longer without meaning another.
_LEGAL_FORMS = frozenset(
    {"inc", "incorporated", "ltd", "limited", "llc", "llp", "plc", "corp", "co", "gmbh", "ag", "sa"}
)
_APPENDED = _LEGAL_FORMS | {"corporation", "company", "jr", "sr"}
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("ss", "ss"), ("s", ""))
_STEM = 3  # letters that a word keeps, at least, when the ending of a plural is taken off


def are_near(name: str, other: str) -> bool:
    """Whether two normalised names differ in nothing but how they are written.

    That is: a word stands in the plural in one; words are joined in one; a given name is an initial in one, or one
    initial more stands inside; or one ends with a legal form or `jr`. It is symmetric, and false for equal names.
    """
    if name == other:
        return False
    words, others = _words(name), _words(other)
    if _is_written_alike(words, others) or _abbreviates(words, others):
        return True
    shorter, longer = sorted((words, others), key=len)
    return len(longer) == len(shorter) + 1 and _says_no_more(shorter, longer)


def _words(name: str) -> list[str]:
    return [_singular(word) for word in name.split()]


def _singular(word: str) -> str:
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM and word.isalpha():
            return word[: len(word) - len(ending)] + instead
    return word


def _is_written_alike(words: Sequence[str], others: Sequence[str]) -> bool:
    if words == others:
        return True
    joined = "".join(words)
    # `2 30` is not `23 0`: where numbers begin and end says what they are.
    return len(words) != len(others) and joined == "".join(others) and not any(map(str.isdigit, joined))


def _abbreviates(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether given names are initials in one: `J. R. Smith`, `John Ronald Smith`. The surname stands in full."""
    if len(words) != len(others) or words[-1] != others[-1] or len(words[-1]) == 1:
        return False
    return all(
        one == other or _is_initial(one, other) or _is_initial(other, one)
        for one, other in zip(words, others, strict=True)
    )


def _is_initial(one: str, other: str) -> bool:
    return len(one) == 1 and one.isalpha() and other.startswith(one)


def _says_no_more(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    if longer[-1] in _APPENDED and longer[:-1] == shorter:
        return True
    inner = (place for place in range(1, len(longer) - 1) if len(longer[place]) == 1 and longer[place].isalpha())
    return any([*longer[:place], *longer[place + 1 :]] == shorter for place in inner)
