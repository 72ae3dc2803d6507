"""What a page is about, read from its title: the name that its text uses, and the title as it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from knotwork.adapters.models.rules.places import PLACES
from knotwork.adapters.models.rules.styles import read_styled
from knotwork.adapters.models.rules.vocabulary import EMPTY_STEMS, EMPTY_TITLES, NOUN_TYPES

_MAX_WORDS: Final = 12
_MAX_CHARS: Final = 120
_MAX_OPENING: Final = 250  # characters; the longest name that is kept has 256
_FILE_NAME = re.compile(r"\S*[/\\]\S*|\S+\.[A-Za-z][A-Za-z0-9]{0,4}")
_STEM = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_QUALIFIER = re.compile(r"(.*\S)\s*\(([^()]+)\)")
_QUESTION = re.compile(r"(?i)(how|what|why|when|where|which|who|can|do|does|is|are|should)\b.*\?")
_NUMBERING = re.compile(r"(?i)(?:chapter|section|part|appendix|stave)?\s*[\divxlc]{1,6}[.):]?\s+(?=\S)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Topic:
    """The entity that a title names.

    A qualifier in parentheses tells pages apart, but texts leave it out: `Dark River (2017 film)` is written `Dark
    River`, as the film of 1990 is. So the title as it stands carries the relationships, which keeps the two apart, and
    the bare name is a second entity tied to it by `also-known-as`, where other texts meet it. With the relationships
    on the bare name instead, 71 % of the 2wiki-51 questions had all their passages among the first eight, not 76 %.
    """

    name: str  # the title as it stands
    bare: str  # without a qualifier; else equal to `name`
    short: str = ""  # what stands before a comma: `Lambert` of `Lambert, Margrave of Tuscany`
    type_hint: str = ""  # from the qualifier: `(2017 film)` is a work


def read_topic(title: str, text: str = "") -> Topic | None:
    """The topic that a title names, or None where it names nothing: a file name, a question, `Introduction`, `1`.

    A title longer than names are is a name where its text opens with it.
    """
    name = " ".join(title.split())
    words = _WORD.findall(name)
    long = len(words) > _MAX_WORDS or len(name) > _MAX_CHARS
    if not words or (long and not text.lstrip('"“ ').startswith(name[:_MAX_OPENING])):
        return None
    if _FILE_NAME.fullmatch(name) or _QUESTION.fullmatch(name) or not any(c.isalpha() for c in name):
        return None
    if all(word.casefold() in EMPTY_TITLES or word.isdigit() for word in words):
        return None
    bare, hint = name, ""
    if qualified := _QUALIFIER.fullmatch(name):
        bare = qualified[1]
        nouns = [NOUN_TYPES[word] for word in _WORD.findall(qualified[2].casefold()) if word in NOUN_TYPES]
        hint = nouns[-1] if nouns else ""
    elif read_styled(bare):
        hint = "person"
    elif bare.rpartition(", ")[2].casefold() in PLACES and "," in bare:
        hint = "place"  # `Springfield, Illinois`
    before_comma = bare.partition(",")[0].strip()
    return Topic(name=name, bare=bare, short=before_comma if before_comma != bare else "", type_hint=hint)


def read_title(title: str, text: str) -> Topic | None:
    """The topic of a text by its title; the stem of a file's name (`key-rotation`) is one only if the text says it.

    A parser that finds no title gives the name of the file. A stem of one word must stand in the text with a capital,
    for `register` is a word before it is a name; the topic is spelled as the text spells it.
    """
    stem = " ".join(title.split())
    if not _STEM.fullmatch(stem):
        return read_topic(title, text)
    words = [word for word in re.split(r"[-_.]+", stem) if word]
    if len(stem) == 1 or not words or stem in EMPTY_STEMS:
        return None
    pattern = r"[-_. ]".join(map(re.escape, words))
    found = re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)
    spelled = next((match[0] for match in found if len(words) > 1 or not match[0].islower()), None)
    return read_topic(spelled) if spelled else None


def read_heading(heading: str) -> str:
    """A heading as the name of a topic, or the empty string where it names nothing."""
    topic = read_topic(_NUMBERING.sub("", heading, count=1) if _NUMBERING.match(heading) else heading)
    return topic.name if topic else ""
