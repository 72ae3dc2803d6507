"""Options and addresses: what the words of a command line come to mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from knotwork.cli.client import quoted, refusal, source_path
from knotwork.cli.output import printable
from knotwork.cli.parsing import parse_filter_options, parse_metadata, parse_weights
from knotwork.cli.session import open_session


@pytest.mark.parametrize(
    ("pairs", "meant"),
    [
        ([], {}),
        (["version=1.10"], {"version": "1.10"}),
        (["year:=2024", "draft:=false", 'tags:=["a", "b"]'], {"year": 2024, "draft": False, "tags": ["a", "b"]}),
        (["a=1", "a=2"], {"a": "2"}),
        (["empty="], {"empty": ""}),
        (["formula=x=y"], {"formula": "x=y"}),
        (["url=http://x/?a:=b"], {"url": "http://x/?a:=b"}),
    ],
)
def test_metadata_is_text_unless_it_says_json(pairs: list[str], meant: dict[str, Any]) -> None:
    assert parse_metadata(pairs) == meant


@pytest.mark.parametrize("pair", ["novalue", "=x", " =x", "year:=twenty"])
def test_a_pair_of_neither_form_is_a_usage_error(pair: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_metadata([pair])


@pytest.mark.parametrize(
    ("conditions", "meant"),
    [
        (["team=sre"], {"team": "sre"}),
        (["team=sre", "team=edge"], {"team": ["sre", "edge"]}),
        (["year:=2024"], {"year": 2024}),
        (['team:=["a","b"]'], {"team": ["a", "b"]}),
        (["year>=2020", "year<=2024"], {"year": {"gte": 2020, "lte": 2024}}),
        (["reviewed>=2026-01-01"], {"reviewed": {"gte": "2026-01-01"}}),
        (["formula=a>=b"], {"formula": "a>=b"}),
    ],
)
def test_conditions_become_the_services_filter(conditions: list[str], meant: dict[str, Any]) -> None:
    assert parse_filter_options(conditions) == meant


def test_weights_are_a_pair_of_numbers() -> None:
    assert parse_weights("1:2.5") == {"semantic": 1.0, "keyword": 2.5}


@pytest.mark.parametrize("pair", ["1", "1:2:3", "a:b", "", ":"])
def test_weights_of_another_form_are_a_usage_error(pair: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_weights(pair)


@pytest.mark.parametrize("conditions", [["team"], [">=3"], ["year=1", "year>=1"]])
def test_a_condition_of_no_form_is_a_usage_error(conditions: list[str]) -> None:
    with pytest.raises(typer.BadParameter):
        parse_filter_options(conditions)


def test_a_path_keeps_slashes_and_has_no_segment_that_clients_resolve() -> None:
    assert quoted("a b/../é?#%.md") == "a%20b/%2E%2E/%C3%A9%3F%23%25.md"
    assert source_path("document", "./x") == "/sources/document/%2E/x"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_every_id_comes_back_from_its_address(id_: str) -> None:
    sent = httpx.Request("GET", f"http://host/v1{source_path('document', id_)}").url.raw_path.decode()

    assert unquote(urlsplit(f"http://host{sent}").path) == f"/v1/sources/document/{id_}"


def test_a_problem_document_becomes_a_refusal_with_its_code() -> None:
    answer = httpx.Response(404, json={"title": "Not found", "detail": "no source", "code": "not_found"})

    assert (refusal(answer).code, str(refusal(answer)), refusal(answer).status) == ("not_found", "no source", 404)


def test_an_answer_that_is_no_problem_document_is_an_internal_error() -> None:
    assert refusal(httpx.Response(502, text="<html>")).code == "internal"


def test_the_home_is_the_option_then_the_environment_then_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KNOTWORK_HOME", str(tmp_path / "env"))
    assert open_session(home=Path("option"), tenant=None, json=None).home == tmp_path / "option"
    assert open_session(home=None, tenant=None, json=None).home == tmp_path / "env"
    monkeypatch.delenv("KNOTWORK_HOME")
    session = open_session(home=None, tenant=None, json=None)
    assert (session.home, session.home_given, session.tenant) == (tmp_path / ".knotwork", False, "default")


def test_a_documents_control_characters_do_not_reach_the_terminal() -> None:
    assert printable("a\x1b[31mb\x07\u009b\n\tc") == "a�[31mb��\n\tc"
