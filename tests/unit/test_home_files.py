"""A home is closed to other users, however it was made."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from knotwork.api.home_files import private_files, service_lock


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_home_made_by_hand_is_closed_when_it_is_served(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    with service_lock(home):
        assert mode(home) == 0o700


def test_what_is_written_meanwhile_is_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with private_files():
            (tmp_path / "folder").mkdir()
            (tmp_path / "file").write_text("text")
        (tmp_path / "after").write_text("text")
    finally:
        os.umask(before)
    assert [mode(tmp_path / name) for name in ("folder", "file", "after")] == [0o700, 0o600, 0o644]
