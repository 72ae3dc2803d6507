"""Neo4j started with an archive of its classes that Java made, and with one that is damaged."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from knotwork.adapters.neo4j import embedded
from knotwork.adapters.neo4j.class_archive import ClassArchive
from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j
from knotwork.adapters.neo4j.jars import default_cache, provide_jars
from knotwork.adapters.neo4j.process import java, java_environment, spawn_server
from knotwork.adapters.neo4j.server_home import ServerHome
from support.command_line import QUICK_JAVA

pytestmark = pytest.mark.neo4j

SOME_CLASSES = ("java/lang/Object", "java/lang/String", "org/neo4j/server/CommunityEntryPoint")


def linked_jars(cache: Path) -> list[Path]:
    """A cache of its own, with links to the jars of the common one."""
    common = Path(os.environ.get("KNOTWORK_NEO4J_CACHE") or default_cache())
    for jar in provide_jars(common, on_progress=silent, abort=threading.Event()):
        link = cache / jar.relative_to(common)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(jar)
    return provide_jars(cache, on_progress=silent, abort=threading.Event())


def silent(_done: int, _total: int, _text: str) -> None:
    pass


def quickly(
    home: ServerHome, environment: Mapping[str, str], heap_mb: int, options: Sequence[str]
) -> subprocess.Popen[bytes]:
    return spawn_server(home, environment, heap_mb, [*options, QUICK_JAVA])


def breaking_down_over_an_archive(
    home: ServerHome, environment: Mapping[str, str], heap_mb: int, options: Sequence[str]
) -> subprocess.Popen[bytes]:
    if any("SharedArchiveFile" in option for option in options):
        return subprocess.Popen(["sh", "-c", "kill -SEGV $$"])
    return quickly(home, environment, heap_mb, options)


def mapped_files(pid: int) -> set[str]:
    return {file.path for file in psutil.Process(pid).memory_maps()}


async def test_a_server_uses_the_archive_and_starts_without_it_when_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One story, because each start takes seconds."""
    monkeypatch.setattr(embedded, "spawn_server", quickly)
    cache, home, classes = tmp_path / "cache", tmp_path / "home", tmp_path / "classes.list"
    jars = linked_jars(cache)
    classes.write_text("".join(f"{name}\n" for name in SOME_CLASSES), "ascii")
    ClassArchive(cache, jars).make(java(), classes, java_environment(jars))
    async with asyncio.timeout(120):
        while classes.exists():  # noqa: ASYNC110  a thread of the archive's sets no event of ours
            await asyncio.sleep(0.1)
    (made,) = (cache / "classes").glob("*.jsa")

    server = EmbeddedNeo4j(home, cache=cache)
    address = await server.start()
    assert str(made) in mapped_files(address.pid), "Java does without the archive"
    await server.stop()

    made.chmod(0o600)
    content = bytearray(made.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = bytes(byte ^ 0xFF for byte in content[middle : middle + 4096])
    made.write_bytes(content)
    address = await server.start()
    assert str(made) not in mapped_files(address.pid), "Java uses a damaged archive"
    assert not made.exists(), "the next start would be given it again"
    assert await server.stop() is True

    made.write_bytes(content)
    made.chmod(0o400)
    monkeypatch.setattr(embedded, "spawn_server", breaking_down_over_an_archive)
    await server.start()
    assert await server.stop() is True
    assert not made.exists()
