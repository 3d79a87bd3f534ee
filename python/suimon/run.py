"""A run and what it measured."""

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
    """What a scenario expects, with what came out, in the units of ``summary.json``: bytes, seconds, bytes per second.

    Attributes:
        path: The quantity: ``flow.bulk.goodput``.
        min: At least this is expected, if anything.
        max: At most this.
        value: What was measured; NaN where nothing was.
        ok: Whether it came true.
    """

    path: str
    min: float | None
    max: float | None
    value: float
    ok: bool


@dataclass(frozen=True)
class _Results:
    """The results of a run that came from another process, as that had them."""

    complete: bool
    driver: str
    summary: str
    expectations: list[tuple[str, float | None, float | None, float, bool]]


class Run:
    """A run, by whatever driver, as its folder has it. ``Run("runs/demo-1")`` opens one of earlier.

    Pickled, it takes its results along, and its folder by its absolute path: tables and report are read there.

    Attributes:
        folder: Where its files are.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "manifest.json").is_file():
            raise UsageError(
                f"{self.folder} is not the folder of a run", "name the folder of a run, with its manifest.json"
            )
        self._results: _suimon.Stored | _suimon.Ended | _Results = self._stored

    @classmethod
    def _ended(cls, ended: _suimon.Ended) -> Run:
        """One that has just ended: its results are known, and not read back."""
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
        """Whether it came to its end."""
        return self._results.complete

    @property
    def status(self) -> Status:
        """``met`` where it came to its end and all that was expected came true, ``unmet`` where something did not,
        ``interrupted`` where it did not come to its end.
        """
        if not self.complete:
            return "interrupted"
        return "met" if all(expectation.ok for expectation in self.expectations) else "unmet"

    @property
    def driver(self) -> str:
        """Who moved the packets: ``simulate``, ``kernel``, or ``lab``."""
        return self._results.driver

    @property
    def version(self) -> str:
        """The version of Suimon that made it."""
        return self._stored.version

    @property
    def command(self) -> list[str]:
        """The words of the command line that make it again."""
        return self._stored.command

    @property
    def scenario(self) -> str:
        """The scenario with every default written out."""
        return self._stored.scenario

    @cached_property
    def summary(self) -> Summary:
        """Every total: bytes, seconds, bytes per second and counts, unless a name says otherwise."""
        return Summary.from_dict(json.loads(self._results.summary))

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """What was expected; empty where nothing was, and of a run that did not come to its end."""
        return tuple(Expectation(*parts) for parts in self._results.expectations)

    @property
    def tables(self) -> Tables:
        """All tables that there are."""
        return Tables(self.folder)

    @property
    def flows(self) -> Table:
        """Samples of each sender, as ``TCP_INFO`` has them, and of what arrived (``[probe.flows]``)."""
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
        """How long packets waited in each queue, as a histogram."""
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
        """What each rank of an MPI job did."""
        return self.tables["ranks"]

    def report(self) -> Report:
        """Its page: charts, totals and settings. A notebook shows it."""
        path = self.folder / "report.html"
        return Report(path.read_text(encoding="utf-8"), path)

    def __repr__(self) -> str:
        return f"<run {self.folder}: {self.driver}, {self.status}>"

    def _repr_html_(self) -> str:
        rows = _flow_rows(self.summary)
        head = "".join(f"<th>{name}</th>" for name in ("flow", "goodput", "retransmits", "timeouts"))
        return f"<b>{self.folder}</b>: {self.driver}, {self.status}<table><tr>{head}</tr>{''.join(rows)}</table>"


def _flow_rows(summary: Summary) -> Iterable[str]:
    for name, flow in summary.flow.items():
        cells = (name, f"{flow.goodput * 8 / 1e6:.1f} Mbit/s", flow.retransmissions, flow.timeouts)
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
