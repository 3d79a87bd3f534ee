"""Sweeps: every point of a grid, in one table."""

from __future__ import annotations

import html
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from suimon import _suimon
from suimon._progress import Progress, shown
from suimon.errors import MachineError, UsageError, from_library
from suimon.report import Report
from suimon.run import Run
from suimon.scenario import Scenario, varied
from suimon.tables import Table

if TYPE_CHECKING:
    from distributed import Client

Keep: TypeAlias = Literal["all", "table"]
"""What a sweep keeps: table, report and the folder of each run, or only table and report."""

__all__ = ["Interval", "Point", "Sweep", "sweep"]


@dataclass(frozen=True)
class Interval:
    """A mean over the seeds of one setting.

    Attributes:
        settings: The varied parameters except the seed, as a label shows them: ``{"link.wan.delay": "5 ms",
            "link.wan.queue": "fifo:packets=500"}``.
        count: The number of runs.
        mean: Their mean, in the unit of ``summary.json``.
        low, high: The ends of its 95 % confidence interval (Student's t); None for a single run, and if all runs have
            the same value.
    """

    settings: Mapping[str, str]
    count: int
    mean: float
    low: float | None
    high: float | None

    @property
    def label(self) -> str:
        """The settings as one text: ``link.wan.delay=5 ms``."""
        return _label(self.settings)


@dataclass(frozen=True)
class Point:
    """One run of a sweep.

    Attributes:
        parameters: The varied parameters, as written.
        folder: The folder of its files.
        summary: Its ``summary.json``; None if it was not run.
    """

    parameters: Mapping[str, str]
    folder: Path
    summary: Mapping[str, Any] | None

    @property
    def label(self) -> str:
        """The parameters as one text: ``link.wan.queue=fq_codel, seed=1``."""
        return _label({path: _suimon.value_label(text) for path, text in self.parameters.items()})

    def run(self) -> Run:
        """Returns the run.

        Raises:
            suimon.UsageError: It was not run, or the sweep kept only its table.
        """
        if self.summary is not None and not self.folder.exists():
            raise UsageError(f"{self.folder} is missing: the sweep kept only its table", 'sweep again with keep="all"')
        return Run(self.folder)

    def measured(self, path: str) -> float | None:
        """Returns a number of its summary; None if there is none. Names are those of ``--measure``:
        ``flow.bulk.goodput``, for a flow with a count that of the group, and ``link.out.sojourn_p99`` for the
        ``sojourn_p99_seconds`` of the direction where it is greater.
        """
        found = _number(self.summary, path)
        if found is None and self.summary is not None:
            found = _suimon.measured(json.dumps(self.summary), path)
        return found


class Sweep:
    """A sweep in its folder. ``Sweep("runs/wan-sweep")`` opens an earlier one.

    Attributes:
        folder: The folder with its table, its report and the folders of its runs.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "sweep.json").is_file():
            raise UsageError(f"{self.folder} is not the folder of a sweep", "give a folder written by suimon.sweep()")

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "sweep.json").read_text(encoding="utf-8"))
        return document

    @property
    def complete(self) -> bool:
        """Whether every run reached its end."""
        return bool(self._document["complete"])

    @property
    def ok(self) -> bool:
        """Whether every run reached its end, and all expectations are met."""
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
        """A table with a row for each run: folder, parameters in base units, seed, verdict, and every number of the
        summary under its path. Names end with the unit: ``link.wan.delay_seconds``,
        ``run.goodput_bytes_per_s``.
        """
        return Table(self.folder / "sweep.parquet")

    def intervals(self, measure: str = "run.goodput") -> list[Interval]:
        """Returns the mean of a number of the summary for each setting, over the seeds, with its 95 % confidence
        interval. A setting without a complete run is left out.

        Args:
            measure: Its path, as ``--measure`` takes it: ``flow.bulk.goodput``, ``link.out.sojourn_p99``.

        Raises:
            suimon.UsageError: No run has such a number; its help names the nearest that there is.

        Warns:
            UserWarning: All seeds of a setting have the same value, so that it has no interval: ``low`` and ``high``
                are None.
        """
        found = self._intervals(measure)
        equal = sum(interval.count > 1 and interval.low is None for interval in found)
        if equal:
            many = f"{equal} of {len(found)} settings have" if len(found) > 1 else "all seeds have"
            warnings.warn(
                f"{many} the same `{measure}` in all runs, and so no interval: low and high are None. Seeds only "
                "change what is random, such as `loss`, `jitter` or the `start` of flows",
                stacklevel=2,
            )
        return found

    def _intervals(self, measure: str) -> list[Interval]:
        groups: dict[tuple[tuple[str, str], ...], list[float]] = {}
        for point in self.points:
            value = point.measured(measure)
            settings = tuple((path, text) for path, text in point.parameters.items() if path != "seed")
            values = groups.setdefault(settings, [])
            if value is not None:
                values.append(value)
        if not any(groups.values()):
            raise UsageError(f"no run has `{measure}`", self._suggestion(measure))
        found = []
        for settings, values in groups.items():
            if not values:
                continue
            mean, ends = _suimon.mean_interval(values)
            low, high = ends or (None, None)
            labels = {path: _suimon.value_label(text) for path, text in settings}
            found.append(Interval(labels, len(values), mean, low, high))
        return found

    def _suggestion(self, measure: str) -> str:
        summary = next((point.summary for point in self.points if point.summary is not None), None)
        if summary is None:
            return "no run has come to its end: run the sweep again"
        return f"did you mean `{_suimon.nearest(json.dumps(summary), measure)}`?"

    def report(self) -> Report:
        """Returns the report page: the measures over the varied parameters. A notebook shows it."""
        path = self.folder / "report.html"
        return Report(path.read_text(encoding="utf-8"), path)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        """Iterates over all runs, in the order of the grid."""
        return iter(self.points)

    def __repr__(self) -> str:
        return f"<sweep {self.folder}: {len(self)} runs, {'complete' if self.complete else 'not complete'}>"

    def _repr_html_(self) -> str:
        if not any(point.summary for point in self.points):
            return f"<b>{self.folder}</b>: no complete run"
        head = "<tr><th>setting</th><th>runs</th><th>goodput</th><th>95 % confidence</th></tr>"
        rows = "".join(map(_row, self._intervals("run.goodput")))
        return f"<b>{self.folder}</b><table>{head}{rows}</table>"


def _label(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{path}={value}" for path, value in settings.items())


def _row(interval: Interval) -> str:
    ends = "" if interval.low is None or interval.high is None else f"{_mbit(interval.low)} to {_mbit(interval.high)}"
    cells = (html.escape(interval.label), interval.count, _mbit(interval.mean), ends)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _mbit(rate: float) -> str:
    return f"{rate * 8 / 1e6:.2f} Mbit/s"


def _number(summary: Mapping[str, Any] | None, path: str) -> float | None:
    """Returns a number by its path. Names may contain dots themselves, such as ``bulk.1``."""
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
    keep: Keep = "all",
    progress: Progress = None,
    client: Client | None = None,
    store: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Sweep:
    """Runs a scenario at every point of a grid, or the missing points of an earlier sweep into the same folder. The
    contents of the folder are the same bytes as those of the command ``suimon sweep``.

    Args:
        scenario: The scenario; its own ``[sweep]`` counts, too.
        vary: Values by path: ``{"link.wan.delay": ["5 ms", "50 ms"], "flow.bulk.count": "1..64/7log"}``.
        seeds: One run of each point for each seed: ``range(30)``.
        out: The folder; default: ``runs/NAME-sweep``.
        measures: The quantities of the report, by path in ``summary.json``.
        workers: Parallel runs; default: all CPUs. Results do not depend on it.
        fresh: Whether to run all points again.
        keep: ``"table"`` to keep only table and report: the folders of the runs, hundreds of kilobytes each, are
            removed when all runs are done.
        progress: See ``suimon.Progress``.
        client: A Dask client whose workers run the points, see ``suimon.dask``.
        store: With a client, the destination of the workers' results: None to return them as Arrow; ``"shared"`` if
            ``out`` is one folder for all machines; or the fsspec URL of a folder or object store:
            ``"s3://bucket/sweep"``.
        storage_options: Options for fsspec to open that store.

    Raises:
        suimon.ScenarioError: The scenario has errors at some point.
        suimon.UsageError: The folder contains another grid, or a measure is in no run.
        suimon.MachineError: A run failed; the results of the others are kept.
        KeyboardInterrupt: After Ctrl-C. The next sweep into the folder continues from there.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"invalid number of workers {workers}", "give at least one, or leave workers out")
    experiment = grid(scenario, vary, seeds)
    if client is None and (store is not None or storage_options is not None):
        raise UsageError("store is for sweeps on Dask", "give client=distributed.Client(...), too")
    opened = experiment.open_sweep(None if out is None else os.fspath(out), measures, fresh, keep)
    if client is not None:
        from suimon import dask

        ended = dask.run_points(
            client, experiment, opened, keep=keep, store=store, storage_options=storage_options, progress=progress
        )
    else:
        with shown(progress, scenario.file.stem) as report:
            ended = opened.execute(workers, report)
    if ended.failure is not None:
        raise from_library(MachineError, ended.failure)
    return Sweep(ended.folder)


def grid(
    scenario: Scenario, vary: Mapping[str, Sequence[object] | str] | None, seeds: Iterable[int] | None
) -> _suimon.Experiment:
    """Returns the grid as the library's type."""
    axes = []
    for path, values in (vary or {}).items():
        points = [values] if isinstance(values, str) else [varied(value, path) for value in values]
        if not points:
            raise UsageError(f"`{path}` has no values", f'give at least one: vary={{"{path}": ["5 ms", "50 ms"]}}')
        axes.append(f"{path}={','.join(points)}")
    known = None if seeds is None else [int(seed) for seed in seeds]
    if known == []:
        raise UsageError("no seeds", "give at least one: seeds=range(1, 9)")
    if known is not None and len(set(known)) < len(known):
        raise UsageError("a seed is given twice", "give each once: equal runs would narrow the confidence interval")
    span = None
    if known is not None and known == list(range(known[0], known[0] + len(known))):
        span = f"{known[0]}..{known[-1]}"
    elif known is not None:
        axes.append(f"seed={','.join(map(str, known))}")
    return scenario.experiment(vary=axes, seeds=span)
