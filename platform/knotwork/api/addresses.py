"""Names inside addresses: anything that percent-encoding can say, slashes and line ends included."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor

NAME = "name"  # as in "{source_id:name}"


class NameConvertor(Convertor[str]):
    """The rest of the path, whatever it holds. Starlette's own `path` stops at a line end."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor(NAME, NameConvertor())
