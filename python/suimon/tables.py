"""Tables of results, for libraries that read Arrow."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from suimon import _suimon
from suimon.errors import UsageError

if TYPE_CHECKING:
    import pandas

__all__ = ["MissingTableError", "Table", "Tables", "UnknownColumnError"]

# Rows that are read at a time.
_ROWS = 4096


class Table:
    """A table of a run or a sweep: a Parquet file that is passed on as Arrow without a copy.

    Any library with Arrow's PyCapsule interface accepts it, and makes the only copy in memory::

        polars.DataFrame(run.flows)
        pyarrow.table(run.flows)
        pyarrow.table(run.flows).to_pandas()
        duckdb.sql("select max(cwnd_packets) from flows")  # with flows = run.flows

    For pandas, use ``run.flows.to_pandas()`` or ``pandas.DataFrame(run.flows)``. A table is also a sequence of rows,
    each a dict: ``run.flows[0]``, ``run.flows[-10:]``, ``for row in run.flows``. A column is
    ``run.flows["cwnd_packets"]``.

    Column names end with their unit: ``time_ns``, ``cwnd_packets``, ``delivery_bytes_per_s``. A pickle contains the
    file's absolute path.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._table = _suimon.Table(os.fspath(path))

    def __reduce__(self) -> tuple[type[Table], tuple[Path]]:
        return type(self), (self.path.absolute(),)

    @property
    def path(self) -> Path:
        """The Parquet file."""
        return Path(self._table.path)

    @property
    def columns(self) -> dict[str, str]:
        """The columns with their Arrow types, in order."""
        return dict(self._table.columns)

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Every row as a dict; the file is read in parts."""
        for start in range(0, len(self), _ROWS):
            yield from self._rows(start, start + _ROWS)

    @overload
    def __getitem__(self, index: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    @overload
    def __getitem__(self, index: str) -> list[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice | str) -> dict[str, Any] | list[Any]:
        """A row by its number, several rows by a slice, or a column by its name."""
        if isinstance(index, str):
            names = list(self.columns)
            if index not in names:
                near = ", ".join(difflib.get_close_matches(index, names)) or ", ".join(names)
                raise UnknownColumnError(f"{self.path} has no column {index}", f"there is {near}")
            return self._table.read(0, len(self))[names.index(index)]
        if isinstance(index, slice):
            places = range(len(self))[index]
            if not places:
                return []
            first, last = min(places), max(places)
            rows = self._rows(first, last + 1)
            return [rows[place - first] for place in places]
        # As of any sequence: negative numbers count from the end, and one too far is an IndexError.
        place = range(len(self))[index]
        return self._rows(place, place + 1)[0]

    def _rows(self, start: int, stop: int) -> list[dict[str, Any]]:
        names = list(self.columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*self._table.read(start, stop), strict=True)]

    def to_pandas(self) -> pandas.DataFrame:
        """The table as pandas has it; a value that is missing is NaN.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(dict(zip(self.columns, self._table.read(0, len(self)), strict=True)))

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(self.columns)
        return f"<{self.path}: {len(self):,} rows of {columns}>"


class UnknownColumnError(UsageError, KeyError):
    """A table has no such column."""


class MissingTableError(UsageError, KeyError):
    """A run has no such table, because its scenario does not record it."""


# The tables of a run folder: name, file, and the keys of a scenario that record it.
FILES = {
    "flows": ("flows.parquet", '[probe.flows] every = "10 ms"'),
    "queues": ("queues.parquet", '[probe.queues] every = "10 ms"'),
    "classes": ("classes.parquet", '[probe.queues] every = "10 ms"'),
    "delays": ("delays.parquet", '[probe.queues] every = "10 ms"'),
    "links": ("links.parquet", '[probe.bandwidth.NAME] at = "NODE:LINK", bin = "10 ms"'),
    "sequences": ("sequences.parquet", '[probe.sequence.NAME] flow = "FLOW", at = "NODE:LINK"'),
    "pauses": ("pauses.parquet", '[probe.queues] every = "10 ms", and a switch that pauses'),
    "notifications": ("notifications.parquet", '[probe.queues] every = "10 ms", and a switch that sends notifications'),
    "ranks": ("ranks.parquet", "an MPI job"),
}


class Tables(Mapping[str, Table]):
    """The tables of a run, by name: ``flows``, ``queues``, ``classes``, ``delays``, ``links``, ``sequences``,
    ``pauses``, ``notifications``, ``ranks``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> Table:
        if name not in FILES:
            raise KeyError(name)
        file, probe = FILES[name]
        path = self._folder / file
        if not path.exists():
            raise MissingTableError(f"{self._folder} has no table {name}", f"add to the scenario: {probe}")
        return Table(path)

    def __iter__(self) -> Iterator[str]:
        return (name for name, (file, _) in FILES.items() if (self._folder / file).exists())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __repr__(self) -> str:
        return f"<tables of {self._folder}: {', '.join(self) or 'none'}>"
