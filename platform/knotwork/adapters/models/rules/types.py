"""The type that an entity is given: settled by its name's own form wherever that says enough, so that it stays.

An entity's id holds its type, and a chunk is read without the others: a rare name that the model calls a person in one
chunk and a company in the next would become two entities. So the model's label of a single word counts for little: it
needs a cue beside the word (`in Leipzig`, `Dr. Massholt`, `Hugh ... his`), and without one the word is a `concept`, the
type that key terms have. Of all neutral types this one gives the fewest changes, for `Retry Budget` in a heading and
`retry budget` in a sentence meet in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from spacy.tokens import Doc

from knotwork.adapters.models.rules.loading import is_common_word, lemma
from knotwork.adapters.models.rules.mentions import Mentions, Thing
from knotwork.adapters.models.rules.places import PLACES
from knotwork.adapters.models.rules.vocabulary import (
    FIRST_WORD_TYPES,
    HEAD_TYPES,
    IDENTIFIER,
    LAST_WORD_TYPES,
    NOUN_TYPES,
    ROLE_TITLES,
    SITED_WORDS,
)

NEUTRAL: Final = "concept"

_QUALIFIER = re.compile(r"(.*\S)\s*\([^()]+\)")
_NUMERAL = re.compile(r"I{2,3}|IV|VI{0,3}|IX|XI{0,3}|XI?V|XVI{0,3}")
_PLACE_CUES: Final = frozenset(("in", "at", "near"))
_LIFE: Final = frozenset(("born", "died", "married", "dies", "marries", "divorced"))
_PEOPLE = re.compile(
    r"[A-Z]\w*(?:ans?|ish|ese|elsh|is?|ews?|erbs?|rabs?|urks?|wedes?|anes?)"
    r"|French|Dutch|Greeks?|Swiss|Czechs?|Latin|Arabic|Gaelic|Slavic|Germanic|Catholics?"
)
_BY_HEAD_ALONE: Final = frozenset(("service", "team", "policy", "product"))  # said once, not in the next chunk
_NAME_WORDS: Final = range(2, 5)


def settle_types(doc: Doc, mentions: Mentions) -> None:
    """Give every thing of a chunk its type; called once, when all that the text says of them has been read."""
    _count_cues(doc, mentions)
    for thing in mentions.things:
        thing.type = _settled(thing)


def _count_cues(doc: Doc, mentions: Mentions) -> None:
    """Count what stands beside the single words that name something."""
    for token in doc:
        thing = mentions.things[mentions.at[token.i]] if mentions.at[token.i] >= 0 else None
        if thing is None or thing.name != token.text:
            continue
        before = doc[token.i - 1].lower_.rstrip(".") if token.i else ""
        after = doc[token.i + 1].lower_ if token.i + 1 < len(doc) else ""
        if before in _PLACE_CUES and token.ent_type_ in {"GPE", "LOC"} and _sets_in_place(token.head.head.lower_):
            thing.stated["place"] += 1
        if (before in ROLE_TITLES or after in _LIFE) and token.ent_type_ == "PERSON":
            thing.stated["person"] += 1


def _sets_in_place(word: str) -> bool:
    """Whether what is `in X` is a life, a site or a kind of place, and not a fault or a table in a system."""
    return word in SITED_WORDS or NOUN_TYPES.get(word) in {"place", "organisation", "event"}


def _settled(thing: Thing) -> str:
    qualified = _QUALIFIER.fullmatch(thing.name)
    name = qualified[1] if qualified else thing.name
    words = name.split()
    if kind := type_by_form(name):
        return thing.stated.most_common(1)[0][0] if qualified and thing.stated else kind
    if name.islower() or not words:
        return NEUTRAL
    votes = Counter({kind: count for kind, count in thing.stated.items() if kind not in _BY_HEAD_ALONE})
    if len(words) == 1:
        if _PEOPLE.fullmatch(name) and {"group", "language"} & set(thing.tags):
            return "group"  # `English` is a language and a people; texts do not say which
        if "person" not in thing.tags:
            del votes["person"]  # a pronoun alone may mean another
        return _first(votes)
    if not votes and _like_a_person(words):
        return "person"
    votes.update(thing.tags)
    return _first(votes)


def _first(votes: Counter[str]) -> str:
    return votes.most_common(1)[0][0] if votes else NEUTRAL


def type_by_form(name: str) -> str:
    """The type that a name's own words give, or the empty string: what holds of the name in every chunk."""
    if IDENTIFIER.fullmatch(name):
        return "identifier"
    if name.casefold() in PLACES and not name.islower():
        return "place"
    words = name.casefold().split()
    if len(words) == 1 or not words:
        return ""
    last = lemma(words[-1].strip(".,"), "noun")
    if name.islower():
        return HEAD_TYPES.get(last, NEUTRAL)
    return LAST_WORD_TYPES.get(words[-1].strip(".,")) or HEAD_TYPES.get(last) or _by_opening(name.split(), words)


def _by_opening(words: Sequence[str], lower: Sequence[str]) -> str:
    """The type that a capitalised name's first words give, and a ruler's numeral: `Battle of X`, `Dr. X`, `X IV`."""
    if lower[1:2] == ["of"] and lower[0] in NOUN_TYPES:
        return NOUN_TYPES[lower[0]]
    if lower[0].rstrip(".") in ROLE_TITLES or _NUMERAL.fullmatch(words[-1]):
        return "person"
    if lower[0] == lower[-1] and lower[1:-1] == ["and"]:
        return "organisation"  # `Johnson and Johnson`
    return FIRST_WORD_TYPES.get(lower[0], "")


def _like_a_person(words: Sequence[str]) -> bool:
    """Whether capitalised words, none of the dictionary's, stand like first and last name: `Greta Kröger`."""
    return len(words) in _NAME_WORDS and all(
        word[0].isupper() and word.isalpha() and not word.isupper() and not is_common_word(word.casefold())
        for word in words
    )
