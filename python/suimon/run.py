"""A run and its results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from suimon import _suimon
from suimon.errors import UsageError
from suimon.report import Report
from suimon.summary import Summary
from suimon.tables import Table, Tables

__all__ = ["Expectation", "Run", "Status"]

Status = Literal["met", "unmet", "interrupted"]


@dataclass(frozen=True)
class Expectation:
    """An expectation of a scenario with its result, in the units of ``summary.json``: bytes, seconds, bytes per second.

    Attributes:
        path: The quantity: ``flow.bulk.goodput``.
        min: The lower bound, if any.
        max: The upper bound, if any.
        value: The measured value; NaN if there is none.
        ok: Whether it is met.
    """

    path: str
    min: float | None
    max: float | None
    value: float
    ok: bool


@dataclass(frozen=True)
class _Results:
    """The results of a run, received from another process."""

    complete: bool
    driver: str
    summary: str
    expectations: list[tuple[str, float | None, float | None, float, bool]]


class Run:
    """A run by any driver, in its folder. ``Run("runs/demo-1")`` opens an earlier one.

    A pickle contains the results and the absolute path of the folder: tables and report are read from there.

    Attributes:
        folder: The folder of its files.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "manifest.json").is_file():
            raise UsageError(
                f"{self.folder} is not the folder of a run", "give the folder of a run, with its manifest.json"
            )
        self._results: _suimon.Stored | _suimon.Ended | _Results = self._stored

    @classmethod
    def _ended(cls, ended: _suimon.Ended) -> Run:
        """Returns a run that has just ended: its results are known, and not read from the folder."""
        run = cls.__new__(cls)
        run.folder = Path(ended.folder)
        run._results = ended
        return run

    def __getstate__(self) -> dict[str, Any]:
        of = self._results
        results = _Results(of.complete, of.driver, of.summary, of.expectations)
        return {"folder": self.folder.absolute(), "_results": results}

    @cached_property
    def _stored(self) -> _suimon.Stored:
        return _suimon.Stored(os.fspath(self.folder))

    @property
    def complete(self) -> bool:
        """Whether it ran to its end."""
        return self._results.complete

    @property
    def status(self) -> Status:
        """``met`` if it ran to its end and all expectations are met, ``unmet`` if one is not, ``interrupted`` if it did
        not run to its end.
        """
        if not self.complete:
            return "interrupted"
        return "met" if all(expectation.ok for expectation in self.expectations) else "unmet"

    @property
    def driver(self) -> str:
        """The driver: ``simulate``, ``kernel``, or ``lab``."""
        return self._results.driver

    @property
    def version(self) -> str:
        """The version of Suimon that made it."""
        return self._stored.version

    @property
    def command(self) -> list[str]:
        """The words of the command line that repeats the run."""
        return self._stored.command

    @property
    def scenario(self) -> str:
        """The scenario with every default written out."""
        return self._stored.scenario

    @cached_property
    def summary(self) -> Summary:
        """All totals: bytes, seconds, bytes per second and counts, unless a name has another unit."""
        return Summary.from_dict(json.loads(self._results.summary))

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations with their results; empty if there are none, or if the run did not reach its end."""
        return tuple(Expectation(*parts) for parts in self._results.expectations)

    @property
    def tables(self) -> Tables:
        """All tables of the run."""
        return Tables(self.folder)

    @property
    def flows(self) -> Table:
        """Samples of each sender, as in ``TCP_INFO``, and of what arrived (``[probe.flows]``)."""
        return self.tables["flows"]

    @property
    def queues(self) -> Table:
        """Samples of each queue (``[probe.queues]``)."""
        return self.tables["queues"]

    @property
    def classes(self) -> Table:
        """Samples of each class of a queue (``[probe.queues]``)."""
        return self.tables["classes"]

    @property
    def delays(self) -> Table:
        """A histogram of the sojourn times in each queue."""
        return self.tables["delays"]

    @property
    def links(self) -> Table:
        """What ports sent in each bin of ``[probe.bandwidth]``."""
        return self.tables["links"]

    @property
    def sequences(self) -> Table:
        """Every transmission of a traced flow (``[probe.sequence]``)."""
        return self.tables["sequences"]

    @property
    def pauses(self) -> Table:
        """Samples of each port's pauses (IEEE 802.1Qbb), where a switch pauses."""
        return self.tables["pauses"]

    @property
    def notifications(self) -> Table:
        """Samples of each port's congestion notifications (IEEE 802.1Qau)."""
        return self.tables["notifications"]

    @property
    def ranks(self) -> Table:
        """The operations of each rank of an MPI job."""
        return self.tables["ranks"]

    def report(self) -> Report:
        """Returns the report page: charts, totals and settings. A notebook shows it. That of a sweep's run is written
        now, if it was not before.
        """
        path = self.folder / "report.html"
        if not path.exists():
            _suimon.write_report(str(self.folder))
        return Report(path.read_text(encoding="utf-8"), path)

    def __repr__(self) -> str:
        return f"<run {self.folder}: {self.driver}, {self.status}>"

    def _repr_html_(self) -> str:
        rows = _flow_rows(self.summary)
        head = "".join(f"<th>{name}</th>" for name in ("flow", "goodput", "retransmissions", "timeouts"))
        return f"<b>{self.folder}</b>: {self.driver}, {self.status}<table><tr>{head}</tr>{''.join(rows)}</table>"


def _flow_rows(summary: Summary) -> Iterable[str]:
    for name, flow in summary.flow.items():
        cells = (name, f"{flow.goodput * 8 / 1e6:.1f} Mbit/s", flow.retransmissions, flow.timeouts)
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
