"""Whether a text holds another, however both are written: what `verify --gone` asks of every property."""

from __future__ import annotations

from knotwork.domain.normalise import normalise_name
from knotwork.domain.text import casefold, nfc, nfkd
from knotwork.errors import InvalidInput

NAME_FIELDS = frozenset({"id", "key", "name_key", "entities", "relationships"})  # where names stand normalised


class Needle:
    """A text to look for: case, composition of characters and kind of white space do not count."""

    def __init__(self, text: str) -> None:
        """Raises: InvalidInput: there is nothing to look for."""
        self._folded = folded(text)
        if not self._folded:
            raise InvalidInput("the text to look for is empty; give a word or a passage")
        self._name = normalise_name(text)

    def is_in(self, text: str, *, field: str = "") -> bool:
        """Whether `text` holds it; in fields of names, as whole words in normalised form, too."""
        if self._folded in folded(text):
            return True
        return field in NAME_FIELDS and bool(self._name) and f" {self._name} " in f" {_words(text)} "


def folded(text: str) -> str:
    """Case folded, fully composed, white space made one space."""
    return " ".join(nfc(casefold(nfkd(text))).split())


def _words(id_: str) -> str:
    """The normalised names in an id, parted by spaces: `concept:retry budget|has|team:sre`."""
    return id_.replace("|", " ").replace(":", " ")
