"""How mode auto scores its entries: by what a question looks like, and by its likeness to examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from knotwork.domain.model import NO_USAGE, Usage, Vector
from knotwork.domain.question_form import form_of
from knotwork.ports.models import Embedder
from knotwork.services.auto_ways import Way
from knotwork.skills.scoring import Candidate, Fallback, RawScores, cosine

TEMPERATURE = 0.25  # of the shares that a trace shows; the choice does not depend on it
CUES = "cues"  # what scores alone where the embedder fails


@dataclass(frozen=True, slots=True)
class QuestionScorer:
    """An `EntryScorer` over ways: the points of the cues that a question shows, plus its likeness to examples.

    Likeness is the greatest cosine, from 0 up, of the question with a way's examples, names and codes masked in both,
    so that it compares how is asked and not about what. The embedder is not called where one way leads by more points
    than any cosine makes up for; where it fails, the points alone decide, and the outcome says so.

    The usage is that of the question. Examples are embedded once for each model, on nobody's account: equal questions
    count alike, whoever asks first.
    """

    embedder: Embedder
    ways: Mapping[str, Way]  # by the id of their skill
    likeness: float = 1.0  # what a cosine of 1 is worth, in points
    temperature: float = TEMPERATURE
    _kept: dict[tuple[str, str], Vector] = field(
        default_factory=dict[tuple[str, str], Vector], init=False, repr=False, compare=False
    )  # by model and example

    @property
    def name(self) -> str:
        return f"{CUES}+{self.embedder.id}"

    @property
    def calls_model(self) -> bool:
        return True

    async def score(self, message: str, candidates: Sequence[Candidate]) -> RawScores:
        """See `EntryScorer`."""
        form = form_of(message)
        ways = [self.ways[candidate.skill_id] for candidate in candidates]
        points = [fsum(way.points[cue] for cue in sorted(form.cues & way.points.keys())) for way in ways]
        best, *others = sorted(points, reverse=True)
        if best - max(others, default=0.0) >= self.likeness or not others:
            return RawScores(points)
        try:
            likeness, usage = await self._likeness(form.masked, ways)
        except Exception as error:  # noqa: BLE001 - an embedder is another's object: whatever it raises, the turn goes on
            return RawScores(points, fallback=Fallback(self.name, CUES, f"{type(error).__name__}: {error}"))
        return RawScores([one + self.likeness * like for one, like in zip(points, likeness, strict=True)], usage)

    async def _likeness(self, asked: str, ways: Sequence[Way]) -> tuple[list[float], Usage]:
        model = self.embedder.id
        answer = await self.embedder.embed([asked], purpose="query")
        new = [text for way in ways for text in way.examples if (model, text) not in self._kept]
        if new:
            vectors = (await self.embedder.embed(new, purpose="query")).vectors
            self._kept.update({(model, text): vector for text, vector in zip(new, vectors, strict=True)})
        (question,) = answer.vectors
        return [
            max(0.0, *(cosine(question, self._kept[model, text]) for text in way.examples)) for way in ways
        ], answer.usage or NO_USAGE
