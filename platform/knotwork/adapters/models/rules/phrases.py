"""Typed relationships by the words of a phrase alone, for what first sentences of articles say, whatever the parse.

`the wife of Swedish prime minister Olof Palme`, `music composed by X`, `starring X, Y and Z`, `is a Swedish writer`,
`(Lahore, 1946 – Rome, 2002)`: the parser, which learnt from news, attaches the ends of such lists and asides at random.
Where the tree tied a pair in the sentence already, only a kinship is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spacy.tokens import Doc, Span, Token

from knotwork.adapters.models.rules.grammar import join_words, kinship
from knotwork.adapters.models.rules.mentions import Mentions
from knotwork.adapters.models.rules.vocabulary import CREDIT_NOUNS, KIN_NOUNS

PhraseFact = tuple[int, str, int, Token]
"""Subject, type, object, and the token that says so."""

_BE: Final = frozenset(("is", "was", "are", "were", "be", "became", "becomes", "as"))
_STARS: Final = frozenset(("stars", "starring", "starred", "star"))
_DASHES: Final = frozenset(("–", "-", "—", "−"))
_NEW_NAME: Final = frozenset(("née", "nee", "né"))
_BORN: Final = frozenset(("born", "b."))
_DIED: Final = frozenset(("died", "d.", "†"))
_BEFORE_NOUN: Final = frozenset(("DT", "JJ", "JJR", "JJS", "CD", "PRP$", "NN", "RB", "HYPH"))
_ENDS_NOUN_PHRASE: Final = frozenset(("IN", "TO", "WDT", "WP", "WRB", "VBD", "VBZ", "VBP", "VBG", "VBN"))
_MAX_MODIFIERS: Final = 6  # words between `of` and the name it leads to: `former Swedish prime minister`
_MAX_DESCRIPTION: Final = 14  # words from `is a` to the noun


class PhraseReader:
    """Reads one parsed chunk, a sentence at a time."""

    def __init__(self, doc: Doc, mentions: Mentions) -> None:
        self._doc = doc
        self._at = mentions.at
        self._guess = mentions.guess_of

    def facts(self, sentence: Span, subject: int | None) -> Iterator[PhraseFact]:
        """Facts of a sentence, whose subject is given where one is known."""
        for token in sentence:
            if token.lower_ in KIN_NOUNS:
                yield from self._kin(token, sentence, subject)
            elif self._at[token.i] >= 0 and self._guess(self._at[token.i]) == "group":
                yield from self._countryman(token, sentence)
            elif subject is None:
                continue
            elif self._casts(token) and self._guess(subject) != "person":
                yield from ((subject, "stars", star, token) for star in self._cast(token.i + 1, sentence.end))
            elif token.lower_ in CREDIT_NOUNS and self._guess(subject) != "person":
                yield from self._credit(token, sentence, subject)
            elif token.lower_ in {"is", "was"}:
                yield from self._nationality(token, sentence, subject)

    def life(self, aside: Span, person: int) -> Iterator[PhraseFact]:
        """`(Lahore, 1946 – Rome, 2002)`, `(née Shields; born 1937 in Oslo)`: where, and as whom."""
        if self._guess(person) not in {"person", "concept"} or not any(token.text[:1].isdigit() for token in aside):
            return
        kind, dated, index = "born-in", False, aside.start
        while index < aside.end:
            token = self._doc[index]
            dated = dated or token.text[:1].isdigit()
            if token.lower_ in _BORN:
                kind = "born-in"
            elif token.lower_ in _DIED or (dated and (token.text in _DASHES or token.text[-1] in _DASHES)):
                kind = "dies-in"
            elif token.lower_ in _NEW_NAME:
                kind = "born-as"
            elif (thing := self._at[index]) >= 0:
                index = self._end(index) - 1
                named = self._guess(thing) == "person" or kind == "born-as"
                if not named and self._guess(thing) not in {"group", "language"}:
                    yield person, kind, thing, token
                elif named and self._doc[token.i - 1].lower_ in {*_BORN, *_NEW_NAME} and token.i > aside.start:
                    yield person, "born-as", thing, token
            index += 1

    def _kin(self, noun: Token, sentence: Span, subject: int | None) -> Iterator[PhraseFact]:
        """`X, the wife of Y`, `X was the wife of Y`, `Y's wife X`, `his wife, X`."""
        kind, after = f"{kinship(noun)}-of", noun.i + 1
        if kind.endswith("-in-law-of"):
            after += 4  # - in - law
        following = self._doc[after] if after < sentence.end else None
        if following is None or following.lower_ != "of":
            return
        holder = self._holder(noun, sentence, subject)
        if holder is not None:
            yield from ((holder, kind, kin, noun) for kin in self._people(after + 1, sentence.end) if kin != holder)

    def _holder(self, noun: Token, sentence: Span, subject: int | None) -> int | None:
        """Who a kinship noun speaks of: the name before its comma, or the sentence's subject after `is` and `and`."""
        index = noun.i - 1
        while index >= sentence.start and self._doc[index].tag_ in _BEFORE_NOUN and self._at[index] < 0:
            index -= 1
        if index <= sentence.start:
            return None
        before = self._doc[index]
        if before.text == "," and (self._at[index - 1]) >= 0:
            return self._at[index - 1]
        return subject if before.lower_ in _BE or before.lower_ == "and" else None

    def _people(self, index: int, end: int) -> Iterator[int]:
        """The names that a list opens with: `Swedish prime minister Olof Palme`, `Adalbert and Bertha`."""
        start = index
        while index < end and index - start <= _MAX_MODIFIERS:
            thing, token = self._at[index], self._doc[index]
            if thing >= 0 and self._guess(thing) in {"person", "concept"} and token.text[0].isupper():
                yield thing
                index = self._end(index)
                if not self._joined(index, end):
                    return
                index += 1
                start = index
            elif self._passes(thing, token):
                index += 1
            else:
                return

    def _passes(self, thing: int, token: Token) -> bool:
        """Whether a token may stand before the name it describes: `former Swedish prime minister`."""
        if thing >= 0:
            return self._guess(thing) in {"group", "concept", "organisation"}
        return token.tag_ in {*_BEFORE_NOUN, "NNP", "NNS"}

    def _countryman(self, people: Token, sentence: Span) -> Iterator[PhraseFact]:
        """`by the Hungarian composer Franz Liszt`: a people's name before a trade and a person."""
        for token in self._doc[people.i + 1 : min(sentence.end, people.i + _MAX_MODIFIERS)]:
            thing = self._at[token.i]
            if thing >= 0 and self._guess(thing) == "person":
                yield thing, "nationality", self._at[people.i], people
                return
            if thing >= 0 or token.tag_ not in {"NN", "JJ", "HYPH"}:
                return

    def _joined(self, index: int, end: int) -> bool:
        return index + 1 < end and self._doc[index].lower_ == "and" and self._at[index + 1] >= 0

    def _casts(self, token: Token) -> bool:
        """Whether a word is the verb before a cast: no rating (`five stars, Acme says`), no heavenly body."""
        follows = token.i + 1 < len(self._doc) and not self._doc[token.i + 1].is_punct
        return follows and token.lower_ in _STARS and (token.lower_ != "star" or token.tag_.startswith("VB"))

    def _cast(self, index: int, end: int) -> Iterator[int]:
        """The names of a cast list; a role that follows `as` is none."""
        playing = False
        while index < end:
            token, thing = self._doc[index], self._at[index]
            if thing >= 0 and token.text[0].isupper():
                if not playing and self._guess(thing) in {"person", "concept", "organisation"}:
                    yield thing
                index = self._end(index)
                continue
            if token.lower_ in {"as", "playing"}:
                playing = True
            elif token.text in {",", ";"} or token.lower_ == "and":
                playing = False
            elif token.tag_ in {*_ENDS_NOUN_PHRASE, "."} and not playing:
                return
            index += 1

    def _credit(self, noun: Token, sentence: Span, subject: int) -> Iterator[PhraseFact]:
        """`music (was) composed by X`, `screenplay by X and Y`."""
        index = noun.i + 1
        while index < sentence.end and self._doc[index].tag_ in {"VBD", "VBZ", "VBN", "RB", "CC"}:
            index += 1
        if index < sentence.end and self._doc[index].lower_ == "by":
            verb = next((t.lower_ for t in self._doc[noun.i + 1 : index] if t.tag_ == "VBN"), "")
            kind = join_words(noun.lower_, verb, "by")
            yield from ((subject, kind, maker, noun) for maker in self._people(index + 1, sentence.end))

    def _nationality(self, verb: Token, sentence: Span, subject: int) -> Iterator[PhraseFact]:
        """`X is a Scottish-born Australian wrestler`: the peoples named before the noun."""
        index = verb.i + 1
        if index >= sentence.end or self._doc[index].lower_ not in {"a", "an", "the"}:
            return
        for token in self._doc[index : min(sentence.end, index + _MAX_DESCRIPTION)]:
            ends = token.tag_ in _ENDS_NOUN_PHRASE and token.lower_ != "born"
            if ends or (token.text == "," and token.nbor().lower_ not in {"later", "then"}):
                return
            thing = self._at[token.i]
            if thing >= 0 and self._guess(thing) == "group":
                yield subject, "nationality" if self._guess(subject) == "person" else "from", thing, token

    def _end(self, index: int) -> int:
        """The token after the name that stands at a token."""
        thing = self._at[index]
        while index < len(self._doc) and self._at[index] == thing:
            index += 1
        return index
