"""A run, a sweep and an error with the wheel only, for every Python version. Run as a program."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

import suimon
from suimon import model as m


def main() -> None:
    """Raises if something is wrong."""
    scenario = suimon.Scenario.from_dict(
        m.Scenario(
            duration=suimon.ms(50),
            host={"a": m.Host(), "b": m.Host()},
            link={"wire": m.Link(between=["a", "b"], rate=suimon.mbit(100), delay="1 ms")},
            flow={"bulk": m.Flow(from_="a", to="b")},
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        run = scenario.run(out=Path(folder) / "run")
        assert run.status == "met"
        assert run.summary.flow["bulk"].goodput > 1e6
        swept = suimon.sweep(scenario, {"link.wire.delay": ["1 ms", "2 ms"]}, range(3), out=Path(folder) / "sweep")
        assert len(swept) == 6
        assert len(swept.intervals()) == 2
        assert len(swept.table) == 6
    try:
        scenario.set("link.wire.rate", "fast").check()
    except suimon.ScenarioError as error:
        assert error.help, error
    else:
        raise AssertionError("a word is not a valid rate")
    print(f"suimon {suimon.VERSION} runs by Python {platform.python_version()}")


if __name__ == "__main__":
    main()
