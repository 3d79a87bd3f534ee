"""Sweeps: every point of a grid, in one table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suimon import _suimon
from suimon._progress import Progress, shown
from suimon.errors import MachineError, UsageError
from suimon.report import Report
from suimon.run import Run
from suimon.scenario import Scenario, written
from suimon.tables import Table

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Interval", "Point", "Sweep", "sweep"]


@dataclass(frozen=True)
class Interval:
    """A mean over the seeds of one setting.

    Attributes:
        settings: What was varied, the seed aside, as it was written: ``{"link.wan.delay": "5 ms"}``.
        count: How many runs it is of.
        mean: Their mean, in the unit of ``summary.json``.
        low, high: The ends of its 95 % confidence interval (Student's t); None of a single run, and where all runs came
            to one value.
    """

    settings: Mapping[str, str]
    count: int
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Point:
    """One run of a sweep.

    Attributes:
        parameters: What was varied, as it was written.
        folder: Where its files are.
        summary: Its ``summary.json``; None where it was not run.
    """

    parameters: Mapping[str, str]
    folder: Path
    summary: Mapping[str, Any] | None

    def run(self) -> Run:
        """The run."""
        return Run(self.folder)

    def measured(self, path: str) -> float | None:
        """A number of its summary: ``flow.bulk.goodput``; None where there is none."""
        return _number(self.summary, path)


class Sweep:
    """A sweep as its folder has it. ``Sweep("runs/wan-sweep")`` opens one of earlier.

    Attributes:
        folder: Where its table, its report and the folders of its runs are.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "sweep.json").is_file():
            raise UsageError(f"{self.folder} is not the folder of a sweep", "name a folder that suimon.sweep() filled")

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "sweep.json").read_text(encoding="utf-8"))
        return document

    @property
    def complete(self) -> bool:
        """Whether every run came to its end."""
        return bool(self._document["complete"])

    @property
    def ok(self) -> bool:
        """Whether every run came to its end, and all that was expected came true."""
        runs = self._document["runs"]
        return self.complete and all(verdict["ok"] for run in runs for verdict in run["expectations"] or ())

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Every run, in the order of the grid."""
        return tuple(
            Point(run["parameters"], self.folder / run["folder"], run["summary"]) for run in self._document["runs"]
        )

    @property
    def table(self) -> Table:
        """A row for each run: its folder, its parameters in base units, its seed, its verdict, and every number of its
        summary under its path.
        """
        return Table(self.folder / "sweep.parquet")

    def intervals(self, measure: str = "run.goodput") -> list[Interval]:
        """The mean of a number of the summary for each setting, over the seeds, with its 95 % confidence interval.
        A setting without a run that has come to its end is left out.

        Args:
            measure: Its path: ``flow.bulk.goodput``.
        """
        groups: dict[tuple[tuple[str, str], ...], list[float]] = {}
        for point in self.points:
            value = point.measured(measure)
            settings = tuple((path, text) for path, text in point.parameters.items() if path != "seed")
            values = groups.setdefault(settings, [])
            if value is not None:
                values.append(value)
        if not any(groups.values()):
            raise UsageError(f"no run has `{measure}`", "give the path of a number of summary.json: run.goodput")
        found = []
        for settings, values in groups.items():
            if not values:
                continue
            mean, ends = _suimon.mean_interval(values)
            low, high = ends or (None, None)
            found.append(Interval(dict(settings), len(values), mean, low, high))
        return found

    def report(self) -> Report:
        """Its page: the measures over what was varied. A notebook shows it."""
        path = self.folder / "report.html"
        return Report(path.read_text(encoding="utf-8"), path)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        """Every run, in the order of the grid."""
        return iter(self.points)

    def __repr__(self) -> str:
        return f"<sweep {self.folder}: {len(self)} runs, {'complete' if self.complete else 'not complete'}>"

    def _repr_html_(self) -> str:
        if not any(point.summary for point in self.points):
            return f"<b>{self.folder}</b>: no run has come to its end"
        head = "<tr><th>setting</th><th>runs</th><th>goodput</th><th>95 % confidence</th></tr>"
        return f"<b>{self.folder}</b><table>{head}{''.join(map(_row, self.intervals()))}</table>"


def _row(interval: Interval) -> str:
    setting = ", ".join(f"{path}={value}" for path, value in interval.settings.items())
    ends = "" if interval.low is None or interval.high is None else f"{_mbit(interval.low)} to {_mbit(interval.high)}"
    cells = (setting, interval.count, _mbit(interval.mean), ends)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _mbit(rate: float) -> str:
    return f"{rate * 8 / 1e6:.2f} Mbit/s"


def _number(summary: Mapping[str, Any] | None, path: str) -> float | None:
    """A number by its path: names may have dots themselves, as ``bulk.1`` has."""
    if summary is None:
        return None
    for key, value in summary.items():
        if key == path and isinstance(value, int | float):
            return float(value)
        if path.startswith(f"{key}.") and isinstance(value, Mapping):
            found = _number(value, path[len(key) + 1 :])
            if found is not None:
                return found
    return None


def sweep(
    scenario: Scenario,
    vary: Mapping[str, Sequence[object] | str] | None = None,
    seeds: Iterable[int] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    measures: Sequence[str] = ("run.goodput",),
    workers: int | None = None,
    fresh: bool = False,
    progress: Progress = None,
    client: Client | None = None,
    store: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Sweep:
    """Runs a scenario at every point of a grid, or what an earlier sweep into the same folder has not done. The folder
    has the bytes that the command ``suimon sweep`` gives it.

    Args:
        scenario: The scenario; its own ``[sweep]`` counts, too.
        vary: What is varied, by path: ``{"link.wan.delay": ["5 ms", "50 ms"], "flow.bulk.count": "1..64/7log"}``.
        seeds: One run of each point for each seed: ``range(30)``.
        out: The folder; ``runs/NAME-sweep`` unless given.
        measures: What the report shows, by its path in ``summary.json``.
        workers: Runs at a time; all processors unless given. Results do not depend on it.
        fresh: Whether everything is run anew.
        progress: See ``suimon.Progress``.
        client: A Dask client: its workers run the points, see ``suimon.dask``.
        store: With a client, where workers put results: None to return them as Arrow; ``"shared"`` to write them where
            ``out`` is one folder for all machines; or the URL of a folder or object store, as fsspec has it:
            ``"s3://bucket/sweep"``.
        storage_options: What fsspec needs to open that store.

    Raises:
        suimon.ScenarioError: The scenario is wrong at some point.
        suimon.UsageError: A folder that holds another grid; a measure that no run has.
        suimon.MachineError: A run that broke; what the others came to is kept.
        KeyboardInterrupt: After Ctrl-C. The next sweep into the folder goes on from there.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"{workers} workers run nothing", "give at least one, or leave workers out")
    experiment = grid(scenario, vary, seeds)
    if client is None and (store is not None or storage_options is not None):
        raise UsageError("store is for sweeps on Dask", "give client=distributed.Client(...), too")
    opened = experiment.open_sweep(None if out is None else os.fspath(out), measures, fresh)
    if client is not None:
        from suimon import dask

        ended = dask.run_points(
            client, experiment, opened, store=store, storage_options=storage_options, progress=progress
        )
    else:
        with shown(progress, scenario.file.stem) as report:
            ended = opened.execute(workers, report)
    if ended.failure is not None:
        raise MachineError(ended.failure)
    return Sweep(ended.folder)


def grid(
    scenario: Scenario, vary: Mapping[str, Sequence[object] | str] | None, seeds: Iterable[int] | None
) -> _suimon.Experiment:
    """The grid as the library has it."""
    axes = []
    for path, values in (vary or {}).items():
        points = [values] if isinstance(values, str) else [written(value, path) for value in values]
        if not points:
            raise UsageError(f"`{path}` has no values", f'give at least one: vary={{"{path}": ["5 ms", "50 ms"]}}')
        axes.append(f"{path}={','.join(points)}")
    known = None if seeds is None else [int(seed) for seed in seeds]
    if known == []:
        raise UsageError("there are no seeds", "give at least one: seeds=range(1, 9)")
    if known is not None and len(set(known)) < len(known):
        raise UsageError("a seed is given twice", "give each once: equal runs would narrow the confidence interval")
    span = None
    if known is not None and known == list(range(known[0], known[0] + len(known))):
        span = f"{known[0]}..{known[-1]}"
    elif known is not None:
        axes.append(f"seed={','.join(map(str, known))}")
    return scenario.experiment(vary=axes, seeds=span)
