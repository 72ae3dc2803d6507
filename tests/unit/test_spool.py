"""Spools: bytes on disk that no folder lists, read back in parts and lines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from pathlib import Path

import pytest

from knotwork.api import spool as module
from knotwork.api.spool import Spool
from knotwork.errors import StoreUnavailable


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Spool]:
    monkeypatch.setattr(module, "PART_BYTES", 5)  # so that lines lie across parts
    spool = Spool(tmp_path)
    yield spool
    spool.close()
    assert listed(tmp_path) == []


def listed(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def stream(parts: Sequence[bytes]) -> AsyncGenerator[bytes]:
    for part in parts:
        yield part


async def test_what_is_written_is_read_back_and_no_folder_lists_it(spool: Spool, tmp_path: Path) -> None:
    await spool.fill(stream([b"one\n", b"a longer line\n", b"", b"\n", b"last"]))
    assert listed(tmp_path) == []
    assert b"".join([part async for part in spool.parts()]) == b"one\na longer line\n\nlast"
    assert spool.size_bytes == 23


async def test_lines_of_two_sections_are_read_side_by_side(spool: Spool) -> None:
    first, second = b"a\nbb\r\n\xc3\xa4\x0bc\n", b"1\n222222222222\n3"
    await spool.fill(stream([first + second]))
    one, other = spool.lines(0, len(first)), spool.lines(len(first), len(second))
    read = [(await anext(one), await anext(other)) for _ in range(3)]
    assert read == [(b"a\n", b"1\n"), (b"bb\r\n", b"222222222222\n"), (b"\xc3\xa4\x0bc\n", b"3")]
    assert [line async for line in one] == [line async for line in other] == []


def test_a_home_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="home folder"):
        Spool(tmp_path / "missing")
