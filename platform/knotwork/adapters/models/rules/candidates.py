"""Signs that some tokens name something: the title, mark-up, quotation marks, the model, capitals, repetition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spacy.tokens import Doc, Span, Token

from knotwork.adapters.models.rules.loading import is_common_word, lemma
from knotwork.adapters.models.rules.topic import Topic
from knotwork.adapters.models.rules.vocabulary import (
    HEAD_TYPES,
    IDENTIFIER,
    LAST_WORD_TYPES,
    LIGHT_ADJECTIVES,
    LIGHT_NOUNS,
    MODEL_TYPES,
    NOUN_TYPES,
    ROLE_TITLES,
)

_MAX_NAME_TOKENS: Final = 12
_MAX_QUOTED_CHARS: Final = 80
_MAX_TERM_TOKENS: Final = 4
_MIN_REPEATS: Final = 2  # occurrences that make a noun phrase a key term
MODEL_RANK: Final = 5

_QUOTED = re.compile(r"[\"“]([^\"“”\n]*)[\"”]")
_NUMERAL = re.compile(r"[IVX]{1,5}")
_MAX_DIGITS: Final = 3
_PAIR: Final = 3  # tokens
_CLAUSE_VERBS: Final = frozenset(("VBZ", "VBD", "VBP", "VBN"))
_NO_RELATION: Final = frozenset(("in", "at", "during", "near", "within", "after", "before", "since", "until"))
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sign that the tokens from `start` to `end` name something; `name` where it is not the text as it stands."""

    rank: int  # the lower wins where two overlap
    start: int
    end: int
    type: str
    tentative: bool = False
    name: str = ""


def topic_names(doc: Doc, topic: Topic | None) -> Iterator[Candidate]:
    if topic is None:
        return
    for rank, name in enumerate(dict.fromkeys((topic.name, topic.bare, topic.short))):
        for start, end in _occurrences(doc, name):
            yield Candidate(rank, start, end, topic.type_hint, name=topic.name)


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


def marked_phrases(doc: Doc, phrases: Iterable[str]) -> Iterator[Candidate]:
    for phrase in dict.fromkeys(phrases):
        if len(phrase) > 1 and any(c.isalpha() for c in phrase) and len(phrase.split()) <= _MAX_TERM_TOKENS:
            for start, end in _occurrences(doc, phrase.rstrip(":")):
                yield Candidate(3, start, end, last_word_type(phrase))


def identifiers(doc: Doc) -> Iterator[Candidate]:
    """`ADR-014`, `INC-2057`: names by their form, whatever the model takes them for."""
    for match in IDENTIFIER.finditer(doc.text):
        span = doc.char_span(match.start(), match.end(), alignment_mode="expand")
        if span is not None and span.text.strip(".,;:()") == match[0]:
            yield Candidate(3, span.start, span.end, "", name=match[0])


def quoted_titles(doc: Doc) -> Iterator[Candidate]:
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
            start = match.start(1) + len(match[1]) - len(match[1].lstrip())
            span = doc.char_span(start, start + len(match[1].strip().rstrip(",.;")), alignment_mode="expand")
            if large and span is not None and any(token.text[0].isalpha() for token in span):
                yield Candidate(4, span.start, span.end, "work" if len(words) > 1 else "")


def opening_name(doc: Doc) -> Iterator[Candidate]:
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
        yield Candidate(MODEL_RANK - 1, 0 if doc[0].lower_ == "a" else start, end, "")


def _may_stand_in_title(token: Token) -> bool:
    first = token.text[0]
    return first.isupper() or first.isdigit() or token.lower_ in _SMALL_WORDS or token.text in _TITLE_MARKS


def model_names(doc: Doc) -> Iterator[Candidate]:
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
            kind = last_word_type(doc[end - 1].text) or kind
        if kind == "event" and start and _YEAR.fullmatch(doc[start - 1].text):
            start -= 1  # each year's games are another event
        for first, last in _split_pair(doc, start, end):
            yield Candidate(MODEL_RANK, first, last, kind if last - first == end - start else "")


def _split_pair(doc: Doc, start: int, end: int) -> list[tuple[int, int]]:
    """`Checkout and Ledger` as two names, where each also stands alone or the pair is what more than one thing does.

    `Marks and Spencer` stays one: its parts never stand alone, and its verb has the form of one subject.
    """
    words = doc[start:end]
    if len(words) != _PAIR or words[1].lower_ != "and" or words[0].text == words[2].text:
        return [(start, end)]
    first, last = words[0], words[2]
    alone = all(sum(t.text == word.text for t in doc) > 1 for word in (first, last))
    plural = first.dep_ == "nsubj" and first.head.tag_ == "VBP"
    target = first.dep_ in {"dobj", "pobj"} and last.dep_ == "conj"
    return [(start, start + 1), (end - 1, end)] if alone or plural or target else [(start, end)]


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


def _is_number_of_name(token: Token) -> bool:
    """Whether a number belongs to the name before it: `Lothair II`, `Commodore 64`; a date's does not."""
    return _is_numeral(token) or (token.text.isdigit() and len(token.text) <= _MAX_DIGITS and not token.ent_type_)


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


def capitalised_runs(doc: Doc, taken: Sequence[int]) -> Iterator[Candidate]:
    """Runs of proper nouns that are no name yet, joined by `of`: `Bank of Ruritania`, `Lothair II`."""

    def free(index: int) -> bool:
        return index < len(doc) and taken[index] < 0 and _is_proper(doc[index])

    index = 0
    while index < len(doc):
        end = index
        while free(end) or (end > index and end < len(doc) and taken[end] < 0 and _is_number_of_name(doc[end])):
            end += 1
            if end < len(doc) and doc[end].lower_ == "of" and taken[end] < 0 and free(end + 1):
                end += 1
        if end > index and _is_name(doc[index:end]):
            ruler = end - index > 1 and _is_numeral(doc[end - 1])
            closed, kind = _with_head(doc, end, "person" if ruler else last_word_type(doc[end - 1].text))
            year = kind == "event" and index > 0 and _YEAR.fullmatch(doc[index - 1].text)
            yield Candidate(MODEL_RANK + 1, index - 1 if year else index, closed, kind)
        index = max(end, index + 1)


def clause_names(doc: Doc, taken: Sequence[int]) -> Iterator[Candidate]:
    """Capitalised subjects and objects of a verb that the model takes for common nouns: `Checkout`, `Payments`.

    A word that opens a sentence is one only if the verb ties it to another name, and it nowhere stands in lower case.
    A bare noun that a name is the subject to (`Marie Curie discovered radium`) is a term.
    """
    lower = {token.text for token in doc if token.text.islower()}
    for token in doc:
        if taken[token.i] >= 0 or token.tag_ not in {*_COMMON, *_PROPER} or token.is_stop:
            continue
        verb, alone = _verb_over(token), all(child.dep_ in {"cc", "conj", "punct"} for child in token.children)
        if verb is None or not alone:
            continue
        named = [t for t in _objects(verb) if t.text[0].isupper() and t is not token]
        if token.text[0].isupper() and len(token.text) > 1 and token.text.isalnum():
            opens = bool(token.is_sent_start)
            if not opens or (named and token.lower_ not in lower and (token.tag_ != "NNS" or verb.tag_ == "VBZ")):
                yield Candidate(MODEL_RANK + 1, token.i, token.i + 1, "")
        elif token.dep_ == "dobj" and token.tag_ == "NN" and _wordlike(doc[token.i : token.i + 1]):
            by_name = any(t.dep_ == "nsubj" and taken[t.i] >= 0 and t.tag_ in _PROPER for t in verb.children)
            if by_name:
                yield Candidate(MODEL_RANK + 3, token.i, token.i + 1, "concept", tentative=True)


def _verb_over(token: Token) -> Token | None:
    """The verb that a noun is subject or object of, through `and` and one preposition."""
    while token.dep_ == "conj" and token.head is not token and not token.tag_.startswith("VB"):
        token = token.head
    if token.dep_ == "pobj" and token.head.lower_ not in _NO_RELATION:
        token = token.head
    fits = token.dep_ in {"nsubj", "nsubjpass", "dobj", "prep", "agent"} and token.head.tag_ in _CLAUSE_VERBS
    return token.head if fits else None


def _objects(verb: Token) -> Iterator[Token]:
    for child in verb.children:
        if child.dep_ == "dobj":
            yield child
        elif child.dep_ in {"prep", "agent"} and child.lower_ not in _NO_RELATION:
            yield from (t for t in child.children if t.dep_ == "pobj" and t.ent_type_ not in {"DATE", "TIME"})


def _is_name(run: Span) -> bool:
    """Whether a run of proper nouns names something: it is no rank, and no common word with a sentence's capital."""
    first = run[0]
    if any(token.lower_ in ROLE_TITLES for token in run) or len(run.text) == 1:
        return False
    if all(token.lower_ in _SMALL_WORDS or NOUN_TYPES.get(token.lower_) == "person" for token in run):
        return False
    return len(run) > 1 or not first.is_sent_start or not is_common_word(first.lower_)


def _is_proper(token: Token) -> bool:
    return (
        token.tag_ in _PROPER
        and token.ent_type_ not in {"DATE", "TIME"}
        and token.text[0].isupper()
        and token.text[-1] != "."
    )


def last_word_type(name: str) -> str:
    words = name.casefold().split()
    return LAST_WORD_TYPES.get(words[-1], "") or HEAD_TYPES.get(words[-1], "") if words else ""


def key_terms(doc: Doc, headlines: set[str]) -> Iterator[Candidate]:
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
                yield Candidate(MODEL_RANK + 2, span.start, span.end, kind, not firm, name)
        elif key in headlines:
            yield Candidate(MODEL_RANK + 3, span.start, span.end, "concept", name=name)


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
