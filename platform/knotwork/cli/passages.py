"""Shows passages as people read them: numbered, with where they stand and what led to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knotwork.cli.facts import joints, links
from knotwork.cli.output import Output, fact_line, in_line

Json = dict[str, Any]

EXCERPT_CHARS = 600
SHOWN_FACTS = 5


def show_passages(output: Output, passages: Sequence[Json], *, whole: bool = False, reasons: bool = True) -> None:
    """Print passages, best first.

    Args:
        output: Where to.
        passages: As the service answers them.
        whole: Print their whole text, not its beginning.
        reasons: Say of each what led to it.
    """
    for passage in passages:
        source, about = passage["source"] or {"type": "?", "id": "?"}, passage["metadata"]
        page = f", page {about['page']}" if about.get("page") else ""
        output.line(
            f"[{passage['citation']}] {in_line(source['id'])}{page}  (score {passage['score']:.3f})", style="bold"
        )
        if trail := heading_trail(about):
            output.line(trail, style="cyan", indent=4)
        output.line(excerpt(passage["text"], None if whole else EXCERPT_CHARS), indent=4)
        if reasons and (led := led_by(about)):
            output.line(f"led here: {led}", style="dim", indent=4)
        output.line()


def heading_trail(metadata: Json) -> str:
    """Title and headings, outermost first, each once."""
    return " > ".join(dict.fromkeys(part for part in (metadata.get("title"), *metadata.get("headings", ())) if part))


def led_by(metadata: Json) -> str:
    """The relationships that led to a passage, else the entities; of one whose document was chosen, who chose it."""
    if document := metadata.get("document"):
        return f"document {document['rank']} of those that {document['chosen_by']} chose"
    facts = [fact_line(fact) for fact in metadata.get("relationships") or ()]
    return "; ".join(facts[:SHOWN_FACTS]) or ", ".join((metadata.get("entities") or [])[:SHOWN_FACTS])


def excerpt(text: str, limit: int | None) -> str:
    """The text without blank lines, cut at a word with an ellipsis when it is over `limit` characters."""
    lines = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
    if limit is None or len(lines) <= limit:
        return lines
    cut = lines[:limit]
    return (cut.rsplit(maxsplit=1)[0] if " " in cut else cut) + " ..."


def show_facts(output: Output, question: str, passages: Sequence[Json]) -> None:
    """Print how the passages hang together, in mode local; other modes know no facts."""
    chain, joining = links(question, passages), joints(passages)
    if chain:
        output.line("facts from the question on:", style="bold")
        for link in chain:
            fact = {"from": link.subject, "type": link.type, "to": link.object}
            output.line(f"{fact_line(fact)}  {_numbers(link.citations)}", indent=4 + 2 * link.hops)
    if joining:
        output.line("names that join documents:", style="bold")
        for joint in joining:
            output.line(f"{joint.name}  {_numbers(joint.citations)}", indent=4)
    if chain or joining:
        output.line()


def _numbers(citations: Sequence[int]) -> str:
    return " ".join(f"[{number}]" for number in citations)
