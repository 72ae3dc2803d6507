"""Signs that some tokens name something: the title, mark-up, quotation marks, the model, capitals, repetition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spacy.tokens import Doc, Span, Token

from knotwork.adapters.models.rules.loading import is_common_word, lemma
from knotwork.adapters.models.rules.styles import find_styled
from knotwork.adapters.models.rules.topic import Topic
from knotwork.adapters.models.rules.vocabulary import (
    CALENDAR_WORDS,
    COUNTRYMEN,
    HEAD_TYPES,
    IDENTIFIER,
    LAST_WORD_TYPES,
    LIGHT_NOUNS,
    MODEL_TYPES,
    NOUN_TYPES,
    ROLE_TITLES,
)

_MAX_NAME_TOKENS: Final = 12
_MAX_QUOTED_CHARS: Final = 80
_MAX_MARKED_WORDS: Final = 4
STYLE_RANK: Final = 3
MODEL_RANK: Final = 5

_CAPITALISED: Final = r"[A-Z][\w’'&-]*"
_AWARD = re.compile(
    rf"(?!The )(?:{_CAPITALISED} ){{1,6}}(?:Award|Prize|Medal)s? for {_CAPITALISED}"
    rf"(?: (?:(?:in|and|or|of|by) (?:(?:a|an|the) )?)?{_CAPITALISED}){{0,8}}"
)
_SAYS_WHAT_IT_IS = re.compile(r" (?:is|was) ")
_QUOTED = re.compile(r"[\"“]([^\"“”\n]*)[\"”]")
_NUMERAL = re.compile(r"[IVX]{1,5}")
_MAX_DIGITS: Final = 3
_PAIR: Final = 3  # tokens
_CLAUSE_VERBS: Final = frozenset(("VBZ", "VBD", "VBP", "VBN"))
_NO_RELATION: Final = frozenset(("in", "at", "during", "near", "within", "after", "before", "since", "until"))
_ORDINAL = re.compile(r"\d{1,3}(?:st|nd|rd|th)")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_ADDRESS: Final = frozenset(("mr", "mrs", "ms", "dr", "miss"))
_PROPER: Final = frozenset(("NNP", "NNPS"))
_COMMON: Final = frozenset(("NN", "NNS"))
_TRIM: Final = frozenset(("the", "a", "an", "'s", "’s", "'", "’", "and", "of", "in"))
_OF_ROLE: Final = frozenset(("of", "the", "for"))
_TITLE_MARKS: Final = frozenset(
    ("'s", "’s", ":", "-", "&", "!", "'ve", "’ve", "'re", "’re", "'ll", "n't", "n’t", "?", "vs.")
)
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
        if len(phrase) > 1 and any(c.isalpha() for c in phrase) and len(phrase.split()) <= _MAX_MARKED_WORDS:
            for start, end in _occurrences(doc, phrase.rstrip(":")):
                yield Candidate(3, start, end, last_word_type(phrase))


def identifiers(doc: Doc) -> Iterator[Candidate]:
    """`ADR-014`, `INC-2057`: names by their form, whatever the model takes them for."""
    for match in IDENTIFIER.finditer(doc.text):
        span = doc.char_span(match.start(), match.end(), alignment_mode="expand")
        if span is not None and span.text.strip(".,;:()") == match[0]:
            yield Candidate(3, span.start, span.end, "", name=match[0])


def award_names(doc: Doc) -> Iterator[Candidate]:
    """`Academy Award for Best Director`, whole: the model stops at `Best`."""
    for match in _AWARD.finditer(doc.text):
        span = doc.char_span(*match.span(), alignment_mode="expand")
        if span is not None and len(span) <= _MAX_NAME_TOKENS:
            yield Candidate(STYLE_RANK, span.start, span.end, "")


def quoted_titles(doc: Doc) -> Iterator[Candidate]:
    for match in _QUOTED.finditer(doc.text):
        words = match[1].split()
        if not words or len(match[1]) > _MAX_QUOTED_CHARS:
            continue
        large = [word for word in words if word.casefold() not in _SMALL_WORDS]
        titled = large and all(word[0].isupper() or not word[0].isalpha() for word in large)
        opens = match.start() == 0 and words[0][0].isupper() and _SAYS_WHAT_IT_IS.match(doc.text, match.end())
        if len(words) <= _MAX_NAME_TOKENS and (titled or opens):
            start = match.start(1) + len(match[1]) - len(match[1].lstrip())
            span = doc.char_span(start, start + len(match[1].strip().rstrip(",.;")), alignment_mode="expand")
            if span is not None and any(token.text[0].isalpha() for token in span):
                yield Candidate(4, span.start, span.end, "work" if len(words) > 1 else "")


def styled_names(doc: Doc) -> Iterator[Candidate]:
    """`Arthur Wellesley, 1st Duke of Wellington`: one person, whom the model cuts at the comma."""
    for start, end in find_styled(doc.text):
        span = doc.char_span(start, end, alignment_mode="expand")
        while span is not None and len(span) > 1 and span[0].is_stop:  # `When Hugh, King of Italy, died`
            span = doc[span.start + 1 : span.end]
        if span is not None:
            yield Candidate(STYLE_RANK, span.start, span.end, "person", name=span.text.rstrip("."))


def opening_name(doc: Doc) -> Iterator[Candidate]:
    """The whole of `A Monster in Paris` where a text opens with `A Monster in Paris is a ...`.

    A text that opens by saying what something is, or by whom it was made, opens with its name; the model, which
    reads the news, takes titles apart. An English lower-case word other than a small one, or a comma, shows that it
    is none; a foreign one (`Fem unga`) does not.
    """
    end = 0
    while end < min(len(doc), _MAX_NAME_TOKENS) and _may_stand_in_title(doc[end]):
        end += 1
    if end + 1 >= len(doc) or doc[end].lower_ not in {"is", "was"} or doc[0].tag_ not in _TITLE_OPENERS:
        return
    start = 1 if doc[0].lower_ in {"the", "a", "an"} and end > 1 else 0
    large = [token for token in doc[start:end] if token.text[0].isupper() or token.text[0].isdigit()]
    word = doc[start]
    alone = end - start == 1 and word.is_alpha and not word.is_stop and not is_common_word(word.lower_)
    foreign = end - start > 1 and any(_is_foreign(token) for token in doc[start:end])
    if (len(large) > 1 or alone or foreign) and doc[end + 1].tag_ in {"DT", "VBN", "NNP", "JJ", "RB"}:
        yield Candidate(MODEL_RANK - 1, 0 if doc[0].lower_ == "a" else start, end, "")


def _may_stand_in_title(token: Token) -> bool:
    first = token.text[0]
    mark = token.lower_ in _SMALL_WORDS or token.text in _TITLE_MARKS
    return first.isupper() or first.isdigit() or mark or _is_foreign(token)


def _is_foreign(token: Token) -> bool:
    """Whether a lower-case word is none of English."""
    return token.text.islower() and token.is_alpha and not token.is_stop and not is_common_word(token.lower_)


def model_names(doc: Doc) -> Iterator[Candidate]:
    for span in doc.ents:
        kind = MODEL_TYPES.get(span.label_)
        start, end = _trim(span)
        if kind is None or not 0 < end - start <= _MAX_NAME_TOKENS:
            continue
        while start + 1 < end and _is_role(doc[start]) and doc[start + 1].lower_ in _OF_ROLE and kind != "work":
            start += 2  # `King of Italy` speaks of Italy, `Midfielder for Al-Shabab` of a club
        while kind == "person" and start + 2 < end and _is_role(doc[start]) and doc[start].lower_ not in ROLE_TITLES:
            start += 1  # `Welshman David Jones`
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


def _is_role(token: Token) -> bool:
    """Whether a word says what someone is: a rank, a trade, or where one is from (`Welshman`)."""
    return token.lower_ in ROLE_TITLES or NOUN_TYPES.get(token.lower_) == "person" or token.lower_ in COUNTRYMEN


def _split_pair(doc: Doc, start: int, end: int) -> list[tuple[int, int]]:
    """`Checkout and Ledger` as two names, where each also stands alone or the pair is what more than one thing does.

    `Marks and Spencer` stays one: its parts never stand alone, and its verb has the form of one subject.
    """
    words = doc[start:end]
    if (middle := _between_people(words)) is not None:
        return [(start, middle), (middle + 1, end)]
    if len(words) != _PAIR or words[1].lower_ != "and" or words[0].text == words[2].text:
        return [(start, end)]
    first, last = words[0], words[2]
    alone = all(sum(t.text == word.text for t in doc) > 1 for word in (first, last))
    plural = first.dep_ == "nsubj" and first.head.tag_ == "VBP"
    target = first.dep_ in {"dobj", "pobj"} and last.dep_ == "conj"
    return [(start, start + 1), (end - 1, end)] if alone or plural or target else [(start, end)]


def _between_people(words: Span) -> int | None:
    """The `and` of `Alfonso IX of León and Berengaria of Castile`: each side names its own `of`, or is a full name."""
    middle = next((token.i for token in words if token.lower_ == "and"), None)
    if middle is None:
        return None
    sides = words.doc[words.start : middle], words.doc[middle + 1 : words.end]
    if any(len(side) < _PAIR - 1 or not side[0].text[0].isupper() for side in sides):
        return None
    of_each = all(any(token.lower_ == "of" for token in side) for side in sides)
    full = words.label_ == "PERSON" and all(token.text[0].isupper() for side in sides for token in side)
    return middle if of_each or full else None


def _whole_person(doc: Doc, start: int, end: int) -> tuple[int, int]:
    """Take in what belongs to a person's name: `Mr.`, a ruler's numeral, the place that tells `Boso`s apart."""
    if start and doc[start - 1].lower_.rstrip(".") in _ADDRESS:
        start -= 1
    if end < len(doc) and _is_numeral(doc[end]):
        end += 1
    tells_apart = end - start == 1 or _is_numeral(doc[end - 1])
    if tells_apart and end + 1 < len(doc) and doc[end].lower_ == "of" and _is_proper(doc[end + 1]):
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
    while start < end and (doc[start].lower_ in _TRIM or not doc[start].text[0].isalnum() or _is_plain(doc[start])):
        start += 1
    while start < end and (doc[end - 1].lower_ in _TRIM or not any(c.isalnum() for c in doc[end - 1].text)):
        # a closing bracket belongs to a name that opened it; `Inc.` keeps its dot by tokenisation
        end -= 1
    return start, end


def _is_plain(token: Token) -> bool:
    """Whether a word is English and in lower case, as `north` of `north-west Iowa`."""
    return token.text.islower() and token.is_alpha and is_common_word(token.lower_)


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
            if index and _ORDINAL.fullmatch(doc[index - 1].text) and end - index > 1:
                index -= 1  # `20th Century Fox`
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
        elif token.dep_ == "dobj" and token.tag_ == "NN" and is_wordlike(doc[token.i : token.i + 1]):
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
    if len(run) == 1 and first.ent_type_ in {"DATE", "TIME"}:
        return False
    if any(token.lower_ in ROLE_TITLES for token in run) or len(run.text) == 1:
        return False
    if all(token.lower_ in _SMALL_WORDS or NOUN_TYPES.get(token.lower_) == "person" for token in run):
        return False
    return len(run) > 1 or not first.is_sent_start or not is_common_word(first.lower_)


def _is_proper(token: Token) -> bool:
    timely = token.ent_type_ in {"DATE", "TIME"} and token.lower_ in CALENDAR_WORDS
    return token.tag_ in _PROPER and not timely and token.text[0].isupper() and token.text[-1] != "."


def last_word_type(name: str) -> str:
    words = name.casefold().split()
    return LAST_WORD_TYPES.get(words[-1], "") or HEAD_TYPES.get(words[-1], "") if words else ""


def is_wordlike(span: Span) -> bool:
    """Whether every token of a noun phrase begins with a letter, and its last noun says something."""
    return all(token.text[0].isalpha() for token in span) and lemma(span[-1].lower_, "noun") not in LIGHT_NOUNS
