"""The embedded Neo4j as its users meet it: real processes and kills, a home with a space and an accent in its name."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import sys
from pathlib import Path

import httpx
import neo4j
import psutil
import pytest
from neo4j import exceptions as vendor

from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j, Neo4jAddress
from knotwork.errors import SetupFailed

pytestmark = pytest.mark.neo4j

CACHE = Path(os.environ["KNOTWORK_NEO4J_CACHE"]) if "KNOTWORK_NEO4J_CACHE" in os.environ else None

# A program that starts the server of a home, says where it is, and waits to be killed.
STARTER = """
import asyncio, sys
from pathlib import Path
from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j

async def main():
    address = await EmbeddedNeo4j(Path(sys.argv[1]), cache=Path(sys.argv[2]) if sys.argv[2] else None).start()
    print("pid", address.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embedded") / "données de Zoë"


def embedded(home: Path) -> EmbeddedNeo4j:
    return EmbeddedNeo4j(home, cache=CACHE)


def run(address: Neo4jAddress, statement: str, password: str | None = None) -> list[dict[str, object]]:
    auth = (address.user, address.password if password is None else password)
    with neo4j.GraphDatabase.driver(address.bolt_uri, auth=auth) as driver, driver.session() as session:
        return session.run(statement).data()  # pyright: ignore[reportArgumentType] statements of this file


class TestARunningServer:
    def test_listens_on_loopback_alone(self, neo4j_server: Neo4jAddress) -> None:
        sockets = psutil.Process(neo4j_server.pid).net_connections("inet")
        listening = [found.laddr for found in sockets if found.status == psutil.CONN_LISTEN]
        assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
        assert len(listening) == 2

    def test_keeps_its_password_from_everyone_else(self, neo4j_server: Neo4jAddress) -> None:
        root = neo4j_server.log_path.parents[1]
        assert stat.S_IMODE((root / "password").stat().st_mode) == 0o600
        assert stat.S_IMODE(root.stat().st_mode) == 0o700
        assert neo4j_server.password not in repr(neo4j_server)
        assert neo4j_server.password not in " ".join(psutil.Process(neo4j_server.pid).cmdline())

    def test_refuses_the_default_password(self, neo4j_server: Neo4jAddress) -> None:
        with pytest.raises(vendor.AuthError):
            run(neo4j_server, "RETURN 1", password="neo4j")

    def test_serves_browser_and_tells_it_where_bolt_is(self, neo4j_server: Neo4jAddress) -> None:
        page = httpx.get(f"{neo4j_server.http_url}/browser/")
        assert page.status_code == 200
        assert "<title>Neo4j Browser</title>" in page.text
        discovery = httpx.get(neo4j_server.http_url, headers={"accept": "application/json"}).json()
        assert discovery["bolt_direct"] == neo4j_server.bolt_uri
        assert discovery["neo4j_version"] == "5.26.30"

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "http://127.0.0.1:1/x.csv", "http://[::1]:1/x.csv"])
    def test_reads_no_file_and_fetches_no_url_for_a_query(self, neo4j_server: Neo4jAddress, url: str) -> None:
        with pytest.raises(vendor.ClientError, match=r"cypher_ip_blocklist|allow_csv_import_from_file_urls"):
            run(neo4j_server, f"LOAD CSV FROM '{url}' AS line RETURN line")

    def test_does_not_see_our_api_keys(self, neo4j_server: Neo4jAddress) -> None:
        names = set(psutil.Process(neo4j_server.pid).environ())
        assert names <= {"PATH", "HOME", "USER", "TMPDIR", "LC_ALL", "CLASSPATH"}

    def test_stands_outside_our_process_group_so_that_ctrl_c_is_ours(self, neo4j_server: Neo4jAddress) -> None:
        assert os.getsid(neo4j_server.pid) != os.getsid(0)


async def test_one_home_from_its_first_start_to_its_last_stop(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One story, because each start takes seconds."""
    first, second = embedded(home), embedded(home)
    assert (await first.status()).state == "stopped"
    assert set(home.parent.iterdir()) == set(), "asking for the status wrote something"

    # Two start at once: one starts, the other adopts.
    address, same = await asyncio.gather(first.start(), second.start())
    assert address == same
    run(address, "CREATE (:Kept {word: 'été'})")
    status = await second.status()
    assert (status.state, status.address) == ("running", address)

    # The server stays while somebody uses it, and goes with the last.
    assert await first.stop() is False
    assert run(address, "MATCH (k:Kept) RETURN k.word AS word") == [{"word": "été"}]
    assert await second.stop() is True
    assert not psutil.pid_exists(address.pid)
    assert (await first.status()).state == "stopped"
    assert await first.stop() is True, "stopping what is stopped is no error"

    # A later start needs no network. Its old Bolt port is taken by now: it moves, and the other one stays.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with socket.socket() as squatter:
        bolt_port = int(address.bolt_uri.rpartition(":")[2])
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", bolt_port))
        squatter.listen()
        moved = await first.start()
    assert moved.bolt_uri != address.bolt_uri
    assert moved.http_url == address.http_url
    assert moved.password == address.password

    # The server is killed: the next start recovers its store, on the same ports.
    os.kill(moved.pid, signal.SIGKILL)
    healed = await first.start()
    assert healed.pid != moved.pid
    assert (healed.bolt_uri, healed.http_url) == (moved.bolt_uri, moved.http_url)
    assert run(healed, "MATCH (k:Kept) RETURN k.word AS word") == [{"word": "été"}]

    # Who forces a stop ends it for everybody.
    assert await second.stop(force=True) is True
    assert not psutil.pid_exists(healed.pid)
    await first.stop()


async def test_a_server_whose_starter_was_killed_is_adopted_and_counts_the_dead_no_longer(home: Path) -> None:
    starter = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STARTER, str(home), str(CACHE or ""), stdout=asyncio.subprocess.PIPE
    )
    assert starter.stdout is not None
    pid = 0
    async for line in starter.stdout:
        if line.startswith(b"pid "):
            pid = int(line.split()[1])
            break
    starter.kill()
    await starter.wait()

    heir = embedded(home)
    address = await heir.start()
    assert address.pid == pid
    assert await heir.stop() is True
    assert not psutil.pid_exists(pid)


async def test_a_port_lost_between_choice_and_bind_is_replaced(tmp_path: Path) -> None:
    server = embedded(tmp_path)
    starting = asyncio.create_task(server.start())
    while (status := await server.status()).address is None:  # noqa: ASYNC110  another process sets no event of ours
        await asyncio.sleep(0.1)
    lost = status.address.http_url
    with socket.socket() as squatter:  # the server has just begun, and binds its ports after seconds
        squatter.bind(("127.0.0.1", int(lost.rpartition(":")[2])))
        squatter.listen()
        address = await starting
    assert address.http_url != lost
    assert await server.stop() is True


async def test_a_cancelled_start_leaves_no_server_behind(home: Path) -> None:
    server = embedded(home)
    starting = asyncio.create_task(server.start())
    while (await server.status()).state == "stopped":  # noqa: ASYNC110  another process sets no event of ours
        await asyncio.sleep(0.1)
    assert (await server.status()).state == "starting"
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert (await server.status()).state == "stopped"


async def test_a_lost_password_is_named_and_nothing_is_started(home: Path) -> None:
    password = home / "neo4j" / "password"
    kept = password.rename(password.with_name("password.kept"))
    try:
        with pytest.raises(SetupFailed, match="password is missing"):
            await embedded(home).start()
    finally:
        kept.rename(password)
    assert (await embedded(home).status()).state == "stopped"


async def test_a_server_that_cannot_start_is_told_with_the_words_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "neo4j" / "data" / "databases").mkdir(parents=True)
    (tmp_path / "neo4j" / "data" / "databases" / "neo4j").write_text("not a store", "utf-8")
    with pytest.raises(SetupFailed, match=r"cannot open its database[\s\S]*logs[\s\S]* ERROR "):
        await embedded(tmp_path).start()
    assert (await embedded(tmp_path).status()).state == "stopped"


async def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "neo4j").write_text("a file, not a folder", "utf-8")
    with pytest.raises(SetupFailed, match="KNOTWORK_HOME"):
        await embedded(tmp_path).start()
