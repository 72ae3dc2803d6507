"""Settings, read once from the environment (`KNOTWORK_*`); no secret shows in a repr."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Everything that can be configured, with defaults that need no network and no key."""

    model_config = SettingsConfigDict(env_prefix="KNOTWORK_", frozen=True, extra="ignore")

    home: Path = Field(
        default=Path(".knotwork"), description="Folder of everything stored: databases, logs, pointers of downloads."
    )
    host: str = Field(
        default="127.0.0.1", description="Address the service listens on; loopback unless API keys exist."
    )
    port: int = Field(default=0, description="Port of the service; 0 takes 8080 or the next free one.")
    workers: int = Field(
        default=0, description="Worker processes for embedding and extraction; 0: one a core, two at most."
    )

    first_key: SecretStr | None = Field(
        default=None,
        description="Secret of the first API key, `kw_` and at least 32 characters; made while no key exists.",
    )

    neo4j_uri: str | None = Field(default=None, description="Bolt URI of your own Neo4j; unset: the embedded one.")
    neo4j_user: str = Field(default="neo4j", description="User of your own Neo4j.")
    neo4j_password: SecretStr | None = Field(default=None, description="Password of your own Neo4j.")
    neo4j_database: str = Field(default="neo4j", description="Database of your own Neo4j.")
    neo4j_cache: Path | None = Field(
        default=None, description="Folder for Neo4j's downloaded jars; unset: the user's cache folder."
    )
    neo4j_heap_mb: int = Field(default=0, description="Heap of the embedded Neo4j in MB; 0: sized to the machine.")

    inbox: bool | None = Field(
        default=None,
        description="Accept requests while Neo4j is away and keep them in the home; unset: unless Neo4j and Qdrant are "
        "both your own, as the home may then be one that does not last.",
    )

    qdrant_url: str | None = Field(
        default=None, description="URL of your own Qdrant server; unset: Qdrant Edge in the service."
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="API key of your own Qdrant server.")

    embedding_url: str | None = Field(default=None, description="Base URL of an OpenAI-compatible embeddings endpoint.")
    embedding_model: str | None = Field(default=None, description="Model asked there.")
    embedding_dimension: int | None = Field(default=None, description="Dimension of its vectors.")
    embedding_api_key: SecretStr | None = Field(default=None, description="Key of the embeddings endpoint.")
    embedding_batch: int = Field(default=64, description="Texts a request to the embeddings endpoint, at most.")

    extraction_url: str | None = Field(
        default=None, description="Base URL of an OpenAI-compatible chat endpoint for extraction."
    )
    extraction_model: str | None = Field(
        default=None, description="Model asked there, unless the tenant names its own."
    )
    extraction_api_key: SecretStr | None = Field(default=None, description="Key of the chat endpoint.")
    extraction_concurrency: int = Field(default=1, description="Chunks extracted at once; below 1 is 1.")
    extractor: str = Field(
        default="packaged", description="packaged, openai (needs extraction_url and extraction_model) or none."
    )

    model_timeout_s: float = Field(default=60.0, description="Seconds a model request may take.")
    model_attempts: int = Field(default=4, description="Attempts at a model request on 429, 5xx and time-outs.")

    chunk_tokens: int = Field(default=200, description="Tokens of a chunk, at most.")
    chunk_overlap: int = Field(default=24, description="Tokens a chunk repeats of the one before, at most.")
    upload_mb: int = Field(default=50, description="Size of an upload, at most.")
    request_timeout_s: float = Field(default=60.0, description="Seconds a query may take.")
    freshness_target_s: float = Field(
        default=60.0, description="Seconds from acceptance to findable; reported, never raised."
    )
