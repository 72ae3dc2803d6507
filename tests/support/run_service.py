"""A service in a process of its own, with models that need no weights; its settings come from the environment."""

from __future__ import annotations

import asyncio

from knotwork.adapters.memory.models import HashEmbedder, ReplayExtractor
from knotwork.api.serve import serve
from knotwork.bootstrap import Models
from knotwork.config import Settings

if __name__ == "__main__":
    asyncio.run(serve(Settings(), models=Models(HashEmbedder(), ReplayExtractor())))
