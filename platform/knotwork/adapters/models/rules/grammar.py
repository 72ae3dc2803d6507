"""Questions about English verbs in a dependency tree, and the spelling of their forms."""

from __future__ import annotations

from spacy.tokens import Token

from knotwork.adapters.models.rules.loading import lemma


def third_person(verb: str) -> str:
    """The third person singular of an English verb, by spelling: `depend` → `depends`, `carry` → `carries`."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def join_words(*words: str) -> str:
    """The words of a relationship's type, empty ones left out."""
    return "-".join(word for word in words if word)


def particle(verb: Token) -> str:
    """`up` of `set up`, or the empty string."""
    return next((child.lower_ for child in verb.children if child.dep_ == "prt"), "")


def agent(verb: Token) -> Token | None:
    """The `by` of a passive verb."""
    return next((child for child in verb.children if child.dep_ == "agent" or child.lower_ == "by"), None)


def shared_agent(verb: Token) -> Token | None:
    """The `by` that `written` shares with a later verb of its row: `written, produced and directed by X`."""
    following = [child for child in verb.children if child.dep_ == "conj"]
    following += [child for child in verb.head.children if child.dep_ == verb.dep_ == "acl" and child.i == verb.i + 2]
    row = [child for child in following if child.tag_ == "VBN"]
    return next((found for child in row if (found := agent(child) or shared_agent(child)) is not None), None)


def verb_of_agent(noun: Token) -> Token | None:
    """The verb whose `by` governs a noun, through `and`."""
    while noun.dep_ == "conj" and noun.head is not noun:
        noun = noun.head
    by = noun.head
    return by.head if noun.dep_ == "pobj" and by.lower_ == "by" and by.head.tag_ == "VBN" else None


def is_negated(verb: Token) -> bool:
    """Whether the verb carries a `not`."""
    return any(child.dep_ == "neg" for child in verb.children)


def is_passive(verb: Token) -> bool:
    """Whether a participle speaks of what is done to its subject: `was founded`, `a film directed by`."""
    if verb.tag_ != "VBN":
        return False
    children = {child.dep_ for child in verb.children}
    if children & {"auxpass", "nsubjpass"}:
        return True
    if "aux" in children:  # `has founded`
        return False
    if verb.dep_ == "conj" and verb.head.tag_ == "VBN" and "nsubj" not in children:
        return is_passive(verb.head)
    return verb.dep_ in {"acl", "advcl", "relcl"} or "agent" in children


def kinship(noun: Token) -> str:
    """The whole word of which a noun of kinship is a part: `mother-in-law`, `half-brother`; else its singular."""
    word, doc, index = lemma(noun.lower_, "noun"), noun.doc, noun.i
    if [token.lower_ for token in doc[index + 1 : index + 5]] == ["-", "in", "-", "law"]:
        word = f"{word}-in-law"
    if index > 1 and doc[index - 1].text == "-" and doc[index - 2].lower_ in {"half", "step", "great"}:
        word = f"{doc[index - 2].lower_}-{word}"
    return word


def is_idiom(prep: Token) -> bool:
    """Whether a preposition's noun is bare, as in `on call`, `in charge`, `at war`: a state, where no one is."""
    noun = next((child for child in prep.children if child.dep_ == "pobj"), None)
    return noun is not None and noun.tag_ == "NN" and not any(child.i < noun.i for child in noun.children)
