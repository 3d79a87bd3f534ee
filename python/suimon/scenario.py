"""Scenarios: what is to be run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from suimon import _program, _suimon, model
from suimon._progress import Progress, shown
from suimon._table import plain
from suimon.errors import MachineError, UsageError
from suimon.run import Run

__all__ = ["On", "Scenario"]

On = Literal["simulator", "lab", "linux-6.12"]
"""Who moves the packets: the simulator; the lab, with real packets and this machine's TCP in real time (it takes
root's rights or user namespaces); or a real kernel at every host on the simulator's clock (``suimon linux build`` makes
it once)."""


class Scenario:
    """Hosts, links, queues, flows, probes and expectations, as a scenario file has them.

    >>> scenario = Scenario.load("wan.toml")
    >>> run = scenario.set("link.wan.delay", "20 ms").run(seed=2)
    >>> run.summary.flow["bulk"].goodput * 8 / 1e6  # Mbit/s
    """

    def __init__(self, text: str, *, file: str | os.PathLike[str] = "scenario.toml") -> None:
        """The scenario with this text; ``file`` names it: its stem is the run's name, files that it names are looked
        for in its folder, and messages have it.
        """
        self.file = Path(file)
        self.text = text
        self._set: list[str] = []

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """The scenario in a file, TOML. It is read now.

        Raises:
            suimon.UsageError: A file that cannot be read.
            suimon.ScenarioError: One that is no scenario.
        """
        return cls(_suimon.Experiment(os.fspath(path)).text(), file=path)

    @classmethod
    def parse(cls, text: str, *, file: str | os.PathLike[str] = "scenario.toml") -> Scenario:
        """The scenario with this text, TOML. What is wrong with it, ``check()`` and ``run()`` say."""
        return cls(text, file=file)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any] | model.Scenario, *, file: str | os.PathLike[str] = "scenario.toml"
    ) -> Scenario:
        """The scenario of a dict of the form of its file, or of the typed builder, ``suimon.model.Scenario``.

        Raises:
            TypeError: A value is none of TOML's. The message has its path.
        """
        if not isinstance(data, Mapping | model.Scenario):
            raise TypeError(f"the scenario is a {type(data).__name__}: give a dict, or a suimon.model.Scenario")
        return cls(_suimon.to_toml(plain(data)), file=file)

    @property
    def changes(self) -> tuple[str, ...]:
        """What was set, each ``PATH=VALUE``."""
        return tuple(self._set)

    def set(self, path: str, value: object) -> Scenario:
        """Sets a value as if the file said so: ``scenario.set("link.wan.delay", "20 ms")``; returns the scenario.

        Args:
            path: Keys with dots between: ``emulator.wan.buffer``.
            value: A quantity as people write it, a number, a bool, a list, a dict, or a dataclass of ``suimon.model``;
                None takes away what the file says there.
        """
        self._set.append(f"{path}={'none' if value is None else written(value, path)}")
        return self

    def copy(self) -> Scenario:
        """A scenario of its own, equal until one of both is changed."""
        copied = Scenario(self.text, file=self.file)
        copied._set = list(self._set)
        return copied

    def check(self) -> list[str]:
        """What looks wrong with its physics, in words: a window below the bandwidth-delay product, a queue above a
        link's rate. Empty where nothing does.

        Raises:
            suimon.ScenarioError: What is wrong, each with file, line, column and help.
        """
        return self.experiment().check()

    def lock(self) -> str:
        """The scenario with every default written out, TOML."""
        return self.experiment().lock()

    def run(
        self,
        *,
        seed: int | None = None,
        on: On = "simulator",
        out: str | os.PathLike[str] | None = None,
        progress: Progress = None,
    ) -> Run:
        """Runs it once. Other threads of Python go on meanwhile; Ctrl-C ends it early and keeps what was measured.

        Args:
            seed: The seed of everything random, in place of the file's.
            on: Who moves the packets.
            out: The folder of its files; ``runs/NAME-SEED`` unless given. An earlier run's files there are replaced.
            progress: See ``suimon.Progress``.

        Raises:
            suimon.ScenarioError: The scenario is wrong, or is a grid, which ``suimon.sweep`` runs.
            suimon.MachineError: This machine lacks what the driver needs; a full disk. What was measured is kept.
            KeyboardInterrupt: After Ctrl-C.
        """
        if on not in get_args(On):
            raise UsageError(f"there is no driver {on!r}", f"give on={', '.join(map(repr, get_args(On)))}")
        if on != "simulator":
            return Run(_program.run(self, seed=seed, on=on, out=out, progress=progress))
        with shown(progress, self.file.stem) as tell:
            ended = self.experiment(seed=seed).run(None if out is None else os.fspath(out), tell)
        if ended.failure is not None:
            raise MachineError(ended.failure)
        return Run._ended(ended)

    def experiment(
        self, *, seed: int | None = None, vary: Sequence[str] = (), seeds: str | None = None
    ) -> _suimon.Experiment:
        """The library's own form of it."""
        try:
            return _suimon.Experiment(os.fspath(self.file), self.text, self._set, vary, seed, seeds)
        except OverflowError as error:
            raise UsageError(f"{seed} is no seed", "give a whole number from 0 to 2**64 - 1") from error

    def __repr__(self) -> str:
        return f"<scenario {self.file}{''.join(f', {change}' for change in self._set)}>"


def written(value: object, path: str) -> str:
    """A value for ``path`` as ``--set`` takes it: a str as people type it, anything else as TOML."""
    return value if isinstance(value, str) else _inline(plain(value, path))


def _inline(value: object) -> str:
    """A value as TOML has it behind ``=``, in one line."""
    if isinstance(value, Mapping):
        pairs = (f"{_suimon.to_toml(key)} = {_inline(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    return _suimon.to_toml(value)
