"""Threads, processes and signals: pickling between processes, and early ends."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import suimon
from suimon import units

Pair = Callable[..., suimon.Scenario]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_runs_come_back_from_other_processes(folder: Path, pair: Pair, method: str) -> None:
    scenario = pair(probe={"flows": {"every": "10 ms"}}).set("flow.f.bytes", units.kb(100))
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        runs = [future.result() for future in [pool.submit(scenario.run, seed=seed) for seed in (1, 2)]]
    for seed, run in enumerate(runs, 1):
        here = suimon.Run(f"runs/pair-{seed}")
        assert (run.summary, run.status, run.driver) == (here.summary, "met", "simulate")
        assert run.folder == here.folder.absolute() and len(run.flows) == len(here.flows) > 0


def test_what_a_run_measured_is_pickled(folder: Path, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = pair(probe={"flows": {"every": "10 ms"}}, expect={"run": {"drops": {"max": 0}}}).run()
    swept = suimon.sweep(pair(), seeds=[1, 2])
    page = ended.report()
    things = [ended, suimon.Run(ended.folder), ended.flows, ended.summary, page, swept, swept.points[0]]
    copies = [copy.deepcopy(thing) for thing in things]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copies += [pickle.loads(pickle.dumps(thing, protocol)) for thing in things]
    # Its files are found from any working directory.
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    for read in copies:
        match read:
            case suimon.Run():
                assert (read.summary, read.status) == (ended.summary, "met")
                assert [e.path for e in read.expectations] == ["run.drops"]
                assert len(read.flows) > 0 and read.version == suimon.VERSION and read.report().html
            case suimon.Table():
                assert len(read) > 0
            case suimon.Sweep():
                assert read.points == swept.points
            case suimon.Report():
                assert read.html == page.html
            case _:
                assert read in (things[3], things[6])


def ended(script: str, *, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Returns the completed process of a separate interpreter."""
    words = [sys.executable, "-W", "ignore", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout)


FORKED = """
import os, signal, threading, time
import suimon

scenario = suimon.Scenario.load("pair.toml")
threading.Thread(target=lambda: scenario.run(out="of-a-thread", progress=False)).start()
children = []
for number in range(40):
    child = os.fork()
    if child == 0:
        # The alarm ends a child that hangs.
        signal.alarm(30)
        suimon.Scenario.load("pair.toml").run(out=f"of-child-{number}", progress=False)
        try:
            scenario.set("duration", "none").check()
        except suimon.ScenarioError:
            os._exit(0)
        os._exit(1)
    children.append(child)
    time.sleep(0.001)
print([os.waitpid(child, 0)[1] for child in children])
"""


def test_a_process_that_is_forked_while_a_thread_runs_something_goes_on(folder: Path, pair: Pair) -> None:
    Path("pair.toml").write_text(pair().text, encoding="utf-8")
    of = ended(FORKED)
    assert of.stdout == f"{[0] * 40}\n", of.stderr


DAMAGED = """
import suimon

table = suimon.Run("run").flows
whole = table.path.read_bytes()
outcomes = {}
for place in range(0, len(whole), 4):
    table.path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
    try:
        capsule = READ(suimon.Table(table.path))
        outcome = "read"
    except (OSError, ValueError) as error:
        outcome = "damaged" if "decoder error" in str(error) else "refused"
    outcomes[outcome] = outcomes.get(outcome, 0) + 1
print(sorted(outcomes))
"""


def test_no_damaged_table_ends_the_interpreter(folder: Path, pair: Pair) -> None:
    """Parquet's decoder panics on some damaged files."""
    pytest.importorskip("pyarrow")
    pair(duration="3 ms", probe={"flows": {"every": "1 ms"}}).run(out="run")
    of = ended("import pyarrow\n" + DAMAGED.replace("READ", "pyarrow.table"))
    assert (of.returncode, of.stdout) == (0, "['damaged', 'read', 'refused']\n"), of.stderr[-2000:]


INTERRUPTED = """
import os, signal, threading, time
import suimon

sent = 0.0

def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

scenario = suimon.Scenario.load("pair.toml")
threading.Timer(0.3, interrupt).start()
try:
    while True:
        CALL
except KeyboardInterrupt:
    print(time.monotonic() - sent)
"""
CALLS = {
    "points": 'scenario.experiment(seeds="1..100000").points()',
    "check": 'scenario.experiment(seeds="1..100000").check()',
    "open": 'scenario.experiment(seeds="1..100000").open_sweep("grid")',
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_ends_whatever_takes_long(folder: Path, pair: Pair, call: str) -> None:
    Path("pair.toml").write_text(pair().text, encoding="utf-8")
    # Usually a second.
    took = float(ended(INTERRUPTED.replace("CALL", call)).stdout)
    assert took < 10


UNWINDING = """
import threading
import suimon

scenario = suimon.Scenario.load("pair.toml").set("duration", "1000 s")

def work(seed, runs):
    scenario.copy().run(seed=seed, progress=lambda share: runs.set())

for seed in range(3):
    runs = threading.Event()
    threading.Thread(target=work, args=(seed, runs), daemon=True).start()
    assert runs.wait(20), "the run reports no progress"
print("ends")
"""


def test_an_interpreter_ends_while_daemon_threads_run_something(folder: Path, pair: Pair) -> None:
    Path("pair.toml").write_text(pair().text, encoding="utf-8")
    of = ended(UNWINDING, timeout=30)
    assert (of.returncode, of.stdout) == (0, "ends\n"), of.stderr
