"""Other spellings of the names found: with and without a style or a land, surnames, towns with their state.

Each pair of spellings becomes two entities tied by `also-known-as`, so that passages meet whichever of them they use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from spacy.tokens import Doc

from knotwork.adapters.models.rules.mentions import Mentions
from knotwork.adapters.models.rules.places import PLACES
from knotwork.adapters.models.rules.styles import read_styled, ruler_without_land
from knotwork.adapters.models.rules.topic import Topic
from knotwork.adapters.models.rules.vocabulary import NOUN_TYPES, PERSON_PRONOUNS, THING_PRONOUNS

_AFTER_SURNAME = re.compile(r"[IVX]+\.?|Jr\.?|Sr\.?")
_INITIALS = re.compile(r"[A-Z][A-Za-z]{0,6}[A-Z]")
_OF_NAME = re.compile(r"(?:The )?([A-Z][\w-]*(?: [\w-]+){0,2}) of (?:the )?([A-Z].+)")
_MAX_OPENING: Final = 30  # tokens within which a text says what it is about
_NO_TOWN: Final = frozenset(("person", "group", "language", "work", "event", "date"))


def join_spellings(doc: Doc, mentions: Mentions, topic: Topic | None, hosts: Mapping[int, int]) -> None:
    """Tie the spellings of each thing, and let short names stand for the full one that the chunk has.

    `hosts` gives, for the first token of an aside, the token that it was set in brackets after.
    """
    _read_styles(mentions)
    _read_towns(doc, mentions, topic)
    _read_initials(doc, mentions, hosts)
    if topic is not None and (part := _OF_NAME.fullmatch(topic.bare)):
        kind = "-".join([*part[1].casefold().split(), "of"])
        mentions.styles.append((mentions.thing(topic.name), kind, mentions.thing(part[2])))
    _complete_short_names(doc, mentions, topic)


def _read_styles(mentions: Mentions) -> None:
    """State what a style says (`King of Italy`), and the name without it as another spelling where it is a full one."""
    for owner, name in [(owner, thing.name) for owner, thing in enumerate(mentions.things)]:
        if short := ruler_without_land(name):
            mentions.aliases.append((owner, mentions.thing(short)))
        style = read_styled(name) if "," in name else None
        if style is None:
            continue
        mentions.state(owner, "person")
        if " " in style.name:
            mentions.aliases.append((owner, mentions.thing(style.name)))
        if style.seat:
            mentions.styles.append((owner, f"{style.rank}-of", mentions.thing(style.seat)))


def _read_towns(doc: Doc, mentions: Mentions, topic: Topic | None) -> None:
    """`Springfield, Illinois` beside `Springfield`: each is what some texts write, and the first tells towns apart."""
    if topic is not None and topic.short:
        _town(mentions, topic.short, topic.bare.rpartition(",")[2].strip(), topic.name)
    for comma in doc[1:-1]:
        town, land = mentions.at[comma.i - 1], mentions.at[comma.i + 1]
        if comma.text != "," or min(town, land) < 0 or town == land or mentions.guess_of(town) in _NO_TOWN:
            continue
        name = mentions.things[town].name
        if name[0].isupper() and name.casefold() not in PLACES:  # `France, Italy` is a list
            _town(mentions, name, mentions.things[land].name, f"{name}, {mentions.things[land].name}")


def _read_initials(doc: Doc, mentions: Mentions, hosts: Mapping[int, int]) -> None:
    """`European Union (EU)`: letters in brackets that stand in the name before them, in order."""
    for first, host in hosts.items():
        initials, owner = doc[first].text, mentions.at[host]
        alone = first + 1 == len(doc) or "\n" in doc[first + 1].text
        if owner < 0 or not alone or not _INITIALS.fullmatch(initials):
            continue
        letters = iter(mentions.things[owner].name.casefold())
        if initials[0] == mentions.things[owner].name[0] and all(letter in letters for letter in initials.casefold()):
            mentions.aliases.append((owner, mentions.thing(initials)))


def _town(mentions: Mentions, town: str, land: str, full: str) -> None:
    if land.casefold() in PLACES:
        mentions.aliases.append((mentions.thing(full), mentions.thing(town)))
        mentions.styles.append((mentions.thing(full), "located-in", mentions.thing(land)))
        mentions.state(mentions.thing(full), "place")


def _complete_short_names(doc: Doc, mentions: Mentions, topic: Topic | None) -> None:
    """Let a lone surname or first name stand for the one full name of a person in the chunk that it ends or opens.

    `Mr. Doe` stays itself: a form of address does not say which Doe. So does a name that fits two people. On a
    person's page the model may take the surname for anything (`Warbeck was born in ...`); a city stays a city.
    """
    full_names = {thing.name for thing in mentions.things if thing.guess == "person" and " " in thing.name}
    person = topic is not None and _is_person(doc, mentions, topic)
    if topic and " " in topic.bare and topic.type_hint in {"", "person"}:
        full_names -= {mentions.things[alias].name for _, alias in mentions.aliases}
        full_names.discard(topic.name)
        full_names.add(topic.bare)
    opens_or_ends: dict[str, set[str]] = {}
    for name in full_names:
        words = [word for word in name.split() if not _AFTER_SURNAME.fullmatch(word)] or name.split()
        plain = not {",", "of"} & set(name.replace(",", " , ").split())  # no surname closes `Boso of Tuscany`
        for word in {words[0], words[-1]} if plain else {words[0].rstrip(",")}:
            opens_or_ends.setdefault(word, set()).add(name)
    for index, token in enumerate(doc):
        owner = mentions.at[index]
        if owner < 0 or mentions.things[owner].name != token.text:
            continue
        fitting = opens_or_ends.get(token.text, ())
        if len(fitting) != 1 or token.text.casefold() in PLACES:
            continue
        (name,) = fitting
        of_topic = topic is not None and name == topic.bare
        guess = mentions.guess_of(owner)
        if guess == "person" or (person and of_topic) or (guess == "concept" and not of_topic):
            mentions.at[index] = mentions.thing(topic.name if topic and of_topic else name)
            if (mentions.at[index], owner) not in mentions.aliases:
                mentions.aliases.append((mentions.at[index], owner))


def _is_person(doc: Doc, mentions: Mentions, topic: Topic) -> bool:
    """Whether a page is about a person: by its qualifier, what it says it is, the model, or its first `he` or `she`."""
    if kind := topic.type_hint or _opening_type(doc):
        return kind == "person"
    if mentions.guess_of(mentions.thing(topic.name)) == "person":
        return True
    pronoun = next((token.lower_ for token in doc if token.lower_ in {*PERSON_PRONOUNS, *THING_PRONOUNS}), "")
    return pronoun in PERSON_PRONOUNS


def _opening_type(doc: Doc) -> str:
    """The type of the noun in `X is a 2000 British dance drama film ...`, or the empty string."""
    kind = ""
    verb = next((token.i for token in doc[:_MAX_OPENING] if token.lower_ in {"is", "was"}), len(doc))
    for token in doc[verb + 1 : verb + _MAX_OPENING]:
        if token.tag_ in {"IN", "WDT", "WP", "VBN", "VBD", "."}:
            break
        kind = NOUN_TYPES.get(token.lower_, kind)
    return kind
