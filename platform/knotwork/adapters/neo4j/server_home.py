"""The files of the embedded Neo4j in its home: configuration, password and ports."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from knotwork.adapters.neo4j.browser_style import after_login
from knotwork.errors import SetupFailed

USER = "neo4j"
BOLT_PORTS = range(7687, 7787)
HTTP_PORTS = range(7474, 7574)
MB = 1024 * 1024
DISK_BLOCK = 512  # the unit of st_blocks
HASH_ROUNDS = 1024  # of Neo4j's own `SHA-256` credential format

# Community 5.26 refuses to start with a setting it does not know, so Enterprise's have no place here.
CONFIGURATION = """\
# Written by Knotwork at every start; changes are lost.
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{bolt_port}
server.bolt.advertised_address=127.0.0.1:{bolt_port}
server.bolt.tls_level=DISABLED
server.http.enabled=true
server.http.listen_address=127.0.0.1:{http_port}
server.http.advertised_address=127.0.0.1:{http_port}
server.http_enabled_modules=BROWSER
server.https.enabled=false
dbms.security.auth_enabled=true

server.memory.pagecache.size={page_cache_mb}m
# No one statement takes the whole server down with it.
db.memory.transaction.max={transaction_mb}m

# Deleted text must not live on in old logs: one file is kept, and files are small.
db.tx_log.rotation.retention_policy=1 files
db.tx_log.rotation.size=32m
db.tx_log.preallocate=false

# Cypher reads no file and fetches no URL (LOAD CSV does both, even in read mode).
dbms.security.allow_csv_import_from_file_urls=false
internal.dbms.cypher_ip_blocklist=0.0.0.0/0,::/0

# Nothing is reported to anybody.
dbms.usage_report.enabled=false
client.allow_telemetry=false
browser.remote_content_hostname_whitelist=127.0.0.1
browser.post_connect_cmd={after_login}

# Without this, stopping waits ten seconds for connections that are closed already.
internal.dbms.bolt.netty_server_shutdown_quiet_period=0
"""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the server listens on loopback."""

    bolt_port: int
    http_port: int


@dataclass(frozen=True, slots=True)
class ServerHome:
    """The folder `home/neo4j`: what Neo4j calls its home."""

    root: Path

    @property
    def conf(self) -> Path:
        return self.root / "conf"

    @property
    def log(self) -> Path:
        return self.root / "logs" / "neo4j.log"

    @property
    def debug_log(self) -> Path:
        """Where Neo4j puts the causes of its errors."""
        return self.root / "logs" / "debug.log"

    @property
    def console(self) -> Path:
        """What the process itself printed, such as an error of the Java machine."""
        return self.root / "logs" / "console.log"

    @property
    def class_list(self) -> Path:
        """The names of the classes that a first start loaded, until an archive is made of them."""
        return self.root / "logs" / "classes.list"

    @property
    def copy_home(self) -> Path:
        """Where a second server lives while it copies this one."""
        return self.root / "copy"

    @property
    def _data(self) -> Path:
        return self.root / "data"

    @property
    def _replaced(self) -> Path:
        """What `_data` was until a copy took its place."""
        return self.root / "data.replaced"

    @property
    def _password(self) -> Path:
        return self.root / "password"

    @property
    def _address(self) -> Path:
        return self.root / "address.json"

    def create(self) -> None:
        """Make the folders; nobody else on the machine may look inside."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._replaced.exists():  # a crash while a copy took over
            if self._data.exists():
                shutil.rmtree(self._replaced)
            else:
                self._replaced.rename(self._data)
        self.conf.mkdir(exist_ok=True)
        self.log.parent.mkdir(exist_ok=True)

    def take_data(self, copy: ServerHome) -> None:
        """Put the data of a copy in place of one's own; both servers are down."""
        self._data.rename(self._replaced)
        copy._data.rename(self._data)
        shutil.rmtree(self._replaced)

    def share_password(self, copy: ServerHome) -> None:
        """Let a copy be opened by the same password."""
        copy.create()
        _write_private(copy._password, self.password())

    def size_bytes(self) -> int:
        """What all files take on the disk, but for those of a copy."""
        files = (path for path in self.root.rglob("*") if path.is_file() and self.copy_home not in path.parents)
        return sum(path.stat().st_blocks * DISK_BLOCK for path in files)

    def password(self) -> str:
        """The password as stored.

        Raises:
            SetupFailed: the file is gone.
        """
        try:
            return self._password.read_text("ascii")
        except FileNotFoundError:
            raise SetupFailed(
                f"{self._password} is missing, so the databases beside it cannot be opened; put it back from a "
                f"backup, or move {self.root} away and ingest again"
            ) from None

    def ensure_password(self) -> str:
        """The password of this home, made on first use, and handed to Neo4j before it ever listens."""
        if not self._password.exists() and not (self.root / "data" / "databases" / "system").exists():
            _write_private(self._password, secrets.token_urlsafe(24))
        password = self.password()
        # Neo4j reads this file only while it has no user yet, so writing it again repairs a first start that was
        # killed and changes nothing later. There is no moment at which the default password works.
        auth = self.root / "data" / "dbms" / "auth.ini"
        auth.parent.mkdir(parents=True, exist_ok=True)
        _write_private(auth, f"{USER}:{_credential(password)}:\n")
        return password

    def ports(self) -> Ports | None:
        """The ports of the last start; None when there was none, or its record is unreadable."""
        try:
            return Ports(**json.loads(self._address.read_text("ascii")))
        except (OSError, ValueError, TypeError):
            return None

    def choose_ports(self) -> Ports:
        """The ports of the last start where they are free, else free ones of the range; recorded.

        Raises:
            SetupFailed: every port of the range is taken.
        """
        last = self.ports()
        ports = Ports(
            _free_port(last and last.bolt_port, BOLT_PORTS),
            _free_port(last and last.http_port, HTTP_PORTS),
        )
        _write_private(self._address, json.dumps(asdict(ports)))
        return ports

    def write_configuration(self, ports: Ports, heap_mb: int) -> None:
        """Write the configuration of a server with a heap of this size, of which one transaction may take half."""
        text = CONFIGURATION.format(
            page_cache_mb=page_cache_mb(), transaction_mb=heap_mb // 2, after_login=after_login(), **asdict(ports)
        )
        _write_private(self.conf / "neo4j.conf", text)


def heap_mb() -> int:
    """Heap of the server: 15 % of the machine's memory, from 512 MB to 1 GB; our batches and reads are bounded."""
    return _share_of_memory_mb(0.15, least=512, most=1024)


def page_cache_mb() -> int:
    """Cache of the store's pages: 10 % of the machine's memory, from 128 MB to 512 MB.

    The store of 200,000 entities and 1.5 million relationships takes 212 MB.
    """
    return _share_of_memory_mb(0.10, least=128, most=512)


def _share_of_memory_mb(share: float, *, least: int, most: int) -> int:
    return max(least, min(most, int(psutil.virtual_memory().total / MB * share)))


def _free_port(last: int | None, candidates: range) -> int:
    # In random order, because servers of several homes that start together would all choose the first one.
    others = secrets.SystemRandom().sample(candidates, len(candidates))
    for port in others if last is None else [last, *others]:
        with socket.socket() as probe:
            # As Java's server sockets do; a port whose old connections are still timing out is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SetupFailed(f"every port from {candidates[0]} to {candidates[-1]} is taken on 127.0.0.1; free one for Neo4j")


def _credential(password: str) -> str:
    """Neo4j's credential of a password: SHA-256 over salt and password, hashed again HASH_ROUNDS - 1 times."""
    salt = secrets.token_bytes(32)
    digest = hashlib.sha256(salt + password.encode()).digest()
    for _ in range(HASH_ROUNDS - 1):
        digest = hashlib.sha256(digest).digest()
    return f"SHA-256,{digest.hex().upper()},{salt.hex().upper()},{HASH_ROUNDS}"


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(path)
