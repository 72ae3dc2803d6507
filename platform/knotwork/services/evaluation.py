"""A set of questions with the passages that answer them: read, asked in several modes, and measured."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from knotwork.domain.ids import content_hash
from knotwork.domain.metrics import all_found_at, ndcg_at, recall_at, reciprocal_rank
from knotwork.domain.model import EVERYONE, ParsedText, Passage, Source, SourceRef
from knotwork.domain.normalise import normalise_name
from knotwork.domain.retrieval import Mode, Reader, RetrieveOptions
from knotwork.errors import AmbiguousName, InvalidInput, LimitReached
from knotwork.ports.models import Extraction, ExtractionInput
from knotwork.services.retrieve import Retrieval

SOURCE_TYPE = "document"
DEPTH = 20  # passages of distinct sources looked at: MRR and nDCG@10 read no further
NDCG_PLACES = 10
PLACES = (5, 8)  # at which recall is measured unless asked otherwise
WARM_UP = 10  # questions asked before any is timed
CHUNKS_PER_SOURCE = 4  # asked for of each place, as a long passage is stored as several chunks
TRIPLE_PARTS = 3  # subject, relation, object


@dataclass(frozen=True, slots=True)
class EvaluationPassage:
    """One document of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids of the passages that together answer it; never none."""

    id: str
    text: str
    supporting: frozenset[str]


@dataclass(frozen=True, slots=True)
class RecordedExtraction:
    """What an extractor once said of a passage: names, and triples (subject, relation, object)."""

    entities: tuple[str, ...]
    triples: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A corpus, its questions, and recorded extractions by passage id, where there are any."""

    passages: tuple[EvaluationPassage, ...]
    questions: tuple[Question, ...]
    recorded: Mapping[str, RecordedExtraction] = field(default_factory=dict[str, RecordedExtraction])

    @property
    def corpus_hash(self) -> str:
        """A hash of the passages and their recordings: what an index of them depends on, 64 hex digits."""
        passages = [[one.id, one.title, one.text] for one in self.passages]
        recorded = sorted((id_, one.entities, one.triples) for id_, one in self.recorded.items())
        return content_hash(json.dumps([passages, recorded]))

    def limited(self, questions: int | None) -> EvaluationSet:
        """The same with the first so many questions; the corpus stays whole. None: all."""
        return replace(self, questions=self.questions[:questions])

    def documents(self) -> Iterator[tuple[Source, ParsedText]]:
        """Every passage as a source that all may read, in the order of the corpus."""
        for passage in self.passages:
            source = Source(SourceRef(SOURCE_TYPE, passage.id), passage.title, "", (EVERYONE,), {})
            yield source, ParsedText(passage.text, passage.title)


@dataclass(frozen=True, slots=True)
class Answered:
    """One question in one mode: the passages found, best first, each once."""

    question: Question
    ranked: tuple[str, ...]

    def measures(self, places: Sequence[int] = PLACES) -> dict[str, float]:
        """Each measure by name, in [0, 1]; recall, and whether all were found, among so many first places."""
        ranked, wanted = self.ranked, self.question.supporting
        return {
            **{f"recall@{k}": recall_at(k, ranked, wanted) for k in places},
            **{f"all-found@{k}": all_found_at(k, ranked, wanted) for k in places},
            "mrr": reciprocal_rank(ranked, wanted),
            f"ndcg@{NDCG_PLACES}": ndcg_at(NDCG_PLACES, ranked, wanted),
        }


def read_set(corpus: str, questions: str, recorded: str | None = None) -> EvaluationSet:
    """A set from the texts of `corpus.jsonl`, `questions.jsonl` and, if given, `openie.jsonl`.

    Args:
        corpus: Rows {id, title?, text}.
        questions: Rows {id, question, supporting: ids of passages, at least one}; other fields are not read.
        recorded: Rows {id: of a passage, entities: names, triples: [subject, relation, object]}; a triple of another
            form is passed over, as recordings of models hold some.
    Raises:
        InvalidInput: a row cannot be read, an id stands twice, or a question names a passage that is not there.
    """
    passages: dict[str, EvaluationPassage] = {}
    for row, place in _rows("corpus", corpus):
        text = _text(row, "text", place).replace("\r\n", "\n")
        passage = EvaluationPassage(_new_id(row, place, passages), str(row.get("title") or ""), text)
        passages[passage.id] = passage
    asked: dict[str, Question] = {}
    for row, place in _rows("questions", questions):
        supporting = frozenset(_strings(row.get("supporting")))
        if not supporting:
            raise InvalidInput(f"{place}: `supporting` must list the ids of the passages that answer it, at least one")
        if unknown := sorted(supporting - passages.keys()):
            named = ", ".join(map(repr, unknown[:5]))
            raise InvalidInput(f"{place}: the corpus has no passage {named}, which `supporting` names")
        question = Question(_new_id(row, place, asked), _text(row, "question", place), supporting)
        asked[question.id] = question
    said = {} if recorded is None else _recordings(recorded)
    return EvaluationSet(tuple(passages.values()), tuple(asked.values()), said)


class RecordedExtractor:
    """Extractor that answers with what was recorded of the passage that a chunk stands in.

    Each triple's subject and object count as extracted entities. A passage that is stored as several chunks shares
    its recording out: a name goes to the chunks that hold it, a triple to those that hold both ends, and what no
    chunk holds literally, as models reword, to the first one.
    """

    id = "recorded/1"
    calls_model = False

    def __init__(self, given: EvaluationSet) -> None:
        self._recorded = given.recorded
        self._by_title: defaultdict[str, list[EvaluationPassage]] = defaultdict(list)
        for passage in given.passages:
            self._by_title[passage.title].append(passage)

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        found = next((one for one in self._by_title[chunk.title] if chunk.text in one.text), None)
        said = self._recorded.get(found.id) if found else None
        if found is None or said is None:
            return Extraction({"entities": [], "relationships": []})
        part, whole = (f" {normalise_name(text)} " for text in (chunk.text, found.text))
        is_first = found.text.strip().startswith(chunk.text)

        def stands_here(*names: str) -> bool:
            wanted = [f" {normalise_name(name)} " for name in names]
            if all(name in part for name in wanted):
                return True
            return is_first and not all(name in whole for name in wanted)

        triples = [one for one in said.triples if stands_here(one[0], one[2])]
        names = {name for name in said.entities if stands_here(name)} | {end for s, _, o in triples for end in (s, o)}
        return Extraction(
            {
                "entities": [{"name": name} for name in sorted(names)],
                "relationships": [{"from": one, "type": type_, "to": other} for one, type_, other in triples],
            }
        )

    async def close(self) -> None:
        """Nothing to close."""


async def ask(
    retrieval: Retrieval,
    reader: Reader,
    mode: Mode,
    questions: Sequence[Question],
    on_answer: Callable[[], None] = lambda: None,
) -> list[Answered]:
    """Every question in one mode, one after the other, in their order.

    Raises:
        ModeNotConfigured, StoreUnavailable: as `Retrieval.query`.
    """
    answered: list[Answered] = []
    options = RetrieveOptions(top_k=DEPTH * CHUNKS_PER_SOURCE)
    for question in questions:
        passages = await _passages(retrieval, reader, mode, question, options)
        ranked = dict.fromkeys(passage.source.id for passage in passages if passage.source)
        answered.append(Answered(question, tuple(ranked)[:DEPTH]))
        on_answer()
    return answered


async def answer_times(
    retrieval: Retrieval,
    reader: Reader,
    mode: Mode,
    questions: Sequence[Question],
    on_answer: Callable[[], None] = lambda: None,
) -> list[float]:
    """Milliseconds that each answer of five passages takes, as a user gets it; the first ones are asked twice."""
    times: list[float] = []
    for place, question in enumerate([*questions[:WARM_UP], *questions], start=-len(questions[:WARM_UP])):
        started = time.perf_counter()
        await _passages(retrieval, reader, mode, question, RetrieveOptions())
        if place >= 0:
            times.append((time.perf_counter() - started) * 1000)
            on_answer()
    return times


async def _passages(
    retrieval: Retrieval, reader: Reader, mode: Mode, question: Question, options: RetrieveOptions
) -> Sequence[Passage]:
    """What is found; nothing where the mode asks back, or gives up."""
    try:
        return (await retrieval.query(reader, question.text, mode, options)).passages
    except (AmbiguousName, LimitReached):
        return ()


def _rows(name: str, text: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The objects of a text of JSON lines, each with where it stands.

    Raises:
        InvalidInput: there is none, or a line is no object.
    """
    if not text.strip():
        raise InvalidInput(f"{name}: there is no row; put one JSON object a line")
    for number, line in enumerate(text.split("\n"), start=1):  # a JSON text may hold other line ends as they are
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{place}: not JSON ({error})") from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{place}: not an object")
        yield cast("Mapping[str, Any]", row), place


def _text(row: Mapping[str, Any], field_: str, place: str) -> str:
    value = row.get(field_)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{place}: `{field_}` must be a text that is not empty")
    return value


def _new_id(row: Mapping[str, Any], place: str, known: Mapping[str, object]) -> str:
    id_ = _text(row, "id", place)
    if id_ in known:
        raise InvalidInput(f"{place}: a row before has the same id {id_!r}; ids must differ")
    return id_


def _strings(value: object) -> list[str]:
    values = cast("Iterable[object]", value) if isinstance(value, list) else ()
    return [one for one in values if isinstance(one, str)]


def _recordings(text: str) -> dict[str, RecordedExtraction]:
    """What is recorded of each passage; a passage that has none there says nothing."""
    found: dict[str, RecordedExtraction] = {}
    for row, place in _rows("openie", text):
        triples = row.get("triples")
        said = [_strings(one) for one in cast("list[object]", triples)] if isinstance(triples, list) else []
        found[_new_id(row, place, found)] = RecordedExtraction(
            tuple(_strings(row.get("entities"))),
            tuple((one[0], one[1], one[2]) for one in said if len(one) == TRIPLE_PARTS),
        )
    return found
