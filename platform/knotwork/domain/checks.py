"""What a caller says about a source, checked before anything is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from knotwork.domain.filters import METADATA_FIELD, checked_scalar
from knotwork.domain.model import EVERYONE, Metadata, MetadataValue, SourceRef, Subject
from knotwork.domain.normalise import clean_text, normalise_type
from knotwork.errors import InvalidInput

MAX_ID_BYTES = 4096
MAX_SUBJECT_CHARS = 256
MAX_SUBJECTS = 1000
MAX_METADATA_FIELDS = 100
MAX_METADATA_BYTES = 64 * 1024


def checked_ref(type_: str, id_: str) -> SourceRef:
    """The name of a source.

    Raises:
        InvalidInput: the type is not in its normal form, or the id is empty or over 4,096 bytes.
    """
    normal = normalise_type(type_)
    if normal is None:
        raise InvalidInput(f"the source type has {len(type_)} characters; use 64 at most")
    if normal != type_:
        raise InvalidInput(f"{type_!r} is no source type in normal form; use {normal!r}")
    id_ = clean_text(id_)
    if not id_:
        raise InvalidInput("the source id is empty; name the source, for instance by its path")
    if (size := len(id_.encode())) > MAX_ID_BYTES:
        raise InvalidInput(f"the source id has {size} bytes; use {MAX_ID_BYTES} at most")
    return SourceRef(type_, id_)


def checked_subjects(subjects: Sequence[str] | None) -> tuple[Subject, ...]:
    """The sorted set of subjects that may read a source; None given: everyone in the tenant.

    Raises:
        InvalidInput: the list is empty or too long, or one of them is no subject.
    """
    if subjects is None:
        return (EVERYONE,)
    if not 1 <= len(subjects) <= MAX_SUBJECTS:
        raise InvalidInput(f"auth_subjects has {len(subjects)} entries; give 1 to {MAX_SUBJECTS}, ['*'] for everyone")
    return tuple(sorted({checked_subject(subject) for subject in subjects}))


def checked_subject(subject: str) -> Subject:
    """One auth subject; it can stand in a comma-separated list.

    Raises:
        InvalidInput: it is empty or too long, or has a comma, outer spaces or control characters.
    """
    if not 1 <= len(subject) <= MAX_SUBJECT_CHARS or subject != clean_text(subject).strip() or "," in subject:
        raise InvalidInput(f"{subject[:80]!r} is no auth subject; use 1 to {MAX_SUBJECT_CHARS} characters, no comma")
    if not subject.isprintable():
        raise InvalidInput(f"{subject!r} is no auth subject; it holds characters that cannot be printed")
    return subject


def checked_metadata(raw: Mapping[str, object]) -> Metadata:
    """Flat metadata: field → string, finite number, true or false, or a list of strings or of numbers.

    Raises:
        InvalidInput: a name or a value cannot be stored and filtered on.
    """
    if len(raw) > MAX_METADATA_FIELDS:
        raise InvalidInput(f"metadata has {len(raw)} fields; use {MAX_METADATA_FIELDS} at most")
    checked = {_field(name): _value(name, value) for name, value in raw.items()}
    if (size := sum(len(name) + len(str(value)) for name, value in checked.items())) > MAX_METADATA_BYTES:
        raise InvalidInput(f"metadata has about {size} characters; use {MAX_METADATA_BYTES} at most")
    return checked


def _field(name: str) -> str:
    if not METADATA_FIELD.fullmatch(f"metadata.{name}") or clean_text(name) != name:
        raise InvalidInput(
            f"{clean_text(name)!r} cannot name a field of metadata; use 1 to 64 characters, without spaces, '.', "
            "brackets, quotes and backslashes"
        )
    return name


def _value(name: str, value: object) -> MetadataValue:
    if not isinstance(value, list | tuple):
        return checked_scalar(name, value)
    values = [checked_scalar(name, item) for item in cast("Sequence[object]", value)]
    if any(isinstance(item, bool) for item in values) or len({isinstance(item, str) for item in values}) > 1:
        raise InvalidInput(f"metadata {name!r}: a list holds strings only or numbers only")
    return cast("Sequence[str] | Sequence[float]", values)
