"""Types of the compiled library, for the modules of this package."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

VERSION: str
BUILD: str

_Progress = Callable[[float], object]

@final
class Experiment:
    def __new__(
        cls,
        file: str,
        text: str | None = None,
        set: Sequence[str] = (),
        vary: Sequence[str] = (),
        seed: int | None = None,
        seeds: str | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Experiment: ...
    def __reduce__(self) -> tuple[type[Experiment], tuple[Any, ...]]: ...
    def text(self) -> str: ...
    def check(self) -> list[str]: ...
    def lock(self) -> str: ...
    def points(self) -> list[tuple[str, list[tuple[str, str]]]]: ...
    def run(self, out: str | None = None, progress: _Progress | None = None) -> Ended: ...
    def run_points(
        self, folder: str, indices: Sequence[int], progress: _Progress | None = None, keep: str = "all"
    ) -> list[Ended]: ...
    def open_sweep(
        self, out: str | None = None, measures: Sequence[str] | None = None, fresh: bool = False, keep: str = "all"
    ) -> OpenSweep: ...
    def run_folder(self, on: str) -> str: ...
    def loaded(self) -> Experiment: ...

@final
class Ended:
    folder: str
    complete: bool
    driver: str
    summary: str
    expectations: list[tuple[str, float | None, float | None, float, bool]]
    failure: str | None

@final
class OpenSweep:
    folder: str
    missing: list[int]
    def execute(self, workers: int | None = None, progress: _Progress | None = None) -> SweepEnded: ...
    def begin(self) -> None: ...
    def finish(self) -> SweepEnded: ...

@final
class SweepEnded:
    folder: str
    complete: int
    failure: str | None

@final
class Stored:
    def __new__(cls, folder: str) -> Stored: ...
    complete: bool
    driver: str
    version: str
    build: str
    command: list[str]
    scenario: str
    summary: str
    expectations: list[tuple[str, float | None, float | None, float, bool]]

@final
class Table:
    def __new__(cls, path: str) -> Table: ...
    @property
    def path(self) -> str: ...
    @property
    def columns(self) -> list[tuple[str, str]]: ...
    def __len__(self) -> int: ...
    def read(self, start: int, stop: int) -> list[list[Any]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Comparison:
    ok: bool
    json: str
    html: str
    notes: list[str]
    head: list[str]
    rows: list[list[str]]

def compare(folders: Sequence[str], all: bool, pairs: Sequence[tuple[str, str]]) -> Comparison: ...
def measured(summary: str, path: str) -> float | None: ...
def nearest(summary: str, path: str) -> str: ...
def value_label(value: str) -> str: ...
def mean_interval(values: Sequence[float]) -> tuple[float, tuple[float, float] | None]: ...
def pack(folder: str, names: Sequence[str]) -> bytes: ...
def unpack(packed: bytes, folder: str) -> list[str]: ...
def to_toml(value: object) -> str: ...
