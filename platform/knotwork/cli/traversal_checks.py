"""What `knotwork doctor` says of traversals: those that do not run, each with the reason."""

from __future__ import annotations

import os
from pathlib import Path

from knotwork.errors import InvalidInput

TIMEOUT_S = 5.0
SHOWN = 5


def refused_traversals(home: Path) -> tuple[int, list[str]]:
    """How many traversals there are, and `name: reason` of each refused one.

    The running service knows what Neo4j says of each; without one, the user's files are read as they stand.
    """
    answered = _of_service(home)
    return _of_folder(home) if answered is None else answered


def folder_of(home: Path) -> Path:
    """Where the user's own traversals are."""
    return Path(os.environ.get("KNOTWORK_TRAVERSALS") or home / "traversals")


def in_short(refused: list[str]) -> str:
    """The first of them on one line."""
    more = f"; and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
    return "; ".join(refused[:SHOWN]) + more


def _of_service(home: Path) -> tuple[int, list[str]] | None:
    import httpx

    from knotwork.cli.service_record import read_service

    service = read_service(home)
    if service is None:
        return None
    token = {"Authorization": f"Bearer {service.operator_token}"}
    try:
        response = httpx.get(f"{service.url}/v1/traversals", headers=token, timeout=TIMEOUT_S, trust_env=False)
        items = response.json()["items"]
        return len(items), [f"{item['name']}: {item['refused']}" for item in items if item["refused"]]
    except (httpx.HTTPError, ValueError, KeyError):
        return None


def _of_folder(home: Path) -> tuple[int, list[str]]:
    from knotwork.adapters.files.traversal_files import traversal_files
    from knotwork.domain.traversals import read_traversal

    files = traversal_files(folder_of(home), is_shipped=False)
    refused: list[str] = []
    for file in files:
        try:
            if file.text is None:
                refused.append(f"{file.name}: {file.trouble}")
            else:
                read_traversal(file.name, file.text)
        except InvalidInput as error:
            refused.append(f"{file.name}: {error}")
    return len(files), refused
