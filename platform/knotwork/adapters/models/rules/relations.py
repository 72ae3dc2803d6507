"""Typed relationships by rules over the dependency tree (labels: ClearNLP's, as spaCy's English models give them).

A type is made of the words that assert the fact: a verb in the third person (`depends-on`, `directs`), a participle
where the sentence is passive (`directed-by`), a noun where it is said what one is to the other (`son-of`,
`capital-of`). The direction is that of the sentence, from subject to object. A negated clause asserts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from spacy.tokens import Doc, Span, Token

from knotwork.adapters.models.rules.clauses import Clause
from knotwork.adapters.models.rules.coreference import Coreference
from knotwork.adapters.models.rules.grammar import (
    agent,
    is_idiom,
    is_negated,
    is_passive,
    join_words,
    kinship,
    particle,
    shared_agent,
    third_person,
    verb_of_agent,
)
from knotwork.adapters.models.rules.loading import lemma
from knotwork.adapters.models.rules.mentions import Mentions
from knotwork.adapters.models.rules.phrases import PhraseFact, PhraseReader
from knotwork.adapters.models.rules.vocabulary import KIN_NOUNS, NOUN_TYPES, ROLE_TITLES

_SUBJECT: Final = frozenset(("nsubj", "nsubjpass"))
_OBJECT: Final = frozenset(("dobj", "dative", "oprd"))
_NOUNS: Final = frozenset(("NN", "NNS", "NNP", "NNPS"))
_PARTICIPLES: Final = frozenset(("VBN", "VBG"))
_BE: Final = frozenset(("be", "is", "are", "was", "were", "been", "being", "'s", "’s", "'re", "am"))
_FINITE: Final = frozenset(("VBZ", "VBD", "VBP"))
_QUOTES: Final = frozenset(('"', "'", "''", "”", "’"))
_BECOME: Final = frozenset(("become", "remain"))
_PLACE_PREPOSITIONS: Final = frozenset(("in", "at", "near", "on", "within"))
_MAX_DEPTH: Final = 4  # nouns between a verb and the name its phrase ends in


@dataclass(frozen=True, slots=True)
class Fact:
    """A relationship found: indices of things, type, and the token whose sentence asserts it."""

    subject: int
    type: str
    object: int
    token: Token


class RelationReader:
    """Reads one parsed chunk, sentence by sentence, and yields its facts in the order of the text."""

    def __init__(self, doc: Doc, mentions: Mentions, coreference: Coreference, hosts: Mapping[int, int]) -> None:
        """`hosts` gives, for the first token of an aside (`born in X`), the token it was set in brackets after."""
        self._doc = doc
        self._mentions = mentions
        self._coreference = coreference
        self._hosts = hosts
        self._phrases = PhraseReader(doc, mentions)
        self._plain = {clause.verb: clause for clause in mentions.clauses}
        self.definitions: dict[int, Token] = {}  # thing → a token of the first sentence that says what it is

    def facts(self) -> Iterator[Fact]:
        """Every fact with at least one end that is a name or key term; two nouns that occur once tell too little."""
        things = self._mentions.things
        for sentence in self._doc.sents:
            tied: set[frozenset[int]] = set()
            for token in sentence:
                for subject, kind, target in self._facts_at(token):
                    if subject != target and not (things[subject].tentative and things[target].tentative):
                        tied.add(frozenset((subject, target)))
                        yield Fact(subject, kind, target, token)
            for subject, kind, target, token in self._by_phrase(sentence):
                if token.lower_ in KIN_NOUNS or frozenset((subject, target)) not in tied:
                    yield Fact(subject, kind, target, token)
            self._coreference.read(sentence)

    def _by_phrase(self, sentence: Span) -> Iterator[PhraseFact]:
        """What the words say where the tree did not, of the sentence's subject; an aside speaks of its host."""
        host = self._hosts.get(sentence.start)
        if host is not None:
            if (owner := self._mentions.at[host]) >= 0:
                yield from self._phrases.life(sentence, owner)
            return
        yield from self._phrases.facts(sentence, self._subject_of(sentence))

    def _subject_of(self, sentence: Span) -> int | None:
        """Whom or what a sentence speaks of: its first subject, or the name that it opens with."""
        for token in sentence:
            if token.dep_ in _SUBJECT:
                resolved = self._coreference.resolve(token)
                return resolved if resolved is not None else next(iter(self._names_at(token)), None)
        opening = self._mentions.at[sentence.start]
        return opening if opening >= 0 else None

    # -- which rule applies at a token ---------------------------------------------------------------------------

    def _facts_at(self, token: Token) -> Iterator[tuple[int, str, int]]:
        if token.i in self._plain:
            yield from self._plain_clause(self._plain[token.i])
        elif token.tag_.startswith("VB"):
            yield from self._clause(token)
        elif token.dep_ == "appos":
            yield from self._apposition(token)
        elif token.lower_ == "stars" and token.tag_ == "NNS":
            yield from self._stars(token)
        if self._mentions.at[token.i] >= 0 and self._is_head(token):
            yield from self._beside_name(token)

    def _plain_clause(self, clause: Clause) -> Iterator[tuple[int, str, int]]:
        """A sentence whose form alone says who does what to whom."""
        at = self._mentions.at
        targets = [(clause.type, at[name.end - 1]) for name in clause.objects if at[name.end - 1] >= 0]
        yield from self._each((at[name.end - 1] for name in clause.subjects if at[name.end - 1] >= 0), targets)

    def _stars(self, token: Token) -> Iterator[tuple[int, str, int]]:
        """`X stars Y and Z` between two names, where the model takes the verb for a noun, as it mostly does."""
        before, after = token.i - 1, token.i + 1
        if before >= 0 and after < len(self._doc) and min(self._mentions.at[before], self._mentions.at[after]) >= 0:
            span = (t for t in self._doc[after:] if self._mentions.at[t.i] == self._mentions.at[after])
            stars = [thing for t in span if self._is_head(t) for thing in self._things(t)]
            yield from self._each([self._mentions.at[before]], (("stars", thing) for thing in stars))

    def _clause(self, verb: Token) -> Iterator[tuple[int, str, int]]:
        """A verb with its subjects, whether active, passive, a participle after a noun, or the second of a pair."""
        if is_negated(verb) or verb.dep_ in {"aux", "auxpass"}:
            return
        subjects, prefix = self._subjects(verb)
        word = lemma(verb.lower_, "verb")
        if verb.lower_ in _BE:
            yield from self._copula(verb, subjects, prefix)
            return
        if not subjects:
            return
        passive = is_passive(verb) or (verb.tag_ == "VBN" and verb.sent.start in self._hosts)
        label = join_words(prefix, verb.lower_ if passive else third_person(word), particle(verb))
        for child in verb.children:
            if child.dep_ in _OBJECT or (child.dep_ == "attr" and word not in _BECOME):
                yield from self._each(subjects, self._targets(child, label))
            elif child.dep_ in {"prep", "agent"} and not self._opens_role(child, word, subjects):
                yield from self._each(subjects, self._prepositional(child, label))
            elif child.dep_ == "attr":
                yield from self._role(subjects, child)
        if passive and agent(verb) is None and (shared := shared_agent(verb)) is not None:
            yield from self._each(subjects, self._prepositional(shared, label))
        antecedent = self._relative_object(verb)
        if antecedent is not None and not passive:
            yield from self._each(subjects, ((label, thing) for thing in antecedent))

    def _copula(self, verb: Token, subjects: list[int], prefix: str) -> Iterator[tuple[int, str, int]]:
        """`X is the capital of Y`, `X is in Y`, `X is dependent on Y`, `Y's mother was X`."""
        subject = next((child for child in verb.children if child.dep_ == "nsubj"), None)
        for child in verb.children:
            if child.dep_ == "attr":
                if prefix:  # a part of the topic: `the producer was X`
                    yield from self._each(subjects, ((prefix, thing) for thing in self._things(child)))
                elif subjects:
                    yield from self._role(subjects, child)
                elif subject is not None:
                    yield from self._role(self._things(child), subject)
            elif child.dep_ == "prep":
                located = child.lower_ in _PLACE_PREPOSITIONS and not prefix and not is_idiom(child)
                yield from self._each(subjects, self._prepositional(child, prefix or ("located" if located else "")))
            elif child.dep_ == "acomp":
                for prep in child.children:
                    if prep.dep_ == "prep":
                        yield from self._each(subjects, self._prepositional(prep, join_words(prefix, child.lower_)))

    def _apposition(self, token: Token) -> Iterator[tuple[int, str, int]]:
        """`X, son of Y`; `his brother, X`; `Turin, Italy`."""
        head = token.head
        named, renamed = self._things(head), self._things(token)
        if self._is_common(token) and named:
            yield from self._role(named, token)
        elif self._is_common(head) and renamed and not self._names_at(head):
            yield from self._role(renamed, head)
        elif named and renamed and self._types(named) == self._types(renamed) == {"place"}:
            yield from self._each(named[:1], (("located-in", thing) for thing in renamed[:1]))

    def _beside_name(self, head: Token) -> Iterator[tuple[int, str, int]]:
        """What stands beside a name in its phrase: `University of X`, `Japan's X`, `his wife X`."""
        if head.dep_ in {"attr", "appos"} and self._is_common(head):
            return  # what stands beside a describing noun tells of the thing described
        named = [self._mentions.at[head.i]]
        role = next((c for c in head.children if c.dep_ in {"compound", "nmod"} and self._mentions.at[c.i] < 0), None)
        for child in head.children:
            if self._mentions.at[child.i] == named[0]:
                continue
            if child.dep_ == "poss" and head.tag_ in {"NNP", "NNPS"}:
                kind = f"{lemma(role.lower_, 'noun')}-of" if role is not None else "of"
                yield from self._each(named, ((kind, owner) for owner in self._things(child)))
            elif child.dep_ == "prep":
                place = self._types(named) == {"place"} and child.lower_ in _PLACE_PREPOSITIONS
                yield from self._each(named, self._prepositional(child, "located" if place else ""))

    # -- what one thing is to another ------------------------------------------------------------------------------

    def _role(self, subjects: list[int], noun: Token, depth: int = 0) -> Iterator[tuple[int, str, int]]:
        """Facts that a describing noun gives: `the capital of Y`, `Y's son`, `a Japanese film`."""
        if not subjects or depth > _MAX_DEPTH:
            return
        if not self._is_common(noun):
            yield from self._each(subjects, (("is", thing) for thing in self._names_at(noun)))
            return
        own = self._names_at(noun)
        if own:  # a key term: `a retry budget is a rate limit`
            yield from self._each(subjects, (("is-a", thing) for thing in own))
        word = kinship(noun)
        for subject in subjects:
            self.definitions.setdefault(subject, noun)
            if kind := NOUN_TYPES.get(word):
                self._mentions.state(subject, kind, 2)
        for child in noun.children:
            if child.dep_ == "conj" and child.tag_ in _NOUNS:
                yield from self._role(subjects, child, depth + 1)
            else:
                yield from self._each(subjects, self._qualifier(child, word, subjects, own))

    def _qualifier(self, child: Token, word: str, subjects: list[int], own: list[int]) -> Iterator[tuple[str, int]]:
        """(type, thing) that a word beside the describing noun gives: `of Y`, `Y's`, `Japanese`, `Marvel`."""
        if child.dep_ == "prep":
            near = NOUN_TYPES.get(word) == "place" and child.lower_ in _PLACE_PREPOSITIONS
            yield from self._prepositional(child, "located" if near else word)
        elif child.dep_ == "poss":
            yield from ((f"{word}-of", owner) for owner in self._things(child))
        elif child.dep_ in {"amod", "compound", "nmod"}:
            for thing in self._names_at(child):
                if thing in own:
                    continue
                if self._mentions.guess_of(thing) == "group":
                    yield "nationality" if self._types(subjects) == {"person"} else "from", thing
                else:
                    yield f"{word}-of", thing

    # -- from a phrase to the things it names ------------------------------------------------------------------------

    def _prepositional(self, prep: Token, label: str, depth: int = 0) -> Iterator[tuple[str, int]]:
        """(type, thing) for each thing that a preposition reaches, through `and` and through nouns without a name."""
        kind = join_words(label, prep.lower_)
        for child in prep.children:
            if child.ent_type_ in {"DATE", "TIME"} and self._mentions.at[child.i] < 0:
                for (
                    nested
                ) in child.children:  # `in May 1821 in Thionville`: the place belongs to what the date belongs to
                    if nested.dep_ == "prep" and nested.lower_ in _PLACE_PREPOSITIONS:
                        yield from self._prepositional(nested, label, depth)
            elif child.dep_ in {"pobj", "pcomp"} and child.tag_ in {*_NOUNS, "PRP", "CD"}:
                yield from self._targets(child, kind, depth)
            elif child.dep_ == "prep":
                yield from self._prepositional(child, kind, depth)
            elif child.dep_ == "conj" and child.tag_ == "IN":
                yield from self._prepositional(child, label, depth)

    def _targets(self, noun: Token, label: str, depth: int = 0) -> Iterator[tuple[str, int]]:
        things = self._things(noun)
        if things:
            yield from ((label, thing) for thing in things)
            return
        if depth >= _MAX_DEPTH or noun.tag_ not in _NOUNS:
            return
        word = lemma(noun.lower_, "noun")
        for child in noun.children:
            if child.dep_ == "prep":
                role = word if label.endswith("-as") else join_words(label, word)
                yield from self._prepositional(child, role, depth + 1)
            elif child.dep_ == "poss":
                yield from ((join_words(label, word, "of"), owner) for owner in self._things(child))
            elif child.dep_ in {"compound", "amod", "nmod"} and self._mentions.at[child.i] >= 0:
                yield join_words(label, word), self._mentions.at[child.i]
            elif child.dep_ == "conj" and child.tag_ in _NOUNS:
                yield from self._targets(child, label, depth + 1)

    def _things(self, token: Token) -> list[int]:
        """The things that a noun phrase names, its conjuncts included; a pronoun is resolved."""
        resolved = self._coreference.resolve(token)
        found = [resolved] if resolved is not None else self._names_at(token)
        if not found:
            found = [t for c in token.children if c.dep_ == "appos" for t in self._names_at(c)]
        for child in token.children:
            if child.dep_ == "conj" and child.tag_ in {*_NOUNS, "PRP"}:
                found = [*found, *(thing for thing in self._things(child) if thing not in found)]
        return found

    def _names_at(self, token: Token) -> list[int]:
        owner = self._mentions.at[token.i]
        return [owner] if owner >= 0 else []

    def _subjects(self, verb: Token) -> tuple[list[int], str]:
        """The subjects of a verb, and a prefix for the type where the subject is a part of the topic (`the music`)."""
        own = next((child for child in verb.children if child.dep_ in _SUBJECT), None)
        if own is not None:
            if own.tag_ in {"WDT", "WP"} or (own.lower_ == "that" and verb.dep_ == "relcl"):
                return (self._described(verb.head) if verb.dep_ == "relcl" else []), ""
            things = self._things(own)
            return (things, "") if things else self._part_of_topic(own)
        if before := self._name_before(verb):
            return before, ""
        if verb.dep_ in {"acl", "relcl"} and verb.head.tag_ in _NOUNS:
            return self._modified(verb), ""
        if verb.dep_ in {"conj", "xcomp", "advcl", "dep"} and verb.head is not verb and verb.head.tag_.startswith("VB"):
            finite_clause = verb.dep_ == "advcl" and verb.tag_ not in {*_PARTICIPLES, "VB"}
            return ([], "") if finite_clause else self._subjects(verb.head)
        return self._host(verb), ""

    def _name_before(self, verb: Token) -> list[int]:
        """The name right before a finite verb without a subject: the model reads `Say It Right is` as clauses."""
        auxiliaries = [child.i for child in verb.children if child.dep_ in {"aux", "auxpass"} and child.i < verb.i]
        if verb.tag_ not in _FINITE and not auxiliaries:
            return []
        before = min([verb.i, *auxiliaries]) - 1
        while before >= verb.sent.start and self._doc[before].text in _QUOTES:
            before -= 1
        found = self._names_at(self._doc[before]) if before >= verb.sent.start else []
        return [thing for thing in found if not self._mentions.things[thing].name.islower()]

    def _modified(self, verb: Token) -> list[int]:
        """What a participle or clause after a noun speaks of. In `directed by X, produced by Y`, X produced nothing."""
        maker_of = verb_of_agent(verb.head)
        if maker_of is not None and agent(verb) is not None:
            return self._subjects(maker_of)[0]
        return self._described(verb.head)

    def _host(self, verb: Token) -> list[int]:
        """The name that an aside without a subject speaks of: `X (born in Y)`."""
        host = self._hosts.get(verb.sent.start)
        if host is None or verb.tag_ not in {"VBN", "VBD"}:
            return []
        return self._names_at(self._doc[host])

    def _described(self, noun: Token) -> list[int]:
        """The things that a clause after a noun speaks of: those named by it, or by what the noun describes."""
        things = self._things(noun)
        if things and not self._is_common(noun):
            return things
        head = noun.head
        if (noun.dep_ == "attr" and lemma(head.lower_, "verb") in {"be", *_BECOME}) or (
            noun.dep_ == "attr" and head.lower_ in _BE
        ):
            return self._subjects(head)[0]
        if noun.dep_ == "appos":
            return self._things(head)
        if noun.dep_ == "conj" and noun is not head:
            return self._described(head)
        return things

    def _part_of_topic(self, noun: Token) -> tuple[list[int], str]:
        """`The music was composed by X` on the page of a film: the topic, and `music` as the type's first word."""
        topic = self._coreference.topic()
        children = list(noun.children)
        bare = noun.tag_ == "NN" and [child.lower_ for child in children] in (["the"], ["its"])
        if topic is None or not bare or self._mentions.guess_of(topic) == "person":
            return [], ""
        return [topic], noun.lower_

    def _relative_object(self, verb: Token) -> list[int] | None:
        """`the film that X directed`: the noun before the clause is the object."""
        if verb.dep_ != "relcl" or any(
            child.dep_ in _OBJECT and child.tag_ not in {"WDT", "WP"} for child in verb.children
        ):
            return None
        if not any(child.dep_ in _SUBJECT and child.tag_ not in {"WDT", "WP"} for child in verb.children):
            return None
        return self._described(verb.head)

    # -- small questions -------------------------------------------------------------------------------------------

    @staticmethod
    def _each(subjects: Iterable[int], targets: Iterable[tuple[str, int]]) -> Iterator[tuple[int, str, int]]:
        pairs = list(targets)
        for subject in subjects:
            for kind, target in pairs:
                if kind and subject != target:
                    yield subject, kind, target

    def _is_head(self, token: Token) -> bool:
        return self._mentions.at[token.i] != self._mentions.at[token.head.i] or token.head is token

    def _is_common(self, token: Token) -> bool:
        """Whether a noun describes and does not name: a common noun, or a word of rank or trade (`King of X`)."""
        rank = token.lower_ in ROLE_TITLES or NOUN_TYPES.get(token.lower_) == "person"
        return token.tag_ in {"NN", "NNS"} or (self._mentions.at[token.i] < 0 and rank)

    def _opens_role(self, prep: Token, word: str, subjects: list[int]) -> bool:
        """Whether an `as` says whom a star of a work plays: the parser takes the rest of the cast for it too."""
        return word == "star" and prep.lower_ == "as" and "person" not in self._types(subjects)

    def _types(self, things: Iterable[int]) -> set[str]:
        return {self._mentions.guess_of(thing) for thing in things}
