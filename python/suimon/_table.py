"""Common code of the generated classes of `suimon.model` and `suimon.summary`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, ClassVar, TypeAlias, TypeVar

T = TypeVar("T")

Plain: TypeAlias = Mapping[str, object]
"""A table as plain data, like a parsed TOML file. The type checker does not check its keys; the run does."""


@dataclass(kw_only=True, slots=True)
class Table:
    """A table of a scenario. A field that is None is unset and has Suimon's default."""

    _tag: ClassVar[str | None] = None
    """The key of the table if several kinds are possible: `psp` of `{ psp = { rate = … } }`."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the table as in a TOML file: plain data under the names of the scenario language.

        Raises:
            TypeError: A value is not a TOML type. The message has its path.
        """
        return _table(self, "")


def _table(table: Table, path: str) -> dict[str, Any]:
    values = {part.metadata.get("name", part.name): getattr(table, part.name) for part in fields(table)}
    found = _mapping(values, path)
    return found if table._tag is None else {table._tag: found}


def _mapping(mapping: Mapping[Any, object], path: str) -> dict[str, Any]:
    found = {}
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise TypeError(f"{path or 'a table'} has the key {key!r}: give a str")
        if value is not None:
            found[str(key)] = plain(value, f"{path}.{key}".lstrip("."))
    return found


def plain(value: object, path: str = "") -> Any:
    """Returns the value at ``path`` as a TOML type. None is left out of tables.

    Raises:
        TypeError: The value is, or contains, a value that is not a TOML type. The message has its path.
        ValueError: A number has more than 64 bits.
    """
    match value:
        case Table():
            return _table(value, path)
        case bool():
            return value
        case str():
            return str(value)
        case Integral():
            if not -(2**63) <= int(value) < 2**63:
                raise ValueError(f"{path} has {int(value).bit_length()} bits: give a whole number of 64")
            return int(value)
        case Real() | Decimal():
            return float(value)
        case timedelta():
            if value < timedelta(0):
                raise ValueError(f"{path} is {value}: give a time that is not negative")
            return f"{value // timedelta(microseconds=1)} us"
        case Mapping():
            return _mapping(value, path)
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return [plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
        case _:
            kinds = "a table, a list, a str, an int, a float, a Decimal, a timedelta or a bool"
            raise TypeError(f"{path} is a {type(value).__name__}: give {kinds}")


def optional(read: Callable[[Mapping[str, Any]], T], data: Mapping[str, Any] | None) -> T | None:
    """Reads an object that may be missing."""
    return None if data is None else read(data)
