"""DOCX and PDF."""

from __future__ import annotations

import io
import random
import time
import tracemalloc
import zipfile

import pytest
from docx import Document

from knotwork.adapters.parsing.registry import parse_bytes
from knotwork.domain.model import PageStart, ParsedText
from knotwork.errors import UnsupportedDocument


def word(**changes: bytes) -> bytes:
    """A small document; `changes` replace the parts of these names, dots written as two underscores."""
    document = Document()
    document.add_paragraph("The Guide", style="Title")
    document.add_heading("Retries", level=1)
    document.add_paragraph("A budget is kept.")
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("second", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, text in zip((cell for row in table.rows for cell in row.cells), "kv12", strict=True):
        cell.text = text
    document.add_heading("Limits", level=2)
    document.add_paragraph("None.")
    saved = io.BytesIO()
    document.save(saved)
    if not changes:
        return saved.getvalue()
    changed = io.BytesIO()
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, changes.get(part.rpartition("/")[2].replace(".", "__"), old.read(part)))
    return changed.getvalue()


def pdf(*pages: list[str], title: str = "", trailer: str = "") -> bytes:
    """A PDF of one text line an entry of a page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        content = "BT /F1 12 Tf 14 TL 50 700 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        resources = "<< /Font << /F1 3 0 R >> >>"
        page = f"/MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R /Resources {resources}"
        objects.append(f"<< /Type /Page /Parent 2 0 R {page} >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    out, offsets = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    end += f"trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R {trailer} >>"
    return out + f"{end}\nstartxref\n{len(out)}\n%%EOF".encode()


def read(data: bytes, name: str) -> ParsedText:
    return parse_bytes(data, name)[0]


def test_a_docx_is_read_in_order_with_headings_lists_and_tables() -> None:
    parsed = read(word(), "a.docx")
    assert parsed.text == (
        "The Guide\n\nRetries\n\nA budget is kept.\n\n- first\n- second\n\nk | v\n1 | 2\n\nLimits\n\nNone."
    )
    assert [(heading.level, heading.text) for heading in parsed.headings] == [(1, "Retries"), (2, "Limits")]
    assert all(parsed.text.startswith(heading.text, heading.start) for heading in parsed.headings)


def test_the_title_of_a_docx_is_that_of_its_properties_then_its_title_paragraph() -> None:
    document = Document()
    document.core_properties.title = "Named"
    document.add_paragraph("Shown", style="Title")
    saved = io.BytesIO()
    document.save(saved)
    assert read(saved.getvalue(), "a.docx").title == "Named"
    properties = word(
        core__xml=b'<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"/>'
    )
    assert read(properties, "a.docx").title == "The Guide"


BOMB = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04 cut off", "no DOCX"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted or a legacy"),
        (word(document__xml=BOMB), "entities"),
        (word(document__xml=b"<broken"), "no readable DOCX"),
        (word(document__xml=b" " * 150_000_000), "unpacks to"),
    ],
    ids=["cut", "encrypted", "entities", "broken", "bomb"],
)
def test_a_docx_that_is_damaged_or_hostile_is_refused_quickly(data: bytes, reason: str) -> None:
    started = time.process_time()
    with pytest.raises(UnsupportedDocument, match=reason):
        read(data, "a.docx")
    assert time.process_time() - started < 2


def test_a_docx_that_lies_about_its_size_is_not_unpacked_beyond_it() -> None:
    bomb = word(document__xml=b" " * 90_000_000)
    size = (90_000_000).to_bytes(4, "little")
    tracemalloc.start()
    with pytest.raises(UnsupportedDocument):
        read(bomb.replace(size, (1_000).to_bytes(4, "little")), "a.docx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bomb.count(size) == 2  # in the part's own header and in the directory
    assert peak < 20_000_000


def test_a_pdf_gives_text_by_page_with_divided_words_joined() -> None:
    parsed = read(pdf(["The retry bud-", "get is kept."], [], ["A well-known Ana-", "Maria."], title="Guide"), "a.pdf")
    assert parsed.text == "The retry budget is kept.\n\nA well-known Ana-Maria."
    assert parsed.title == "Guide"
    start = parsed.text.index("A well")
    assert parsed.pages == (PageStart(0, 1), PageStart(start, 2), PageStart(start, 3))


def test_a_short_line_that_ends_a_sentence_ends_a_paragraph_of_a_pdf() -> None:
    parsed = read(pdf(["A line that is rather long and goes", "on to here.", "Another one begins there."]), "a.pdf")
    assert parsed.text == "A line that is rather long and goes\non to here.\n\nAnother one begins there."


ENCRYPTED = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{'ab' * 32}> /U <{'cd' * 32}> /P -4 >> /ID [<00><00>]"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.4 garbage", "no readable PDF"),
        (pdf(["text"])[:200], "PDF"),
        (pdf([], []), "no text layer"),
        (pdf(["secret"], trailer=ENCRYPTED), "encrypted"),
    ],
    ids=["garbage", "cut", "scan", "encrypted"],
)
def test_a_pdf_that_cannot_be_read_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnsupportedDocument, match=reason):
        read(data, "a.pdf")


@pytest.mark.parametrize(("name", "whole"), [("a.pdf", pdf(["The retry budget."], ["Two."])), ("a.docx", word())])
def test_a_file_with_a_few_wrong_bytes_is_read_or_refused_and_never_crashes(name: str, whole: bytes) -> None:
    seeded = random.Random(2)
    refused = 0
    for _ in range(30):
        damaged = bytearray(whole)
        for _ in range(5):
            damaged[seeded.randrange(len(damaged))] = seeded.randrange(256)
        try:
            read(bytes(damaged), name)
        except UnsupportedDocument:
            refused += 1
    assert refused > 0
