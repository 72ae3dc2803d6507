"""Write the binary sample documents from their plain sources in bench/samples.

The same sources give the same bytes on every machine and Python: both formats are written here with the standard
library alone, without a clock, and without compression, whose output differs between versions of zlib.

Run: .venv/bin/python bench/make_samples.py
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bench" / "samples"
DOCUMENTS = ROOT / "samples" / "documents"
TARGETS = {
    "data-retention.md": "policies/data-retention.pdf",
    "inc-2057-postmortem.md": "incidents/inc-2057-postmortem.pdf",
    "deploy-freeze.md": "policies/deploy-freeze.docx",
    "inc-2063-postmortem.md": "incidents/inc-2063-postmortem.docx",
}

Style = Literal["title", "heading", "body"]


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph of a source; `text` is a single line without Markdown."""

    style: Style
    text: str


def read_blocks(source: str) -> list[Block]:
    """Split a source into its paragraphs, in order: `# ` is the title, `## ` a heading, all else body."""
    blocks: list[Block] = []
    for part in source.strip().split("\n\n"):
        if part.startswith("# "):
            blocks.append(Block("title", part.removeprefix("# ")))
        elif part.startswith("## "):
            blocks.append(Block("heading", part.removeprefix("## ")))
        else:
            blocks.append(Block("body", part))
    return blocks


# --- PDF -------------------------------------------------------------------------------------------------------------

PAGE_WIDTH, PAGE_HEIGHT, MARGIN = 595, 842, 72  # A4 in points
FONTS: dict[Style, tuple[str, int, int, int]] = {  # font, size, line height and space above, in points
    "title": ("F2", 18, 24, 0),
    "heading": ("F2", 14, 20, 16),
    "body": ("F1", 11, 17, 6),
}
# Advance widths of Helvetica for U+0020 to U+007E, in thousandths of the size (Adobe's font metrics).
HELVETICA = [
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
]
OTHER_WIDTH = 600  # accented letters; wide enough for each of them
BOLD_FACTOR = 1.1  # Helvetica-Bold is at most a tenth wider; lines of headings are broken a little early


def text_width(text: str, style: Style) -> float:
    """Width of a line in points, never less than it prints."""
    font, size, _, _ = FONTS[style]
    units = sum(HELVETICA[ord(char) - 32] if " " <= char <= "~" else OTHER_WIDTH for char in text)
    return units * size / 1000 * (BOLD_FACTOR if font == "F2" else 1)


def wrap(block: Block) -> Iterator[str]:
    """Break a paragraph into lines that fit between the margins."""
    line = ""
    for word in block.text.split():
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, block.style) > PAGE_WIDTH - 2 * MARGIN:
            yield line
            line = word
        else:
            line = longer
    yield line


def pdf_string(text: str) -> bytes:
    """A literal string in WinAnsi, the encoding of the standard fonts.

    Raises:
        UnicodeEncodeError: the text has a letter that WinAnsi lacks; use a DOCX for it.
    """
    raw = text.encode("cp1252")
    return b"(" + raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)") + b")"


def lay_out(blocks: list[Block]) -> list[bytes]:
    """Place the paragraphs on pages; one content stream a page. A heading stays with the lines below it."""
    pages: list[list[bytes]] = [[]]
    y = PAGE_HEIGHT - MARGIN
    for block in blocks:
        font, size, height, above = FONTS[block.style]
        lines = list(wrap(block))
        y -= above
        needed = height * len(lines) if block.style == "body" else 5 * height
        if y - needed < MARGIN:
            pages.append([])
            y = PAGE_HEIGHT - MARGIN
        for line in lines:
            y -= height
            pages[-1].append(b"BT /%s %d Tf %d %d Td %s Tj ET" % (font.encode(), size, MARGIN, y, pdf_string(line)))
    return [b"\n".join(page) for page in pages]


def make_pdf(blocks: list[Block]) -> bytes:
    """A PDF 1.4 file with a text layer in Helvetica, its title set, uncompressed."""
    streams = lay_out(blocks)
    first_page = 6
    kids = b" ".join(b"%d 0 R" % (first_page + 2 * index) for index in range(len(streams)))
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(streams)),
        font % b"Helvetica",
        font % b"Helvetica-Bold",
        b"<< /Title %s >>" % pdf_string(blocks[0].text),
    ]
    for index, stream in enumerate(streams):
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
            b" /Contents %d 0 R >>" % (PAGE_WIDTH, PAGE_HEIGHT, first_page + 2 * index + 1),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


# --- DOCX ------------------------------------------------------------------------------------------------------------

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
OOXML = "http://schemas.openxmlformats.org"
WORD = f"{OOXML}/wordprocessingml/2006/main"
WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
RELATIONS = f"{OOXML}/officeDocument/2006/relationships"
PACKAGE = f"{OOXML}/package/2006"
STYLE_IDS: dict[Style, str] = {"title": "Heading1", "heading": "Heading2", "body": "Normal"}
CONTENT_TYPES = f"""{XML}<Types xmlns="{PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml" ContentType="{WORD_TYPE}.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="{WORD_TYPE}.styles+xml"/>
<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>
</Types>"""
PACKAGE_RELATIONS = f"""{XML}<Relationships xmlns="{PACKAGE}/relationships">
<Relationship Id="rId1" Type="{RELATIONS}/officeDocument" Target="word/document.xml"/>
<Relationship Id="rId2" Type="{PACKAGE}/relationships/metadata/core-properties" Target="docProps/core.xml"/>
</Relationships>"""
DOCUMENT_RELATIONS = f"""{XML}<Relationships xmlns="{PACKAGE}/relationships">
<Relationship Id="rId1" Type="{RELATIONS}/styles" Target="styles.xml"/>
</Relationships>"""
STYLES = f"""{XML}<w:styles xmlns:w="{WORD}">
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/>
<w:pPr><w:spacing w:after="120"/></w:pPr><w:rPr><w:sz w:val="22"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/>
<w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/><w:sz w:val="36"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/><w:basedOn w:val="Normal"/>
<w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:rPr><w:b/><w:sz w:val="28"/></w:rPr></w:style>
</w:styles>"""


def make_docx(blocks: list[Block]) -> bytes:
    """A Word document with headings and a title; every part is stored, dated 1980-01-01, the zip format's zero."""
    paragraphs = "\n".join(
        f'<w:p><w:pPr><w:pStyle w:val="{STYLE_IDS[block.style]}"/></w:pPr>'
        f'<w:r><w:t xml:space="preserve">{escape(block.text)}</w:t></w:r></w:p>'
        for block in blocks
    )
    core = (
        f'{XML}<cp:coreProperties xmlns:cp="{PACKAGE}/metadata/core-properties"'
        f' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(blocks[0].text)}</dc:title>'
        "</cp:coreProperties>"
    )
    parts = {
        "[Content_Types].xml": CONTENT_TYPES,
        "_rels/.rels": PACKAGE_RELATIONS,
        "docProps/core.xml": core,
        "word/_rels/document.xml.rels": DOCUMENT_RELATIONS,
        "word/document.xml": f'{XML}<w:document xmlns:w="{WORD}"><w:body>\n{paragraphs}\n</w:body></w:document>',
        "word/styles.xml": STYLES,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3  # Unix; otherwise Windows would write another byte here
            archive.writestr(info, text.encode())
    return buffer.getvalue()


def make(source: str) -> bytes:
    """The bytes of the document that `source`, a key of TARGETS, becomes."""
    blocks = read_blocks((SOURCES / source).read_text(encoding="utf-8"))
    return make_pdf(blocks) if TARGETS[source].endswith(".pdf") else make_docx(blocks)


def main() -> None:
    """Write every binary sample document in its place."""
    for source, target in TARGETS.items():
        (DOCUMENTS / target).write_bytes(make(source))
        print(f"{source} -> samples/documents/{target}")


if __name__ == "__main__":
    main()
