"""Bytes → characters: byte order marks, UTF-8, then what charset-normalizer makes of it, within limits of sanity."""

from __future__ import annotations

import codecs
import re

from knotwork.errors import UnsupportedDocument

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\xd0\xcf\x11\xe0", "a legacy or encrypted Office file"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a program"),
    (b"SQLite format 3\0", "a database"),
)
# The encodings guessed at. UTF-7 and the EBCDIC pages decode almost anything, so they are not among them.
_CANDIDATES = (
    *("gb18030", "cp932", "euc_jp", "big5", "euc_kr", "cp1252", "cp1251"),
    *("koi8_r", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp874"),
)
_CONTROLS = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffe\uffff]")
_MAX_CONTROL_SHARE = 0.01
_MAX_NUL_SHARE = 0.01
_WIDE_SHARE = 0.2  # of NULs: Latin text in UTF-16 has half, other scripts fewer
_SAMPLE_BYTES = 65_536


def decode(data: bytes, name: str) -> str:
    """The characters of a text document, without its byte order mark.

    Raises:
        UnsupportedDocument: the bytes are no text, or text in an encoding that cannot be told.
    """
    kind = next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), None)
    if kind:
        raise UnsupportedDocument(f"{name!r} is named as text but holds {kind}; send it under its own type")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _checked(_strict(data[len(mark) :], encoding, name), name)
    wide = _unmarked_utf16(data)
    if wide:
        return _checked(_strict(data, wide, name), name)
    try:
        return _checked(data.decode("utf-8"), name)
    except UnicodeDecodeError:
        return _checked(_guessed(data, name), name)


def _strict(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnsupportedDocument(
            f"{name!r} looks like {encoding.upper()} but byte {error.start} does not fit; save it as UTF-8"
        ) from error


def _unmarked_utf16(data: bytes) -> str | None:
    """UTF-16 of mostly Latin text has its NULs on one side: odd bytes mean little-endian, even ones big-endian."""
    sample = data[:_SAMPLE_BYTES]
    if len(data) % 2 or sample.count(0) < _WIDE_SHARE * len(sample):
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if even * 20 <= odd:
        return "utf-16-le" if odd else None
    return "utf-16-be" if odd * 20 <= even else None


def _guessed(data: bytes, name: str) -> str:
    if data.count(0) > _MAX_NUL_SHARE * len(data):
        raise _binary(name)
    encoding = _best_guess(data[:_SAMPLE_BYTES])
    try:
        return data.decode(encoding or "ascii")
    except UnicodeDecodeError:
        encoding = _best_guess(data)  # the sample ended within a character, or was not like the rest
    if encoding is None:
        raise UnsupportedDocument(f"the encoding of {name!r} cannot be told, or it is no text; save it as UTF-8")
    return _strict(data, encoding, name)


def _best_guess(data: bytes) -> str | None:
    from charset_normalizer import from_bytes  # only now: most documents are UTF-8

    matches = from_bytes(data, cp_isolation=list(_CANDIDATES))
    best = matches.best()
    if best is None:
        return None
    # Western text often fits the Central European page as well as its own, which is by far the more frequent.
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    if western is not None and best.encoding == "cp1250" and western.chaos <= best.chaos:
        return western.encoding
    return best.encoding


def _checked(text: str, name: str) -> str:
    controls = sum(1 for _ in _CONTROLS.finditer(text))
    if controls > _MAX_CONTROL_SHARE * len(text) or text.count("\0") > _MAX_NUL_SHARE * len(text):
        raise _binary(name)
    return text


def _binary(name: str) -> UnsupportedDocument:
    return UnsupportedDocument(f"{name!r} is named as text but holds binary data; send it under its own type")
