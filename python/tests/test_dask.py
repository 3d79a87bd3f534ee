"""Sweeps on Dask: a scheduler and workers in separate processes, over TCP. SUIMON_POINTS is the number of points of the
sweep with dying workers; default: 400.
"""

from __future__ import annotations

import filecmp
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import suimon
from suimon import _program, _suimon

distributed = pytest.importorskip("distributed")

SCENARIO = """
duration = "20 ms"
[host.a]
[host.b]
[link.wire]
between = ["a", "b"]
rate = "100 Mbit/s"
loss = "1 %"
[flow.bulk]
from = "a"
to = "b"
"""
DELAYS = ["1 ms", "5 ms"]
DASK = Path(sys.executable).parent / "dask"


class Cluster:
    """A scheduler and its workers, each a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        until(self.file.exists)

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with open(self.folder / f"{words[0]}-{len(self.workers)}.log", "wb") as log:
            command = [str(DASK), *words, "--scheduler-file", str(self.file)]
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def add(self, preload: str = "") -> subprocess.Popen[bytes]:
        """Starts a worker with one thread and without restarts; ``preload`` is Python code that it runs first."""
        words = ["worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        if preload:
            file = self.folder / f"preload_{len(self.workers)}.py"
            file.write_text(preload)
            words += ["--preload", str(file)]
        worker = self._start(*words)
        self.workers.append(worker)
        return worker

    @property
    def address(self) -> str:
        """The scheduler's address."""
        return str(json.loads(self.file.read_text())["address"])

    def close(self) -> None:
        """Ends all processes."""
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


def until(true: Callable[[], bool]) -> None:
    """Waits for a condition, a minute at most."""
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    raise TimeoutError


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    place = tmp_path / "cluster"
    place.mkdir()
    cluster = Cluster(place)
    yield cluster
    cluster.close()


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wire.toml").write_text(SCENARIO)


def differing(one: str, other: str) -> list[str]:
    """Returns the files that differ between both folders, except manifests, which contain times."""
    files = sorted({path.relative_to(folder) for folder in (one, other) for path in Path(folder).rglob("*")})
    assert files

    def differs(file: Path) -> bool:
        places = Path(one) / file, Path(other) / file
        if not (places[0].exists() and places[1].exists()):
            return True
        return not places[0].is_dir() and not filecmp.cmp(*places, shallow=False)

    return [str(file) for file in files if file.name != "manifest.json" and differs(file)]


def alone(points: int) -> suimon.Sweep:
    """The sweep on this machine."""
    scenario = suimon.Scenario.load("wire.toml")
    return suimon.sweep(scenario, vary={"link.wire.delay": DELAYS}, seeds=range(1, points // 2 + 1), out="alone")


def test_workers_die_and_join_and_nothing_is_lost_or_doubled(cluster: Cluster) -> None:
    points = int(os.environ.get("SUIMON_POINTS", "400"))
    workers = [cluster.add() for _ in range(4)]
    told: list[float] = []

    def progress(share: float) -> None:
        told.append(share)
        if len([worker for worker in workers if worker.poll() is None]) > 2 and share > 0.2 * (1 + len(killed)):
            killed.append(workers[len(killed)])
            killed[-1].send_signal(signal.SIGKILL)
        if share > 0.5 and len(cluster.workers) == 4:
            cluster.add()

    killed: list[subprocess.Popen[bytes]] = []
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(4)
        swept = suimon.sweep(
            suimon.Scenario.load("wire.toml"),
            vary={"link.wire.delay": DELAYS},
            seeds=range(1, points // 2 + 1),
            out="many",
            client=client,
            progress=progress,
        )
    assert len(killed) == 2
    assert len(cluster.workers) == 5
    assert told == sorted(told)
    assert told[-1] == 1.0, "each point counts once"
    assert swept.complete
    assert len(swept) == points
    alone(points)
    assert differing("alone", "many") == []


@pytest.mark.parametrize("store", ["shared", "url"])
def test_results_go_by_a_folder_of_all_or_by_a_store(cluster: Cluster, tmp_path: Path, store: str) -> None:
    cluster.add()
    where = store if store == "shared" else f"file://{tmp_path}/bucket"
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(1)
        scenario = suimon.Scenario.load("wire.toml")
        suimon.sweep(
            scenario, {"link.wire.delay": DELAYS}, range(1, 11), out="many", client=client, store=where, progress=False
        )
    assert (tmp_path / "bucket").exists() == (store == "url")
    assert not list(tmp_path.glob("bucket/*")), "what was fetched is not left there"
    alone(20)
    assert differing("alone", "many") == []


def test_a_sweep_goes_on_where_one_machine_left_it_and_the_other_way_round(cluster: Cluster) -> None:
    scenario = suimon.Scenario.load("wire.toml")
    alone(20)
    cluster.add()
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(1)
        ran: list[float] = []
        suimon.sweep(
            scenario, {"link.wire.delay": DELAYS}, range(1, 11), out="alone", client=client, progress=ran.append
        )
        assert ran == [], "all was done"
        suimon.sweep(scenario, {"link.wire.delay": DELAYS}, range(1, 11), out="many", client=client, progress=False)
    assert differing("alone", "many") == []


def test_the_command_has_its_points_run_by_dask(cluster: Cluster) -> None:
    cluster.add()
    cluster.add()
    grid = ["--vary", f"link.wire.delay={','.join(DELAYS)}", "--seeds", "1..20", "--quiet"]
    environment = {**os.environ, "SUIMON_PYTHON": sys.executable}
    words = [_program.path(), "sweep", "--on", "dask", cluster.address, "wire.toml", *grid, "-o", "many"]
    output = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    subprocess.run([_program.path(), "sweep", "wire.toml", *grid, "-o", "alone"], check=True, capture_output=True)
    assert differing("alone", "many") == []
    # Errors from Python have the command's options.
    other = [*words[:6], "--seeds", "30..31", "-o", "many"]
    output = subprocess.run(other, env=environment, capture_output=True, text=True, check=False)
    assert output.returncode == 2 and "use another --out folder, or --fresh" in output.stderr, output.stderr
    table = [*words[:-1], "table", "--keep", "table"]
    output = subprocess.run(table, env=environment, capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    assert Path("table/sweep.parquet").read_bytes() == Path("alone/sweep.parquet").read_bytes()
    assert sorted(path.name for path in Path("table").iterdir()) == ["report.html", "sweep.json", "sweep.parquet"]
    words[4] = "tcp://127.0.0.1:9"
    output = subprocess.run([*words, "--fresh"], env=environment, capture_output=True, text=True, check=False)
    assert output.returncode == 3, output.stderr
    assert "no scheduler answers" in output.stderr
    assert "suimon sweep" not in output.stdout
    output = subprocess.run([*words, "--json"], env=environment, capture_output=True, text=True, check=False)
    assert "no scheduler answers" in json.loads(output.stdout)["errors"][0]["message"]


OTHER_BUILD = """
from suimon import _suimon
_suimon.BUILD = "another"
"""


def test_a_worker_of_another_build_gets_no_point(cluster: Cluster) -> None:
    from suimon.dask import BuildError

    cluster.add(OTHER_BUILD)
    scenario = suimon.Scenario.load("wire.toml")
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(1)
        with pytest.raises(BuildError, match="has build another") as caught:
            suimon.sweep(scenario, seeds=range(1, 5), out="none", client=client, progress=False)
        assert caught.value.worker.startswith("tcp://")
        assert "one wheel" in caught.value.help
        cluster.add()
        client.wait_for_workers(2)
        swept = suimon.sweep(scenario, seeds=range(1, 21), out="some", client=client, progress=False)
        assert swept.complete
        # A worker that joins late is detected by its first batch.

        def progress(share: float) -> None:
            if len(cluster.workers) == 2:
                cluster.add(OTHER_BUILD)
                client.wait_for_workers(3)

        swept = suimon.sweep(scenario, seeds=range(1, 201), out="late", client=client, progress=progress)
    assert swept.complete


OLDER = """
from suimon import _suimon, dask
_suimon.BUILD = "older"
# A batch had other arguments.
dask._run_batch = lambda experiment, indices: None
"""


def test_a_worker_of_another_version_is_told_from_a_point_that_breaks(cluster: Cluster) -> None:
    from suimon.dask import BuildError

    cluster.add()
    scenario = suimon.Scenario.load("wire.toml")
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(1)

        def progress(share: float) -> None:
            if len(cluster.workers) == 1:
                cluster.add(OLDER)
                client.wait_for_workers(2, timeout=60)

        swept = suimon.sweep(scenario, seeds=range(1, 201), out="late", client=client, progress=progress)
        assert swept.complete
        cluster.workers[0].kill()
        until(lambda: len(client.nthreads()) == 1)
        with pytest.raises(BuildError, match="has build older"):
            suimon.sweep(scenario, seeds=range(1, 5), out="none", client=client, progress=False)


def preloaded(where: str, what: str) -> str:
    """Returns Python code for a worker that does something else before, or instead of, a batch with point 3."""
    return f"""
import os
from suimon import dask
if dask._run_batch.__module__ == "suimon.dask":
    run_batch = dask._run_batch
    def replaced(experiment, build, expected, indices, names, destination, keep):
        if {where}:
            {what}
        return run_batch(experiment, build, expected, indices, names, destination, keep)
    dask._run_batch = replaced
"""


def test_a_point_that_kills_every_worker_is_named_and_the_others_are_run(cluster: Cluster) -> None:
    scenario = suimon.Scenario.load("wire.toml")
    for _ in range(12):
        cluster.add(preloaded("3 in indices", "os._exit(1)"))
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(12)
        with pytest.raises(suimon.MachineError, match="04-seed-4 killed every worker"):
            suimon.sweep(scenario, seeds=range(1, 41), out="many", client=client, progress=False)
    swept = suimon.Sweep("many")
    assert not swept.complete
    assert len(swept.table) == 39, "the others are in the table"
    # The missing points run here.
    assert suimon.sweep(scenario, seeds=range(1, 41), out="many", progress=False).complete


def test_a_point_that_breaks_is_told_last(cluster: Cluster) -> None:
    cluster.add(preloaded("3 in indices", 'raise OSError("no room")'))
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(1)
        with pytest.raises(OSError, match="no room"):
            scenario = suimon.Scenario.load("wire.toml")
            suimon.sweep(scenario, seeds=range(1, 41), out="many", client=client, progress=False)
    assert len(suimon.Sweep("many").table) == 39


def test_good_workers_may_die_and_join_beside_one_of_another_build(cluster: Cluster) -> None:
    cluster.add(OTHER_BUILD)
    first = cluster.add()
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(2)

        def progress(share: float) -> None:
            if share > 0.1 and len(cluster.workers) == 2:
                cluster.add()
                client.wait_for_workers(3)
                first.kill()

        scenario = suimon.Scenario.load("wire.toml")
        swept = suimon.sweep(scenario, seeds=range(1, 201), out="many", client=client, progress=progress)
    assert swept.complete


def test_a_result_gone_with_its_worker_may_fail_at_one_of_another_build(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from suimon.dask import Points

    cluster.add(OTHER_BUILD)
    first = cluster.add()
    on_completed = Points._on_completed
    lost: list[str] = []
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(2)

        def lose_one(points: Points, future: Any, indices: list[int]) -> int:
            # After it was found finished, before its result is fetched.
            if future.status == "finished" and not lost:
                lost.append(future.key)
                first.kill()
                until(lambda: future.status == "error")
                cluster.add()
                client.wait_for_workers(2)
                finished = SimpleNamespace(key=future.key, status="finished", result=future.result)
                return on_completed(points, finished, indices)
            return on_completed(points, future, indices)

        monkeypatch.setattr(Points, "_on_completed", lose_one)
        scenario = suimon.Scenario.load("wire.toml")
        swept = suimon.sweep(scenario, seeds=range(1, 41), out="many", client=client, progress=False)
    assert lost
    assert swept.complete


def test_a_cluster_grows_with_the_work() -> None:
    with (
        distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=2, interval="100ms")
        most: list[int] = []
        scenario = suimon.Scenario.load("wire.toml").set("duration", "20 s")
        swept = suimon.sweep(
            scenario,
            seeds=range(1, 101),
            out="many",
            client=client,
            progress=lambda share: most.append(len(client.nthreads())),
        )
    assert swept.complete
    assert max(most) == 2


def test_what_a_client_left_that_was_killed_is_in_nobodys_way(cluster: Cluster) -> None:
    Path("many/sweep.partial/2-seed-2").mkdir(parents=True)
    Path("many/sweep.partial/2-seed-2/manifest.json").write_text("{}")
    Path("many/sweep.json").write_text("{}")
    cluster.add()
    scenario = suimon.Scenario.load("wire.toml")
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(1)
        assert suimon.sweep(scenario, seeds=range(1, 4), out="many", client=client, progress=False).complete
        # Another grid's folder is taken over where that is asked for, and not otherwise.
        with pytest.raises(suimon.UsageError, match="another sweep"):
            suimon.sweep(scenario, seeds=range(1, 3), out="many", client=client, progress=False)
        again = suimon.sweep(scenario, seeds=range(1, 3), out="many", client=client, fresh=True, progress=False)
    assert len(again) == 2
    with pytest.raises(suimon.UsageError, match="invalid store"):
        suimon.sweep(scenario, seeds=range(1, 3), out="more", client=client, store="bucket", progress=False)


def test_ctrl_c_keeps_what_is_done_and_ends_workers_batches(cluster: Cluster) -> None:
    cluster.add()
    scenario = suimon.Scenario.load("wire.toml").set("duration", "2000 s")
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(1)

        def interrupt(share: float) -> None:
            raise KeyboardInterrupt

        short = suimon.Scenario.load("wire.toml")
        with pytest.raises(KeyboardInterrupt):
            suimon.sweep(short, seeds=range(1, 41), out="many", client=client, progress=interrupt)
        assert len(suimon.Sweep("many").table) > 0
        timer = threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            suimon.sweep(scenario, seeds=range(1, 4), out="long", client=client, progress=False)
        began = time.monotonic()
        assert suimon.sweep(short, seeds=range(1, 41), out="many", client=client, progress=False).complete
        assert time.monotonic() - began < 30, "workers drop cancelled points"


def test_packed_runs_lead_nowhere_else(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for run, file in [("../x", "a"), ("x", "../../a"), ("/x", "a"), ("x", "/a"), ("", "a")]:
        table = pyarrow.table({"run": [run], "file": [file], "content": pyarrow.array([b"."], pyarrow.large_binary())})
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(ValueError, match="leads out"):
            _suimon.unpack(sink.getvalue().to_pybytes(), str(tmp_path / "inner"))
    for broken in [b"", b"x" * 100]:
        with pytest.raises((ValueError, OSError)):
            _suimon.unpack(broken, str(tmp_path))
