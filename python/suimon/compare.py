"""Comparison of runs, sweeps or papers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from suimon import _suimon
from suimon.paper import Paper
from suimon.report import Report
from suimon.run import Run
from suimon.sweep import Sweep

__all__ = ["Comparison", "compare"]


class Comparison:
    """The differences of runs. ``print(comparison)`` shows them as a table, a notebook as a page."""

    def __init__(self, comparison: _suimon.Comparison) -> None:
        self._of = comparison

    @property
    def ok(self) -> bool:
        """Whether all values are within the tolerances of the scenarios (``[compare]``)."""
        return self._of.ok

    @property
    def notes(self) -> list[str]:
        """Warnings about the runs: read them before you trust the results."""
        return self._of.notes

    @cached_property
    def data(self) -> dict[str, Any]:
        """The comparison as data: the output of ``suimon compare --json``."""
        data: dict[str, Any] = json.loads(self._of.json)
        return data

    def report(self) -> Report:
        """Returns the report page, with the runs' curves in the same charts."""
        return Report(self._of.html)

    def __str__(self) -> str:
        rows = [self._of.head, *self._of.rows]
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"<comparison: {'within' if self.ok else 'outside'} tolerance>\n{self}"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def compare(
    *runs: Run | Sweep | Paper | str | os.PathLike[str],
    all: bool = False,
    pair: Mapping[str, str] | None = None,
) -> Comparison:
    """Compares runs or sweeps of one scenario, or figures of one paper, by any driver. The first is the reference for
    the others; runs that differ only in their seed count as one sample.

    Args:
        runs: Two or more, or their folders.
        all: Whether to keep values that are equal or differ by noise, and every flow of a count.
        pair: Flows of the first that have another name in the others: ``{"down": "down2"}``.

    Raises:
        suimon.UsageError: Fewer than two, a folder of something else, or different scenarios.
    """
    folders = [os.fspath(run.folder) if isinstance(run, Run | Sweep | Paper) else os.fspath(run) for run in runs]
    return Comparison(_suimon.compare(folders, all, list((pair or {}).items())))
