"""Tables of results, for libraries that read Arrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from suimon import _suimon
from suimon.errors import UsageError

__all__ = ["MissingTableError", "Table", "Tables"]


class Table:
    """A table of a run or a sweep: a Parquet file that is passed on as Arrow without a copy.

    Any library with Arrow's PyCapsule interface accepts it, and makes the only copy in memory::

        polars.DataFrame(run.flows)
        pyarrow.table(run.flows)
        pyarrow.table(run.flows).to_pandas()
        duckdb.sql("select max(cwnd_packets) from flows")  # with flows = run.flows

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

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(self.columns)
        return f"<{self.path}: {len(self):,} rows of {columns}>"


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
