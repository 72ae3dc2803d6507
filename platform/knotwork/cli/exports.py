"""`knotwork export`, `import` and `diff`: a tenant as a file, back again, and what differs between two."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, aclosing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.maintenance import progress_of
from knotwork.cli.output import Progress, plural
from knotwork.cli.session import Session, command

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]

PART_BYTES = 1024 * 1024
VECTORS = ".vectors"  # what the name of the file beside an export ends with
TAIL_BYTES = 4096  # the last line is shorter


class Format(StrEnum):
    JSONL = "jsonl"
    GRAPHML = "graphml"
    CYPHER = "cypher"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "export")(export)
    command(app, "import")(import_)
    command(app, "diff")(diff)


def export(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
    format_: Annotated[
        Format, typer.Option("--format", help="jsonl, which import reads; graphml or cypher for other tools.")
    ] = Format.JSONL,
    vectors: Annotated[
        bool, typer.Option("--vectors/--no-vectors", help=f"Write the vectors too, into FILE{VECTORS}.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write everything a tenant has to a file; the SHA-256 in its last line names the state.

    Equal states give equal bytes. With the vectors beside it, `import` asks no model.
    """
    beside = Path(f"{file}{VECTORS}") if vectors and format_ is Format.JSONL else None
    for path in [file] if beside is None else [file, beside]:
        _require_free(path, force=force)
    with ExitStack() as stack:
        partial = stack.enter_context(_partial(file))
        other = stack.enter_context(_partial(beside)) if beside else None

        async def work(client: Client) -> Json:
            with session.output.progress("exporting", is_bytes=True) as show:
                size = await _save(client, format_.value, partial, show)
                ends = await asyncio.to_thread(_checked, partial) if format_ is Format.JSONL else {}
                if other is not None:
                    await _save(client, "vectors", other, show)
            return {"file": str(file), "format": format_.value, "bytes": size, **ends}

        found: Json = session.call(work) | {"vectors": str(beside) if beside else None}
    if session.output.as_json:
        session.output.document(found)
    elif format_ is Format.JSONL:
        session.output.line(f"sha256  {found['sha256']}")
        session.output.note(
            f"{plural(found['lines'], 'line')} in {file}" + (f", vectors in {beside}" if beside else "")
        )
    else:
        session.output.note(f"{plural(found['bytes'], 'byte')} in {file}")


def import_(
    session: Session,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="What export wrote.")
    ],
    vectors: Annotated[
        bool,
        typer.Option("--vectors/--no-vectors", help=f"Take the vectors in FILE{VECTORS}, where it is there."),
    ] = True,
) -> None:
    """Store an export in a tenant that is new or empty; no model is asked where its vectors come with it.

    A file that is cut off or was changed is refused and nothing is stored. The SHA-256 printed is that of the export.
    """
    beside = Path(f"{file}{VECTORS}")
    with_vectors = vectors and beside.is_file()

    async def work(client: Client) -> Json:
        with session.output.progress("sending", is_bytes=True) as show:
            begun = await client.upload("/import", _parts([file, beside] if with_vectors else [file], show))
        with session.output.progress("importing") as show:
            return await client.operation(begun["operation"], progress_of(show))

    result = session.call(work)
    if session.output.as_json:
        session.output.document(result)
        return
    session.output.line(f"sha256  {result['sha256']}")
    session.output.note(
        f"{plural(result['sources'], 'source')}, {plural(result['chunks'], 'chunk')}, "
        f"{plural(result['entities'], 'entity', 'entities')}, {plural(result['relationships'], 'relationship')}; "
        f"{plural(result['embedded'], 'text')} embedded"
    )
    if result["other_chunker"]:
        session.output.note(
            f"its texts were cut by {result['other_chunker']}; `knotwork reindex` cuts them as this service does",
            style="yellow",
        )


def diff(
    session: Session,
    before: Annotated[Path, typer.Argument(metavar="BEFORE", exists=True, dir_okay=False, readable=True)],
    after: Annotated[Path, typer.Argument(metavar="AFTER", exists=True, dir_okay=False, readable=True)],
) -> None:
    """Tell in words what changed from one export to another; exit code 1 when something did. No service is needed."""
    from knotwork.domain.export_diff import diff_exports

    with before.open("rb") as old, after.open("rb") as new:
        told = list(diff_exports(old, new))
    if session.output.as_json:
        session.output.document({"equal": not told, "differences": told})
    else:
        for line in told:
            session.output.line(line.replace("\n", " "))
        if not told:
            session.output.note("equal")
    if told:
        raise typer.Exit(1)


def _require_free(path: Path, *, force: bool) -> None:
    """Raises: typer.BadParameter: nothing may be written there."""
    if path.exists() and not path.is_file():
        raise typer.BadParameter(f"{path} is no ordinary file; name another", param_hint="FILE")
    if path.exists() and not force:
        raise typer.BadParameter(f"{path} is there already; --force replaces it", param_hint="FILE")


@contextmanager
def _partial(file: Path) -> Generator[Path]:
    """Where to write until all is there: a file that takes the place of `file` in the end, and else is gone.

    Raises:
        typer.BadParameter: there is no folder for it, or none that can be written to.
    """
    target = file.resolve()  # a link stays one
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.touch(mode=0o600)
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written ({error.strerror})", param_hint="FILE") from error
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


async def _save(client: Client, format_: str, path: Path, show: Progress) -> int:
    """Download an export to a path; how many bytes it has."""
    size = 0
    with path.open("wb") as file:
        async with aclosing(client.download("/export", format=format_)) as parts:
            async for part, total in parts:
                await asyncio.to_thread(file.write, part)
                size += len(part)
                show(size, total)
    return size


def _checked(path: Path) -> Json:
    """The hash and number of lines that an export ends with; it is seen to be what arrived."""
    from knotwork.errors import ExportDamaged

    digest, size = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - TAIL_BYTES))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2] + b"\n"
        file.seek(0)
        left = size - len(last)
        while left > 0 and (part := file.read(min(PART_BYTES, left))):
            digest.update(part)
            left -= len(part)
    end: Json = json.loads(last)
    if end["sha256"] != digest.hexdigest():
        raise ExportDamaged("what arrived is not what the service sent; export it again")
    return {"sha256": end["sha256"], "lines": end["lines"] + 1}


async def _parts(files: list[Path], show: Progress) -> AsyncGenerator[bytes]:
    sent, total = 0, sum(path.stat().st_size for path in files)
    for path in files:
        with path.open("rb") as file:
            while part := await asyncio.to_thread(file.read, PART_BYTES):
                yield part
                sent += len(part)
                show(sent, total)
