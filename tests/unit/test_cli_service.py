"""What is told of a running service."""

from __future__ import annotations

from pathlib import Path

import pytest

from knotwork.adapters.neo4j.server_home import ServerHome
from knotwork.cli.output import Output
from knotwork.cli.service import browser_login, show_addresses
from knotwork.cli.service_record import Service
from knotwork.cli.session import Session

URL = "http://127.0.0.1:7474/browser/"


def service(browser_url: str | None) -> Service:
    return Service("http://127.0.0.1:8080", 1, 0.0, "1", operator_token="t", browser_url=browser_url)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A home whose embedded Neo4j has run."""
    neo4j = ServerHome(tmp_path / "neo4j")
    neo4j.create()
    neo4j.choose_ports()
    neo4j.ensure_password()
    return Session(tmp_path, "default", Output(as_json=False))


def test_the_login_is_that_of_the_neo4j_which_the_service_uses(session: Session) -> None:
    assert browser_login(session, service(None)) is None
    login = browser_login(session, service(URL))
    assert login is not None
    assert login["url"] == URL
    assert login["password"] == ServerHome(session.home / "neo4j").password()


@pytest.mark.parametrize("with_password", [True, False])
def test_the_password_is_printed_only_when_asked_for(
    session: Session, capsys: pytest.CaptureFixture[str], *, with_password: bool
) -> None:
    show_addresses(session, service(URL), with_password=with_password)
    password = ServerHome(session.home / "neo4j").password()
    assert (password in capsys.readouterr().out) is with_password
