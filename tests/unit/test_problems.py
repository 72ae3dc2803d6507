from __future__ import annotations

from http import HTTPStatus

from knotwork import errors
from knotwork.api.problems import STATUS, problem_of
from knotwork.errors import NotAuthenticated, NotFound, PlatformError, StoreUnavailable


def kinds() -> list[type[PlatformError]]:
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, PlatformError)]
    assert len(found) > 10
    return found


def test_every_error_has_its_own_code_and_a_status() -> None:
    codes = [kind.code for kind in kinds()]
    assert len(set(codes)) == len(codes)
    for code in codes:
        assert HTTPStatus(STATUS[code]) >= HTTPStatus.BAD_REQUEST


def test_what_may_succeed_later_is_no_fault_of_the_caller() -> None:
    for kind in kinds():
        assert not kind.retryable or STATUS[kind.code] == HTTPStatus.SERVICE_UNAVAILABLE


def test_a_problem_carries_the_facts_of_its_error() -> None:
    body = problem_of(NotFound("source", "a\ud800")).body
    assert b'"code": "not_found"' in body
    assert b'"kind": "source"' in body
    assert b"\\ud800" in body


def test_a_problem_says_when_to_come_again_and_how_to_log_in() -> None:
    assert problem_of(StoreUnavailable("Neo4j", "away")).headers["retry-after"] == "5"
    assert problem_of(NotAuthenticated("no")).headers["www-authenticate"] == "Bearer"
