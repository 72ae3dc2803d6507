"""Quality and speed of the packaged extractor on labelled text: `python -m bench.extraction [--documents N]`.

Prints one table; `--help` lists the options. Counts are micro-averaged; an interval is the 95 % bootstrap over
documents (sentences). Names are compared in normalised form. The sets and their licences are described in the data
folder's README files.

- redocred mentions: distinct names a document against the gold mentions (no dates, no numbers), and the same for the
  bare model. `all` counts key terms as wrong, since the gold labels names alone; `names` leaves them out.
- redocred typed: the same, with the type right as well.
- redocred entities: against the gold clusters; a cluster is found when one of its spellings is.
- redocred pairs: relationships, untyped and without direction, against the gold's between entities of a document.
- text2kg pairs: subject and object of a gold triple joined by any relationship; `typed`: by one whose type means the
  gold relation (table below), counted over the relationships that have such a type.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from knotwork.adapters.models.packaged_extractor import EXTRACTOR_ID, RawExtraction, extract_rules_many
from knotwork.adapters.models.rules.loading import pipeline
from knotwork.adapters.models.rules.topic import read_topic
from knotwork.domain.normalise import normalise_name

_GOLD_TYPES: Final = {"PER", "ORG", "LOC", "MISC"}
_TYPE_OF: Final = {
    "person": "PER",
    "organisation": "ORG",
    "team": "ORG",
    "place": "LOC",
    "group": "LOC",
    "work": "MISC",
    "event": "MISC",
    "product": "MISC",
    "language": "MISC",
    "service": "MISC",
}
_NOT_NAMES: Final = {"CARDINAL", "ORDINAL", "MONEY", "PERCENT", "QUANTITY", "TIME", "DATE"}

RELATION_PATTERNS: Final = {
    "director": r"(co-)?directed-by|(co-)?directs|director-of|directed-and.*",
    "screenwriter": r"written-by|writes|screenplay-.*by|screenwriter-of|story-.*by",
    "author": r"written-by|writes|author-of|authored-by|novel-by|book-by|series-by|poem-by|by|created-by",
    "producer": r"produced-by|produces|producer-of",
    "cast member": r"stars|starring|stars-in|features|appears-in|stars-as",
    "composer": r"composed-by|composes|music-.*by|composer-of|score-.*by|composition-by|opera-by|written-by",
    "lyrics by": r"lyrics-.*by|written-by|writes",
    "performer": r"(song|album|single|track|ep|record)-by|performed-by|recorded-by|performs|records|sung-by|sings",
    "publisher": r"published-by|publishes|published-in",
    "developer": r"developed-by|develops|developer-of|created-by",
    "creator": r"created-by|creates|creator-of|designed-by|developed-by",
    "designed by": r"designed-by|designs|designer-of|built-by",
    "illustrator": r"illustrated-by|illustrates|illustrator-of",
    "editor": r"edited-by|edits|editor-of",
    "followed by": r"followed-by|follows|sequel-.*to|sequel-of",
    "based on": r"based-on|adaptation-of|adapted-from|inspired-by",
    "production company": r"produced-by|produces|distributed-by",
    "award received": r"wins|won-by|awarded|receives|wins-.*",
    "nominated for": r"nominated-.*|nominee-.*|nomination-.*",
    "part of": r"part-of|.*-(from|on)-album|.*-from|from|part-in",
    "record label": r"released-(by|on|through|via)(-.*)?|signs-(to|with)|signed-(to|with)",
    "member of sports team": r"plays-(for|with|in|at)|player-for|member-of|joins|.*-for",
    "coach of sports team": r"coaches|coached-by|(head-)?coach-(of|for)|manages|managed-by|manager-of",
    "league": r"plays-in|competes-in|.*-in",
    "home venue": r"plays-at|located-at|home-.*|based-(at|in)",
    "platform": r"(released|available|developed|published|runs|ported|game)-(for|on|to)",
    "operating system": r"(released|available|developed|runs|application|software|client|editor)-(for|on)",
    "characters": r"features|character-(in|of|from)|stars|follows|centers-on|tells-story-of",
    "filming location": r"(shot|filmed)-(in|at|on)(-.*)?",
    "narrative location": r"set-(in|at|on)(-.*)?",
    "military branch": r"serves-(in|with)|served-in|joins|officer-(in|of)|member-of|.*-in",
    "commanded by": r"commanded-by|commands|led-by|leads|commander-of",
    "country of origin": r"from|nationality|produced-in|.*-from",
    "genre": r"is-a",
}
"""What of our open types means a relation of the ontologies, as whole-match expressions. Read, not fitted."""

Pair = tuple[str, str]


class Tally(NamedTuple):
    """Right, predicted and gold counts of one document."""

    hits: int
    predicted: int
    gold: int


def main() -> None:
    options = _options()
    print(f"extractor {EXTRACTOR_ID}\n")
    print(f"{'measure':34} {'P':>6} {'R':>6} {'F1':>6}   95 % of F1")
    words, seconds = redocred(options.data / "redocred-dev", options.documents, options.seed)
    more_words, more_seconds = text2kg(options.data / "text2kg-wikidata", options.sentences, options.seed)
    rate = (words + more_words) / (seconds + more_seconds)
    print(f"\n{rate:,.0f} words/s of processor time ({words + more_words:,} words, one core)")


def redocred(folder: Path, limit: int, seed: int) -> tuple[int, float]:
    """Print the rows of Re-DocRED; returns words read and seconds of processor time."""
    with gzip.open(folder / "documents.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = _sample([json.loads(line) for line in file], limit, seed)
    texts = [detokenise(sentence for sentence in document["sents"]) for document in documents]
    answers, seconds = _timed([(text, document["title"], ()) for text, document in zip(texts, documents, strict=True)])
    rows: dict[str, list[Tally]] = {}
    for document, text, answer, parsed in zip(documents, texts, answers, pipeline().pipe(texts), strict=True):
        bare = {normalise_name(span.text) for span in parsed.ents if span.label_ not in _NOT_NAMES}
        for name, tally in _document_tallies(document, _words(text), answer, bare).items():
            rows.setdefault(name, []).append(tally)
    _print_rows("redocred", rows, seed)
    return sum(len(text.split()) for text in texts), seconds


def _document_tallies(document: dict[str, Any], text: str, answer: RawExtraction, bare: set[str]) -> dict[str, Tally]:
    clusters = [{normalise_name(m["name"]) for m in e["mentions"]} for e in document["entities"]]
    named = [n for n, e in enumerate(document["entities"]) if e["type"] in _GOLD_TYPES]
    gold = {name for n in named for name in clusters[n]}
    typed_gold = {(name, document["entities"][n]["type"]) for n in named for name in clusters[n]}
    types = {normalise_name(entity["name"]): entity["type"] for entity in answer["entities"]}
    found = {name: kind for name, kind in types.items() if f" {name} " in f" {text} "}
    # Key terms have no capital letter; a name may have the neutral type too.
    capital = (entity["name"] for entity in answer["entities"] if any(char.isupper() for char in entity["name"]))
    names = found.keys() & {normalise_name(name) for name in capital}
    typed = {(name, _TYPE_OF.get(found[name], "MISC")) for name in names}
    reached = {n for n in named if clusters[n] & set(found)}
    of_name = {name: n for n in range(len(clusters)) for name in clusters[n]}
    if (topic := read_topic(document["title"])) and normalise_name(topic.bare) in of_name:
        of_name.setdefault(normalise_name(topic.name), of_name[normalise_name(topic.bare)])
    true_pairs = {frozenset((r["head"], r["tail"])) for r in document["relations"]}
    ends = [(normalise_name(r["from"]), normalise_name(r["to"])) for r in answer["relationships"]]
    pairs = {frozenset((of_name.get(source, -1), of_name.get(target, -2))) for source, target in ends}
    known = {pair for pair in pairs if all(end >= 0 for end in pair) and len(pair) == 2}
    return {
        "mentions, bare model": _tally(bare, gold),
        "mentions, all": _tally(set(found), gold),
        "mentions, names": _tally(names, gold),
        "mentions, names typed": _tally(typed, typed_gold),
        "entities": Tally(len(reached), len(reached) + len(set(found) - gold), len(named)),
        "pairs of gold entities": _tally(known, true_pairs),
    }


def text2kg(folder: Path, limit: int, seed: int) -> tuple[int, float]:
    """Print the rows of Text2KGBench; returns words read and seconds of processor time."""
    rows: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*_*.jsonl")):
        with path.open(encoding="utf-8") as file:
            ontology = json.loads((folder / f"{path.stem}_ontology.json").read_text(encoding="utf-8"))
            labels = sorted({relation["label"].strip() for relation in ontology["relations"]})
            rows += [json.loads(line) | {"relations": labels} for line in file]
    rows = _sample(rows, limit, seed)
    answers, seconds = _timed([(row["sent"], "", ()) for row in rows])
    for label, chosen in (("all", None), ("verified", True)):
        tallies: dict[str, list[Tally]] = {}
        for row, answer in zip(rows, answers, strict=True):
            if chosen is None or row["verified"]:
                for name, tally in _sentence_tallies(row, answer).items():
                    tallies.setdefault(f"{name}, {label}", []).append(tally)
        _print_rows("text2kg", tallies, seed)
    return sum(len(row["sent"].split()) for row in rows), seconds


def _sentence_tallies(row: dict[str, Any], answer: RawExtraction) -> dict[str, Tally]:
    gold = {(_ends(t["sub"], t["obj"]), t["rel"].strip()) for t in row["triples"]}
    edges = [(_ends(r["from"], r["to"]), r["type"]) for r in answer["relationships"]]
    meant = {
        (pair, relation)
        for pair, kind in edges
        for relation in row["relations"]
        if relation in RELATION_PATTERNS and re.fullmatch(RELATION_PATTERNS[relation], kind)
    }
    mapped = {(pair, relation) for pair, relation in gold if relation in RELATION_PATTERNS}
    text = _words(row["sent"])
    present = {pair for pair, _ in gold if all(f" {name} " in f" {text} " for name in pair)}
    predicted = {pair for pair, _ in edges}
    return {
        "pairs": _tally(predicted, {pair for pair, _ in gold}),
        "pairs in sentence": _tally(predicted, present),
        "typed": _tally(meant, mapped),
    }


def _ends(subject: str, target: str) -> frozenset[str]:
    return frozenset((normalise_name(subject), normalise_name(target)))


def detokenise(sentences: Iterable[Sequence[str]]) -> str:
    """Running text from tokens: no space before closing punctuation and clitics, or after an opening bracket."""
    text = " ".join(" ".join(tokens) for tokens in sentences)
    text = re.sub(r" ([,.;:!?)\]}%]|'s\b|n't\b|'re\b|'ve\b|'ll\b|'d\b|')", r"\1", text)
    return re.sub(r"([(\[{]) ", r"\1", re.sub(r" ([-–—/]) ", r"\1", text))


def _words(text: str) -> str:
    """A text as its names would be normalised, which has a bound on length."""
    return " ".join(normalise_name(word) for word in text.replace("-", " ").split())


def _tally(predicted: set[Any], gold: set[Any]) -> Tally:
    return Tally(len(predicted & gold), len(predicted), len(gold))


def _timed(items: list[tuple[str, str, tuple[str, ...]]]) -> tuple[list[RawExtraction], float]:
    pipeline()  # loading is not reading
    started = time.process_time()
    answers = extract_rules_many(items)
    return answers, time.process_time() - started


def _sample(rows: list[Any], limit: int, seed: int) -> list[Any]:
    return rows if limit <= 0 or limit >= len(rows) else random.Random(seed).sample(rows, limit)


def _print_rows(data: str, rows: dict[str, list[Tally]], seed: int) -> None:
    for name, tallies in rows.items():
        low, high = _interval(tallies, seed)
        precision, recall, f1 = _scores(tallies)
        print(
            f"{data + ' ' + name:34} {precision:6.3f} {recall:6.3f} {f1:6.3f}   {low:.3f}-{high:.3f}  n={len(tallies)}"
        )


def _scores(tallies: Sequence[Tally]) -> tuple[float, float, float]:
    hits, predicted, gold = (sum(column) for column in zip(*tallies, strict=True))
    precision, recall = hits / max(predicted, 1), hits / max(gold, 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def _interval(tallies: Sequence[Tally], seed: int, resamples: int = 300) -> tuple[float, float]:
    draw = random.Random(seed)
    scores = sorted(_scores(draw.choices(tallies, k=len(tallies)))[2] for _ in range(resamples))
    return scores[int(0.025 * resamples)], scores[int(0.975 * resamples)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Quality and speed of the packaged extractor.")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--documents", type=int, default=0, help="Re-DocRED documents to sample; 0: all")
    parser.add_argument("--sentences", type=int, default=0, help="Text2KGBench sentences to sample; 0: all")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


if __name__ == "__main__":
    main()
