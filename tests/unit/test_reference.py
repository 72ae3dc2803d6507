"""The reference pages say what the code says, and the documentation's links lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES: dict[str, str] = runpy.run_path(str(DOCS / "make_reference.py"))["pages"]()
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_what_the_code_gives(name: str) -> None:
    assert (DOCS / "reference" / name).read_text(encoding="utf-8") == PAGES[name], "run `make docs`"


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_setting_named_in_the_guide_exists() -> None:
    named = {
        name
        for page in [ROOT / "README.md", ROOT / "compose.yaml", *sorted((DOCS / "guide").rglob("*.md"))]
        for name in re.findall(r"KNOTWORK_[A-Z0-9_]+", page.read_text(encoding="utf-8"))
    }
    assert named - set(re.findall(r"KNOTWORK_[A-Z0-9_]+", PAGES["settings.md"])) == set()
