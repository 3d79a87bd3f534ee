"""Sweeps on many machines, with Dask.

``suimon.sweep(..., client=Client("tcp://scheduler:8786"))`` runs the points of a grid on Dask's workers, in batches
that take seconds. The scenario is sent once, with all files that it names. If a worker dies, another one runs its
batch; workers may join and leave at any time. Scheduler and workers must have the client's build of Suimon: results are
the same as on one machine, byte for byte.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import distributed
from distributed import Client, KilledWorker, get_worker

from suimon import _suimon
from suimon._progress import Progress, shown
from suimon.errors import MachineError, SuimonError, UsageError, from_library

__all__ = ["BuildError", "run_points"]

# The target duration of a batch: Dask's own work for a task is a millisecond.
BATCH_SECONDS = 2.0
# The maximum size of a returned batch.
BATCH_BYTES = 64 << 20
# Batches for each thread of a worker. An adaptive cluster grows if there is work for more than 5 seconds.
BATCHES_PER_THREAD = 8
# Retries of a batch that raises.
RETRIES = 2
# The number of failed points after which the others are not tried.
FAILURES_MAX = 20
# The subfolder of the sweep's folder for incomplete runs.
PARTIAL = "sweep.partial"


class BuildError(SuimonError, RuntimeError):
    """A worker has another build of Suimon, or another text of the scenario.

    Attributes:
        worker: Its address.
    """

    def __init__(self, worker: str, what: str) -> None:
        super().__init__(f"{worker} {what}", "install one wheel of Suimon on all machines")
        self.worker = worker
        self.what = what

    def __reduce__(self) -> tuple[type[BuildError], tuple[str, str]]:
        return type(self), (self.worker, self.what)


@dataclass(frozen=True)
class Destination:
    """The destination of results: a folder shared by all machines, an fsspec URL, or the client."""

    folder: str | None = None
    url: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, store: str | None, folder: str, options: Mapping[str, Any] | None) -> Destination:
        """Returns the destination that ``store`` names.

        Raises:
            suimon.UsageError: It is neither ``shared`` nor a URL.
        """
        if store is None:
            return cls()
        if store == "shared":
            return cls(folder=os.path.abspath(folder))
        if "://" not in store:
            raise UsageError(f"invalid store `{store}`", 'give "shared", or a URL such as "s3://bucket/sweep"')
        return cls(url=store.rstrip("/"), options=dict(options or {}))


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch.

    Attributes:
        seconds: Its duration.
        size: The size of its runs in bytes, if they are packed.
        packed: The runs as an Arrow IPC stream (run, file, content), if returned to the client.
        stored: The URL of that stream, if it is in a store.
    """

    seconds: float
    size: int = 0
    packed: bytes | None = None
    stored: str | None = None


def run_points(
    client: Client,
    experiment: _suimon.Experiment,
    sweep: _suimon.OpenSweep,
    *,
    keep: str = "all",
    store: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> _suimon.SweepEnded:
    """Runs the missing points of a sweep on Dask, puts each run into the sweep's folder, and writes table and report.

    Raises:
        BuildError: The scheduler, or every worker, has another build.
        suimon.SuimonError: A point failed. The others are run, and are in the table.
    """
    destination = Destination.of(store, sweep.folder, storage_options)
    if not sweep.missing:
        return sweep.finish()
    points = Points(client, experiment.loaded(), sweep.folder, destination, keep)
    points.check_builds()
    sweep.begin()
    try:
        with shown(progress, f"{len(sweep.missing)} points") as report:
            points.run(sweep.missing, report)
    finally:
        points.cancel()
        # Results of cancelled batches, or of a client that was killed.
        shutil.rmtree(Path(sweep.folder, PARTIAL), ignore_errors=True)
        ended = sweep.finish()
    for name, error in points.failures:
        if isinstance(error, KilledWorker):
            help = "they may lack memory; sweep into the same folder without a client to run it on this machine"
            raise MachineError(f"{name} killed every worker that ran it", help) from error
        raise error
    return ended


class Points:
    """The points of a grid, run in batches."""

    def __init__(
        self, client: Client, experiment: _suimon.Experiment, folder: str, destination: Destination, keep: str
    ) -> None:
        # Dask's own types are incomplete and partly wrong.
        self.client: Any = client
        self.experiment = experiment
        self.folder = folder
        self.destination = destination
        self.keep = keep
        self.names = [name for name, _ in experiment.points()]
        self.digest = digest(experiment)
        # Makes keys unique to this sweep.
        self.token = uuid.uuid4().hex[:8]
        self.attempts = 0
        self.scenario = self._send_scenario()
        self.pending: deque[int] = deque()
        # Points of failed batches: submitted one at a time, to find the failing one.
        self.suspects: deque[int] = deque()
        self.batches: dict[Any, list[int]] = {}
        # Workers with another build get no batch.
        self.refused: set[str] = set()
        # Failed points with their errors.
        self.failures: list[tuple[str, BaseException]] = []
        self.size = 1

    def _send_scenario(self) -> Any:
        """Sends the scenario to the workers as a task, so that it is sent once, waits for a cluster without workers,
        and is restored after the workers that had it are gone.
        """
        self.attempts += 1
        key = f"suimon-scenario-{self.token}.{self.attempts}"
        return self.client.submit(_itself, self.experiment, key=key, pure=False)

    def check_builds(self) -> None:
        """Checks that the scheduler and a worker have this build. Workers with another build are left out.

        Raises:
            BuildError: The scheduler, or every worker, has another build.
        """
        try:
            build = self.client.run_on_scheduler(_build)
        except ImportError as error:
            raise BuildError("the scheduler", "does not have Suimon installed") from error
        if build != _suimon.BUILD:
            raise BuildError("the scheduler", f"has build {build}, this is build {_suimon.BUILD}")
        builds = self._refuse_others()
        if builds and len(self.refused) == len(builds):
            worker, build = min(builds.items())
            raise BuildError(worker, _what(build))

    def _refuse_others(self) -> dict[str, Any]:
        """Excludes workers with another build from batches. Returns the answers of all workers."""
        builds: dict[str, Any] = self.client.run(_build, on_error="return")
        for worker, build in builds.items():
            # A worker that is busy or gone is detected when it gets a batch.
            if isinstance(build, str | ImportError | AttributeError) and build != _suimon.BUILD:
                self.refused.add(worker)
        return builds

    def run(self, missing: Iterable[int], report: Callable[[float], object] | None) -> None:
        """Runs these points, and returns when all except failed ones are in the folder."""
        self.pending = deque(missing)
        wanted, done = len(self.pending), 0
        as_completed: Any = distributed.as_completed
        completed = as_completed()
        self._submit_batches(completed)
        while self.batches:
            future = next(completed)
            done += self._on_completed(future, self.batches.pop(future))
            if report is not None:
                report(done / wanted)
            self._submit_batches(completed)

    def _submit_batches(self, completed: Any) -> None:
        """Submits batches for the current workers, BATCHES_PER_THREAD for each of their threads."""
        while (self.pending or self.suspects) and len(self.failures) < FAILURES_MAX:
            wanted = BATCHES_PER_THREAD * max(1, sum(self._workers().values()))
            if len(self.batches) >= wanted:
                return
            if self.suspects:
                indices = [self.suspects.popleft()]
            else:
                # Batches become smaller towards the end, so that all workers finish together.
                size = max(1, min(self.size, len(self.pending) // wanted))
                indices = [self.pending.popleft() for _ in range(size)]
            future = self._submit(indices)
            self.batches[future] = indices
            completed.add(future)

    def _submit(self, indices: list[int]) -> Any:
        self.attempts += 1
        names = [self.names[index] for index in indices]
        # Dask's dashboard groups tasks by the part of the key before the first number.
        return self.client.submit(
            _run_batch,
            self.scenario,
            _suimon.BUILD,
            self.digest,
            indices,
            names,
            self.destination,
            self.keep,
            key=f"suimon-points-{indices[0] + 1}..{indices[-1] + 1}-{self.token}.{self.attempts}",
            pure=False,
            retries=RETRIES,
            # A preference only: these workers may leave, and others join.
            workers=list(self._workers()) if self.refused else None,
            allow_other_workers=bool(self.refused),
        )

    def _workers(self) -> dict[str, int]:
        """Returns the threads of each present worker with this build."""
        workers: dict[str, int] = self.client.nthreads()
        return {worker: threads for worker, threads in workers.items() if worker not in self.refused}

    def _on_completed(self, future: Any, indices: list[int]) -> int:
        """Handles the end of a batch; points to repeat are queued again. Returns the number of completed points."""
        try:
            # Also what has finished may fail here: if its worker is gone with the result, another worker runs it again.
            result: BatchResult = future.result()
        except CancelledError:
            # The scheduler has restarted.
            self.pending.extendleft(reversed(indices))
            self.scenario = self._send_scenario()
            return 0
        except Exception as error:
            self._on_failed(future.key, error, indices)
            return 0
        self._save(result)
        self._adapt_size(result, len(indices))
        return len(indices)

    def _on_failed(self, key: Any, error: Exception, indices: list[int]) -> None:
        """Handles the failure of a batch: excludes its worker if that has another build, or searches for the failing
        point.

        Raises:
            BuildError: Every worker has another build.
        """
        if not isinstance(error, SuimonError | KilledWorker):
            # The worker may have a version in which a batch is something else: an ordinary Python exception.
            workers = self.client.run_on_scheduler(_erred_on, key)
            builds = self._refuse_others()
            if workers and self.refused.issuperset(workers):
                error = BuildError(workers[0], _what(builds.get(workers[0])))
        if isinstance(error, BuildError):
            self.pending.extendleft(reversed(indices))
            self.refused.add(error.worker)
            if not self._workers():
                raise error
        elif len(indices) > 1:
            self.suspects.extend(indices)
        else:
            self.failures.append((self.names[indices[0]], error))

    def _save(self, result: BatchResult) -> None:
        packed = result.packed
        if result.stored is not None:
            file_system, path = _file_system(result.stored, self.destination.options)
            packed = file_system.cat_file(path)
            file_system.rm_file(path)
        if packed is not None:
            _suimon.unpack(packed, self.folder)

    def _adapt_size(self, result: BatchResult, count: int) -> None:
        """Adapts the size of the next batches to take BATCH_SECONDS."""
        by_time = count * BATCH_SECONDS / max(result.seconds, 1e-6)
        by_bytes = count * BATCH_BYTES / max(result.size, 1)
        self.size = max(1, int(min(by_time, by_bytes, 4 * self.size)))

    def cancel(self) -> None:
        """Cancels unfinished batches, and releases the scenario."""
        if self.batches:
            self.client.cancel(list(self.batches), force=True)
        self.batches.clear()
        del self.scenario


def _file_system(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """Returns the file system of a URL, and the path in it."""
    import fsspec

    core: Any = fsspec.core
    file_system, path = core.url_to_fs(url, **options)
    return file_system, path


@lru_cache(maxsize=4)
def digest(experiment: _suimon.Experiment) -> str:
    """Returns a digest of a scenario with its changes and the files that it names."""
    file, text, changes, vary, seed, seeds, files = experiment.__reduce__()[1]
    digest = hashlib.sha256()
    for part in (str(file), text, *changes, "vary", *vary, str(seed), str(seeds)):
        digest.update(str(part).encode() + b"\0")
    for name, content in files.items():
        digest.update(name.encode() + b"\0")
        digest.update(content)
    return digest.hexdigest()


def _itself(experiment: _suimon.Experiment) -> _suimon.Experiment:
    """Returns the scenario unchanged."""
    return experiment


def _build() -> str:
    """Returns the build of the process that runs this."""
    return _suimon.BUILD


def _erred_on(key: str, dask_scheduler: Any = None) -> list[str]:
    """Returns the workers at which a task raised, according to the scheduler."""
    task = dask_scheduler.tasks.get(key)
    return [] if task is None else sorted(task.erred_on)


def _what(build: Any) -> str:
    """Returns the fault of a worker that gave this answer for its build."""
    if isinstance(build, str):
        return f"has build {build}, this is build {_suimon.BUILD}"
    return "does not have Suimon installed" if isinstance(build, ImportError) else "has another version of Suimon"


def _run_batch(
    experiment: _suimon.Experiment,
    build: str,
    expected: str,
    indices: list[int],
    names: list[str],
    destination: Destination,
    keep: str,
) -> BatchResult:
    """Runs points on a worker."""
    worker = get_worker()
    if build != _suimon.BUILD:
        raise BuildError(worker.address, f"has build {_suimon.BUILD}, the client has {build}")
    if expected != digest(experiment):
        raise BuildError(worker.address, "has another text of the scenario")
    began = time.monotonic()
    # Dask clears a worker's directory after it has died.
    parent = destination.folder and Path(destination.folder, PARTIAL)
    if parent:
        parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="suimon-", dir=parent or worker.local_directory) as folder:
        for run in experiment.run_points(folder, indices, _raise_if_cancelled(worker), keep):
            if run.failure is not None:
                raise from_library(MachineError, f"{Path(run.folder).name}: {run.failure}")
        if destination.folder is not None:
            _move(folder, names, destination.folder)
            return BatchResult(time.monotonic() - began)
        packed = _suimon.pack(folder, names)
    seconds = time.monotonic() - began
    if destination.url is None:
        return BatchResult(seconds, len(packed), packed)
    stored = f"{destination.url}/{worker.get_current_task()}.arrow"
    file_system, path = _file_system(stored, destination.options)
    file_system.makedirs(path.rpartition("/")[0], exist_ok=True)
    file_system.pipe_file(path, packed)
    return BatchResult(seconds, len(packed), stored=stored)


def _raise_if_cancelled(worker: Any) -> Callable[[float], object]:
    """Returns a progress callback that raises if the batch was cancelled."""
    key = worker.get_current_task()

    def check(share: float) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise InterruptedError(f"{key} was cancelled")

    return check


def _move(source: str, names: Sequence[str], folder: str) -> None:
    """Moves runs into a folder, replacing runs of the same names."""
    for name in names:
        place = Path(folder, name)
        shutil.rmtree(place, ignore_errors=True)
        Path(source, name).rename(place)
