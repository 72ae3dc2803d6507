"""The drawing of a skill graph as a person sees it: the real Mermaid, in Chromium.

Mermaid is no dependency of the project. To run this, `npm install mermaid` anywhere, and set KNOTWORK_TEST_MERMAID to
its dist/mermaid.min.js.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from knotwork.skills import Skill, SkillGraph, decide_skill, skill_graph

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
MERMAID = os.environ.get("KNOTWORK_TEST_MERMAID")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.skipif(MERMAID is None, reason="KNOTWORK_TEST_MERMAID does not name Mermaid's dist/mermaid.min.js"),
]

LABELS = [
    'says "policy"',
    "it's [in] {all} (brackets) <b>bold</b>",
    "a; b | c --> d & e",
    "two\nlines",
    "1. not a list",
    "- nor this",
    "*stars* _lines_ `ticks`",
    "#35; &amp; &lt; #quot;",
    "$$x^2$$ fa:fa-car",
    "end",
    "苹果 当番",
    "Москва",
    "हिन्दी",
    "القاهرة",
    "עברית",
    "😀 Straße",
    "%% no comment",
    "http://example.org/a?b=c",
]


def flat() -> SkillGraph:
    """Every label on a skill and on an edge."""
    builder = skill_graph()
    for label in LABELS:
        builder.entry(Skill(label), when=lambda _: True, label=label)
    return builder.skill(Skill("aside")).build(check="off")


def tree() -> SkillGraph:
    """Every label on a diamond."""
    root: object = "leaf"
    for label in (*LABELS, ""):
        root = decide_skill(lambda _: True, "other", root, label=label)  # type: ignore[arg-type] - built up
    return skill_graph().skill(Skill("leaf"), Skill("other")).tree(root).build(check="off")  # type: ignore[arg-type] - the same


def page(graph: SkillGraph) -> str:
    script = Path(str(MERMAID)).read_text(encoding="utf-8").replace("</script", "<\\/script")
    draw = f"""
      mermaid.initialize({{startOnLoad: false, htmlLabels: true}});
      mermaid.render('drawing', {json.dumps(graph.to_mermaid())}).then(
        ({{svg}}) => {{
          document.getElementById('here').innerHTML = svg;
          const of = (query) => [...document.querySelectorAll(query)].map((one) => {{
            const copy = one.cloneNode(true);
            copy.querySelectorAll('br').forEach((br) => br.replaceWith('\\n'));
            return copy.textContent;
          }});
          document.getElementById('found').textContent = JSON.stringify({{
            nodes: of('g.node .nodeLabel'), edges: of('g.edgeLabel .edgeLabel').filter((text) => text),
            diamonds: document.querySelectorAll('g.node polygon').length,
            dashed: document.querySelectorAll('path.edge-pattern-dotted').length,
          }});
        }},
        (error) => {{ document.getElementById('found').textContent = 'failed: ' + error; }},
      );
    """
    return (
        f"<!doctype html><meta charset=utf-8><pre id=found></pre><div id=here></div><script>{script}</script>"
        f"<script>{draw}</script>"
    )


@pytest.mark.parametrize("graph", [flat(), tree()], ids=["flat", "tree"])
def test_mermaid_shows_each_label_as_it_was_written(graph: SkillGraph, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page(graph), encoding="utf-8")
    dom = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",  # continuous integration runs as root
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=20000",  # milliseconds of the page's own clock
            "--dump-dom",
            (tmp_path / "page.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    found = json.loads(html.unescape(re.findall(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[0]))
    shown = [" ".join(label.split()) for label in found["nodes"]]
    wanted = [" ".join(node.label.split()) for node in graph.nodes]
    assert sorted(label for label in shown if label != "start") == sorted(wanted)
    labels = [" ".join(edge.label.split()) for edge in graph.edges if edge.label]
    assert sorted(" ".join(label.split()) for label in found["edges"]) == sorted(labels)
    assert found["diamonds"] == sum(node.kind == "predicate" for node in graph.nodes)
    assert found["dashed"] == sum(edge.kind == "model" for edge in graph.edges)
