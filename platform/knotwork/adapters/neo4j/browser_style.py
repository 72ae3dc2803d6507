"""How Neo4j Browser draws the graph: `cypher/browser/style.grass`, applied by Browser itself after each login."""

from __future__ import annotations

import json
import re

from knotwork.adapters.neo4j.statements import cypher_folder

_RULE = re.compile(r"""([\w.-]+)\s*\{((?:"[^"]*"|[^"{}])*)\}""")
_DECLARATION = re.compile(r"""([\w-]+):\s*("[^"]*"|[^;"]+);""")


def after_login() -> str:
    """The commands that Browser runs after a login: set the style, then clear away the sheet that this shows.

    They stand on one line and are parted by a semicolon. A style sheet is full of those, but `:style` also takes the
    sheet as JSON, which has none.
    """
    sheet = (cypher_folder() / "browser" / "style.grass").read_text(encoding="utf-8")
    rules = {
        selector: {name: value.strip('"') for name, value in _DECLARATION.findall(body)}
        for selector, body in _RULE.findall(sheet)
    }
    return f"style {json.dumps(rules, separators=(',', ':'))};clear"
