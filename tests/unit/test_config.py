"""Settings are checked before anything starts, in words that name the variable."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from knotwork.bootstrap import open_platform
from knotwork.cli.checks import Check, run_checks
from knotwork.config import Settings, read_settings, unknown_variables
from knotwork.errors import SetupFailed


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PORT", "abc", "integer"),
        ("PORT", "65536", "65535"),
        ("WORKERS", "-1", "0"),
        ("UPLOAD_MB", "0", "1"),
        ("MODEL_TIMEOUT_S", "0", "0"),
        ("CHUNK_TOKENS", "15", "16"),
        ("CHUNK_TOKENS", "225", "at most 224 with the packaged embedder"),
        ("CHUNK_OVERLAP", "101", "at most half"),
        ("EMBEDDER", "fast", "'packaged', 'openai' or 'fastembed'"),
        ("EXTRACTOR", "opneai", "'packaged', 'openai' or 'none'"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(f"KNOTWORK_{name}", value)
    with pytest.raises(SetupFailed) as refused:
        read_settings()
    assert str(refused.value).startswith(f"KNOTWORK_{name}: ")
    assert allowed in str(refused.value)


def test_every_wrong_variable_is_named_and_no_value_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOTWORK_PORT", "s3cret")
    monkeypatch.setenv("KNOTWORK_WORKERS", "s3cret")
    with pytest.raises(SetupFailed) as refused:
        read_settings()
    assert [line.partition(":")[0] for line in str(refused.value).splitlines()] == ["KNOTWORK_PORT", "KNOTWORK_WORKERS"]
    assert "s3cret" not in str(refused.value)


def test_long_chunks_are_for_embedders_that_read_them() -> None:
    assert Settings(embedder="fastembed", chunk_tokens=512).chunk_tokens == 512
    assert Settings(embedding_url="http://127.0.0.1:1", chunk_tokens=512).embedding.kind == "openai"


def test_the_embedder_is_the_one_chosen_else_that_of_the_url_else_the_packaged() -> None:
    assert Settings().embedding.kind == "packaged"
    assert Settings(embedding_url="http://127.0.0.1:1").embedding.kind == "openai"
    assert Settings(embedding_url="http://127.0.0.1:1", embedder="packaged").embedding.kind == "packaged"


def test_misspelt_variables_are_found() -> None:
    names = ["KNOTWORK_HOME", "KNOTWORK_PROT", "KNOTWORK_DEBUG", "KNOTWORK_TEST_CACHE", "KNOTWORK_CRASHES", "HOME"]
    assert unknown_variables(names) == ["KNOTWORK_PROT"]


def test_doctor_names_wrong_and_misspelt_variables_and_an_open_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KNOTWORK_PORT", "abc")
    monkeypatch.setenv("KNOTWORK_PROT", "8080")
    tmp_path.chmod(0o755)
    found: dict[str, Check] = {check.name: check for check in run_checks(tmp_path)}
    assert found["settings"].state == "fail"
    assert "KNOTWORK_PORT" in found["settings"].found
    assert (found["variables"].state, "KNOTWORK_PROT" in found["variables"].found) == ("warn", True)
    assert (found["home"].state, "mode 755" in found["home"].found) == ("warn", True)
    tmp_path.chmod(0o700)
    assert {check.name: check for check in run_checks(tmp_path)}["home"].state == "ok"


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"chooser": "openai"}, "KNOTWORK_CHOOSER_URL"),
        ({"chooser": "openai", "chooser_url": "http://127.0.0.1:1/v1"}, "KNOTWORK_CHOOSER_MODEL"),
        ({"rerank_url": "http://127.0.0.1:1"}, "KNOTWORK_RERANK_URL"),
        ({"rerank_url": "rerank"}, "KNOTWORK_RERANK_URL"),
    ],
)
async def test_a_model_without_what_it_needs_is_refused_before_anything_starts(
    tmp_path: Path, given: dict[str, Any], missing: str
) -> None:
    with pytest.raises(SetupFailed, match=missing):
        async with open_platform(Settings(home=tmp_path, **given)):
            pass


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"embedder": "fastembed"}, "KNOTWORK_EMBEDDING_MODEL"),
        ({"embedder": "openai", "embedding_model": "m", "embedding_dimension": 3}, "KNOTWORK_EMBEDDING_URL"),
        ({"embedder": "fastembed", "embedding_model": "m", "embedding_dimension": 3}, "pip install"),
    ],
)
async def test_an_embedder_without_what_it_needs_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, Any], missing: str
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)  # as if it were not installed
    with pytest.raises(SetupFailed, match=missing):
        async with open_platform(Settings(home=tmp_path, **given)):
            pass
