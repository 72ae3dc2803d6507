"""`knotwork eval` as a user runs it, on a folder of five passages."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from knotwork.domain.evaluation_report import EvaluationReport, ModeFigures, QuestionFigures
from support.command_line import TIMEOUT_S, CommandLine

pytestmark = pytest.mark.neo4j

CORPUS = {
    "p1": "Kestrel depends on the retry budget.",
    "p2": "The retry budget is set by Wren.",
    "p3": "Wren is run by the payments team.",
    "p4": "The canteen serves soup on Mondays.",
    "p5": "The on-call rota changes on Fridays.",
}
QUESTIONS = {  # none names an entity, so that mode paths finds nothing
    "q1": ("Who decides how often a call is repeated?", ["p2"]),
    "q2": ("Which group looks after the software?", ["p3"]),
    "q3": ("What is there to eat?", ["p4"]),
}
TRIPLES = {"p1": ["Kestrel", "depends on", "retry budget"], "p2": ["Wren", "sets", "retry budget"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    rows: Mapping[str, list[dict[str, Any]]] = {
        "corpus": [{"id": id_, "text": text} for id_, text in CORPUS.items()],
        "questions": [
            {"id": id_, "question": text, "supporting": supporting} for id_, (text, supporting) in QUESTIONS.items()
        ],
        "openie": [{"id": id_, "entities": [], "triples": [triple]} for id_, triple in TRIPLES.items()],
    }
    for name, some in rows.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, some)), encoding="utf-8")
    return folder


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """A home of the user's, which must stay untouched, beside an empty folder for what passes."""
    (tmp_path / "tmp").mkdir()
    return CommandLine(tmp_path / "home")


def better_than_can_be(mode: str) -> str:
    """An earlier evaluation of one mode that found everything."""
    measures = {"recall@5": 1.0}
    figures = {id_: QuestionFigures(measures, ()) for id_ in QUESTIONS}
    report = EvaluationReport(
        {mode: ModeFigures(figures, {"p50": 1.0, "p95": 2.0})}, {id_: text for id_, (text, _) in QUESTIONS.items()}
    )
    return json.dumps(report.document())


def test_modes_are_measured_side_by_side_and_a_loss_since_an_earlier_run_is_told(
    cli: CommandLine, folder: Path, tmp_path: Path
) -> None:
    earlier, out, temporary = tmp_path / "earlier.json", tmp_path / "figures.json", tmp_path / "tmp"
    earlier.write_text(better_than_can_be("paths"), encoding="utf-8")
    result = cli.run(
        "eval",
        str(folder),
        *("--modes", "local,paths", "--extraction", "recorded", "--json"),
        *("--out", str(out), "--against", str(earlier)),
        code=1,
        TMPDIR=str(temporary),
    )
    document = result.document
    assert json.loads(out.read_text(encoding="utf-8")) == document
    assert (document["modes"]["local"]["recall@5"], document["modes"]["paths"]["recall@5"]) == (1.0, 0.0)
    assert set(document["latency_ms"]["local"]) == {"p50", "p95"}
    assert document["about"]["extractor"] == "recorded/1"
    assert [(one["mode"], one["measure"], one["regression"]) for one in document["changes"]] == [
        ("paths", "recall@5", True)
    ]
    assert not cli.home.exists()
    assert list(temporary.glob("knotwork-*")) == []


def test_ctrl_c_leaves_no_home_and_no_process(cli: CommandLine, folder: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    running = cli.start("eval", str(folder), TMPDIR=str(temporary))
    passing = CommandLine(temporary)  # its processes are those that name a home in there
    deadline = time.monotonic() + TIMEOUT_S
    while not passing.processes() and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=TIMEOUT_S)
    assert (running.returncode, out) == (130, ""), err
    assert passing.processes() == []
    assert list(temporary.glob("knotwork-*")) == []
