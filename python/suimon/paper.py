"""The papers' experiments, compared with the published values."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from suimon import _program
from suimon._progress import Progress
from suimon.errors import UsageError
from suimon.report import Report
from suimon.scenario import On

__all__ = ["Paper", "paper"]


class Paper:
    """A paper's experiments in their folder. ``Paper("runs/p0")`` opens them.

    Attributes:
        folder: The folder with the report, the items and the folders of all runs.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "paper.json").is_file():
            raise UsageError(f"{self.folder} is not the folder of a paper", "give a folder written by suimon.paper()")

    @cached_property
    def data(self) -> dict[str, Any]:
        """Paper, driver, and every item: the published value, the measured value, whether it is within range."""
        data: dict[str, Any] = json.loads((self.folder / "paper.json").read_text(encoding="utf-8"))
        return data

    @property
    def items(self) -> list[dict[str, Any]]:
        """Every value of a table, and every checked property of a figure."""
        items: list[dict[str, Any]] = self.data["items"]
        return items

    def report(self) -> Report:
        """Returns the report page: tables and figures, published and measured. A notebook shows it."""
        path = self.folder / "report.html"
        return Report(path.read_text(encoding="utf-8"), path)

    def __repr__(self) -> str:
        return f"<paper {self.data['paper']} by {self.data['driver']}: {len(self.items)} items>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def paper(
    name: str,
    *,
    only: Sequence[str] = (),
    on: On = "simulator",
    quick: bool = False,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Paper:
    """Runs a paper's experiments and compares them with the published values.

    Args:
        name: ``p0`` to ``p4``.
        only: Only these tables and figures: ``["T3", "F8"]``.
        on: The driver.
        quick: In the lab, only the quick runs.
        workers: Parallel runs; default: all CPUs.
        out: The folder; default: ``runs/NAME``.
        progress: True for a bar on a terminal, False for none.

    Raises:
        suimon.UsageError: An unknown paper, table or figure.
        KeyboardInterrupt: After Ctrl-C; what was measured is kept.
    """
    suffix = {"simulator": "", "lab": "-lab"}.get(on, "-kernel")
    folder = Path(out) if out is not None else Path("runs") / f"{name}{suffix}"
    words = ["paper", name, "--on", on, "--out", str(folder)]
    words += ["--only", ",".join(only)] if only else []
    words += ["--quick"] if quick else []
    words += ["-j", str(workers)] if workers is not None else []
    _program.call(words, progress=progress)
    return Paper(folder)
