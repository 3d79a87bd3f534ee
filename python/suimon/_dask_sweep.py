"""``suimon sweep --on dask``: the process that runs a grid's points with Dask. It reads the request from stdin and
writes an error to stdout, both as JSON. Its exit codes are those of the program.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from suimon import _suimon, errors
from suimon._program import INTERRUPTED, LACKING, USAGE
from suimon.errors import MachineError, SuimonError


def main() -> int:
    """Runs the points."""
    errors.keep_options()
    try:
        _run(json.load(sys.stdin))
    except KeyboardInterrupt:
        return INTERRUPTED
    except SuimonError as error:
        json.dump({"message": error.message, "help": error.help}, sys.stdout)
        return LACKING if isinstance(error, MachineError) else USAGE
    except Exception as error:
        json.dump({"message": f"{type(error).__name__}: {error}", "help": ""}, sys.stdout)
        return LACKING
    return 0


def _run(asked: dict[str, Any]) -> None:
    if asked["build"] != _suimon.BUILD:
        help = "install the wheel that contains this program, or set SUIMON_PYTHON to the Python that has it"
        raise MachineError(f"the Python package is build {_suimon.BUILD}, this program is {asked['build']}", help)
    try:
        import distributed

        from suimon import dask
    except ImportError as error:
        raise MachineError(f"Dask is missing: {error}", "install it: pip install distributed") from error
    experiment = _suimon.Experiment(
        asked["file"], asked["text"], asked["set"], asked["vary"], asked["seed"], asked["seeds"]
    )
    try:
        connect: Any = distributed.Client
        client = connect(asked["scheduler"], timeout="10s")
    except (OSError, ValueError) as error:
        message = f"no scheduler answers at {asked['scheduler']}: {error}"
        raise MachineError(message, "start one: dask scheduler") from error
    with client:
        sweep = experiment.open_sweep(asked["folder"], asked["measures"], asked["fresh"], asked["keep"])
        progress = False if asked["quiet"] else None
        dask.run_points(client, experiment, sweep, keep=asked["keep"], store=asked["store"], progress=progress)


if __name__ == "__main__":
    sys.exit(main())
