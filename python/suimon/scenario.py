"""Scenarios: networks, flows and expectations to run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from suimon import _program, _suimon, model
from suimon._progress import Progress, shown
from suimon._table import plain
from suimon.errors import MachineError, UsageError, from_library
from suimon.run import Run

__all__ = ["On", "Scenario"]

On = Literal["simulator", "lab", "linux-6.12"]
"""The driver: the simulator; the lab, with real packets and this machine's TCP in real time (needs root or user
namespaces); or a real kernel at every host in virtual time (build it once with ``suimon linux build``)."""


class Scenario:
    """Hosts, links, queues, flows, probes and expectations, as in a scenario file.

    >>> scenario = Scenario.load("wan.toml")
    >>> run = scenario.set("link.wan.delay", "20 ms").run(seed=2)
    >>> run.summary.flow["bulk"].goodput * 8 / 1e6  # Mbit/s
    """

    def __init__(self, text: str, *, file: str | os.PathLike[str] = "scenario.toml") -> None:
        """Makes the scenario with this text. ``file`` is its name: the stem names the run, files named in the scenario
        are relative to its folder, and messages contain it.
        """
        self.file = Path(file)
        self.text = text
        self._set: list[str] = []

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Returns the scenario in a TOML file, which is read now.

        Raises:
            suimon.UsageError: The file cannot be read.
            suimon.ScenarioError: The file is not a valid scenario.
        """
        return cls(_suimon.Experiment(os.fspath(path)).text(), file=path)

    @classmethod
    def parse(cls, text: str, *, file: str | os.PathLike[str] = "scenario.toml") -> Scenario:
        """Returns the scenario with this TOML text. ``check()`` and ``run()`` report its errors."""
        return cls(text, file=file)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any] | model.Scenario, *, file: str | os.PathLike[str] = "scenario.toml"
    ) -> Scenario:
        """Returns the scenario of a dict with the structure of a scenario file, or of a ``suimon.model.Scenario``.

        Raises:
            TypeError: A value is not a TOML type. The message has its path.
        """
        if not isinstance(data, Mapping | model.Scenario):
            raise TypeError(f"the scenario is a {type(data).__name__}: give a dict, or a suimon.model.Scenario")
        return cls(_suimon.to_toml(plain(data)), file=file)

    @property
    def changes(self) -> tuple[str, ...]:
        """The changes made by ``set``, each ``PATH=VALUE``."""
        return tuple(self._set)

    def set(self, path: str, value: object) -> Scenario:
        """Sets a value as if it were in the file: ``scenario.set("link.wan.delay", "20 ms")``; returns the scenario.

        Args:
            path: Keys separated by dots: ``emulator.wan.buffer``.
            value: A quantity as text, a number, a ``timedelta``, a bool, a list, a dict, or a dataclass of
                ``suimon.model``; None removes the key of the file.
        """
        self._set.append(f"{path}={varied(value, path)}")
        return self

    def copy(self) -> Scenario:
        """Returns an independent copy."""
        copied = Scenario(self.text, file=self.file)
        copied._set = list(self._set)
        return copied

    def check(self) -> list[str]:
        """Returns warnings about its physics, such as a window below the bandwidth-delay product or a queue above a
        link's rate; empty if there are none.

        Raises:
            suimon.ScenarioError: The errors of the scenario, each with file, line, column and help.
        """
        return self.experiment().check()

    def lock(self) -> str:
        """Returns the scenario with every default written out, as TOML."""
        return self.experiment().lock()

    def run(
        self,
        *,
        seed: int | None = None,
        on: On = "simulator",
        out: str | os.PathLike[str] | None = None,
        progress: Progress = None,
    ) -> Run:
        """Runs the scenario once. Other Python threads continue; Ctrl-C ends the run early and keeps what was measured.

        Args:
            seed: The seed of everything random, instead of the file's.
            on: The driver.
            out: The folder of its files; default: ``runs/NAME-SEED``. Files of an earlier run there are replaced.
            progress: See ``suimon.Progress``.

        Raises:
            suimon.ScenarioError: The scenario has errors, or is a grid, which ``suimon.sweep`` runs.
            suimon.MachineError: This machine lacks what the driver needs, or its disk is full. Results are kept.
            KeyboardInterrupt: After Ctrl-C.
        """
        if on not in get_args(On):
            raise UsageError(f"unknown driver {on!r}", f"give on={', '.join(map(repr, get_args(On)))}")
        if on != "simulator":
            return Run(_program.run(self, seed=seed, on=on, out=out, progress=progress))
        with shown(progress, self.file.stem) as tell:
            ended = self.experiment(seed=seed).run(None if out is None else os.fspath(out), tell)
        if ended.failure is not None:
            raise from_library(MachineError, ended.failure)
        return Run._ended(ended)

    def experiment(
        self, *, seed: int | None = None, vary: Sequence[str] = (), seeds: str | None = None
    ) -> _suimon.Experiment:
        """Returns the scenario as the library's type."""
        try:
            return _suimon.Experiment(os.fspath(self.file), self.text, self._set, vary, seed, seeds)
        except OverflowError as error:
            raise UsageError(f"invalid seed {seed}", "give a whole number from 0 to 2**64 - 1") from error

    def __repr__(self) -> str:
        return f"<scenario {self.file}{''.join(f', {change}' for change in self._set)}>"


def varied(value: object, path: str) -> str:
    """A value for ``path`` as ``--set`` and ``--vary`` take it; None takes away what the file says."""
    return "none" if value is None else written(value, path)


def written(value: object, path: str) -> str:
    """Returns a value for ``path`` in the form of ``--set``: a str unchanged, anything else as TOML."""
    return value if isinstance(value, str) else _inline(plain(value, path))


def _inline(value: object) -> str:
    """Returns a value in one line, as TOML after ``=``."""
    if isinstance(value, Mapping):
        pairs = (f"{_suimon.to_toml(key)} = {_inline(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    return _suimon.to_toml(value)
