"""Regular expressions of a declaration: searched under a time limit, and refused where they would fill the memory."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import regex

REGEX_TIMEOUT_S = 0.1
MAX_PATTERN_LENGTH = 2_000  # characters
MAX_PATTERN_SIZE = 5_000  # items once repeats are written out; `(a{1000}){1000}` took 274 MB to compile

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TimedPattern:
    """A regular expression searched under a time limit; equal to another of the same text. Made by `timed_pattern`.

    Raises:
        TimeoutError: in `search`, when the limit is reached.
    """

    pattern: str
    _compiled: regex.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Kept here: the module's own cache holds 500, and a graph may have more.
        object.__setattr__(self, "_compiled", regex.compile(self.pattern, cache_pattern=False))

    def search(self, string: str, /) -> object | None:
        return self._compiled.search(string, timeout=REGEX_TIMEOUT_S)


def timed_pattern(pattern: str) -> TimedPattern:
    """
    Raises:
        ValueError: not a regular expression, or too long or too large a one.
    """
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise ValueError(f"a regular expression has at most {MAX_PATTERN_LENGTH} characters")
    if (size := _size(pattern)) > MAX_PATTERN_SIZE:
        raise ValueError(f"its repeats written out make {size} items of at most {MAX_PATTERN_SIZE}; repeat less")
    try:
        return TimedPattern(pattern)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression ({error})") from None


def _size(pattern: str) -> int:
    """How many items the pattern has once each `{n}` and `{n,m}` is written out n times, as the compiler does."""
    totals, last = [0], 0  # of the groups that are open; of the item that a repeat would repeat
    for token in _TOKEN.finditer(pattern):
        if token[1] is not None:
            repeated = last * max(int(token[1]), 1)
            totals[-1] += repeated - last
            last = repeated
        elif token[0] == "(":
            totals.append(0)
        else:
            last = totals.pop() if token[0] == ")" and len(totals) > 1 else 1
            totals[-1] += last
    return sum(totals)
