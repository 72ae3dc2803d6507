"""Cutting of texts: a port, because long texts are cut outside the serving process."""

from __future__ import annotations

from typing import Protocol

from knotwork.domain.model import Chunk, ParsedText, SourceRef


class Chunker(Protocol):
    """Text → chunks; equal text gives equal chunks (domain/chunking.py)."""

    @property
    def id(self) -> str:
        """Identity: version, tokenizer and sizes; part of the settings that chunks depend on."""
        ...

    async def chunk(self, parsed: ParsedText, source: SourceRef) -> list[Chunk]: ...
