"""`pip install .` into an empty environment gives a working command with its statements and samples."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with Knotwork installed from a copy of what the repository tracks.

    The dependencies are those of this environment, lent through a .pth file after the installation, so that the test
    takes seconds and needs no network; Knotwork itself is found in the new environment first.
    """
    folder = tmp_path_factory.mktemp("install")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, source)
    for name in ("platform", "cypher", "samples"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(folder / "venv", with_pip=False)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    # Built here, where the build backend is, and installed there: what `pip install .` does in one.
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder), str(source))
    [wheel] = folder.glob("knotwork-*.whl")
    run(*pip, "--python", str(folder / "venv"), "install", "--no-deps", "--no-index", str(wheel))
    shutil.rmtree(source)  # nothing may be read from there any more
    lent = sysconfig.get_paths(vars={"base": str(folder / "venv"), "platbase": str(folder / "venv")})["purelib"]
    (Path(lent) / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "venv"


def run(*words: str, cwd: Path | None = None) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KNOTWORK_", "PYTHON"))}
    done = subprocess.run(words, cwd=cwd, env=kept, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def python(environment: Path, code: str) -> str:
    return run(str(environment / "bin" / "python"), "-c", code, cwd=environment)


def test_the_command_works(environment: Path) -> None:
    assert run(str(environment / "bin" / "knotwork"), "--version", cwd=environment).startswith("knotwork ")
    assert "ingest" in run(str(environment / "bin" / "knotwork"), "--help", cwd=environment)
    assert run(str(environment / "bin" / "python"), "-m", "knotwork", "--version", cwd=environment)


def test_the_package_that_runs_is_the_installed_one(environment: Path) -> None:
    assert python(environment, "import knotwork; print(knotwork.__file__)").startswith(str(environment))


def test_every_statement_of_the_repository_loads_from_the_wheel(environment: Path) -> None:
    expected = sorted(str(path.relative_to(ROOT / "cypher")) for path in (ROOT / "cypher").rglob("*.*"))
    found = python(
        environment,
        "from knotwork.adapters.neo4j.statements import cypher_folder, schema_statements, statement\n"
        "folder = cypher_folder()\n"
        "assert schema_statements() and statement('read/source')\n"
        "print(*sorted(str(path.relative_to(folder)) for path in folder.rglob('*.*')), sep='\\n')",
    )

    assert found.split("\n")[:-1] == expected


def test_the_samples_and_the_pinned_jars_are_in_the_wheel(environment: Path) -> None:
    told = python(
        environment,
        "from knotwork.cli.demo import demo_questions, samples_folder\n"
        "from knotwork.adapters.neo4j.jars import pinned_jars\n"
        "print(samples_folder(), len(demo_questions()), len(pinned_jars()))\n"
        "print(sum(path.is_file() for path in (samples_folder() / 'documents').rglob('*')))",
    )
    first, files = told.split("\n")[:2]

    assert first.startswith(str(environment))
    assert first.split()[1] == "3"
    assert int(first.split()[2]) > 0
    assert int(files) == sum(path.is_file() for path in (ROOT / "samples" / "documents").rglob("*"))
