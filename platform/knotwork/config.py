"""Settings, read once from the environment (`KNOTWORK_*`); no secret shows in a repr."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from knotwork.errors import SetupFailed

PREFIX = "KNOTWORK_"
NO_SETTINGS = frozenset({"KNOTWORK_DEBUG", "KNOTWORK_REQUIRE_SERVERS", "KNOTWORK_CRASHES"})  # read elsewhere
NO_SETTINGS_PREFIX = "KNOTWORK_TEST_"
PACKAGED_READS = 256  # tokens that the packaged embedder reads of a text; the rest would be left out of its vector
TITLE_TOKENS = 32  # kept free of them for title and headings, which are read before the text


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """Which embedder, and what it needs; `prefix` is that of the variables, for messages."""

    prefix: str
    kind: Literal["packaged", "openai", "fastembed"]
    url: str | None
    model: str | None
    dimension: int | None
    api_key: SecretStr | None


class Settings(BaseSettings):
    """Everything that can be configured, with defaults that need no network and no key."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    home: Path = Field(
        default=Path(".knotwork"), description="Folder of everything stored: databases, logs, pointers of downloads."
    )
    host: str = Field(
        default="127.0.0.1", description="Address the service listens on; loopback unless API keys exist."
    )
    port: int = Field(default=0, ge=0, le=65535, description="Port of the service; 0 takes 8080 or the next free one.")
    workers: int = Field(
        default=0, ge=0, description="Worker processes for embedding and extraction; 0: one a core, two at most."
    )

    first_key: SecretStr | None = Field(
        default=None,
        description="Secret of the first API key, `kw_` and at least 32 characters; made unless there ever was a key.",
    )

    neo4j_uri: str | None = Field(default=None, description="Bolt URI of your own Neo4j; unset: the embedded one.")
    neo4j_user: str = Field(default="neo4j", description="User of your own Neo4j.")
    neo4j_password: SecretStr | None = Field(default=None, description="Password of your own Neo4j.")
    neo4j_database: str = Field(default="neo4j", description="Database of your own Neo4j.")
    neo4j_cache: Path | None = Field(
        default=None,
        description="Folder for Neo4j's jars and the archive of its classes; unset: the user's cache folder.",
    )
    neo4j_heap_mb: int = Field(
        default=0, ge=0, description="Heap of the embedded Neo4j in MB; 0: sized to the machine."
    )
    neo4j_java_options: str = Field(
        default="", description="Further options for the Java of the embedded Neo4j, separated by spaces."
    )

    inbox: bool | None = Field(
        default=None,
        description="Accept requests while Neo4j is away and keep them in the home; unset: unless Neo4j and Qdrant are "
        "both your own, as the home may then be one that does not last.",
    )

    qdrant_url: str | None = Field(
        default=None, description="URL of your own Qdrant server; unset: Qdrant Edge in the service."
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="API key of your own Qdrant server.")

    embedder: Literal["packaged", "openai", "fastembed"] | None = Field(
        default=None,
        description="packaged, openai (needs embedding_url) or fastembed (a model of that package, run here), the last "
        "two with embedding_model and embedding_dimension; unset: openai when embedding_url is set, else packaged.",
    )
    embedding_url: str | None = Field(default=None, description="Base URL of an OpenAI-compatible embeddings endpoint.")
    embedding_model: str | None = Field(default=None, description="Model asked there, or run by fastembed.")
    embedding_dimension: int | None = Field(default=None, ge=1, description="Dimension of its vectors.")
    embedding_api_key: SecretStr | None = Field(default=None, description="Key of the embeddings endpoint.")
    embedding_batch: int = Field(default=64, ge=1, description="Texts a request to the embeddings endpoint, at most.")

    next_embedder: Literal["packaged", "openai", "fastembed"] | None = Field(
        default=None,
        description="The embedder to change over to: everything stored is embedded with it in the background, then it "
        "takes the present one's place; chosen as embedder is, by the settings below. Unset: no change.",
    )
    next_embedding_url: str | None = Field(default=None, description="As embedding_url, of the embedder to change to.")
    next_embedding_model: str | None = Field(default=None, description="As embedding_model, likewise.")
    next_embedding_dimension: int | None = Field(default=None, ge=1, description="As embedding_dimension, likewise.")
    next_embedding_api_key: SecretStr | None = Field(default=None, description="As embedding_api_key, likewise.")

    extraction_url: str | None = Field(
        default=None, description="Base URL of an OpenAI-compatible chat endpoint for extraction."
    )
    extraction_model: str | None = Field(
        default=None, description="Model asked there, unless the tenant names its own."
    )
    extraction_api_key: SecretStr | None = Field(default=None, description="Key of the chat endpoint.")
    extraction_concurrency: int = Field(default=1, description="Chunks extracted at once; below 1 is 1.")
    extractor: Literal["packaged", "openai", "none"] = Field(
        default="packaged", description="packaged, openai (needs extraction_url and extraction_model) or none."
    )

    chooser: Literal["lexical", "openai"] = Field(
        default="lexical",
        description="What picks documents in mode navigate: lexical, or openai (needs chooser_url and chooser_model).",
    )
    chooser_url: str | None = Field(
        default=None, description="Base URL of an OpenAI-compatible chat endpoint that picks documents."
    )
    chooser_model: str | None = Field(default=None, description="Model asked there.")
    chooser_api_key: SecretStr | None = Field(default=None, description="Key of that endpoint.")
    navigate_documents: int = Field(default=3, ge=1, le=20, description="Documents read in mode navigate, at most.")
    navigate_chunks: int = Field(default=40, ge=1, le=200, description="Passages read of each of them, at most.")

    rerank_url: str | None = Field(
        default=None,
        description="URL of a rerank endpoint in the shape of Cohere, Jina, vLLM, Voyage or TEI, such as "
        "https://api.jina.ai/v1/rerank; unset: queries that ask to be reranked are refused.",
    )
    rerank_model: str | None = Field(default=None, description="Model asked there; unset: the endpoint has but one.")
    rerank_api_key: SecretStr | None = Field(default=None, description="Key of the rerank endpoint.")

    query_model_timeout_s: float = Field(
        default=20.0, gt=0, description="Seconds a chooser's or a reranker's answer may take; asked twice, at most."
    )
    model_timeout_s: float = Field(default=60.0, gt=0, description="Seconds a model request may take.")
    model_attempts: int = Field(default=4, ge=1, description="Attempts at a model request on 429, 5xx and time-outs.")

    chunk_tokens: int = Field(
        default=200, ge=16, description="Tokens of a chunk, at most; up to 224 with the packaged embedder."
    )
    chunk_overlap: int = Field(
        default=24, ge=0, description="Tokens a chunk repeats of the one before, at most; up to half of chunk_tokens."
    )
    upload_mb: int = Field(default=50, ge=1, description="Size of an upload, at most.")
    import_mb: int = Field(default=4096, ge=1, description="Size of an import with its vectors, at most.")
    traversals: Path | None = Field(
        default=None, description="Folder of your own traversals, `*.cypher`; unset: `traversals` in the home."
    )
    traversal_s: float = Field(default=10.0, gt=0, description="Seconds a traversal may take; Neo4j ends it then.")
    traversal_rows: int = Field(default=1000, ge=1, le=100_000, description="Rows of a traversal's answer, at most.")
    request_timeout_s: float = Field(default=60.0, gt=0, description="Seconds a query may take.")
    usage_days: int = Field(
        default=400, ge=31, description="Days for which the usage of tenants is kept, in the UTC calendar."
    )
    freshness_target_s: float = Field(
        default=60.0, gt=0, description="Seconds from acceptance to findable; reported, never raised."
    )

    @property
    def embedding(self) -> EmbedderSettings:
        """The embedder that the settings ask for."""
        return EmbedderSettings(
            PREFIX,
            self.embedder or ("openai" if self.embedding_url else "packaged"),
            self.embedding_url,
            self.embedding_model,
            self.embedding_dimension,
            self.embedding_api_key,
        )

    @property
    def next_embedding(self) -> EmbedderSettings | None:
        """The embedder to change over to; None: no change is asked for."""
        kind = self.next_embedder or ("openai" if self.next_embedding_url else None)
        if kind is None:
            return None
        return EmbedderSettings(
            f"{PREFIX}NEXT_",
            kind,
            self.next_embedding_url,
            self.next_embedding_model,
            self.next_embedding_dimension,
            self.next_embedding_api_key,
        )

    @model_validator(mode="after")
    def _fit(self) -> Settings:
        if 2 * self.chunk_overlap > self.chunk_tokens:
            raise ValueError("KNOTWORK_CHUNK_OVERLAP: must be at most half of KNOTWORK_CHUNK_TOKENS")
        most = PACKAGED_READS - TITLE_TOKENS
        kinds = {one.kind for one in (self.embedding, self.next_embedding) if one}
        if "packaged" in kinds and self.chunk_tokens > most:
            raise ValueError(
                f"KNOTWORK_CHUNK_TOKENS: must be at most {most} with the packaged embedder, which reads "
                f"{PACKAGED_READS} tokens with title and headings; choose another embedder for longer chunks"
            )
        return self


def read_settings(**given: Any) -> Settings:
    """The settings of the environment, with these in their place where given.

    Raises:
        SetupFailed: a variable's value cannot be used; the message names each and what is allowed, no value.
    """
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SetupFailed("\n".join(_in_words(dict(one)) for one in error.errors(include_url=False))) from None


def unknown_variables(names: Iterable[str]) -> list[str]:
    """Those environment variables that look like settings and are none: misspelt, or of another version."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | NO_SETTINGS
    ours = (name for name in names if name.upper().startswith(PREFIX))
    return sorted(name for name in ours if name.upper() not in known and not name.startswith(NO_SETTINGS_PREFIX))


def _in_words(error: dict[str, Any]) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    if not error["loc"]:
        return message
    return f"{PREFIX}{str(error['loc'][0]).upper()}: {message[0].lower()}{message[1:]}"
