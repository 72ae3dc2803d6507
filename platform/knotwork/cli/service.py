"""`knotwork up`, `serve`, `down`, `status`, `browser`: the service of a home."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.session import Session, command

if TYPE_CHECKING:
    from knotwork.cli.service_record import Service

Json = dict[str, Any]

INTERRUPTED = 130  # as shells have it for SIGINT
OWN_NEO4J = "this home uses a Neo4j of your own (KNOTWORK_NEO4J_URI); open that one's Browser"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "up")(up)
    command(app, "serve")(serve)
    command(app, "down")(down)
    command(app, "status")(status)
    command(app, "browser")(browser)


def up(session: Session) -> None:
    """Start the service in the background.

    One that runs is left as it is; either way its addresses are printed. The first start downloads Neo4j (150 MB) once
    for this user; from then on no network is needed.
    """
    from knotwork.cli.lifecycle import ensure_service, missing_parts

    service = ensure_service(session.home, session.output, announce=False)
    missing = missing_parts(service) or {}
    if session.output.as_json:
        session.output.document(addresses(session, service) | {"missing": missing})
    else:
        show_addresses(session, service, has_browser="neo4j" not in missing)
    if missing:
        raise typer.Exit(1)


def serve(
    session: Session,
    host: Annotated[str | None, typer.Option(help="Address to listen on; loopback unless API keys exist.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes 8080 or the next free one.")
    ] = None,
) -> None:
    """Run the service in the foreground.

    For containers, systemd and the like: until Ctrl-C or SIGTERM.
    """
    import asyncio

    from knotwork.api.serve import serve as serve_home
    from knotwork.config import read_settings

    chosen: dict[str, Any] = {"home": session.home}
    chosen |= {} if host is None else {"host": host}
    chosen |= {} if port is None else {"port": port}
    asyncio.run(
        serve_home(
            read_settings(**chosen),
            on_ready=lambda ready: session.output.note(f"ready: {ready.url}/docs"),
        )
    )


def down(session: Session) -> None:
    """Stop the service and its Neo4j.

    In order: nothing that was accepted is lost.
    """
    from knotwork.cli.lifecycle import stop_service

    stopped = stop_service(session.home)
    if session.output.as_json:
        session.output.document({"service": stopped.service, "killed": stopped.killed, "neo4j": stopped.neo4j})
        return
    if stopped.service is not None:
        how = "did not stop in time and was killed; what it had accepted is taken up by the next start"
        session.output.line(f"service (process {stopped.service}) {how if stopped.killed else 'stopped'}")
    if stopped.neo4j:
        session.output.line("stopped the Neo4j that an earlier service had left")
    if not stopped.anything:
        session.output.line(f"no service runs for {session.home}")


def status(session: Session) -> None:
    """Show what runs, and start nothing."""
    from knotwork.cli.lifecycle import answers
    from knotwork.cli.service_record import log_path, owner, read_service, read_startup

    service = read_service(session.home)
    if service is None:
        startup = read_startup(session.home) if owner(session.home) else None
        report: Json = {"state": "starting" if startup else "stopped", "home": str(session.home)}
        report |= {"doing": startup.text} if startup else {}
    else:
        report = {"state": "running" if answers(service) else "not answering", **addresses(session, service)}
        report |= {"up_s": round(time.time() - service.started_at), "log": str(log_path(session.home))}
        if report["state"] == "running":
            report |= session.call(lambda client: client.get("/health"))
            if report["status"] == "ok":  # counts need the part that does not answer
                detail = session.call(lambda client: client.get(f"/tenants/{session.tenant}"))
                report["counts"] = detail["counts"]
    if session.output.as_json:
        session.output.document(report)
        return
    parts: Json = {f"part {name}": part["detail"] for name, part in report.pop("parts", {}).items()}
    counts = ", ".join(f"{count:,} {name}" for name, count in report.pop("counts", {}).items())
    report |= parts | ({f"tenant {session.tenant}": counts} if counts else {})
    session.output.facts({name.replace("_", " "): value for name, value in report.items() if value is not None})


def browser(
    session: Session,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address and login only.")] = False,
) -> None:
    """Open Neo4j Browser and print its login."""
    from knotwork.cli.lifecycle import ensure_service

    service = ensure_service(session.home, session.output)
    login = browser_login(session, service)
    if login is None:
        from knotwork.errors import SetupFailed

        raise SetupFailed(OWN_NEO4J)
    if session.output.as_json:
        session.output.document(login)
    else:
        session.output.facts(login)
        session.output.note(f"saved queries, to be imported or pasted: {session.home / 'browser'}")
    if not no_open:
        import webbrowser

        if not webbrowser.open(login["url"]):
            session.output.note("no web browser was found here; open the address above yourself")


def addresses(session: Session, service: Service) -> Json:
    """Where a running service is; for programs."""
    return {
        "url": service.url,
        "docs": f"{service.url}/docs",
        "browser": service.browser_url,
        "pid": service.pid,
        "version": service.version,
        "home": str(session.home),
    }


def show_addresses(
    session: Session, service: Service, *, has_browser: bool = True, with_password: bool = False
) -> None:
    """Where a running service is; for people. An address where nothing answers helps nobody."""
    found = {"REST": f"{service.url}/v1", "docs": f"{service.url}/docs"}
    if has_browser and (login := browser_login(session, service)):
        # The login shows every tenant, and what `up` prints often ends in a log.
        told = f"user {login['user']}, password {login['password']}"
        how = told if with_password else "`knotwork browser` tells the login"
        found["Neo4j Browser"] = f"{login['url']}  ({how})"
    session.output.facts(found | {"home": str(session.home)})


def browser_login(session: Session, service: Service) -> dict[str, str] | None:
    """Address and login of the embedded Neo4j's Browser; None when the service uses a Neo4j of the user's own.

    Only the service knows which it uses: the home may still hold a Neo4j of an earlier start.
    """
    from knotwork.adapters.neo4j.server_home import USER, ServerHome

    home = ServerHome(session.home / "neo4j")
    ports = home.ports()
    if service.browser_url is None or ports is None:
        return None
    bolt = f"bolt://127.0.0.1:{ports.bolt_port}"
    return {"url": service.browser_url, "connect_to": bolt, "user": USER, "password": home.password()}
