"""Who a pronoun or a general noun (`the film`) stands for: the topic of the page, or the last subject of its kind."""

from __future__ import annotations

from typing import Final

from spacy.tokens import Doc, Span, Token

from knotwork.adapters.models.rules.mentions import Mentions
from knotwork.adapters.models.rules.vocabulary import (
    GROUP_PRONOUNS,
    GROUP_TYPES,
    NOUN_TYPES,
    PERSON_PRONOUNS,
    THING_PRONOUNS,
)

_SUBJECTS: Final = frozenset(("nsubj", "nsubjpass"))
_POINTING: Final = frozenset(("the", "this"))
_PEOPLE: Final = frozenset(("person",))
_NO_PERSON: Final = frozenset(("person", "group"))


class Coreference:
    """Resolves pronouns while the text is read from its start to its end.

    The rules are few and cautious: a page's topic comes first, where its type allows, then the last subject that fits;
    a pronoun that fits neither resolves to nothing, and the fact is left out rather than guessed.
    """

    def __init__(self, doc: Doc, mentions: Mentions, topic: int | None) -> None:
        self._mentions = mentions
        self._topic = topic
        self._subjects: list[int] = []  # subjects read so far, the last one at the end
        first = next((PERSON_PRONOUNS[t.lower_] for t in doc if t.lower_ in PERSON_PRONOUNS), "")
        self._gender = {topic: first} if topic is not None else {}

    def read(self, sentence: Span) -> None:
        """Take note of the sentence's subjects, once its own pronouns are resolved."""
        for token in sentence:
            owner = self._mentions.at[token.i]
            if owner >= 0 and token.dep_ in _SUBJECTS:
                self._subjects.append(owner)

    def topic(self) -> int | None:
        return self._topic

    def resolve(self, token: Token) -> int | None:
        """The thing that a pronoun, or a noun such as `the film`, stands for; None when no rule is sure."""
        word = token.lower_
        if word in PERSON_PRONOUNS:
            return self._person(word, token)
        if word in THING_PRONOUNS:
            return self._last(None, unless=_NO_PERSON)
        if word in GROUP_PRONOUNS:
            return self._last(GROUP_TYPES)
        if self._points(token):
            kind = NOUN_TYPES[word]
            thing = self._last(frozenset((kind,)))
            if thing is not None and thing == self._topic:
                self._mentions.state(thing, kind)
            return thing
        return None

    def _points(self, token: Token) -> bool:
        """Whether a noun only points back: `the film`, `this company`, with nothing that says which."""
        if token.tag_ != "NN" or NOUN_TYPES.get(token.lower_) is None:
            return False
        children = list(token.children)
        return (
            any(child.lower_ in _POINTING for child in children)
            and all(child.dep_ in {"det", "punct", "case"} for child in children if child.i < token.i)
            and not any(child.dep_ in {"prep", "appos", "acl", "relcl"} for child in children)
        )

    def _person(self, word: str, token: Token) -> int | None:
        gender = PERSON_PRONOUNS[word]
        candidates = [
            *self._in_sentence(token),
            *([self._topic] if self._topic is not None else []),
            *self._subjects[::-1],
        ]
        for thing in candidates:
            if self._gender.get(thing, gender) == gender and self._fits(thing, _PEOPLE):
                self._mentions.state(thing, "person")
                return thing
        return None

    def _in_sentence(self, token: Token) -> list[int]:
        """Subjects that stand before a pronoun in its sentence, when the pronoun is not itself its opening subject."""
        found = [
            self._mentions.at[other.i]
            for other in token.doc[token.sent.start : token.i]
            if other.dep_ in _SUBJECTS and self._mentions.at[other.i] >= 0
        ]
        return found[::-1]

    def _last(self, kinds: frozenset[str] | None, unless: frozenset[str] = frozenset()) -> int | None:
        if (
            self._topic is not None
            and self._fits(self._topic, kinds)
            and self._mentions.guess_of(self._topic) not in unless
        ):
            return self._topic
        for thing in reversed(self._subjects):
            kind = self._mentions.guess_of(thing)
            if kind not in unless and (kinds is None or kind in kinds):
                return thing
        return None

    def _fits(self, thing: int, kinds: frozenset[str] | None) -> bool:
        """Whether the thing is of one of the kinds; a topic or a name of which no type is known may be any."""
        kind = self._mentions.guess_of(thing)
        named = thing == self._topic or self._mentions.things[thing].name[0].isupper()
        return kinds is None or kind in kinds or (named and kind == "concept")
