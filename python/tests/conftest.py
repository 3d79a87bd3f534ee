"""Fixtures of the tests. They test the installed package, not the source folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "python"
# `python -m pytest` puts its working directory first in sys.path.
sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != SOURCE]

import suimon  # noqa: E402
from suimon import _program, model, units  # noqa: E402

if Path(suimon.__file__).is_relative_to(SOURCE):
    raise pytest.UsageError(f"{suimon.__file__} is not installed: install the wheel that python/build-wheel makes")


# Processes that a shell runs in the background, and their children, ignore Ctrl-C: Python then raises nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the working directory. Plots are drawn without a display."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path


@pytest.fixture
def demo(folder: Path) -> Path:
    """``scenarios/demo.toml`` in the current folder."""
    return Path(shutil.copy(REPOSITORY / "scenarios/demo.toml", folder))


Pair = Callable[..., suimon.Scenario]


@pytest.fixture(scope="session")
def pair() -> Pair:
    """Makes a scenario of one flow ``f`` over one link ``wire`` from host ``a`` to host ``b``."""

    def make(**also: Any) -> suimon.Scenario:
        tables: dict[str, Any] = {
            "duration": units.ms(50),
            "host": {"a": model.Host(), "b": model.Host()},
            "link": {"wire": model.Link(between=["a", "b"], rate=units.mbit(100), delay=units.ms(1))},
            "flow": {"f": model.Flow(from_="a", to="b")},
        }
        return suimon.Scenario.from_dict(model.Scenario(**{**tables, **also}), file="pair.toml")

    return make


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def command() -> Command:
    """Runs the command suimon of the same build."""
    program = _program.path()

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=120)

    return run


@pytest.fixture(scope="session")
def checked(command: Command) -> Callable[..., list[suimon.Diagnostic]]:
    """Returns the errors of ``suimon check``."""

    def check(*words: str) -> list[suimon.Diagnostic]:
        answer = json.loads(command("check", *words, "--json").stdout)
        return [suimon.Diagnostic(**error) for error in answer["errors"]]

    return check


@pytest.fixture(scope="session")
def lacks() -> Callable[[str], NoReturn]:
    """Skips a test because this machine lacks something; with SUIMON_TESTS=all, the test fails."""

    def skip(what: str) -> NoReturn:
        if os.environ.get("SUIMON_TESTS") == "all":
            pytest.fail(what)
        pytest.skip(what)

    return skip


@pytest.fixture(scope="session")
def typed() -> Callable[[Path], None]:
    """Checks a file's types with mypy and pyright, if they are installed."""

    def check(path: Path) -> None:
        programs = [
            ("mypy", ["--strict", "--ignore-missing-imports", "--cache-dir", str(SOURCE / ".mypy_cache")]),
            ("pyright", ["--pythonpath", sys.executable]),
        ]
        for name, words in programs:
            program = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
            if program is not None:
                line = [program, *words, path.name]
                found = subprocess.run(line, cwd=path.parent, capture_output=True, text=True, check=False, timeout=300)
                assert found.returncode == 0, found.stdout + found.stderr

    return check


Block = tuple[int, str, str | None]


@pytest.fixture(scope="session")
def blocks() -> Callable[[Path], list[Block]]:
    """The executable Python blocks of a page: first line, code, and expected output, from a block ``text`` after it.
    Blocks after ``<!-- not run: reason -->`` are left out.
    """
    fenced = re.compile(r"(?:^<!-- not run: (?P<reason>.+) -->\n)?^```(?P<kind>\w*).*\n(?P<body>(?:.*\n)*?)^```$", re.M)

    def read(page: Path) -> list[Block]:
        text = page.read_text("utf-8")
        found: list[Block] = []
        for block in fenced.finditer(text):
            match block["kind"]:
                case "python" if block["reason"] is None:
                    found.append((text.count("\n", 0, block.start("body")), block["body"], None))
                case "text":
                    line, code, _ = found.pop()
                    found.append((line, code, block["body"]))
        return found

    return read


@pytest.fixture(scope="session")
def execute(blocks: Callable[[Path], list[Block]]) -> Callable[[Path], str]:
    """Runs a page's blocks in order in one namespace, compares the output of each with the page, where … matches any
    text, and returns their code.
    """

    def run(page: Path) -> str:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for line, code, expected in blocks(page):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                # Errors refer to the page's lines.
                exec(compile("\n" * line + code, str(page), "exec"), namespace)
            if expected is not None:
                pattern = ".*".join(map(re.escape, expected.split("…")))
                assert re.fullmatch(pattern, printed.getvalue(), re.S), f"{page}:{line}\n{printed.getvalue()}"
        return "\n".join(code for _, code, _ in blocks(page))

    return run
