"""The difference of two exports, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from knotwork.domain.export import Place, Record
from knotwork.domain.export_reading import export_lines
from knotwork.errors import ExportDamaged

_PLACES = ("index", "start", "end", "page", "title", "headings")
_NAMES = {"auth_subjects": "readers", "content_hash": "text", "graph": "graph flag", "media_type": "media type"}
_TEXT = {"content_hash", "text", "headings", "pages"}  # of a source: one change to a reader


def diff_exports(before: Iterable[bytes], after: Iterable[bytes]) -> Iterator[str]:
    """What changed from one export to another, a sentence each: settings, sources, entities, relationships.

    Both are read once, side by side; memory is bounded by the longest line. No sentence: the states are equal.

    Raises:
        ExportDamaged: one of the two is no whole export, or was changed.
    """
    source: _Source | None = None
    for old, new in _joined(export_lines(before), export_lines(after)):
        kind = _either(old, new)["kind"]
        if kind == "chunk" and source is not None:
            source.chunk(old, new)
            continue
        if source is not None:
            yield from source.told()
            source = None
        if kind == "source":
            source = _Source(old, new)
        elif kind == "header":
            yield from _settings(old, new)
        elif kind != "end":
            yield from _thing(old, new)
    if source is not None:
        yield from source.told()


class _Source:
    """One source with its chunks on both sides."""

    def __init__(self, old: Record | None, new: Record | None) -> None:
        self._old, self._new = old, new
        self._chunks: Counter[str] = Counter()

    def chunk(self, old: Record | None, new: Record | None) -> None:
        if old is None:
            self._chunks["added"] += 1
        elif new is None:
            self._chunks["removed"] += 1
        else:
            self._chunks["moved"] += any(old[name] != new[name] for name in _PLACES)
            self._chunks["read differently"] += old["extraction"] != new["extraction"]

    def told(self) -> Iterator[str]:
        record = _either(self._old, self._new)
        name = f"source {record['type']}:{record['id']}"
        counts = [f"{count} chunks {what}" for what, count in self._chunks.items() if count]
        if self._old is None or self._new is None:
            what = "added" if self._old is None else "removed"
            yield f"{name}: {what}, with {sum(self._chunks.values())} chunks"
            return
        fields = [field for field in record if self._old[field] != self._new[field]]
        words = sorted({"text" if field in _TEXT else _NAMES.get(field, field) for field in fields})
        if words or counts:
            yield f"{name}: {', '.join([*(f'{word} changed' for word in words), *counts])}"


def _thing(old: Record | None, new: Record | None) -> Iterator[str]:
    record = _either(old, new)
    name = f"{record['kind']} {record['id']}"
    count = "mentions" if record["kind"] == "entity" else "weight"
    if old is None or new is None:
        yield f"{name}: {'added' if old is None else 'removed'}, {count} {record[count]}"
        return
    fields = sorted(field for field in record if field != count and old[field] != new[field])
    words = [f"{field.replace('_', ' ')} changed" for field in fields]
    if old[count] != new[count]:
        words.append(f"{count} {old[count]} → {new[count]}")
    if words:
        yield f"{name}: {', '.join(words)}"


def _settings(old: Record | None, new: Record | None) -> Iterator[str]:
    if old is None or new is None:
        raise ExportDamaged("one of the files has no header; give two files that `knotwork export` wrote")
    for name in ("format", "version"):
        if old[name] != new[name]:
            raise ExportDamaged(f"the files differ in {name}: {old[name]!r} and {new[name]!r}; export both again")
    for name in sorted(old["settings"].keys() | new["settings"].keys()):
        one, other = old["settings"].get(name), new["settings"].get(name)
        if one != other:
            yield f"setting {name}: {one} → {other}"


def _joined(
    before: Iterator[tuple[Place, Record]], after: Iterator[tuple[Place, Record]]
) -> Iterator[tuple[Record | None, Record | None]]:
    """Records of both sides by their place; None where a side has none there."""
    old, new = next(before, None), next(after, None)
    while old or new:
        if new is None or (old is not None and old[0] < new[0]):
            assert old is not None  # noqa: S101 - the loop's condition
            yield old[1], None
            old = next(before, None)
        elif old is None or new[0] < old[0]:
            yield None, new[1]
            new = next(after, None)
        else:
            yield old[1], new[1]
            old, new = next(before, None), next(after, None)


def _either(old: Record | None, new: Record | None) -> Record:
    record = new if old is None else old
    assert record is not None  # noqa: S101 - a joined pair has at least one side
    return record
