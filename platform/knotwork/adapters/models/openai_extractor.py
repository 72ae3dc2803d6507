"""An extractor behind any OpenAI-compatible chat endpoint."""

from __future__ import annotations

from knotwork.adapters.models.answer_json import read_answer
from knotwork.adapters.models.extraction_prompt import ANSWER_SCHEMA, PROMPT_VERSION, messages
from knotwork.adapters.models.openai_chat import JsonChat
from knotwork.adapters.models.openai_http import OpenAIEndpoint
from knotwork.ports.models import Extraction, ExtractionInput


class OpenAIExtractor:
    """Extractor over `POST {url}/chat/completions` with one model. Answers are repaired as JSON, not judged."""

    calls_model = True

    def __init__(self, endpoint: OpenAIEndpoint, *, model: str) -> None:
        """Extract with `model` at `endpoint`, which extractors of other models may share; whoever made it closes it."""
        self.id = f"openai/{model}/prompt-{PROMPT_VERSION}"
        self._chat = JsonChat(endpoint, model=model, name="extraction", schema=ANSWER_SCHEMA)

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        """See `Extractor`. An answer without JSON is asked for again, as a time-out is; its tokens count too."""
        raw, usage = await self._chat.ask(messages(chunk), read_answer)
        return Extraction(raw=raw, usage=usage)

    async def close(self) -> None:
        """Nothing to close."""
