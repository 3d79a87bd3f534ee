"""Suimon: full performance out of TCP/IP by controlling when packets leave.

Makes the same runs as the command, from Python::

    import suimon

    scenario = suimon.Scenario.load("wan.toml")
    run = scenario.run(seed=1)                          # in the simulator; on="lab" uses real packets
    run.summary.flow["bulk"].goodput                    # bytes per second
    run.flows                                           # a table: polars.DataFrame(run.flows)
    run.report()                                        # the report page, in a notebook

    grid = suimon.sweep(scenario, vary={"link.wan.delay": ["5 ms", "50 ms"]}, seeds=range(1, 31))
    grid.intervals("flow.bulk.goodput")                 # means with 95 % confidence intervals

    suimon.compare(scenario.run(), scenario.run(on="lab"))
    suimon.paper("p0")

Quantities are str ("500 Mbit/s"), or made by functions such as ``suimon.mbit(500)``. Results are in bytes, seconds,
bytes per second and counts unless their name has another unit.
"""

from suimon import errors, model, summary, units
from suimon._progress import Progress
from suimon._suimon import BUILD, VERSION
from suimon.compare import Comparison, compare
from suimon.errors import Diagnostic, MachineError, ScenarioError, SuimonError, UsageError
from suimon.paper import Paper, paper
from suimon.report import Report
from suimon.run import Expectation, Run
from suimon.scenario import On, Scenario
from suimon.sweep import Interval, Point, Sweep, sweep
from suimon.tables import Table, Tables
from suimon.units import bit, byte, gb, gbit, gib, kb, kbit, kib, mb, mbit, mib, ms, ns, percent, seconds, us

__version__ = VERSION

__all__ = [
    "BUILD",
    "VERSION",
    "Comparison",
    "Diagnostic",
    "Expectation",
    "Interval",
    "MachineError",
    "On",
    "Paper",
    "Point",
    "Progress",
    "Report",
    "Run",
    "Scenario",
    "ScenarioError",
    "SuimonError",
    "Sweep",
    "Table",
    "Tables",
    "UsageError",
    "bit",
    "byte",
    "compare",
    "errors",
    "gb",
    "gbit",
    "gib",
    "kb",
    "kbit",
    "kib",
    "mb",
    "mbit",
    "mib",
    "model",
    "ms",
    "ns",
    "paper",
    "percent",
    "seconds",
    "summary",
    "sweep",
    "units",
    "us",
]
