"""The program suimon, included in the wheel, for runs that need a separate process: the lab enters namespaces, and
guest kernels run programs, which a module of an interpreter cannot do.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suimon._progress import Progress
from suimon.errors import MachineError, ScenarioError, UsageError, from_library

if TYPE_CHECKING:
    from suimon.scenario import Scenario

# Exit codes of the program: see `suimon --help`.
USAGE, LACKING, INTERRUPTED = 2, 3, 130


def path() -> str:
    """Returns the path of the program: ``SUIMON_PROGRAM``, next to this package, or on ``PATH``."""
    named = os.environ.get("SUIMON_PROGRAM")
    if named:
        return named
    try:
        files = metadata.files("suimon") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "suimon" and file.parent.name == "bin":
            return str(Path(str(file.locate())).resolve())
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    found = shutil.which("suimon", path=os.pathsep.join(places))
    if found is None:
        raise MachineError("the program suimon is missing", "install the wheel again, or set SUIMON_PROGRAM")
    return found


def run(
    scenario: Scenario,
    *,
    seed: int | None,
    on: str,
    out: str | os.PathLike[str] | None,
    progress: Progress,
) -> str:
    """Runs a scenario once with the program; returns the run folder."""
    if out is None:
        out = scenario.experiment(seed=seed).run_folder(on)
    if scenario.file.is_file() and scenario.file.read_text(encoding="utf-8") == scenario.text:
        return _run_file(scenario.file, scenario.changes, seed, on, out, progress)
    # Write a scenario that is not in a file to a temporary one, with the files that it names.
    *_, files = scenario.experiment().__reduce__()[1]
    with tempfile.TemporaryDirectory(prefix="suimon-") as folder:
        file = Path(folder, scenario.file.name)
        file.write_text(scenario.text, encoding="utf-8")
        for name, content in files.items():
            file.with_name(name).parent.mkdir(parents=True, exist_ok=True)
            file.with_name(name).write_bytes(content)
        return _run_file(file, scenario.changes, seed, on, out, progress)


def _run_file(
    file: Path,
    changes: Sequence[str],
    seed: int | None,
    on: str,
    out: str | os.PathLike[str],
    progress: Progress,
) -> str:
    words = ["run", str(file), "--on", on, "--out", os.fspath(out)]
    for change in changes:
        words += ["--set", change]
    if seed is not None:
        words += ["--seed", str(seed)]
    result = call(words, progress)
    if "failure" in result:
        raise from_library(MachineError, str(result["failure"]))
    return str(result["folder"])


def call(words: list[str], progress: Progress = None) -> dict[str, Any]:
    """Runs the program and returns its JSON output. Ctrl-C is passed on to it; what it measured until then is kept.

    Raises:
        suimon.SuimonError: An error of the program.
        KeyboardInterrupt: After Ctrl-C.
    """
    quiet = [] if progress in (None, True) and sys.stderr.isatty() else ["--quiet"]
    process = subprocess.Popen(
        [path(), *words, "--json", *quiet],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if not quiet else subprocess.PIPE,
        text=True,
        # Only this process passes a terminal's Ctrl-C on: a second one would end the program at once.
        start_new_session=True,
    )
    try:
        printed, told = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    try:
        result = json.loads(printed)
    except ValueError:
        result = None
    if isinstance(result, dict) and result.get("ok") is False and "errors" in result:
        raise refusal(result["errors"], process.returncode)
    if not isinstance(result, dict):
        text = (told or printed).strip().removeprefix("error: ") or f"suimon ended with {process.returncode}"
        raise _from_program(text, process.returncode)
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    return result


def refusal(errors: list[dict[str, Any]], code: int) -> ScenarioError | UsageError | MachineError:
    """Returns the exception for errors of the program."""
    if all("line" in error for error in errors):
        return ScenarioError.of((e["file"], "", e["line"], e["column"], e["message"], e["help"]) for e in errors)
    message, help = errors[0]["message"], errors[0].get("help", "")
    return _from_program(f"{message}\n  help: {help}", LACKING if code == LACKING else USAGE)


def _from_program(text: str, code: int) -> UsageError | MachineError:
    if code == USAGE:
        return from_library(UsageError, text)
    return from_library(MachineError, text)
