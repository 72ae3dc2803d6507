"""What a question looks like before anything is searched: names, codes, and turns of phrase that say what is wanted.

Codes, quotations, question marks and lists of words are told in any script; turns of phrase are English ones, and a
question in another language simply shows none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from unicodedata import east_asian_width


class Cue(StrEnum):
    """Something in a question that tells which way of searching suits it; the value is how a trace names it."""

    TERMS = "search terms, not a sentence"
    EXACT = "little more than a code or a quotation"
    NAMED = "names something"
    PLAIN = "plain words, with no name or code"
    UNNAMED = "asks about something that it describes and does not name"
    DEPENDENTS = "asks what depends on something"
    CONNECTION = "asks how things are connected"
    COMPARISON = "compares things that it names"
    DOCUMENT = "speaks of a document"
    OVERVIEW = "asks about the whole"


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """Names, codes and quotations in the order of the question, each once, as they are written; the cues that hold."""

    names: tuple[str, ...]
    codes: tuple[str, ...]
    quotations: tuple[str, ...]
    cues: frozenset[Cue]
    masked: str  # the question with X for each name, code and quotation: how it asks, without what about


TERMS_WORDS = 5  # of a query without a question mark or a word of grammar, at most
EXACT_WORDS = 5  # of a question around a code, at most: `what does LGR-1207 mean?`
LOOKED_AT = 1000  # characters: what asks something asks it in its beginning, and expressions stay quick

_MARKS = "\"'`“”„‘’«»()[]{}<>,.;:!?？！。、؟…"
_BUT_CALLS = _MARKS.translate({ord("("): None, ord(")"): None})  # `parse()` keeps what makes it a code
_QUOTED = re.compile(r"\"[^\"]+\"|`[^`]+`|“[^”]+”|„[^“”]+[“”]|«[^»]+»|「[^」]+」")
_CODE = re.compile(
    r"(?=\S*\d)[A-Za-z]+[-_.]?\d[\w.-]*|0x[0-9A-Fa-f]+|\d+[-_/]\d[\w/-]*|\d+[A-Za-z]+\d\w*"  # LGR-1207, 14644-1
    r"|\w+_\w+|[\w.]+\(\)|--\w[\w-]*|[a-z]{2,}[A-Z]\w*"  # ERR_LOCK, parse(), --force, camelCase
)
_QUESTION_MARK = re.compile("[?？؟]")
_GRAMMAR = frozenset(
    word
    for line in (
        "a an the this that these those my our your his her its their i we you he she it they me us him them",
        "am is are was were be been being do does did has have had can could may might must shall should will would",
        "who whom whose what which when where why how if of to from in on at by for with about into than as",
        "and or not there",
    )
    for word in line.split()
)

# What a person or thing is to a name: it stands in for something that the question does not name.
_ROLE = (
    "(?:grand|step|god)?(?:father|mother|son|daughter|parent|child)s?(?:-in-law)?|children|husband|wife|spouse|widow"
    "|brother|sister|sibling|uncle|aunt|cousin|director|producer|composer|performer|author|writer|singer|actor|editor"
    "|architect|designer|inventor|founder|owner|manager|head|lead|leader|chief|captain|president|successor"
    "|predecessor|employer|team|publisher|builder|maker|operator|supplier|vendor|teacher|supervisor"
)
_DOCUMENT = (
    "policy|handbook|manual|report|post-?mortem|minutes|memo|plan|guide(?:lines?)?|agreement|chapter|section|appendix"
    "|document|article|readme|specification|charter|transcript|proposal|runbook|brochure"
)
_TOPIC = (
    "themes?|topics?|points?|goals?|risks?|problems?|issues?|trends?|patterns?|arguments?|challenges?|lessons?|causes?"
    "|views?|opinions?|perspectives?"
)
_SPEAK = "discuss|mention|talk|speak|describe|share|express|perceive|emphasi[sz]e|address|cite|highlight|believe"
_PHRASES = {
    Cue.UNNAMED: (
        # the service that ..., the vendor behind ..., the city from which ..., a host whose ...
        r"\b(?:the|another) (?:[\w'’-]+ ){1,2}(?:that|which|who|whom|behind|where)\b",
        r"\b(?!(?:and|or|but|is|are|was|to|of|know|see|ask|tell) )[\w-]+ whose\b",
        # the vendor proposed after ..., the country containing ..., the same county as ...
        r"\bthe [\w-]+ [\w-]+(?:ed|ing) (?:by|after|before|in|at|for|to|from|with)\b",
        r"\bthe [\w-]+ [\w-]+ing (?:the|an?|(?-i:[A-Z]\w*))\b",
        r"\bthe same [\w-]+ as\b",
        # the state the battle was in, the company Anvil is part of, the country with the lowest ...
        r"\bthe [\w-]+ the [\w-]+\b",
        r"\bthe [\w-]+ (?-i:(?:[A-Z][\w'’.-]* )+)(?:is|was|are|were|has|had)\b",
        r"\bthe [\w-]+ with the (?:most|least|fewest|[\w-]+est)\b",
        # the director of ..., the name of the mother of ..., X's husband, X's city of birth
        rf"\b(?:the|both|all) (?:{_ROLE})s? (?:of|born|who)\b",
        r"\bthe [\w-]+ of the [\w-]+(?: [\w-]+)? of\b",
        rf"['’]s? (?:[\w-]+ )?(?:{_ROLE})s?\b",
        r"['’]s? [\w-]+ of [\w-]+\b",
    ),
    Cue.DEPENDENTS: (
        r"^(?:which|what|who)\b.*\b(?:depends?|rel(?:y|ies)|affected|impacted|would (?:stop|fail|lose|break))\b",
    ),
    Cue.CONNECTION: (
        r"\b(?:how|in what way)\b[^.?!]{1,80}\b(?:tied|connected|related|linked|associated)\b",
        r"\b(?:connection|link|relation|relationship|tie|path|chain)s? between\b",
        r"\b(?:connection|link|relation|relationship|path|chain)s? (?:from|of)\b[^.?!]{1,80}\b(?:to|with)\b",
        r"^what (?:ties|links|connects|joins|relates)\b",
    ),
    Cue.DOCUMENT: (
        r"\baccording to\b",
        rf"\bthe (?:[\w'’-]+ ){{0,3}}(?:{_DOCUMENT})\b",
        r"\b(?:adr|rfc)[- ]?\d+\b",
    ),
    Cue.OVERVIEW: (
        rf"\b(?:main|common|recurring|biggest|major|overall|general|typical|key|different) (?:[\w-]+ )?(?:{_TOPIC})\b",
        r"\b(?:overview|in general|generally|overall|on the whole|as a whole|across (?:all|the)|in common)\b",
        r"\b(?:again and again|most often|frequently|typically|usually|commonly|recurring|over the years)\b",
        # do guests discuss ..., which episodes mention ..., discussed by the guests, any common ...
        rf"\b[\w-]+s (?:\w+ly )?(?:{_SPEAK})s?\b",
        rf"\b(?:{_SPEAK})e?d (?:by|in) (?:the )?(?:\w+ )?\w+s\b",
        r"^are there (?:any|specific|shared|discussions|conversations|stories|anecdotes)\b|^do any\b|^how often\b",
    ),
}
_COMPARISON = re.compile(
    r"\b(?:both|same|compared|than)\b|\b(?:first|last|later|earlier|more|less|[a-z]{3,}er)\b.*\b(?:or|out of)\b",
    re.IGNORECASE,
)
_CUES = {cue: re.compile("|".join(phrases), re.IGNORECASE) for cue, phrases in _PHRASES.items()}


@lru_cache(maxsize=64)  # one question is looked at by several conditions, a scorer and a trace
def form_of(question: str) -> QuestionForm:
    """What the first thousand characters of a question look like; the same for equal texts."""
    question = question[:LOOKED_AT]
    quoted = [found[1:-1].strip() for found in _QUOTED.findall(question)]
    rest = _QUOTED.sub(" X ", question)
    tokens = rest.split()
    codes = [code for token in tokens if (code := _code(token))]
    names = list(_names(rest))
    words, length = [token.strip(_MARKS).lower() for token in tokens], _length(rest)
    is_sentence = bool(_QUESTION_MARK.search(question)) or not _GRAMMAR.isdisjoint(words)
    cues = {cue for cue, pattern in _CUES.items() if pattern.search(rest)}
    if not is_sentence and length <= TERMS_WORDS:
        cues.add(Cue.TERMS)
    if (codes or quoted) and length <= EXACT_WORDS:
        cues.add(Cue.EXACT)
    if len(names) + len(codes) > 1 and Cue.UNNAMED not in cues and _COMPARISON.search(rest):
        cues.add(Cue.COMPARISON)
    cues.add(Cue.NAMED if names or codes or quoted else Cue.PLAIN)
    hidden = sorted({*names, *codes}, key=lambda part: (-len(part), part))
    masked = re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, hidden))})(?!\w)", "X", rest) if hidden else rest
    return QuestionForm(
        tuple(dict.fromkeys(names)),
        tuple(dict.fromkeys(codes)),
        tuple(dict.fromkeys(quoted)),
        frozenset(cues),
        " ".join(masked.split()),
    )


def _code(token: str) -> str:
    """The code that a token is, without the marks around it; empty: it is none."""
    forms = (token.strip(_BUT_CALLS), token.strip(_MARKS))
    return next((form for form in forms if _CODE.fullmatch(form)), "")


def _names(text: str) -> Iterator[str]:
    """Runs of capitalised words, but for the first word of a sentence where that may be any word."""
    if not any(character.islower() for character in text):
        return  # all in capitals: they tell nothing
    run: list[str] = []
    starts = True
    for token in text.split():
        word = token.strip(_MARKS)
        bare = re.sub(r"['’]s?$", "", word)
        is_name = bare[:1].isupper() and bare not in {"I", "X"} and bare.lower() not in _GRAMMAR and not _code(token)
        if is_name and not starts:
            run.append(bare)
        elif run:
            yield " ".join(run)
            run = []
        if run and (token[-1] in ",;:?!" or bare != word):
            yield " ".join(run)
            run = []
        starts = token[-1] in "?!:" or (token[-1] == "." and len(word) > 3)  # noqa: PLR2004 - `Dr.` ends no sentence
    if run:
        yield " ".join(run)


def _length(text: str) -> float:
    """Words; of scripts without spaces, two wide characters are one."""
    wide = sum(east_asian_width(character) in "WF" for character in text)
    narrow = "".join(" " if east_asian_width(character) in "WF" else character for character in text)
    return wide / 2 + len(narrow.split())
