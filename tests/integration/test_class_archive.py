"""The archive of Neo4j's classes, made by a program that stands for Java."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from knotwork.adapters.neo4j import class_archive
from knotwork.adapters.neo4j.class_archive import LONGEST_LINE, ClassArchive

# Copies the list of classes that it is given to the archive that it is to make.
COPIES = """#!/bin/sh
for argument; do case $argument in
  -XX:SharedClassListFile=*) list=${argument#*=} ;;
  -XX:SharedArchiveFile=*) archive=${argument#*=} ;;
esac; done
cat "$list" > "$archive"
"""
HANGS = "#!/bin/sh\nexec sleep 60\n"
FAILS = "#!/bin/sh\nexit 3\n"


def program(folder: Path, text: str) -> Path:
    path = folder / f"java-{zlib.crc32(text.encode())}"  # one that may be about to start stays what it is
    path.write_text(text, "ascii")
    path.chmod(0o700)
    return path


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.01)


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "neo4j.jar"
    path.write_bytes(b"jar")
    return path


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    path = tmp_path / "classes.list"
    path.write_text("org/neo4j/A\n", "ascii")
    return path


def archives(cache: Path) -> list[Path]:
    return sorted((cache / "classes").glob("*.jsa"))


def test_a_first_start_writes_its_classes_down_and_later_ones_use_the_archive(
    tmp_path: Path, jar: Path, classes: Path
) -> None:
    archive = ClassArchive(tmp_path, [jar])
    assert archive.options(classes) == (f"-XX:DumpLoadedClassList={classes}",)
    archive.make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    (made,) = archives(tmp_path)
    assert made.read_text("ascii") == "org/neo4j/A\n"
    assert f"-XX:SharedArchiveFile={made}" in ClassArchive(tmp_path, [jar]).options(classes)
    assert {path.name for path in made.parent.iterdir()} == {made.name, "making.lock"}


def test_lines_that_java_cannot_read_are_left_out(tmp_path: Path, jar: Path, classes: Path) -> None:
    classes.write_text(f"org/neo4j/A\n@lambda-proxy {'x' * LONGEST_LINE}\norg/neo4j/B\norg/neo4j/half", "ascii")
    ClassArchive(tmp_path, [jar]).make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    assert archives(tmp_path)[0].read_text("ascii") == "org/neo4j/A\norg/neo4j/B\n"


def test_another_jar_has_another_archive(tmp_path: Path, jar: Path, classes: Path) -> None:
    ClassArchive(tmp_path, [jar]).make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    jar.write_bytes(b"another")
    assert ClassArchive(tmp_path, [jar]).options(classes) == (f"-XX:DumpLoadedClassList={classes}",)


def test_a_maker_that_is_told_to_stop_leaves_no_archive_and_the_next_begins_again(
    tmp_path: Path, jar: Path, classes: Path
) -> None:
    archive = ClassArchive(tmp_path, [jar])
    archive.make(program(tmp_path, HANGS), classes, os.environ)
    archive.cancel()
    until(lambda: not classes.exists())
    assert {path.name for path in (tmp_path / "classes").iterdir()} <= {"making.lock"}
    classes.write_text("org/neo4j/A\n", "ascii")
    ClassArchive(tmp_path, [jar]).make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    assert len(archives(tmp_path)) == 1


def test_none_is_made_where_the_stores_need_the_room(
    tmp_path: Path, jar: Path, classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_archive, "ROOM_BYTES", 1 << 60)
    ClassArchive(tmp_path, [jar]).make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    assert archives(tmp_path) == []


def test_an_archive_that_a_server_does_without_is_removed(tmp_path: Path, jar: Path, classes: Path) -> None:
    archive = ClassArchive(tmp_path, [jar])
    archive.make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    archive.discard_if_refused(os.getpid())
    assert archives(tmp_path) == []


def test_a_failing_java_is_no_error(tmp_path: Path, jar: Path, classes: Path) -> None:
    ClassArchive(tmp_path, [jar]).make(program(tmp_path, FAILS), classes, os.environ)
    until(lambda: not classes.exists())
    assert archives(tmp_path) == []


def test_who_finds_a_maker_at_work_leaves_it_to_that_one(tmp_path: Path, jar: Path, classes: Path) -> None:
    first = ClassArchive(tmp_path, [jar])
    first.make(program(tmp_path, HANGS), classes, os.environ)
    until(lambda: any((tmp_path / "classes").glob("*.classes")))
    of_second = tmp_path / "second.list"
    of_second.write_text("org/neo4j/B\n", "ascii")
    ClassArchive(tmp_path, [jar]).make(program(tmp_path, COPIES), of_second, os.environ)
    until(lambda: not of_second.exists())
    assert archives(tmp_path) == []
    first.cancel()
    until(lambda: not classes.exists())


def test_what_nobody_used_for_long_is_removed_when_one_is_made(tmp_path: Path, jar: Path, classes: Path) -> None:
    folder = tmp_path / "classes"
    folder.mkdir()
    old, young, half = folder / "old.jsa", folder / "young.jsa", folder / "other.partial"
    for path in (old, young, half):
        path.touch()
    os.utime(old, (0, 0))
    ClassArchive(tmp_path, [jar]).make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    assert not old.exists()
    assert not half.exists()
    assert young.exists()


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_that_others_may_write_is_not_trusted(tmp_path: Path, jar: Path, classes: Path, mode: int) -> None:
    archive = ClassArchive(tmp_path, [jar])
    archive.make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    assert len(archive.options(classes)) == 2
    (tmp_path / "classes").chmod(mode)
    assert archive.options(classes) == ()
    archive.discard()
    classes.write_text("org/neo4j/A\n", "ascii")
    archive.make(program(tmp_path, COPIES), classes, os.environ)
    assert classes.exists()
    assert archives(tmp_path) == []


def test_a_link_to_another_folder_is_not_trusted(tmp_path: Path, jar: Path, classes: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "classes").symlink_to(tmp_path / "elsewhere")
    assert ClassArchive(tmp_path, [jar]).options(classes) == ()


def test_a_discarded_archive_is_gone(tmp_path: Path, jar: Path, classes: Path) -> None:
    archive = ClassArchive(tmp_path, [jar])
    assert not archive.discard()
    archive.make(program(tmp_path, COPIES), classes, os.environ)
    until(lambda: not classes.exists())
    assert archive.discard()
    assert archive.options(classes) == (f"-XX:DumpLoadedClassList={classes}",)
