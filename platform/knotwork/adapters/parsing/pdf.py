"""PDF → text by page."""

from __future__ import annotations

import re
from threading import Lock

import pypdfium2 as pdfium

from knotwork.adapters.parsing.builder import TextBuilder, clean
from knotwork.domain.model import ParsedText
from knotwork.errors import UnsupportedDocument

_MAX_PAGES = 20_000
_MAX_CHARS = 50_000_000
_pdfium_lock = Lock()  # PDFium is not safe to use from two threads
_MARKED_HYPHEN = re.compile(r"[\ufffe\x02]\n?")  # how PDFium writes a hyphen at a line's end
_DIVIDED = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad]\n(?=[^\W\d_])")
_SENTENCE_END = re.compile(r"[.!?:。！？][\"'’”)\]]*\Z")
_SHORT_LINE = 0.75  # of the page's longest: a shorter line that ends a sentence ends a paragraph


def parse_pdf(data: bytes, name: str) -> ParsedText:
    """Read the text layer; the title is that of the metadata. Pages count from 1; PDF has no headings to rely on.

    Raises:
        UnsupportedDocument: damaged, encrypted, too long, or pages without a text layer only (a scan).
    """
    with _pdfium_lock:
        try:
            document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            reason = "is encrypted" if "password" in str(error).lower() else "is no readable PDF"
            raise UnsupportedDocument(f"{name!r} {reason}; save it again without protection") from error
        try:
            return _read(document, name)
        except pdfium.PdfiumError as error:
            raise UnsupportedDocument(f"{name!r} is a damaged PDF ({error}); save it again") from error
        finally:
            document.close()


def _read(document: pdfium.PdfDocument, name: str) -> ParsedText:
    if len(document) > _MAX_PAGES:
        raise UnsupportedDocument(f"{name!r} has {len(document)} pages; at most {_MAX_PAGES} are read; split it")
    builder = TextBuilder()
    size = 0
    for number in range(len(document)):
        text = _page_text(document, number)
        size += len(text)
        if size > _MAX_CHARS:
            raise UnsupportedDocument(f"{name!r} holds over {_MAX_CHARS} characters; split it")
        builder.page(number + 1)
        builder.paragraph(_paragraphs(text))
    parsed = builder.build(document.get_metadata_value("Title") or "")
    if len(document) and not parsed.text:
        raise UnsupportedDocument(f"{name!r} has no text layer, as a scan has none; run OCR on it first")
    return parsed


def _page_text(document: pdfium.PdfDocument, number: int) -> str:
    page = document[number]
    try:
        text_page = page.get_textpage()
        try:
            return text_page.get_text_bounded()
        finally:
            text_page.close()
    finally:
        page.close()


def _paragraphs(text: str) -> str:
    lines = [line.rstrip() for line in _join_divided(clean(text)).split("\n")]
    longest = max(map(len, lines))
    ended = (
        line + "\n" if len(line) < _SHORT_LINE * longest and _SENTENCE_END.search(line) else line for line in lines
    )
    return "\n".join(ended)


def _join_divided(text: str) -> str:
    """Join words divided at a line's end. The hyphen goes before a lower-case letter and stays before others."""
    text = _MARKED_HYPHEN.sub("-\n", text)
    return _DIVIDED.sub(lambda hyphen: "" if text[hyphen.end()].islower() else "-", text)
