"""The three forms of an upload, read with bounded memory: a form with a file, JSON with text, or the file itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from fastapi import Request
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect

from knotwork.api.schemas import TextSource
from knotwork.domain.checks import checked_metadata, checked_subjects
from knotwork.domain.model import EVERYONE, Metadata, MetadataValue, Subject
from knotwork.domain.normalise import clean_text
from knotwork.errors import InvalidInput

SPOOL_BYTES = 1024 * 1024  # of an upload kept in memory; the rest waits on disk
FIELD_BYTES = 256 * 1024
MAX_TITLE_CHARS = 1000

FLAG: TypeAdapter[bool | None] = TypeAdapter(bool | None)


@dataclass(frozen=True, slots=True)
class About:
    """What is said of a source beside its text."""

    metadata: Metadata = field(default_factory=dict[str, MetadataValue])
    auth_subjects: tuple[Subject, ...] = (EVERYONE,)
    graph: bool | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A document that came in, on disk when it is large. `name` is a file name or path."""

    file: BinaryIO
    name: str
    media_type: str | None
    about: About
    is_json: bool = False  # the file is a TextSource, which says all the rest

    async def read(self) -> tuple[bytes, About, str | None]:
        """The document's bytes, what is said of it, and its media type; call it when there is memory to hold it.

        Raises:
            InvalidInput: JSON that is no TextSource.
        """
        data = await asyncio.to_thread(self.file.read)
        return await asyncio.to_thread(_read_json, data) if self.is_json else (data, self.about, self.media_type)


@asynccontextmanager
async def receive_upload(request: Request, name: str) -> AsyncGenerator[Upload]:
    """Take in an upload; its spool goes when the block is left.

    Raises:
        InvalidInput: a field cannot be used.
        TransportError: it is too large, or stalls.
    """
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        async with request.form(max_files=1, max_fields=10, max_part_size=FIELD_BYTES) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise InvalidInput("the form has no file; send one as the field `file`")
            about = about_from({key: value for key, value in form.items() if isinstance(value, str)})
            yield Upload(file.file, file.filename or name, file.content_type, about)
        return
    with SpooledTemporaryFile(SPOOL_BYTES) as spool:
        try:
            async for part in request.stream():
                if len(part) + spool.tell() > SPOOL_BYTES:
                    await asyncio.to_thread(spool.write, part)
                else:
                    spool.write(part)
        except ClientDisconnect as error:
            raise InvalidInput("the upload ended before it was complete") from error
        spool.seek(0)
        is_json = kind == "application/json"
        about = About() if is_json else about_from(request.query_params)
        yield Upload(cast("BinaryIO", spool), name, content_type or None, about, is_json)


def about_from(fields: Mapping[str, str]) -> About:
    """What the fields of a form, or of a query string, say of a source.

    Raises:
        InvalidInput: a field cannot be used.
    """
    subjects = _json("auth_subjects", fields.get("auth_subjects"))
    if not (subjects is None or (isinstance(subjects, list) and _all_strings(cast("list[object]", subjects)))):
        raise InvalidInput('auth_subjects is a JSON list of strings, such as ["group:sre"]')
    try:
        graph = FLAG.validate_python(fields.get("graph") or None)
    except ValidationError as error:
        raise InvalidInput("graph is true or false; leave it out for the tenant's setting") from error
    title = fields.get("title")
    if title is not None and len(title) > MAX_TITLE_CHARS:
        raise InvalidInput(f"the title has {len(title)} characters; use {MAX_TITLE_CHARS} at most")
    return About(
        metadata=checked_metadata(json_object("metadata", fields.get("metadata")) or {}),
        auth_subjects=checked_subjects(cast("list[str] | None", subjects)),
        graph=graph,
        title=clean_text(title) if title else None,
    )


def _all_strings(values: list[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def json_object(name: str, text: str | None) -> dict[str, object] | None:
    """A JSON object that came as text, if it came.

    Raises:
        InvalidInput: it is no JSON, no object, or too large.
    """
    value = _json(name, text)
    if value is not None and not isinstance(value, dict):
        raise InvalidInput(f'{name} is a JSON object, such as {{"team": "payments"}}')
    return cast("dict[str, object] | None", value)


def _json(name: str, text: str | None) -> object:
    if not text:
        return None
    if len(text) > FIELD_BYTES:
        raise InvalidInput(f"{name} has {len(text)} characters; use {FIELD_BYTES} at most")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is no JSON: {error}") from error


def _read_json(data: bytes) -> tuple[bytes, About, str | None]:
    try:
        body = TextSource.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        raise InvalidInput(f"{where}: {first['msg']}") from error
    about = About(
        metadata=checked_metadata(body.metadata),
        auth_subjects=checked_subjects(body.auth_subjects),
        graph=body.graph,
        title=clean_text(body.title) if body.title else None,
    )
    return clean_text(body.text).encode(), about, f"{body.media_type}; charset=utf-8"
