"""Where names and terms stand in a text read by the model, and what type each name has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from spacy.tokens import Doc, Span, Token

from knotwork.adapters.models.rules.loading import is_common_word, lemma
from knotwork.adapters.models.rules.topic import Topic
from knotwork.adapters.models.rules.vocabulary import (
    HEAD_TYPES,
    LAST_WORD_TYPES,
    LIGHT_ADJECTIVES,
    LIGHT_NOUNS,
    MODEL_TYPES,
    ROLE_TITLES,
)
from knotwork.domain.normalise import normalise_name

_MAX_NAME_TOKENS: Final = 12
_MAX_QUOTED_CHARS: Final = 80
_MAX_TERM_TOKENS: Final = 4
_MIN_REPEATS: Final = 2  # occurrences that make a noun phrase a key term
_MODEL_RANK: Final = 5

_QUOTED = re.compile(r"[\"“]([^\"“”\n]*)[\"”]")
_NUMERAL = re.compile(r"[IVX]{1,5}")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_ADDRESS: Final = frozenset(("mr", "mrs", "ms", "dr", "miss"))
_PROPER: Final = frozenset(("NNP", "NNPS"))
_COMMON: Final = frozenset(("NN", "NNS"))
_TRIM: Final = frozenset(("the", "a", "an", "'s", "’s", "'", "’", "and", "of", "in"))
_TITLE_MARKS: Final = frozenset(("'s", "’s", ":", "-", "&", "!"))
_TITLE_OPENERS: Final = frozenset(("DT", "NNP", "NNPS", "NN", "NNS", "JJ", "CD", "VB", "VBG"))
_SMALL_WORDS: Final = frozenset(
    ("of", "the", "a", "an", "and", "in", "on", "to", "for", "at", "from", "with", "by", "or", "de", "la", "von", "van")
)


@dataclass(slots=True)
class Thing:
    """A candidate entity: one name in the chunk, with the votes that its mentions and context cast for a type.

    A term that neither recurs nor stands in a heading is `tentative`: it is kept only if a relationship needs it.
    """

    name: str
    tentative: bool = False
    votes: Counter[str] = field(default_factory=Counter[str])
    description: str = ""

    @property
    def type(self) -> str:
        """The type with most votes, the first cast among equals; else by the name's last word. One a chunk."""
        return self.votes.most_common(1)[0][0] if self.votes else _last_word_type(self.name) or "concept"


@dataclass(frozen=True, slots=True)
class _Candidate:
    rank: int  # the lower wins where two overlap
    start: int
    end: int
    type: str
    tentative: bool = False
    name: str = ""


class Mentions:
    """The things of a chunk, and which of them each token belongs to."""

    def __init__(self, doc: Doc) -> None:
        self.things: list[Thing] = []
        self.at: list[int] = [-1] * len(doc)
        self.aliases: list[tuple[int, int]] = []  # (thing, another spelling of it that is a thing too)
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

    def type_of(self, thing: int) -> str:
        return self.things[thing].type


def find_mentions(doc: Doc, topic: Topic | None, marked: Iterable[str], headings: Sequence[str]) -> Mentions:
    """Find names (by the model, by title, mark-up, quotation and capitals) and terms; overlaps go to the surer sign."""
    mentions = Mentions(doc)
    surest = [*_topic_candidates(doc, topic), *_phrases(doc, marked), *_quoted_titles(doc), *_model_names(doc)]
    _place(doc, mentions, [*surest, *_opening_name(doc)])
    _place(doc, mentions, _capitalised_runs(doc, mentions.at))
    headlines = {line.casefold() for line in [topic.bare if topic else "", *headings] if line}
    _place(doc, mentions, _terms(doc, headlines))
    if topic is not None:
        _join_opening_subject(doc, mentions, topic)
    _complete_short_names(doc, mentions, topic)
    return mentions


def _place(doc: Doc, mentions: Mentions, candidates: Iterable[_Candidate]) -> None:
    """Give each candidate its tokens, the surer and longer first; one whose tokens are taken only votes on the type."""
    for found in sorted(candidates, key=lambda c: (c.rank, c.start - c.end, c.start)):
        owners = set(mentions.at[found.start : found.end])
        if owners == {-1}:
            name = found.name or _name_of(doc[found.start : found.end])
            owner = mentions.thing(name, tentative=found.tentative)
            mentions.place(owner, found.start, found.end)
        elif len(owners) == 1 and found.rank == _MODEL_RANK:
            owner = owners.pop()
        else:
            continue
        if found.type:
            mentions.things[owner].votes[found.type] += 1


def _name_of(span: Span) -> str:
    return " ".join(span.text.split())


def _topic_candidates(doc: Doc, topic: Topic | None) -> Iterator[_Candidate]:
    if topic is None:
        return
    for rank, name in enumerate(dict.fromkeys((topic.name, topic.bare, topic.short))):
        for start, end in _occurrences(doc, name):
            yield _Candidate(rank, start, end, topic.type_hint, name=topic.name)


def _occurrences(doc: Doc, name: str) -> Iterator[tuple[int, int]]:
    """Token spans where the name stands. A capital in the name must be one in the text, for its first letter."""
    if not name:
        return
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", doc.text, re.IGNORECASE):
        if name[0].isupper() and not match[0][0].isupper():
            continue
        span = doc.char_span(match.start(), match.end(), alignment_mode="expand")
        if span is not None:
            yield span.start, span.end


def _phrases(doc: Doc, phrases: Iterable[str]) -> Iterator[_Candidate]:
    for phrase in dict.fromkeys(phrases):
        if len(phrase) > 1 and any(c.isalpha() for c in phrase) and len(phrase.split()) <= _MAX_TERM_TOKENS:
            for start, end in _occurrences(doc, phrase.rstrip(":")):
                yield _Candidate(3, start, end, _last_word_type(phrase))


def _quoted_titles(doc: Doc) -> Iterator[_Candidate]:
    for match in _QUOTED.finditer(doc.text):
        words = match[1].split()
        if not words or len(match[1]) > _MAX_QUOTED_CHARS:
            continue
        large = [word for word in words if word.casefold() not in _SMALL_WORDS]
        if (
            len(words) <= _MAX_NAME_TOKENS
            and large
            and all(word[0].isupper() or not word[0].isalpha() for word in large)
        ):
            span = doc.char_span(match.start(1), match.end(1), alignment_mode="expand")
            if large and span is not None and any(token.text[0].isalpha() for token in span):
                yield _Candidate(4, *_trim(span), "work" if len(words) > 1 else "")


def _opening_name(doc: Doc) -> Iterator[_Candidate]:
    """The whole of `A Monster in Paris` where a text opens with `A Monster in Paris is a ...`.

    A text that opens by saying what something is, or by whom it was made, opens with its name; the model, which
    reads the news, takes titles apart. A lower-case word other than a small one, or a comma, shows that it is none.
    """
    end = 0
    while end < min(len(doc), _MAX_NAME_TOKENS) and _may_stand_in_title(doc[end]):
        end += 1
    if end + 1 >= len(doc) or doc[end].lower_ not in {"is", "was"} or doc[0].tag_ not in _TITLE_OPENERS:
        return
    start = 1 if doc[0].lower_ in {"the", "a", "an"} and end > 1 else 0
    large = [token for token in doc[start:end] if token.text[0].isupper() or token.text[0].isdigit()]
    if len(large) > 1 and doc[end + 1].tag_ in {"DT", "VBN", "NNP", "JJ"}:
        yield _Candidate(_MODEL_RANK - 1, 0 if doc[0].lower_ == "a" else start, end, "")


def _may_stand_in_title(token: Token) -> bool:
    first = token.text[0]
    return first.isupper() or first.isdigit() or token.lower_ in _SMALL_WORDS or token.text in _TITLE_MARKS


def _model_names(doc: Doc) -> Iterator[_Candidate]:
    for span in doc.ents:
        kind = MODEL_TYPES.get(span.label_)
        start, end = _trim(span)
        if kind is None or not 0 < end - start <= _MAX_NAME_TOKENS:
            continue
        while start + 1 < end and doc[start].lower_ in ROLE_TITLES and doc[start + 1].lower_ in {"of", "the"}:
            start += 2  # `King of Italy` speaks of Italy
        words = doc[start:end]
        if not any(character.isupper() for character in words.text) or all(t.lower_ in ROLE_TITLES for t in words):
            continue
        if kind == "person":
            start, end = _whole_person(doc, start, end)
        end, kind = _with_head(doc, end, kind)
        if end - start > 1:  # what a name calls itself is surer than the model: `Bubye River`
            kind = _last_word_type(doc[end - 1].text) or kind
        if kind == "event" and start and _YEAR.fullmatch(doc[start - 1].text):
            start -= 1  # each year's games are another event
        yield _Candidate(_MODEL_RANK, start, end, kind)


def _whole_person(doc: Doc, start: int, end: int) -> tuple[int, int]:
    """Take in what belongs to a person's name: `Mr.`, a ruler's numeral, the place that tells `Boso`s apart."""
    if start and doc[start - 1].lower_.rstrip(".") in _ADDRESS:
        start -= 1
    if end < len(doc) and _is_numeral(doc[end]):
        return start, end + 1
    single = end - start == 1
    if single and end + 1 < len(doc) and doc[end].lower_ == "of" and _is_proper(doc[end + 1]):
        return start, end + 2
    return start, end


def _is_numeral(token: Token) -> bool:
    """Whether a token is a ruler's numeral. `I` is one where it is no pronoun: no verb follows."""
    if not _NUMERAL.fullmatch(token.text):
        return False
    following = token.doc[token.i + 1].tag_ if token.i + 1 < len(token.doc) else ""
    return token.text != "I" or not following.startswith(("VB", "MD", "RB"))


def _trim(span: Span) -> tuple[int, int]:
    """Token range of a span without articles, possessives and punctuation at its ends, cut at the end of a block."""
    start, end = span.start, span.end
    for token in span:
        if "\n" in token.text:
            end = token.i
            break
    doc = span.doc
    while start < end and (doc[start].lower_ in _TRIM or not doc[start].text[0].isalnum()):
        start += 1
    while start < end and (doc[end - 1].lower_ in _TRIM or not any(c.isalnum() for c in doc[end - 1].text)):
        # a closing bracket belongs to a name that opened it; `Inc.` keeps its dot by tokenisation
        end -= 1
    return start, end


def _with_head(doc: Doc, end: int, kind: str) -> tuple[int, str]:
    """Take in the lower-case noun that closes a technical name: `Payments` + `team`."""
    if end < len(doc) and doc[end].lower_ in HEAD_TYPES and doc[end].tag_ == "NN":
        return end + 1, HEAD_TYPES[doc[end].lower_]
    return end, kind


def _capitalised_runs(doc: Doc, taken: Sequence[int]) -> Iterator[_Candidate]:
    """Runs of proper nouns that are no name yet, joined by `of`: `Bank of Ruritania`, `Lothair II`."""

    def free(index: int) -> bool:
        return index < len(doc) and taken[index] < 0 and _is_proper(doc[index])

    index = 0
    while index < len(doc):
        end = index
        while free(end) or (end > index and end < len(doc) and taken[end] < 0 and _is_numeral(doc[end])):
            end += 1
            if end < len(doc) and doc[end].lower_ == "of" and taken[end] < 0 and free(end + 1):
                end += 1
        if end > index and _is_name(doc[index:end]):
            ruler = end - index > 1 and _is_numeral(doc[end - 1])
            closed, kind = _with_head(doc, end, "person" if ruler else _last_word_type(doc[end - 1].text))
            year = kind == "event" and index > 0 and _YEAR.fullmatch(doc[index - 1].text)
            yield _Candidate(_MODEL_RANK + 1, index - 1 if year else index, closed, kind)
        index = max(end, index + 1)


def _is_name(run: Span) -> bool:
    """Whether a run of proper nouns names something: it is no rank, and no common word with a sentence's capital."""
    first = run[0]
    if any(token.lower_ in ROLE_TITLES for token in run) or len(run.text) == 1:
        return False
    return len(run) > 1 or not first.is_sent_start or not is_common_word(first.lower_)


def _is_proper(token: Token) -> bool:
    return (
        token.tag_ in _PROPER
        and token.ent_type_ not in {"DATE", "TIME"}
        and token.text[0].isupper()
        and token.text[-1] != "."
    )


def _last_word_type(name: str) -> str:
    words = name.casefold().split()
    return LAST_WORD_TYPES.get(words[-1], "") or HEAD_TYPES.get(words[-1], "") if words else ""


def _terms(doc: Doc, headlines: set[str]) -> Iterator[_Candidate]:
    """Noun phrases of two to four words, nouns at their end: key terms where they recur or stand in title or headings.

    A single noun is a key term only where it is the whole of a title or heading.
    """
    spans = list(_noun_phrases(doc))
    names = [_term_name(span) for span in spans]
    counts = Counter(name.casefold() for name in names)
    for span, name in zip(spans, names, strict=True):
        key = name.casefold()
        if len(span) > 1:
            firm = counts[key] >= _MIN_REPEATS or any(key in line for line in headlines)
            if firm or span[-2].tag_ in _COMMON:
                kind = HEAD_TYPES.get(lemma(span[-1].lower_, "noun"), "concept")
                yield _Candidate(_MODEL_RANK + 2, span.start, span.end, kind, not firm, name)
        elif key in headlines:
            yield _Candidate(_MODEL_RANK + 3, span.start, span.end, "concept", name=name)


def _noun_phrases(doc: Doc) -> Iterator[Span]:
    start = None
    for index in range(len(doc) + 1):
        tag = doc[index].tag_ if index < len(doc) else ""
        if tag in _COMMON or (tag == "JJ" and start is None and doc[index].lower_ not in LIGHT_ADJECTIVES):
            start = index if start is None else start
            continue
        if start is not None:
            while (
                start < index and doc[start].tag_ == "JJ" and index - start > 1 and doc[start + 1].tag_ not in _COMMON
            ):
                start += 1
            if doc[index - 1].tag_ in _COMMON and index - start <= _MAX_TERM_TOKENS and _wordlike(doc[start:index]):
                yield doc[start:index]
            start = None
        if tag == "JJ" and index < len(doc) and doc[index].lower_ not in LIGHT_ADJECTIVES:
            start = index


def _wordlike(span: Span) -> bool:
    return all(token.text[0].isalpha() for token in span) and lemma(span[-1].lower_, "noun") not in LIGHT_NOUNS


def _term_name(span: Span) -> str:
    """The phrase with its last noun in the singular, so that `retry budgets` meets `retry budget`."""
    last = span[-1]
    words = [token.text for token in span[:-1]]
    return " ".join([*words, lemma(last.lower_, "noun") if last.tag_ == "NNS" else last.text])


def _join_opening_subject(doc: Doc, mentions: Mentions, topic: Topic) -> None:
    """Take `Charles Peckham Day was ...` at the start of the page `Charlie Day` for its topic.

    An opening sentence says what the title's thing is; its subject is another spelling if it shares a word with it.
    """
    opening = next(doc.sents, None)
    subject = next((t for t in opening or () if t.dep_ in {"nsubj", "nsubjpass"} and mentions.at[t.i] >= 0), None)
    if subject is None:
        return
    owner, thing = mentions.at[subject.i], mentions.thing(topic.name)
    spelling = mentions.things[owner].name
    shared = set(spelling.split()) & set(topic.bare.split())
    if owner != thing and any(word[0].isupper() and len(word) > 1 for word in shared):
        mentions.at = [thing if at == owner else at for at in mentions.at]
        mentions.things[thing].votes.update(mentions.things[owner].votes)
        mentions.aliases.append((thing, owner))


def _complete_short_names(doc: Doc, mentions: Mentions, topic: Topic | None) -> None:
    """Let a lone surname or first name stand for the one full name of a person in the chunk that it ends or opens.

    `Mr. Doe` stays itself: a form of address does not say which Doe. So does a name that fits two people.
    """
    full_names = {thing.name for thing in mentions.things if thing.type == "person" and " " in thing.name}
    if topic and " " in topic.bare and topic.type_hint in {"", "person"}:
        full_names.add(topic.bare)
    opens_or_ends: dict[str, set[str]] = {}
    for name in full_names:
        words = name.split()
        plain = not {",", "of"} & set(name.replace(",", " , ").split())  # no surname closes `Boso of Tuscany`
        for word in {words[0], words[-1]} if plain else {words[0]}:
            opens_or_ends.setdefault(word, set()).add(name)
    for index, token in enumerate(doc):
        owner = mentions.at[index]
        if owner < 0 or mentions.things[owner].name != token.text or mentions.type_of(owner) != "person":
            continue
        fitting = opens_or_ends.get(token.text, set())
        if len(fitting) == 1:
            name = fitting.pop()
            mentions.at[index] = mentions.thing(topic.name if topic and name == topic.bare else name)
