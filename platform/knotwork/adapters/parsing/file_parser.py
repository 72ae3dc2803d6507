"""The parser of files, off the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor

from knotwork.adapters.parsing.registry import PARSER_VERSION, parse_bytes
from knotwork.ports.parser import ParsedDocument


class FileParser:
    """Parser of text, Markdown, HTML, PDF, DOCX, JSON Lines and CSV. Whoever made the executor shuts it down."""

    id = f"files-{PARSER_VERSION}"

    def __init__(self, executor: Executor | None = None) -> None:
        """Run in `executor`, a process pool for choice; None: the event loop's threads."""
        self._executor = executor

    async def parse(self, data: bytes, *, name: str, media_type: str | None = None) -> ParsedDocument:
        loop = asyncio.get_running_loop()
        text, detected = await loop.run_in_executor(self._executor, parse_bytes, data, name, media_type)
        return ParsedDocument(text, detected)
