"""The papers' experiments, beside what they published."""

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
    """A paper's experiments, as their folder has them. ``Paper("runs/p0")`` opens them.

    Attributes:
        folder: Where report, items and the folders of all runs are.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "paper.json").is_file():
            raise UsageError(
                f"{self.folder} is not the folder of a paper", "name the folder that suimon.paper() filled"
            )

    @cached_property
    def data(self) -> dict[str, Any]:
        """Paper, driver, and every item: what was published, what was measured, whether it lies within range."""
        data: dict[str, Any] = json.loads((self.folder / "paper.json").read_text(encoding="utf-8"))
        return data

    @property
    def items(self) -> list[dict[str, Any]]:
        """Every figure of a table and every sign of a picture."""
        items: list[dict[str, Any]] = self.data["items"]
        return items

    def report(self) -> Report:
        """Its page: tables and pictures, published and measured. A notebook shows it."""
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
    """Runs a paper's experiments and holds them against its published figures.

    Args:
        name: ``p0`` to ``p4``.
        only: Only these tables and figures: ``["T3", "F8"]``.
        on: Who moves the packets.
        quick: In the lab, only what takes little time.
        workers: Runs at a time; all processors unless given.
        out: The folder; ``runs/NAME`` unless given.
        progress: True for a bar on a terminal, False for none.

    Raises:
        suimon.UsageError: A paper, table or figure that there is not.
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
