"""Where names and terms stand in a text read by the model, and what type each name has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from spacy.tokens import Doc, Span

from knotwork.adapters.models.rules.candidates import (
    MODEL_RANK,
    Candidate,
    award_names,
    capitalised_runs,
    clause_names,
    identifiers,
    last_word_type,
    marked_phrases,
    model_names,
    opening_name,
    quoted_titles,
    styled_names,
    topic_names,
)
from knotwork.adapters.models.rules.clauses import Clause, plain_clauses
from knotwork.adapters.models.rules.terms import key_terms
from knotwork.adapters.models.rules.topic import Topic
from knotwork.domain.normalise import normalise_name


@dataclass(slots=True)
class Thing:
    """A candidate entity: one name in the chunk, with the votes that its mentions and context cast for a type.

    `guess` is what it most likely is, for the rules that read the text; `type`, settled at the end, is what the chunk
    claims. `votes` lead to the guess, `stated` (what the text says) and `tags` (the model's labels) to the type.
    A term that neither recurs nor stands in a heading is `tentative`: it is kept only if a relationship needs it.
    """

    name: str
    tentative: bool = False
    votes: Counter[str] = field(default_factory=Counter[str])
    stated: Counter[str] = field(default_factory=Counter[str])
    tags: Counter[str] = field(default_factory=Counter[str])
    type: str = "concept"
    description: str = ""

    @property
    def guess(self) -> str:
        """The type with most votes, the first cast among equals; else by the name's last word. One a chunk."""
        return self.votes.most_common(1)[0][0] if self.votes else last_word_type(self.name) or "concept"


class Mentions:
    """The things of a chunk, and which of them each token belongs to."""

    def __init__(self, doc: Doc) -> None:
        self.things: list[Thing] = []
        self.at: list[int] = [-1] * len(doc)
        self.aliases: list[tuple[int, int]] = []  # (thing, another spelling of it that is a thing too)
        self.styles: list[tuple[int, str, int]] = []  # what names say by themselves: `Hugh, King of Italy`
        self.clauses: list[Clause] = []
        self._by_name: dict[str, int] = {}

    def thing(self, name: str, *, tentative: bool = False) -> int:
        """Index of the thing of this name, made where it is new. Names that meet when normalised are one."""
        key = normalise_name(name) or name
        index = self._by_name.setdefault(key, len(self.things))
        if index == len(self.things):
            self.things.append(Thing(name, tentative))
        elif not tentative:
            self.things[index].tentative = False
        return index

    def place(self, thing: int, start: int, end: int) -> None:
        self.at[start:end] = [thing] * (end - start)

    def opens(self, token: int) -> bool:
        """Whether a token is the first of its thing's name."""
        return token == 0 or self.at[token - 1] != self.at[token]

    def guess_of(self, thing: int) -> str:
        return self.things[thing].guess

    def state(self, thing: int, kind: str, weight: int = 1) -> None:
        """Take note that the text says what a thing is."""
        self.things[thing].votes[kind] += weight
        self.things[thing].stated[kind] += weight

    def share_type(self, thing: int, alias: int) -> None:
        """Let another spelling be of the thing's type."""
        of, other = self.things[thing], self.things[alias]
        other.votes, other.stated, other.tags = of.votes, of.stated, of.tags


def find_mentions(doc: Doc, topic: Topic | None, marked: Iterable[str], headings: Sequence[str]) -> Mentions:
    """Find names (by the model, by title, mark-up, quotation and capitals) and terms; overlaps go to the surer sign."""
    mentions = Mentions(doc)
    mentions.clauses = list(plain_clauses(doc))
    surest = [
        *topic_names(doc, topic),
        *styled_names(doc),
        *award_names(doc),
        *marked_phrases(doc, marked),
        *identifiers(doc),
        *quoted_titles(doc),
    ]
    in_clauses = (name for clause in mentions.clauses for name in (*clause.subjects, *clause.objects))
    _place(doc, mentions, [*surest, *in_clauses, *model_names(doc), *opening_name(doc)])
    _place(doc, mentions, capitalised_runs(doc, mentions.at))
    _place(doc, mentions, clause_names(doc, mentions.at))
    headlines = {line.casefold() for line in [topic.bare if topic else "", *headings] if line}
    _place(doc, mentions, key_terms(doc, headlines))
    if topic is not None:
        _join_opening_subject(doc, mentions, topic)
    return mentions


def _place(doc: Doc, mentions: Mentions, candidates: Iterable[Candidate]) -> None:
    """Give each candidate its tokens, the surer and longer first; one whose tokens are taken only votes on the type.

    It votes where it opens the name that has them: the `Italy` of `Hugh, King of Italy` makes no place of Hugh.
    """
    for found in sorted(candidates, key=lambda c: (c.rank, c.start - c.end, c.start)):
        owners = set(mentions.at[found.start : found.end])
        if owners == {-1}:
            name = found.name or _name_of(doc[found.start : found.end])
            owner = mentions.thing(name, tentative=found.tentative)
            mentions.place(owner, found.start, found.end)
        elif len(owners) == 1 and found.rank == MODEL_RANK and mentions.opens(found.start):
            owner = owners.pop()
        else:
            continue
        if found.type:
            mentions.things[owner].votes[found.type] += 1
            if found.rank <= MODEL_RANK:
                says = mentions.things[owner].tags if found.rank == MODEL_RANK else mentions.things[owner].stated
                says[found.type] += 1


def _name_of(span: Span) -> str:
    return " ".join(span.text.split())


def _join_opening_subject(doc: Doc, mentions: Mentions, topic: Topic) -> None:
    """Take `Charles Peckham Day was ...` at the start of the page `Charlie Day` for its topic.

    An opening sentence says what the title's thing is; its subject is another spelling if it shares a word with it, or
    is said to be known as it.
    """
    opening = next(doc.sents, None)
    subject = next((t for t in opening or () if t.dep_ in {"nsubj", "nsubjpass"} and mentions.at[t.i] >= 0), None)
    if subject is None and len(doc) and mentions.at[0] >= 0:
        subject = doc[0]
    if subject is None:
        return
    owner, thing = mentions.at[subject.i], mentions.thing(topic.name)
    spelling = mentions.things[owner].name
    shared = set(spelling.split()) & set(topic.bare.split())
    named = any(word[0].isupper() and len(word) > 1 for word in shared)
    if owner != thing and (named or _is_known_as(subject.sent, mentions, thing)):
        mentions.at = [thing if at == owner else at for at in mentions.at]
        mentions.things[thing].votes.update(mentions.things[owner].votes)
        mentions.things[thing].tags.update(mentions.things[owner].tags)
        mentions.aliases.append((thing, owner))


def _is_known_as(sentence: Span, mentions: Mentions, thing: int) -> bool:
    """Whether a sentence has `known professionally as X`, `under the name of X`."""
    words = sentence.doc[sentence.start : sentence.end]
    return any(
        mentions.at[token.i] == thing
        and token.i > sentence.start + 1
        and sentence.doc[token.i - 1].lower_ in {"as", "name", "of"}
        and any(word.lower_ in {"known", "name", "called", "credited"} for word in words if word.i < token.i)
        for token in words
    )
