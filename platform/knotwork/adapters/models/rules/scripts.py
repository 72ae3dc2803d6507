"""Texts that the English model cannot read: which they are, and what is found in them without a model.

Where a script has capitals, names are runs of capitalised words away from a sentence's start, or that recur; elsewhere
names are what stands in quotation marks, and runs of katakana. Key terms are words, or in scripts without spaces
pieces of text, that recur. No relationship is claimed: two names in one passage are tied by the passage.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from knotwork.adapters.models.rules.vocabulary import IDENTIFIER

_MIN_ENGLISH_SHARE: Final = 0.6  # of letters that are Latin; below, the model would see noise
_SAMPLE: Final = 4_000  # characters that decide on the language
_MAX_TERMS: Final = 12
_MAX_NAMES: Final = 60
_MIN_REPEATS: Final = 2
_TERM_LENGTHS: Final = range(4, 41)  # characters; shorter words are mostly grammar

_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’\u0300-\u036f\u0900-\u097f\u0e00-\u0e7f]+[^\W\d_]+)*", re.UNICODE)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")
_HAN_RUN = re.compile(r"[\u3005\u3400-\u9fff\uf900-\ufaff]{2,40}")
_KATAKANA_RUN = re.compile(r"[\u30a1-\u30fa\u30fc・]{2,30}")
_QUOTED = re.compile(r"[《「『“«\"]([^《》「」『』“”«»\"\n]{2,40})[》」』”»\"]")
_SENTENCE_END = re.compile(r"[.!?…。！？:;\n]\s*[\"'«»“”„(\[–—-]*\s*$")

_FUNCTION_WORDS: Final = {
    "en": "the of and to in is was that for with as by on from are at this which it be an or not his her were",
    "de": "der die das und ist von mit ein eine den dem des nicht im auf für sich als auch wurde war",
    "fr": "le la les des est et une dans du en que qui pour par sur avec pas au aux ses était",
    "es": "el la los las de y que en un una por con para del se su es al como fue",
    "it": "il lo la gli le di e che un una per con del della nel sono è dei si fu",
    "pt": "o os as de e que um uma em por com para do da no na se foi ao é",
    "nl": "de het een van en in is dat op te met voor zijn niet aan door werd ook bij naar",
    "pl": "i w na z do się jest nie to że oraz od po przez był dla jako o za jego",
    "sv": "och i att det som en på är av för med den till var inte ett om han från vid",
    "tr": "ve bir bu için ile olarak da de olan daha çok en gibi sonra kadar ise ne olduğu tarafından",
}
_WORDS_OF: Final = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_ALL_FUNCTION_WORDS: Final = frozenset[str]().union(*_WORDS_OF.values())
_HAN_FUNCTION = re.compile(r"[的了在是和与也就都而及或被把从到对这那我你他她它们不有为以于之其个中上下]")


def is_english(text: str) -> bool:
    """Whether the English model should read the text: Latin letters, and English function words not outnumbered.

    A text without function words (a list of names) counts as English, which the model's name finder reads well.
    """
    sample = text[:_SAMPLE]
    letters = sum(character.isalpha() for character in sample)
    if not letters or len(_LATIN.findall(sample)) < _MIN_ENGLISH_SHARE * letters:
        return not letters
    words = Counter(word.casefold() for word in _WORD.findall(sample))
    counts = {language: sum(words[word] for word in listed) for language, listed in _WORDS_OF.items()}
    return counts["en"] >= max(counts.values())


def names_and_terms(text: str) -> list[tuple[str, str]]:
    """(name, type) of the names (`concept`: no model tells people from places) and key terms, in order of appearance.

    Time and answer are bounded: of a text of any length the caller passes a bounded part, and at most 72 are returned.
    """
    found: dict[str, int] = {}
    names = [match[0] for match in IDENTIFIER.finditer(text)]
    names += [
        *_quoted(text),
        *_capitalised(IDENTIFIER.sub(" ", text)),
        *(match[0] for match in _KATAKANA_RUN.finditer(text)),
    ]
    for name in names[: 4 * _MAX_NAMES]:
        if len(found) < _MAX_NAMES:
            found.setdefault(name, text.find(name))
    for term in [*_recurring_words(text), *_recurring_pieces(text)]:
        if not any(term.casefold() in name.casefold() for name in found):
            found[term] = text.find(term)
    return [(name, "concept") for name in sorted(found, key=lambda name: (found[name], name))]


def _quoted(text: str) -> list[str]:
    return [match[1].strip() for match in _QUOTED.finditer(text) if match[1].strip()]


def _capitalised(text: str) -> list[str]:
    """Runs of capitalised words. A word that opens a sentence counts only if it stands capitalised elsewhere too."""
    runs: list[str] = []
    inside: set[str] = set()
    openers: list[tuple[str, bool]] = []
    end = -1
    end_of_last = -1
    for match in _WORD.finditer(text):
        word = match[0]
        starts = end_of_last < 0 or bool(_SENTENCE_END.search(text, end_of_last, match.start()))
        end_of_last = match.end()
        if not (word[0].isupper() and len(word) > 1) or word.casefold() in _ALL_FUNCTION_WORDS:
            end = -1
            continue
        if not starts and end >= 0 and text[end : match.start()] == " " and runs:
            runs[-1] = f"{runs[-1]} {word}"
        else:
            runs.append(word)
            openers.append((word, starts))
        if not starts:
            inside.add(word)
        end = match.end()
    return [
        run for run, (first, opened) in zip(runs, openers, strict=True) if not opened or " " in run or first in inside
    ]


def _recurring_words(text: str) -> list[str]:
    """Words of scripts with spaces but without capitals that occur at least twice, the most frequent first."""
    words = Counter(
        word
        for word in _WORD.findall(text)
        if len(word) in _TERM_LENGTHS and word.casefold() not in _ALL_FUNCTION_WORDS and not _UNSPACED.search(word)
    )
    recurring = [(word, count) for word, count in words.items() if count >= _MIN_REPEATS and word == word.lower()]
    return [word for word, _ in sorted(recurring, key=lambda item: (-item[1], -len(item[0]), item[0]))[:_MAX_TERMS]]


def _recurring_pieces(text: str) -> list[str]:
    """Pieces of 2 to 6 Han characters without a function character that occur at least twice and in no longer piece."""
    counts: Counter[str] = Counter()
    for run in _HAN_RUN.finditer(text):
        for part in _HAN_FUNCTION.split(run[0]):
            for size in range(2, 7):
                counts.update(part[start : start + size] for start in range(len(part) - size + 1))
    chosen: list[str] = []
    for piece, count in sorted(counts.items(), key=lambda item: (-item[1] * (len(item[0]) - 1), item[0])):
        if count < _MIN_REPEATS or len(chosen) == _MAX_TERMS:
            break
        if not any(piece in other or other in piece for other in chosen):
            chosen.append(piece)
    return chosen
