"""Documents: bytes → text with its title, headings and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from knotwork.domain.model import ParsedText


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document's text, and the media type it was read as (without parameters)."""

    text: ParsedText
    media_type: str


@runtime_checkable
class Parser(Protocol):
    """Bytes → text. Equal bytes, name and media type give an equal answer."""

    @property
    def id(self) -> str:
        """Identity with version: two parsers with one id give equal text. Part of the settings of an export."""
        ...

    async def parse(self, data: bytes, *, name: str, media_type: str | None = None) -> ParsedDocument:
        """Read one document; one without text gives an empty `text.text`.

        Args:
            data: The document as it was stored.
            name: File name or path; its ending names the format, its stem is the title of last resort.
            media_type: What the sender calls it; None or application/octet-stream: unknown.
        Raises:
            UnsupportedDocument: a format, an encoding or a feature (encryption, a scan) that cannot be read, or a
                damaged or hostile file.
            InvalidInput: a row of a table or of JSON Lines is malformed; the message names the line.
        """
        ...
