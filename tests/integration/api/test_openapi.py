"""The OpenAPI document and its page: complete, true, and readable without a network."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings, strategies
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from integration.api.conftest import Api, Running
from knotwork.api.problems import STATUS

pytestmark = pytest.mark.neo4j

OPERATIONS = 56
EXAMPLES = 12  # requests of each operation, so that the whole takes about half a minute
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


async def test_the_docs_page_and_all_it_loads_come_from_the_service(api: Api) -> None:
    page = await api.http.get("/docs")
    assert page.status_code == 200
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(loaded) == 3
    for path in loaded:
        assert path.startswith("/docs/assets/")
        assert (await api.http.get(path)).status_code == 200
    assert (await api.http.get("/")).headers["location"] == "/docs"


async def test_every_route_says_what_it_answers_with(api: Api) -> None:
    document = (await api.http.get("/v1/openapi.json")).json()
    operations = [(path, verb, one) for path, verbs in document["paths"].items() for verb, one in verbs.items()]
    assert len(operations) == OPERATIONS
    for path, verb, operation in operations:
        assert operation["summary"], (path, verb)
        assert operation["description"], (path, verb)
        for status, answer in operation["responses"].items():
            if int(status) >= 400 and path != "/v1/ready":
                assert list(answer["content"]) == ["application/problem+json"], (path, verb, status)
                assert int(status) in STATUS.values()
    assert "HTTPValidationError" not in document["components"]["schemas"]


async def test_generated_requests_find_no_failure_of_the_server_and_no_undocumented_answer(
    api: Api, running: Running
) -> None:
    document = (await api.http.get("/v1/openapi.json")).json()
    del document["paths"]["/v1/tenants/{tenant}"]["delete"]  # it would take the tenants of other tests away
    tested = await asyncio.to_thread(_call_all, document, running.service.url, api.headers)
    assert tested == OPERATIONS - 1
    for key in (await api("GET", "/keys")).json()["items"]:
        await api("DELETE", f"/keys/{key['id']}")


def _call_all(document: dict[str, Any], url: str, headers: dict[str, str]) -> int:
    """Call every operation with generated requests, well-formed and not; how many operations there were."""
    tested = 0
    with requests.Session() as session:
        for result in schemathesis.openapi.from_dict(document).get_all_operations():
            assert isinstance(result, Ok)
            cases = [result.ok().as_strategy(generation_mode=mode) for mode in GenerationMode]

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
            )
            @given(case=strategies.one_of(cases))
            def call(case: schemathesis.Case[Any]) -> None:
                case.call_and_validate(base_url=url, headers=headers, checks=CHECKS, session=session, timeout=30)

            call()
            tested += 1
    return tested
