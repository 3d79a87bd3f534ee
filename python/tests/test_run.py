"""Runs: their results, their tables, and early ends."""

from __future__ import annotations

import html
import json
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NoReturn

import pytest

import suimon
from suimon import model as m
from suimon import units

Command = Callable[..., "CompletedProcess[str]"]
Lacks = Callable[[str], NoReturn]
Pair = Callable[..., suimon.Scenario]


@pytest.fixture(scope="module")
def run(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> suimon.Run:
    """A run with every table of a network without switches and MPI."""
    scenario = pair(
        probe=m.Probes(
            flows=m.Sampling(every=units.ms(1)),
            queues=m.Sampling(every=units.ms(1)),
            bandwidth={"sent": m.Bandwidth(at="a:wire", bin=units.ms(5))},
            sequence={"f": m.Sequence(flow="f", at="a:wire")},
        ),
        expect=m.Expect(flow={"f": m.ExpectFlow(goodput=m.RateBounds(min=units.mbit(10)), drops={"max": 1000})}),
    )
    queue = m.Drr(class_={"odd": m.DrrClass(match={"dscp": "ef"}), "rest": m.DrrClass(queue=m.Fifo(packets=20))})
    return scenario.set("link.wire.queue", queue).run(out=tmp_path_factory.mktemp("run"))


def file(run: suimon.Run, name: str) -> Any:
    return json.loads((run.folder / name).read_text("utf-8"))


def assert_equal(read: Any, data: Any, path: str = "") -> None:
    """Compares typed values with JSON. Values missing in JSON are None or empty."""
    if is_dataclass(read):
        parts = {part.metadata.get("name", part.name): getattr(read, part.name) for part in fields(read)}
        assert parts.keys() >= data.keys(), path
        for key, value in parts.items():
            if key in data or is_dataclass(value):
                assert_equal(value, data.get(key, {}), f"{path}.{key}")
            else:
                assert not value, f"{path}.{key}"
    elif isinstance(read, Mapping):
        assert read.keys() == data.keys(), path
        for key, value in read.items():
            assert_equal(value, data[key], f"{path}.{key}")
    elif isinstance(read, Sequence) and not isinstance(read, str):
        assert len(read) == len(data), path
        for place, value in enumerate(read):
            assert_equal(value, data[place], f"{path}[{place}]")
    else:
        assert read == data, path


def test_a_summary_has_the_values_of_its_file(run: suimon.Run) -> None:
    assert_equal(run.summary, file(run, "summary.json"))
    flow = run.summary.flow["f"]
    assert 0 < flow.goodput * 8 < 100e6 and flow.min_rtt_seconds is not None and flow.min_rtt_seconds > 0.002
    assert run.summary.run.seconds == 0.05


def test_a_run_says_what_it_is(run: suimon.Run) -> None:
    manifest = file(run, "manifest.json")
    assert (run.complete, run.status, run.driver) == (True, "met", "simulate")
    assert (run.version, run.command) == (manifest["suimon"], manifest["command"])
    assert run.version == suimon.VERSION == suimon.__version__ and manifest["build"] == suimon.BUILD
    assert run.scenario == (run.folder / "scenario.lock.toml").read_text("utf-8")
    goodput, drops = sorted(run.expectations, key=lambda expectation: expectation.path, reverse=True)
    assert (goodput.path, goodput.min, goodput.max) == ("flow.f.goodput", 10e6 / 8, None)
    assert (drops.path, drops.min, drops.max, drops.ok) == ("flow.f.drops", None, 1000, True)
    assert goodput.value == run.summary.flow["f"].goodput and goodput.ok


def test_a_run_opened_again_is_equal(run: suimon.Run) -> None:
    again = suimon.Run(str(run.folder))
    assert again.summary == run.summary and again.expectations == run.expectations
    assert (again.status, again.driver, again.command, again.scenario) == (
        (run.status, run.driver, run.command, run.scenario)
    )
    assert list(again.tables) == list(run.tables)
    assert again.report().html == run.report().html


def test_what_was_not_met_is_no_error(folder: Path, pair: Pair) -> None:
    run = pair(expect={"flow": {"f": {"goodput": {"min": "1 Gbit/s"}}}}).run()
    assert (run.status, run.complete, run.folder) == ("unmet", True, Path("runs/pair-1"))
    assert [expectation.ok for expectation in run.expectations] == [False]


def test_what_looks_wrong_is_a_warning_as_the_command_has_it(demo: Path, command: Command) -> None:
    warnings = suimon.Scenario.load(demo).check()
    assert warnings == json.loads(command("check", str(demo), "--json").stdout)["warnings"]
    assert "BDP" in warnings[0]


# Tables.


def test_every_table_is_there(run: suimon.Run) -> None:
    names = {path.stem for path in run.folder.glob("*.parquet")}
    assert set(run.tables) == names == {"flows", "queues", "classes", "delays", "links", "sequences"}
    for name, table in run.tables.items():
        assert table.path == run.folder / f"{name}.parquet"
        assert len(getattr(run, name)) == len(table) > 0
    assert "flows" in run.tables and "pauses" not in run.tables and "nothing" not in run.tables


def test_a_table_that_there_is_not_says_what_would_make_it(run: suimon.Run) -> None:
    for name, what in [("pauses", "[probe"), ("notifications", "[probe"), ("ranks", "an MPI job")]:
        with pytest.raises(suimon.UsageError, match=f"has no table {name}") as caught:
            getattr(run, name)
        assert f"add to the scenario: {what}" in caught.value.help
    with pytest.raises(KeyError, match="nothing"):
        run.tables["nothing"]


def test_tables_are_equal_however_they_are_read(run: suimon.Run) -> None:
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for samples in run.tables.values():
        rows = parquet.read_table(samples.path).to_pylist()
        assert len(rows) == len(samples)
        assert list(samples.columns) == list(rows[0])
        assert arrow.table(samples).to_pylist() == rows
        assert polars.DataFrame(samples).to_dicts() == rows
        assert duckdb.sql("select * from samples").fetchall() == [tuple(row.values()) for row in rows]
        frame = arrow.table(samples).to_pandas(integer_object_nulls=True)
        assert isinstance(frame, pandas.DataFrame)
        assert frame.to_dict("records") == rows
        # A second stream works.
        assert polars.DataFrame(samples).equals(polars.read_parquet(samples.path))
    schema = arrow.schema(run.flows)
    assert dict(zip(schema.names, map(str, schema.types), strict=True))["time_ns"] == "int64"


def test_a_table_is_a_sequence_of_rows(run: suimon.Run) -> None:
    pandas = pytest.importorskip("pandas")
    flows = run.flows
    rows = list(flows)
    assert len(rows) == len(flows) > 10
    assert (flows[0], flows[-1]) == (rows[0], rows[-1])
    for part in (slice(2, 8), slice(2, 9, 3), slice(None, None, -1), slice(5, 5)):
        assert flows[part] == rows[part]
    assert flows["cwnd_packets"] == [row["cwnd_packets"] for row in rows]
    with pytest.raises(IndexError):
        flows[len(flows)]
    with pytest.raises(suimon.UsageError, match="no column cwnd") as caught:
        flows["cwnd"]
    assert "cwnd_packets" in caught.value.help
    frame = flows.to_pandas()
    assert list(frame.columns) == list(flows.columns) and len(frame) == len(flows)
    pandas.testing.assert_frame_equal(pandas.DataFrame(flows), frame)


def test_what_intervals_measure_has_the_names_of_the_command(folder: Path, pair: Pair) -> None:
    counted = pair(probe=m.Probes(queues=m.Sampling(every=units.ms(1)))).set("flow.f.count", 2)
    swept = suimon.sweep(counted, {"link.wire.delay": [timedelta(milliseconds=1), "2 ms"]}, seeds=[1, 2])
    first = swept.points[0].run().summary
    assert first.group["f"].goodput == swept.points[0].measured("flow.f.goodput")
    for measure in ("flow.f.goodput", "goodput", "run.goodput", "link.wire.sojourn_p99", "link.wire.drops"):
        assert [interval.count for interval in swept.intervals(measure)] == [2, 2], measure
    with pytest.raises(suimon.UsageError, match=r"no run has `link\.wire\.sojurn_p99`") as caught:
        swept.intervals("link.wire.sojurn_p99")
    assert "did you mean `link.wire" in caught.value.help


def test_equal_seeds_have_no_interval_and_a_warning(folder: Path, pair: Pair) -> None:
    sure = suimon.sweep(pair(), seeds=[1, 2, 3])
    with pytest.warns(UserWarning, match="all seeds have the same `run.goodput`") as told:
        [interval] = sure.intervals()
    assert told[0].filename == __file__
    assert (interval.count, interval.low, interval.high) == (3, None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Mbit/s" in sure._repr_html_()
        lossy = suimon.sweep(pair(), {"link.wire.loss": ["1 %", "2 %"]}, seeds=range(1, 4), out="lossy")
        for interval in lossy.intervals():
            assert interval.low is not None and interval.high is not None and interval.low < interval.high
        # A single run of each setting has no seeds to compare.
        suimon.sweep(pair(), {"link.wire.delay": ["1 ms", "2 ms"]}, out="single").intervals()
    partly = suimon.sweep(pair(), {"link.wire.loss": ["0", "2 %"]}, seeds=range(1, 4), out="partly")
    with pytest.warns(UserWarning, match="1 of 2 settings have the same"):
        partly.intervals()


def test_settings_have_labels_that_are_no_toml(folder: Path, pair: Pair) -> None:
    queues = [m.Fifo(packets=20), m.FqCodel(target=units.ms(5))]
    swept = suimon.sweep(pair(), {"link.wire.queue": queues, "link.wire.loss": ["1 %"]}, seeds=[1, 2])
    labels = [interval.settings["link.wire.queue"] for interval in swept.intervals()]
    assert labels == ["fifo:packets=20", "fq_codel:target=5 ms"]
    assert swept.intervals()[0].label == "link.wire.loss=1 %, link.wire.queue=fifo:packets=20"
    assert swept.points[3].label == "link.wire.loss=1 %, link.wire.queue=fq_codel:target=5 ms, seed=2"
    assert swept.table["link.wire.queue"] == [label for label in labels for _ in (1, 2)]
    # As written, a value can be set again.
    pair().set("link.wire.queue", swept.points[3].parameters["link.wire.queue"]).check()


def test_a_sweep_can_keep_only_its_table(folder: Path, pair: Pair) -> None:
    grid = {"link.wire.delay": ["1 ms", "2 ms"], "link.wire.loss": ["1 %"]}
    whole = suimon.sweep(pair(), grid, seeds=[1, 2], out="whole")
    table = suimon.sweep(pair(), grid, seeds=[1, 2], out="table", keep="table")
    assert sorted(path.name for path in table.folder.iterdir()) == ["report.html", "sweep.json", "sweep.parquet"]
    assert list(table.table) == list(whole.table) and table.intervals() == whole.intervals()
    assert table.complete and len(table) == 4
    # The report of a run is written when asked for.
    point = whole.points[0].run()
    assert not (point.folder / "report.html").exists()
    assert "<svg" in point.report().html and (point.folder / "report.html").is_file()
    with pytest.raises(suimon.UsageError, match="kept only its table"):
        table.points[0].run()
    with pytest.raises(suimon.UsageError, match="kept only the table") as caught:
        suimon.compare(table)
    assert caught.value.help == "run the sweep again without keep="
    with pytest.raises(suimon.UsageError, match="`some`"):
        suimon.sweep(pair(), grid, out="some", keep="some")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_table_is_read_in_batches_that_are_asked_for(folder: Path, pair: Pair) -> None:
    arrow = pytest.importorskip("pyarrow")
    long = pair(duration="300 ms", link={"wire": m.Link(between=["a", "b"], rate=units.gbit(1))})
    run = long.set("probe", {"sequence": {"f": {"flow": "f", "at": "a:wire"}}, "flows": {"every": "2 us"}}).run()
    reader = arrow.RecordBatchReader.from_stream(run.flows)
    sizes = [batch.num_rows for batch in reader]
    assert len(sizes) > 1 and max(sizes) <= 1 << 16 and sum(sizes) == len(run.flows)


# Reports.


def test_a_notebook_shows_the_report(run: suimon.Run, folder: Path) -> None:
    report = run.report()
    page = (run.folder / "report.html").read_text("utf-8")
    assert report.html == page and report.path == run.folder / "report.html"
    frame = report._repr_html_()
    source = frame.split('srcdoc="')[1].split('"')[0]
    assert html.unescape(source) == page
    assert report.save("copy.html").read_text("utf-8") == page
    assert "Mbit/s" in run._repr_html_() and "f" in run._repr_html_()


# Progress, threads, and early ends.


def long(pair: Pair) -> suimon.Scenario:
    """Returns a scenario that takes several seconds of CPU time; tests end it early."""
    return pair(duration="100 s", link={"wire": m.Link(between=["a", "b"], rate=units.gbit(1), delay=units.ms(1))})


def test_progress_rises_to_one(folder: Path, pair: Pair) -> None:
    shares: list[float] = []
    long(pair).set("duration", "3 s").run(progress=shares.append)
    assert len(shares) > 1 and shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] == 1
    shares.clear()
    suimon.sweep(pair(), seeds=range(5), progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1


class Enough(Exception):
    pass


def test_an_exception_of_the_progress_ends_the_run(folder: Path, pair: Pair) -> None:
    def enough(share: float) -> None:
        raise Enough(share)

    with pytest.raises(Enough):
        long(pair).run(out="run", progress=enough)
    run = suimon.Run("run")
    assert (run.complete, run.status, run.expectations) == (False, "interrupted", ())
    assert 0 < run.summary.run.seconds < 100 and len(run.flows) > 0
    with pytest.raises(Enough):
        suimon.sweep(long(pair), seeds=[1, 2], out="grid", progress=enough)
    assert not suimon.Sweep("grid").complete


INTERRUPTED = """
import os, signal, sys, threading, time
import suimon

sent = 0.0

def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

scenario = suimon.Scenario.load("long.toml")
threading.Timer(0.5, interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic() - sent)
"""


@pytest.mark.parametrize("what", ["run", "sweep"])
def test_ctrl_c_ends_it_at_once_and_keeps_what_was_measured(folder: Path, pair: Pair, what: str) -> None:
    Path("long.toml").write_text(long(pair).text, encoding="utf-8")
    call = 'scenario.run(out="out")' if what == "run" else 'suimon.sweep(scenario, seeds=[1, 2], out="out")'
    took = []
    # The machine may be busy: the best of three counts.
    for _ in range(3):
        words = [sys.executable, "-c", INTERRUPTED.format(call=call)]
        ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert ended.returncode == 0, ended.stderr
        took.append(float(ended.stdout))
        if min(took) < 0.2:
            break
    assert min(took) < 0.2
    run = suimon.Run("out") if what == "run" else suimon.Sweep("out").points[0].run()
    assert (run.complete, run.status) == (False, "interrupted")
    assert 0 < run.summary.run.seconds < 100 and run.summary.flow["f"].bytes > 0
    assert len(run.flows) > 0 and "Incomplete: interrupted after" in run.report().html


def test_four_threads_run_four_scenarios_at_once(folder: Path, pair: Pair) -> None:
    everybody = threading.Barrier(4, timeout=60)
    first: dict[int, float] = {}
    failed: list[BaseException] = []

    def work(seed: int) -> None:
        def tell(share: float) -> None:
            if seed not in first:
                first[seed] = share
                # Passes when all four runs are in progress.
                everybody.wait()

        try:
            long(pair).set("duration", "20 s").set("link.wire.loss", "0.001 %").run(seed=seed, progress=tell)
        except BaseException as error:
            failed.append(error)
            everybody.abort()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(first) == [0, 1, 2, 3] and all(share < 1 for share in first.values())
    alone = long(pair).set("duration", "20 s").set("link.wire.loss", "0.001 %").run(seed=3, out="alone")
    assert alone.summary == suimon.Run("runs/pair-3").summary
    assert (alone.folder / "report.html").read_bytes() == Path("runs/pair-3/report.html").read_bytes()


# Other drivers, with the command.


def test_a_run_in_the_lab(folder: Path, pair: Pair, command: Command, lacks: Lacks) -> None:
    lab = json.loads(command("doctor", "--json").stdout)["topics"]["lab"]
    for check in lab:
        if check["state"] != "ok":
            lacks(f"{check['what']}: {check['why']}")
    run = pair().run(on="lab")
    assert (run.driver, run.complete, run.folder) == ("lab", True, Path("runs/pair-1-lab"))
    assert run.summary.flow["f"].bytes > 0 and len(run.flows) > 0
    comparison = suimon.compare(pair().run(), run, all=True)
    assert "flow.f.goodput" in str(comparison) and comparison.report().html.startswith("<!doctype html>")
    assert comparison.data["quantities"]


def test_a_run_by_a_kernel(folder: Path, pair: Pair, command: Command, lacks: Lacks) -> None:
    if command("linux", "status").returncode != 0:
        lacks("no guest kernel is built: suimon linux build")
    run = pair().run(on="linux-6.12", out="kernel")
    assert (run.driver, run.status, run.folder) == ("kernel", "met", Path("kernel"))
    assert run.summary.flow["f"].bytes > 0
    with pytest.raises(suimon.ScenarioError, match="has no key `dealy`"):
        pair().set("link.wire.dealy", "1 ms").run(on="linux-6.12")
