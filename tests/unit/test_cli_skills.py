"""`knotwork skills` from a file: no service, no home, nothing but the graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from knotwork.cli.main import app
from knotwork.cli.skill_run import Jump, Returned, Said, read_script, read_typed
from knotwork.errors import InvalidInput
from knotwork.skills import JumpRefused, ToolResult

SAMPLES = Path(__file__).parents[2] / "samples" / "skill-graphs"
GRAPH, SCRIPT = SAMPLES / "on-call.yaml", SAMPLES / "on-call.jsonl"


def knotwork(*words: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["skills", *map(str, words)], input=stdin)


def document(result: Result) -> Any:
    return json.loads(result.stdout)


def test_a_check_names_code_ids_and_what_to_do() -> None:
    result = knotwork("check", GRAPH)
    assert result.exit_code == 0
    assert "warning: unreachable-skill [postmortem]" in result.stdout
    assert "make it an entry" in result.stdout


def test_an_error_ends_a_check_with_1() -> None:
    result = knotwork(
        "check", "-", "--json", stdin="skills: [{id: a}]\nstart: b\nsteps: [{from: a, to: a, when: tool}]"
    )
    assert result.exit_code == 1
    found = document(result)
    assert not found["ok"]
    codes = [(one["code"], one["level"], one["ids"]) for one in found["problems"]]
    assert codes == [
        ("unknown-skill", "error", ["b"]),
        ("unreachable-skill", "warning", ["a"]),
        ("self-loop", "warning", ["a"]),
    ]


def test_what_cannot_be_read_is_named_by_line_and_column() -> None:
    result = knotwork("check", "-", stdin="skills: [{id: a}]\nstart: {use: a, wen: tool}\n")
    assert result.exit_code == 1
    assert result.stdout.startswith("-:2:17: error: invalid_declaration: unknown key 'wen'")


def test_a_graph_without_a_problem_says_so() -> None:
    result = knotwork("check", "-", stdin='{"skills": [{"id": "苹果"}], "start": "苹果"}')
    assert (result.exit_code, result.stdout) == (0, "-: no problems\n")


def test_a_drawing_is_printed_or_written(tmp_path: Path) -> None:
    printed = knotwork("draw", GRAPH)
    assert printed.stdout.startswith("flowchart TD\n")
    out = tmp_path / "graph.mmd"
    assert knotwork("draw", GRAPH, "--out", out).exit_code == 0
    assert out.read_text(encoding="utf-8") == printed.stdout
    assert document(knotwork("draw", GRAPH, "--json"))["mermaid"] == printed.stdout


def test_a_script_shows_where_a_conversation_stands_and_why() -> None:
    steps = document(knotwork("run", GRAPH, "--script", SCRIPT, "--json"))["steps"]
    assert [(one["cursor"], one["by"]) for one in steps] == [
        ("triage", "entry"),
        ("owner", "route"),
        ("owner", "stay"),
        ("owner", "stay"),
        ("policy", "jump"),
        ("triage", "route"),
    ]
    assert steps[1]["reason"] == "the route 'triage' → 'owner' fired (found)"
    assert steps[1]["active_skills"] == ["ground rules", "owner"]
    assert steps[1]["active_tools"] == ["rota", "page"]
    assert steps[4]["reachable_skills"] == ["triage", "ground rules"]


def test_what_is_typed_is_a_message_a_tool_or_a_jump() -> None:
    typed = 'LGR-1207, whom do I wake?\n\n/tool search ["a page"]\n/jump postmortem\n/nonsense\n/jump policy\n'
    result = knotwork("run", GRAPH, stdin=typed)
    assert result.exit_code == 0
    assert [line.split()[-1] for line in result.stdout.splitlines() if line.startswith("cursor")] == [
        "triage",
        "owner",
        "policy",
    ]
    assert "'postmortem' is not reachable" in result.stderr
    assert "/nonsense is no command" in result.stderr


def test_a_scripts_failure_ends_it() -> None:
    result = knotwork("run", GRAPH, "--script", "-", stdin='{"jump": "postmortem"}\n')
    assert isinstance(result.exception, JumpRefused)


def test_a_scored_start_shows_its_scores(tmp_path: Path) -> None:
    graph = tmp_path / "graph.yaml"
    graph.write_text("skills: [{id: herons}, {id: quolls}]\nstart: {entries: [herons, quolls], scored_by: keyword}\n")
    result = knotwork("run", graph, stdin="where do quolls hunt?\n")
    assert "scores" in result.stdout
    assert "quolls 1.000 (100%)" in result.stdout
    assert "by keyword" in result.stdout


@pytest.mark.parametrize(
    "line",
    ["[", "1", "{}", '{"message": 1}', '{"tool": "a", "jump": "b"}', '{"message": "a", "metadata": []}', "[" * 100_000],
)
def test_a_line_that_is_no_event_is_named(line: str) -> None:
    with pytest.raises(InvalidInput, match="line 3"):
        list(read_script(['{"message": "hello"}', "", line]))


def test_events_are_read_as_written() -> None:
    script = ['{"message": "a", "metadata": {"tier": 1}}', '{"tool": "t", "result": [1]}', '{"jump": "苹果"}']
    assert list(read_script(script)) == [Said("a", {"tier": 1}), Returned(ToolResult("t", [1])), Jump("苹果")]
    assert read_typed("/tool t") == Returned(ToolResult("t", None))
    assert read_typed("/jump ground rules") == Jump("ground rules")
    assert read_typed("a /jump") == Said("a /jump", {})


@pytest.mark.parametrize("line", ["/", "/jump", "/tool", "/tool t {", "/exit"])
def test_a_typed_command_of_no_form_says_what_to_type(line: str) -> None:
    with pytest.raises(InvalidInput):
        read_typed(line)


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert isinstance(knotwork("check", tmp_path / "binary").exception, InvalidInput)
    assert isinstance(knotwork("check", tmp_path / "absent").exception, FileNotFoundError)


def test_the_schema_is_printed() -> None:
    assert document(knotwork("schema"))["title"] == "Knotwork skill graph"


def test_the_sample_is_the_graph_of_the_reference_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "skills.md").read_text(encoding="utf-8")
    text = GRAPH.read_text(encoding="utf-8")
    assert f"```yaml\n{text}```" in page
    assert {one["id"] for one in yaml.safe_load(text)["skills"]} >= {"triage", "owner", "policy"}
