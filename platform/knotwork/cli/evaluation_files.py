"""The folder of an evaluation, as `knotwork eval` reads it."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from knotwork.errors import InvalidInput
from knotwork.services.evaluation import EvaluationSet, read_set

CORPUS, QUESTIONS, RECORDED = "corpus.jsonl", "questions.jsonl", "openie.jsonl"


def load_set(folder: Path, *, corpus: Path | None = None, recorded: bool = False) -> EvaluationSet:
    """The set of a folder: corpus.jsonl, questions.jsonl and, with `recorded`, openie.jsonl, each perhaps as .gz.

    Args:
        folder: Where they are.
        corpus: Another corpus for the same questions.
        recorded: Read the recorded extraction too.
    Raises:
        InvalidInput: a file is missing, damaged or not as it must be; the message names it, and the line.
    """
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder; name one with {CORPUS} and {QUESTIONS}")
    passages = read_text(corpus or _found(folder, CORPUS))
    questions = read_text(_found(folder, QUESTIONS))
    said = read_text(_found(folder, RECORDED)) if recorded else None
    try:
        return read_set(passages, questions, said)
    except InvalidInput as error:
        raise InvalidInput(f"{folder}: {error}") from None


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, unpacked where its name ends with .gz.

    Raises:
        InvalidInput: there is none, it cannot be read, or it is not what its name says.
    """
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInput(f"{path}: not gzip, or damaged ({error})") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not UTF-8, at byte {error.start}") from None
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from None


def _found(folder: Path, name: str) -> Path:
    """The file of this name, plain or packed; the name alone where there is neither, for the message."""
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.exists()]
    if len(found) > 1:
        raise InvalidInput(f"{folder} has both {name} and {name}.gz; remove one")
    if not found:
        raise InvalidInput(f"{folder} has no {name}, nor {name}.gz; see docs/guide/evaluation.md for what stands in it")
    return found[0]
