"""The ways that mode auto chooses among: what each is for, and what of a question speaks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork.domain.question_form import Cue
from knotwork.domain.retrieval import Mode

# Points of a cue. Likeness to an example is worth up to 1: it never outweighs a strong cue, and settles weak ones.
STRONG, WEAK = 1.5, 0.3


@dataclass(frozen=True, slots=True)
class Way:
    """A mode as a skill: what it is for, the points of each cue that speaks for it, and questions that suit it.

    `label` is what its entry is called in drawings and traces. In the examples X stands for any name, code or
    quotation. `only_if` are cues of which one must hold for the mode to be a candidate at all; none: it always is.
    """

    mode: Mode
    label: str
    description: str
    points: Mapping[Cue, float]
    examples: Sequence[str]
    only_if: frozenset[Cue] = frozenset()


WAYS = (
    Way(
        Mode.KEYWORD,
        "a code, a quotation or bare terms",
        "an identifier, a code, a quotation or bare search terms, found to the letter",
        {Cue.TERMS: STRONG, Cue.EXACT: STRONG},
        ("X", "X X", "What does X mean?", "What is X?", "invoice X", "error X", "form X deadline"),
        frozenset({Cue.TERMS, Cue.EXACT}),
    ),
    Way(
        Mode.PATHS,
        "asks how things are connected",
        "how two or more named things are tied to each other",
        {Cue.CONNECTION: 2 * STRONG},
        (
            "How is X related to X?",
            "What is the connection between X and X?",
            "How are X and X linked?",
            "What ties X to X?",
            "Which path leads from X to X?",
            "In what way does X have to do with X?",
        ),
        frozenset({Cue.CONNECTION}),
    ),
    Way(
        Mode.NAVIGATE,
        "speaks of a document",
        "what one document says, a document that the question speaks of",
        {Cue.DOCUMENT: STRONG},
        (
            "What does the travel policy say about hotels?",
            "According to the annual report, what became of the profits?",
            "Which topics does the third chapter treat?",
            "Summarise the conclusion of the audit report.",
            "What was decided in the minutes of Monday's meeting?",
        ),
        frozenset({Cue.DOCUMENT}),
    ),
    Way(
        Mode.LOCAL,
        "describes what it does not name, or asks what depends on something",
        "an answer that joins facts of several documents, over something that the question describes or depends on",
        {Cue.UNNAMED: STRONG, Cue.DEPENDENTS: STRONG},
        (
            "Who manages the person that hired X?",
            "Where was the author of the book that inspired X born?",
            "Which customers are hit when X is closed?",
            "In which country did the founder of the company behind X study?",
            "Which projects use the library that X maintains?",
            "Which of both was founded first, X or X?",
            "Do the makers of X and of X come from the same town?",
        ),
    ),
    Way(
        Mode.GLOBAL,
        "asks about the whole",
        "themes, overviews and judgements over the whole collection",
        {Cue.OVERVIEW: STRONG},
        (
            "What are the main themes?",
            "What do all of these texts have in common?",
            "Which problems come up most often, and why?",
            "What lessons have we learnt over the years?",
            "How well are we prepared for failures as a whole?",
            "What principles guide our work?",
        ),
    ),
    Way(
        Mode.HYBRID,
        "names something",
        "a fact about something that the question names, by its words and by its meaning",
        {Cue.NAMED: WEAK, Cue.COMPARISON: STRONG},
        (
            "How much does X cost?",
            "What is the maximum speed of X?",
            "X does not start: what must I check?",
            "How long does X take, and what comes next?",
            "What is the price of X compared with X?",
        ),
    ),
    Way(
        Mode.SEMANTIC,
        "plain words",
        "a fact in everyday words, which the passage may put in others",
        {Cue.PLAIN: WEAK},
        (
            "What should I do when I lose my badge?",
            "Why is the room cold in the morning?",
            "How quickly does someone answer a complaint?",
            "Can I still change my order after I have paid?",
            "Is it allowed to work from another country?",
            "What happens to unused holidays at the end of the year?",
        ),
    ),
)
