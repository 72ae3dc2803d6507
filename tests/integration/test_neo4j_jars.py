"""The jars' download against a Maven repository on loopback, reached by the configuration a mirror would use."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

import pytest

from knotwork.adapters.neo4j.jars import Jar, pinned_jars, provide_jars
from knotwork.adapters.neo4j.pin_jars import ROOTS
from knotwork.errors import SetupFailed

CONTENTS = {
    "org/example/one/1.0/one-1.0.jar": b"one" * 40_000,
    "org/example/two/2.1/two-2.1-linux-x86_64.jar": b"two" * 30_000,
    "io/three/3/three-3.jar": b"three" * 20_000,
}
JARS = [Jar(hashlib.sha256(data).hexdigest(), len(data), PurePosixPath(path)) for path, data in CONTENTS.items()]


class Repository:
    """A Maven repository in a folder, and the jars it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        for path, data in CONTENTS.items():
            self.publish(path, data)

    def publish(self, path: str, data: bytes) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.with_name(f"{file.name}.sha1").write_text(hashlib.sha1(data, usedforsecurity=False).hexdigest(), "ascii")


class Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: object, repository: Repository) -> None:
        self.repository = repository
        super().__init__(*args, directory=str(repository.folder))  # pyright: ignore[reportArgumentType] as given by the server

    def do_GET(self) -> None:
        if self.path.endswith(".jar"):
            self.repository.asked.append(self.path.lstrip("/"))
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
        pass


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    found = Repository(tmp_path / "repository")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, repository=found)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        configuration = tmp_path / "jgo.conf"
        configuration.write_text(f"[repositories]\ncentral = http://127.0.0.1:{server.server_port}\n", "utf-8")
        monkeypatch.setenv("JGO_CONFIG_FILE", str(configuration))
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()


def quiet(_done: int, _total: int, _text: str) -> None:
    pass


def provide(cache: Path) -> list[Path]:
    return provide_jars(cache, on_progress=quiet, abort=threading.Event(), jars=JARS)


def test_a_first_use_fetches_every_jar_and_reports_bytes_up_to_the_whole(
    tmp_path: Path, repository: Repository
) -> None:
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int, _text: str) -> None:
        seen.append((done, total))

    files = provide_jars(tmp_path / "cache", on_progress=note, abort=threading.Event(), jars=JARS)
    assert [file.read_bytes() for file in files] == list(CONTENTS.values())
    total = sum(map(len, CONTENTS.values()))
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)


def test_a_later_use_asks_nothing_of_the_network(tmp_path: Path, repository: Repository) -> None:
    first = provide(tmp_path / "cache")
    repository.asked.clear()
    assert provide(tmp_path / "cache") == first
    assert repository.asked == []


@pytest.mark.parametrize("damage", [b"", b"one" * 39_999 + b"two", b"one"])
def test_a_damaged_jar_is_fetched_anew_and_the_others_are_kept(
    tmp_path: Path, repository: Repository, damage: bytes
) -> None:
    one = provide(tmp_path / "cache")[0]
    repository.asked.clear()
    one.write_bytes(damage)
    assert provide(tmp_path / "cache")[0].read_bytes() == b"one" * 40_000
    assert repository.asked == ["org/example/one/1.0/one-1.0.jar"]


def test_a_download_that_failed_half_way_goes_on_where_it_was(tmp_path: Path, repository: Repository) -> None:
    absent = repository.folder / "io/three/3/three-3.jar"
    absent.unlink()
    with pytest.raises(SetupFailed, match=r"three-3\.jar.*KNOTWORK_NEO4J_URI"):
        provide(tmp_path / "cache")
    repository.publish("io/three/3/three-3.jar", CONTENTS["io/three/3/three-3.jar"])
    fetched_before = {path for path in repository.asked if (tmp_path / "cache" / path).exists()}
    repository.asked.clear()
    provide(tmp_path / "cache")
    assert fetched_before.isdisjoint(repository.asked)
    assert "io/three/3/three-3.jar" in repository.asked


def test_a_jar_that_is_not_the_pinned_one_is_refused_and_never_reaches_its_place(
    tmp_path: Path, repository: Repository
) -> None:
    repository.publish("org/example/one/1.0/one-1.0.jar", b"evil" * 30_000)  # as long as the right one
    with pytest.raises(SetupFailed, match="SHA-256"):
        provide(tmp_path / "cache")
    assert not (tmp_path / "cache" / "org/example/one/1.0/one-1.0.jar").exists()


def test_two_that_download_at_once_fetch_each_jar_once(tmp_path: Path, repository: Repository) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(provide, [tmp_path / "cache"] * 2)
    assert first == second
    assert [file.read_bytes() for file in first] == list(CONTENTS.values())
    assert sorted(repository.asked) == sorted(CONTENTS)


def test_a_cancelled_download_stops_and_says_so(tmp_path: Path, repository: Repository) -> None:
    abort = threading.Event()
    abort.set()
    with pytest.raises(SetupFailed, match="cancelled"):
        provide_jars(tmp_path / "cache", on_progress=quiet, abort=abort, jars=JARS)
    assert repository.asked == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "cache").write_text("a file, not a folder", "utf-8")
    with pytest.raises(SetupFailed, match="KNOTWORK_NEO4J_CACHE"):
        provide(tmp_path / "cache")


def test_the_pinned_jars_are_those_of_the_stated_versions() -> None:
    paths = {str(jar.path) for jar in pinned_jars()}
    for root in ROOTS:
        group, artifact, version = root.split(":")
        assert f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar" in paths
    assert len(paths) == len(pinned_jars())
