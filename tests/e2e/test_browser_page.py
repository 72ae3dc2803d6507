"""Neo4j Browser as a person opens it: the page loads in Chromium from this machine alone, and asks for the login."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from knotwork.adapters.neo4j.embedded import Neo4jAddress

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = (
    "--headless",
    "--no-sandbox",  # continuous integration runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

pytestmark = [
    pytest.mark.neo4j,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


def test_the_page_loads_in_chromium_and_asks_for_the_login(neo4j_server: Neo4jAddress, tmp_path: Path) -> None:
    shown = subprocess.run(
        [
            str(CHROMIUM),
            *FLAGS,
            f"--user-data-dir={tmp_path}",
            "--virtual-time-budget=20000",  # milliseconds of the page's own clock, which runs as fast as it can
            "--dump-dom",
            f"{neo4j_server.http_url}/browser/",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout

    assert "Connect to Neo4j" in shown
    assert 'data-testid="password"' in shown
    assert 'data-testid="activeEditor"' in shown
