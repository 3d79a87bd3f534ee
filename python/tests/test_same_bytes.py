"""Runs and sweeps from Python and from the command write the same bytes."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import suimon
from suimon import model as m
from suimon import units

Command = Callable[..., "CompletedProcess[str]"]

CONGESTION = [
    *("newreno", "cubic", "cubic-rfc9438", "bic", "dctcp", "highspeed", "illinois"),
    *("scalable", "scalable50", "sluice", "vegas", "bbr", "bbr3"),
]
# The fields of a manifest that differ between processes or over time.
OF_ONE_PROCESS = {"arguments", "engine", "environment"}


def contents(folder: Path) -> dict[str, bytes]:
    """Returns every file in a folder except the manifests."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "manifest.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def manifest(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return {key: value for key, value in read.items() if key not in OF_ONE_PROCESS}


def assert_same(one: Path, other: Path) -> None:
    left, right = contents(one), contents(other)
    assert left.keys() == right.keys()
    assert [name for name in left if left[name] != right[name]] == []
    if (one / "manifest.json").exists():
        assert manifest(one) == manifest(other)


class Drawn:
    """Random scenarios: small networks with mostly default settings."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def rate(self, least: float, most: float) -> units.Rate:
        return units.mbit(round(least * (most / least) ** self.draw.random(), 3))

    def maybe(self, share: float, value: Callable[[], Any]) -> Any:
        return value() if self.draw.random() < share else None

    def queue(self, line: float) -> m.Queue:
        packets = self.draw.randrange(2, 200)
        kinds: list[Callable[[], m.Queue]] = [
            lambda: m.Fifo(packets=packets),
            lambda: m.Fifo(bytes=units.kb(1.6 * packets)),
            lambda: m.Psp(rate=self.rate(line / 4, line)),
            lambda: m.FqCodel(),
            lambda: m.Codel(),
            lambda: m.Pie(),
            lambda: m.Red(),
            lambda: m.Blue(),
            lambda: m.Fairq(class_={"all": m.FairqClass()}),
            lambda: m.Drr(class_={"all": m.DrrClass()}),
            lambda: m.Wfq(),
            lambda: m.Mark(threshold=units.kb(1.6 * packets)),
            lambda: m.Tbr(rate=self.rate(line / 4, line), bucket=units.kb(20)),
        ]
        return self.draw.choice(kinds)()

    def link(self, *between: str) -> m.Link:
        line = round(10 ** self.draw.uniform(0, 3), 2)

        def queue() -> m.Queue:
            return self.queue(line)

        def at() -> dict[str, m.LinkEnd]:
            return {self.draw.choice(between): m.LinkEnd(queue=queue())}

        return m.Link(
            between=list(between),
            rate=units.mbit(line),
            delay=self.maybe(0.8, lambda: units.us(self.draw.randrange(1, 10_000))),
            loss=self.maybe(0.3, lambda: units.percent(round(self.draw.uniform(0, 2), 3))),
            queue=self.maybe(0.4, queue),
            at=self.maybe(0.3, at),
        )

    def network(self) -> dict[str, Any]:
        """Draws one host; two, connected by a link or through a router; or up to three that send to one."""
        senders = self.draw.choice([0, 1, 1, 1, 2, 3])
        if senders == 0:
            return {"host": {"a": m.Host()}, "router": {"r": m.Router()}, "link": {"wire": self.link("a", "r")}}
        sending = m.Host(count=senders) if senders > 1 else m.Host()
        hosts = {"a": sending, "b": m.Host()}
        if self.draw.random() < 0.4:
            return {"host": hosts, "link": {"wire": self.link("a", "b")}}
        links = {"in": self.link("a", "r"), "out": self.link("r", "b")}
        return {"host": hosts, "router": {"r": m.Router()}, "link": links}

    def flow(self) -> m.Flow:
        from_, to = self.draw.choice([("a", "b"), ("b", "a")])
        flow = m.Flow(from_=from_, to=to, start=self.maybe(0.3, lambda: "0 ms..5 ms"))
        match self.draw.randrange(6):
            case 0:
                flow.datagrams = m.Datagrams(rate=self.rate(0.1, 50), spacing=self.draw.choice(["even", "poisson"]))
            case 1:
                flow.ping = m.Ping(every=units.ms(self.draw.randrange(1, 10)))
            case 2:
                flow.exchange = m.Exchange(request="200 B", response="exponential 20 kB")
                flow.congestion = self.draw.choice(CONGESTION)
            case 3:
                flow.bytes = units.kb(self.draw.randrange(1, 500))
                flow.congestion = self.draw.choice(CONGESTION)
            case _:
                flow.congestion = self.maybe(0.8, lambda: self.draw.choice(CONGESTION))
        return flow

    def probes(self, tables: Mapping[str, Any]) -> m.Probes:
        name, link = self.draw.choice(list(tables["link"].items()))
        host = link.between[0] if "a" in link.between else "b"
        port = f"{host}.1:{name}" if host == "a" and tables["host"]["a"].count else f"{host}:{name}"
        every = units.ms(self.draw.randrange(1, 20))
        return m.Probes(
            flows=self.maybe(0.5, lambda: m.Sampling(every=every)),
            queues=self.maybe(0.5, lambda: m.Sampling(every=every)),
            bandwidth=self.maybe(0.5, lambda: {"p": m.Bandwidth(at=port, bin=every)}),
            capture=self.maybe(0.2, lambda: {"p": m.Capture(at=port)}),
            automatic=self.maybe(0.3, lambda: self.draw.random() < 0.5),
        )

    def scenario(self) -> m.Scenario:
        tables = self.network()
        count = 0 if len(tables["host"]) < 2 else self.draw.randrange(1, 4)
        flows = {f"flow-{number}": self.flow() for number in range(count)}
        return m.Scenario(
            **tables,
            flow=flows or None,
            duration=units.ms(self.draw.randrange(20, 201)),
            seed=self.maybe(0.3, lambda: self.draw.randrange(1000)),
            title=self.maybe(0.3, lambda: "drawn, “quoted”, and Ü"),
            probe=self.probes(tables),
            expect=self.maybe(0.2, lambda: {"run": {"drops": {"max": 3}}}),
        )


@pytest.mark.parametrize("part", range(4))
def test_a_run_has_the_bytes_of_the_commands(folder: Path, command: Command, part: int) -> None:
    carried = 0
    for number in range(50 * part, 50 * part + 50):
        draw = random.Random(number)
        drawn = suimon.Scenario.from_dict(Drawn(draw).scenario())
        file = Path(f"drawn-{number}.toml")
        file.write_text(drawn.text, encoding="utf-8")
        scenario = suimon.Scenario.load(file)
        words = ["run", str(file), "--quiet", "--out", f"{number}-command"]
        seed = draw.choice([None, None, 0, 7, 2**64 - 1])
        if seed is not None:
            words += ["--seed", str(seed)]
        if draw.random() < 0.3:
            scenario.set("duration", units.ms(20)).set("units", m.Units(rate="MB/s"))
            words += ["--set", "duration=20 ms", "--set", 'units={ "rate" = "MB/s" }']
        run = scenario.run(seed=seed, out=f"{number}-python", progress=False)
        ended = command(*words)
        assert ended.returncode == (0 if run.status == "met" else 1), drawn.text + ended.stderr
        assert_same(Path(f"{number}-command"), run.folder)
        carried += run.summary.run.bytes > 0
    # Some networks have a single host, and some flows start late on a slow path.
    assert carried > 25


GRID = {"link.wire.delay": ["1 ms", "5 ms"], "link.wire.queue.fifo.packets": "10..40/2"}
SWEEP = ["--vary", "link.wire.delay=1 ms,5 ms", "--vary", "link.wire.queue.fifo.packets=10..40/2", "--seeds", "3..5"]


@pytest.fixture
def lossy(folder: Path, pair: Callable[..., suimon.Scenario]) -> suimon.Scenario:
    """A scenario with random parts, in a file."""
    scenario = pair().set("link.wire.loss", "0.5 %")
    scenario.file.write_text(scenario.lock(), encoding="utf-8")
    return suimon.Scenario.load(scenario.file)


def points(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())


def times(folder: Path) -> dict[str, int]:
    """Returns the time at which the manifest of each point was written."""
    return {path.name: (path / "manifest.json").stat().st_mtime_ns for path in points(folder)}


def test_a_sweep_has_the_bytes_of_the_commands(command: Command, lossy: suimon.Scenario) -> None:
    measures: Sequence[str] = ("run.goodput", "flow.f.retransmissions")
    grid = suimon.sweep(lossy, GRID, range(3, 6), out="python", measures=measures)
    shown = [word for measure in measures for word in ("--measure", measure)]
    ended = command("sweep", str(lossy.file), *SWEEP, *shown, "--quiet", "--out", "command")
    assert ended.returncode == 0, ended.stderr
    assert_same(Path("command"), grid.folder)
    assert len(points(grid.folder)) == len(grid) == 12
    for one, other in zip(points(Path("command")), points(grid.folder), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("first", ["python", "command"])
def test_a_sweep_begun_by_one_is_finished_by_the_other(command: Command, lossy: suimon.Scenario, first: str) -> None:
    def by_python() -> None:
        assert suimon.sweep(lossy, GRID, range(3, 6), out="grid").complete

    def by_command() -> None:
        ended = command("sweep", str(lossy.file), *SWEEP, "--quiet", "--out", "grid")
        assert ended.returncode == 0, ended.stderr

    begin, finish = (by_python, by_command) if first == "python" else (by_command, by_python)
    grid = Path("grid")
    begin()
    whole, began = contents(grid), times(grid)
    lost = points(grid)[4]
    shutil.rmtree(lost)
    assert missing(lossy) == [4]
    finish()
    assert contents(grid) == whole
    assert [name for name, time in times(grid).items() if time != began[name]] == [lost.name]


def missing(scenario: suimon.Scenario) -> list[int]:
    """Returns the points of the grid that are missing in the folder."""
    axes = [word for word in SWEEP if "=" in word]
    return scenario.experiment(vary=axes, seeds="3..5").open_sweep("grid").missing
