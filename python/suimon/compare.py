"""Runs, sweeps or papers side by side."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import Any

from suimon import _suimon
from suimon.paper import Paper
from suimon.report import Report
from suimon.run import Run
from suimon.sweep import Sweep

__all__ = ["Comparison", "compare"]


class Comparison:
    """How far runs lie apart. ``print(comparison)`` shows it as a table, a notebook as a page."""

    def __init__(self, comparison: _suimon.Comparison) -> None:
        self._of = comparison

    @property
    def ok(self) -> bool:
        """Whether all that is judged lies within tolerance, which scenarios say (``[compare]``)."""
        return self._of.ok

    @property
    def notes(self) -> list[str]:
        """What is to be known of the runs before believing them."""
        return self._of.notes

    @cached_property
    def data(self) -> dict[str, Any]:
        """It as data: what ``suimon compare --json`` prints."""
        data: dict[str, Any] = json.loads(self._of.json)
        return data

    def report(self) -> Report:
        """Its page, with the runs' curves in the same charts."""
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
) -> Comparison:
    """Compares runs or sweeps of one scenario, or figures of one paper, by whatever driver. The first is what the
    others are held against; runs that differ in their seed alone count as one sample.

    Args:
        runs: Two or more, or their folders.
        all: Whether to keep what is equal or differs by noise, and every flow of a count.

    Raises:
        suimon.UsageError: Less than two, a folder of something else, or of different scenarios.
    """
    folders = [os.fspath(run.folder) if isinstance(run, Run | Sweep | Paper) else os.fspath(run) for run in runs]
    return Comparison(_suimon.compare(folders, all))
