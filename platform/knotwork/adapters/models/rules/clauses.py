"""Whole sentences of the form `Checkout depends on Ledger and Redis.`: names, a verb, names, and nothing else.

The parser, which learnt from news, is least sure where a note is shortest: it takes `Checkout` for a common noun that
opens a sentence, `A` for an article and `supersedes` for a plural. The form alone says all that is to be known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spacy.tokens import Doc

from knotwork.adapters.models.rules.candidates import MODEL_RANK, Candidate
from knotwork.adapters.models.rules.grammar import join_words, third_person
from knotwork.adapters.models.rules.loading import is_common_word, is_verb, lemma
from knotwork.adapters.models.rules.vocabulary import BE_AND_HAVE

_NAME: Final = r"(?:[A-Z](?:[\w’'-]*\w)?)(?: [A-Z0-9](?:[\w’'-]*\w)?){0,3}"
_NAMES: Final = rf"{_NAME}(?:(?:, and |, | and ){_NAME}){{0,5}}"
_CLAUSE = re.compile(
    rf"(?:^|(?<=[.!?;]) +)(?:(?:The|the) )?(?P<subjects>{_NAMES}) (?P<be>is |are |was |were )?(?P<verb>[a-z]+)"
    r"(?: (?P<preposition>on|upon|from|to|with|by|into|of|for|over|via|through|in|at|against))?"
    rf" (?:the )?(?P<objects>{_NAMES})(?=[.!?;](?:\s|$)|$)",
    re.MULTILINE,
)
_COMPANY: Final = frozenset(("Inc.", "Ltd.", "Corp.", "Co."))
_AND = re.compile(r",? and |, ")


@dataclass(frozen=True, slots=True)
class Clause:
    """Names by token ranges (start, end) with their spelling, the verb's token, and the relationship's type."""

    subjects: tuple[Candidate, ...]
    verb: int
    type: str
    objects: tuple[Candidate, ...]


def plain_clauses(doc: Doc) -> Iterator[Clause]:
    """The clauses of a text, in order. `Marks and Spencer acquires X` has one subject, as its verb has one form."""
    end = -1  # of the last clause, in tokens
    for match in _CLAUSE.finditer(doc.text):
        verb = doc.char_span(*match.span("verb"))
        kind = _type(match)
        if verb is None or not kind:
            continue
        one = not match["be"] and match["verb"].endswith("s") and " and " in match["subjects"]
        subjects = _names(doc, match["subjects"], match.start("subjects"), split=not one)
        objects = _names(doc, match["objects"], match.start("objects"))
        if subjects and objects and _stands_alone(doc, subjects, objects, end):
            end = objects[-1].end
            yield Clause(subjects, verb.start, kind, objects)


def _stands_alone(doc: Doc, subjects: tuple[Candidate, ...], objects: tuple[Candidate, ...], last_end: int) -> bool:
    """Whether the dots around a clause end sentences: those of `Mr.`, `Inc.` and of an initial belong to a name.

    To the tokeniser `B.` is an initial; it is a name where every name of the clause is a letter: `A sued B.`
    """
    first, last = subjects[0].start, objects[-1]
    if first and doc[first - 1].lower_ == "the":
        first -= 1
    before = doc[first - 1].text if first else ""
    if before.endswith(".") and before != "." and first != last_end:
        return False
    letters = all(len(name.name) == 1 for name in (*subjects, *objects))
    closing = doc[last.end - 1].text
    return letters or not closing.endswith(".") or closing in _COMPANY


def _type(match: re.Match[str]) -> str:
    """The relationship's type, or the empty string where the word between the names is no verb that fits them."""
    word = match["verb"]
    base = lemma(word, "verb")
    if base in BE_AND_HAVE or not is_verb(base):
        return ""
    if match["be"]:
        participle = base != word and not word.endswith(("s", "ing"))
        return join_words(word, match["preposition"]) if participle and match["preposition"] else ""
    plural = " and " in match["subjects"]
    if match["preposition"] in {"in", "at"} and is_common_word(match["subjects"].casefold()):
        return ""  # `Construction began in Paris`
    if word.endswith("ing") or (base == word and not plural) or match["preposition"] == "by":
        return ""
    return join_words(third_person(base), match["preposition"] or "")


def _names(doc: Doc, text: str, offset: int, *, split: bool = True) -> tuple[Candidate, ...]:
    """The names of a row, or nothing where one of them is a pronoun or another word of grammar."""
    parts = _AND.split(text)
    if not split or len(set(parts)) == 1:  # `Johnson and Johnson`
        parts = [text]
    found: list[Candidate] = []
    end = 0
    for part in parts:
        start = text.index(part, end)
        end = start + len(part)
        span = doc.char_span(offset + start, offset + end, alignment_mode="expand")
        if span is None or part == "I" or (doc.vocab[part.casefold()].is_stop and len(part) > 1):
            return ()
        found.append(Candidate(MODEL_RANK - 1, span.start, span.end, "", name=part))
    return tuple(found)
