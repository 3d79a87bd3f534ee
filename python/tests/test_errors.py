"""Errors are those of the command, and no argument ends the interpreter."""

from __future__ import annotations

import math
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import suimon
from suimon import units

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Checked = Callable[..., list[suimon.Diagnostic]]
Pair = Callable[..., suimon.Scenario]

HEAD = """\
duration = "10 ms"
host = { a = {}, b = {} }
"""
LINK = 'link.wire = { between = ["a", "b"], rate = "100 Mbit/s" }\n'
FLOW = 'flow.bulk = { from = "a", to = "b" }\n'
BROKEN = {
    "unknown key": HEAD + 'link.wire = { between = ["a", "b"], rate = "100 Mbit/s", dealy = "1 ms" }\n' + FLOW,
    "wrong type": HEAD + LINK + 'flow.bulk = { from = "a", to = "b", count = "three" }\n',
    "missing unit": HEAD + 'link.wire = { between = ["a", "b"], rate = 100 }\n' + FLOW,
    "unknown node": HEAD + LINK + "# Ünïcödé before it\n" + 'flow."Ü" = { from = "a", to = "bb" }\n',
    "duplicate": HEAD + LINK + LINK + FLOW,
    "no route": HEAD + 'router.r = {}\nlink.wire = { between = ["a", "r"], rate = "100 Mbit/s" }\n' + FLOW,
    "empty": "",
    "syntax": HEAD.replace('"10 ms"', "10 ms") + LINK + FLOW,
    "negative rate": HEAD + LINK.replace('"100', '"-100') + FLOW,
    "expectation of nothing": HEAD + LINK + FLOW + 'expect.flow.bulks.goodput.min = "1 Mbit/s"\n',
    "several at once": HEAD + 'link.wire = { between = ["a", "c"], rate = "0 bit/s", delay = "-1 ms" }\n' + FLOW,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_scenario_is_refused_as_the_command_refuses_it(folder: Path, checked: Checked, text: str) -> None:
    Path("broken.toml").write_text(text, encoding="utf-8")
    expected = checked("broken.toml")
    assert expected
    uses: list[Callable[[suimon.Scenario], object]] = [
        suimon.Scenario.check,
        suimon.Scenario.lock,
        suimon.Scenario.run,
        lambda scenario: suimon.sweep(scenario, seeds=[1, 2]),
    ]
    for use in uses:
        with pytest.raises(suimon.ScenarioError) as caught:
            use(suimon.Scenario.load("broken.toml"))
        error = caught.value
        assert list(error.diagnostics) == expected
        first = expected[0]
        assert (error.file, error.line, error.column, error.message, error.help) == (
            ("broken.toml", first.line, first.column, first.message, first.help)
        )
        assert f"broken.toml:{first.line}:{first.column}: {first.message}\n  help: {first.help}" in str(error)
    assert not Path("runs").exists()


def test_the_text_of_a_dict_is_refused_at_its_lines(folder: Path, pair: Pair) -> None:
    scenario = pair(link={"wire": {"between": ["a", "b"], "rate": 100}})
    with pytest.raises(suimon.ScenarioError, match="has no unit") as caught:
        scenario.check()
    assert caught.value.file == "pair.toml"
    assert scenario.text.splitlines()[caught.value.line - 1] == "rate = 100"


WRONG_SET = [
    "link.wire.dealy=1 ms",
    "link.wier.delay=1 ms",
    "link.wire.rate=100",
    "seed=-1",
    "host={}",
    "flow.f.from=c",
]


@pytest.mark.parametrize("change", WRONG_SET)
def test_a_change_is_refused_as_the_command_refuses_it(pair: Pair, folder: Path, checked: Checked, change: str) -> None:
    scenario = pair()
    scenario.file.write_text(scenario.text, encoding="utf-8")
    expected = checked(str(scenario.file), "--set", change)
    assert expected
    path, _, value = change.partition("=")
    with pytest.raises(suimon.ScenarioError) as caught:
        scenario.set(path, value).run()
    assert list(caught.value.diagnostics) == expected
    for problem in caught.value.diagnostics:
        assert problem.argument == (f'set("{path}")' if problem.file == "--set" else "")
    assert "--set" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("link.wire.dealy", ["1 ms", "2 ms"]),
        ("link.wire.delay", ["1 ms", "2"]),
        ("link.wire.delay", "1 ms..2 ms"),
        ("link.wire.delay", "2 ms..1 ms/x"),
        ("flow.f", ["a"]),
        ("nothing", [1, 2]),
    ],
)
def test_a_grid_is_refused_as_the_command_refuses_it(
    pair: Pair, folder: Path, checked: Checked, path: str, values: list[object] | str
) -> None:
    scenario = pair()
    scenario.file.write_text(scenario.text, encoding="utf-8")
    written = values if isinstance(values, str) else ",".join(map(str, values))
    expected = checked(str(scenario.file), "--vary", f"{path}={written}")
    assert expected
    with pytest.raises(suimon.ScenarioError) as caught:
        suimon.sweep(scenario, {path: values})
    assert list(caught.value.diagnostics) == expected
    for problem in caught.value.diagnostics:
        assert problem.argument == (f'vary["{path}"]' if problem.file == "--vary" else "")
    assert "--vary" not in str(caught.value)


PROBLEM = suimon.Diagnostic("a.toml", 3, 7, "the rate `100` has no unit", 'write "100 Mbit/s"')
ERRORS: list[suimon.SuimonError] = [
    suimon.SuimonError("wrong"),
    suimon.UsageError("wrong", "do it so"),
    suimon.MachineError("lacking", "install it"),
    suimon.ScenarioError([PROBLEM, suimon.Diagnostic("--set", 1, 1, "no path", "")]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_is_pickled_as_it_is(error: suimon.SuimonError, protocol: int) -> None:
    read = pickle.loads(pickle.dumps(error, protocol))
    assert type(read) is type(error)
    assert (str(read), read.args, vars(read)) == (str(error), error.args, vars(error))


def test_errors_are_those_that_python_has() -> None:
    assert issubclass(suimon.ScenarioError, ValueError) and issubclass(suimon.UsageError, ValueError)
    assert issubclass(suimon.MachineError, OSError)
    assert str(suimon.MachineError("lacking", "install it")) == "lacking\n  help: install it"


@pytest.fixture
def other(folder: Path) -> Path:
    """Returns a folder that contains something else."""
    (folder / "other").mkdir()
    (folder / "other/letter.txt").write_text("Dear all,", encoding="utf-8")
    return Path("other")


def test_what_is_no_file_of_a_scenario_is_refused(other: Path) -> None:
    for path in (other, "missing.toml", ""):
        with pytest.raises((suimon.UsageError, suimon.MachineError)) as caught:
            suimon.Scenario.load(path)
        assert caught.value.help and str(path) in caught.value.message


def test_what_holds_no_run_is_refused(other: Path) -> None:
    for kind in (suimon.Run, suimon.Sweep, suimon.Paper):
        for path in (other, "missing", "other/letter.txt"):
            with pytest.raises(suimon.UsageError) as caught:
                kind(path)
            assert caught.value.help and str(path) in caught.value.message


def test_a_folder_of_something_else_is_left_alone(other: Path, pair: Pair) -> None:
    for run in (lambda: pair().run(out=other), lambda: suimon.sweep(pair(), seeds=[1, 2], out=other)):
        with pytest.raises(suimon.UsageError, match=r"(?s)other contains files but no .*set .* an empty folder"):
            run()
    with pytest.raises(suimon.MachineError, match=r"letter\.txt"):
        pair().run(out="other/letter.txt")
    assert [path.name for path in other.iterdir()] == ["letter.txt"]


def test_a_folder_of_another_grid_is_left_alone(folder: Path, pair: Pair) -> None:
    suimon.sweep(pair(), seeds=[1, 2], out="grid")
    with pytest.raises(suimon.UsageError, match="contains the runs of another sweep") as caught:
        suimon.sweep(pair(), seeds=[3, 4], out="grid")
    assert caught.value.help
    assert len(suimon.sweep(pair(), seeds=[3, 4], out="grid", fresh=True)) == 2


def test_errors_name_arguments_of_python(folder: Path, other: Path, pair: Pair, command: Command) -> None:
    grid = suimon.sweep(pair(), seeds=[1, 2], out="grid").folder
    again = suimon.Scenario.parse(pair().text + "\n[sweep]\nseed = [1, 2]\n")
    paired = pair(flow={"g": {"from": "a", "to": "b"}})
    named: list[tuple[Callable[[], object], str]] = [
        (lambda: pair().run(out=other), "set out= to an empty folder"),
        (lambda: suimon.sweep(pair(), seeds=[1, 2], out=other), "set out= to an empty folder"),
        (lambda: pair().run(out="other/letter.txt"), "choose a folder that can be written with out="),
        (lambda: suimon.sweep(pair(), seeds=[3, 4], out=grid), "use another out= folder, or fresh=True to replace"),
        (lambda: again.run(), "choose one of them with Scenario.set"),
        (lambda: suimon.compare(pair().run(), paired.run(out="g")), 'use pair={"f": "g"} to compare them'),
    ]
    for call, words in named:
        with pytest.raises(suimon.SuimonError) as caught:
            call()
        assert words in str(caught.value) and "--" not in str(caught.value)
    assert suimon.compare(pair().run(), paired.run(out="g"), pair={"f": "g"}).ok
    # The command keeps its options.
    pair_file = folder / "pair.toml"
    pair_file.write_text(pair().text, encoding="utf-8")
    assert "set --out to an empty folder" in command("run", str(pair_file), "--out", str(other)).stderr


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("no\n  help: add --on lab: it is", "no", 'add on="lab": it is'),
        ("a-b--out x--out: --out", "a-b--out x--out: out=", ""),
        ("--port and --only-once", "--port and --only-once", ""),
        ("use --only or --quick", "use only= or quick=True", ""),
    ],
)
def test_options_become_arguments(text: str, message: str, help: str) -> None:
    error = suimon.errors.from_library(suimon.UsageError, text)
    assert (error.message, error.help) == (message, help)


def test_arguments_that_do_not_fit_are_named(folder: Path, pair: Pair) -> None:
    wrong: list[Any] = [
        lambda: pair().run(seed=-1),
        lambda: pair().run(seed=2**64),
        lambda: pair().run(on="laboratory"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        lambda: suimon.sweep(pair(), seeds=[]),
        lambda: suimon.sweep(pair(), {"link.wire.delay": []}),
        lambda: suimon.sweep(pair(), seeds=[1, 2], workers=0),
        lambda: suimon.sweep(pair(), seeds=[1, 2], store="shared"),
        lambda: suimon.sweep(pair(), seeds=[1, 2]).intervals("flow.g.goodput"),
        lambda: suimon.paper("p9"),
        lambda: suimon.paper("p0", only=["X9"]),
        lambda: suimon.compare(),
        lambda: suimon.compare(pair().run()),
    ]
    for call in wrong:
        with pytest.raises(suimon.UsageError) as caught:
            call()
        assert caught.value.help, caught.value
    for seeds in ([-1], [2**64], [-1, 5], [2**70, 5]):
        with pytest.raises(suimon.ScenarioError):
            suimon.sweep(pair(), seeds=seeds)
    with pytest.raises(suimon.UsageError, match="unknown result `foo`"):
        suimon.sweep(pair(), seeds=[1, 2], measures=["foo"])


# The exceptions for any argument; Python raises AttributeError if the argument is not a mapping.
REFUSED = (suimon.SuimonError, TypeError, ValueError, OverflowError, RecursionError, AttributeError)

ODD: list[Any] = [
    *(None, True, "", "\0", "\ud800", "ü\n", "=", '"', "'''", "{", "]", "1 ms", "5..1/3", "a" * 100_000),
    *(b"", b"\xff", bytearray(b"x"), 0, -1, 1 << 63, -(1 << 63), 1 << 64, 10**5000),
    *(math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0, 1j, range(3), {1, 2}, object(), int, lambda: 1),
    *([], [None], [[[[1]]]], [{}], (), {}, {"": ""}, {None: 1}, {"a": None}, {1: 2}, {"a": {"a": [{"a": b""}]}}),
    *(units.mbit(1), suimon.model.Host(), suimon.model.Psp(class_={})),
]
# fmt: off
PATHS = [
    "duration", "seed", "title", "host", "host.a", "host.a.count", "link", "link.wire", "link.wire.rate", "flow.f.to",
    "link.wire.queue", "link.wire.queue.fifo", "link.wire.queue.fifo.packets", "flow.f.congestion", "probe", "expect",
    "expect.run.drops.max", "sweep", "sweep.seed", "change", "topology", "topology.t", "units", "measure",
    "", ".", "..", "a.", ".a", "a..b", "=", "a=b", " ", "\0", "\n", "ü",
    '"', '"a', '"a.b".c', "'", "[", "]", "#", "\ud800",
]
# fmt: on


def test_odd_values_in_tables_are_refused(folder: Path, pair: Pair) -> None:
    def run(key: str, odd: Any) -> None:
        pair(**{key: odd}).run()

    def check(data: Any) -> None:
        suimon.Scenario.from_dict(data).check()

    draw = random.Random(1)
    for odd in ODD:
        for key in ("duration", "seed", "host", "link", "flow", "probe", "expect", "sweep", "title", "units"):
            answers(run, key, odd)
        answers(check, odd)
        answers(suimon.Scenario.load, odd)
        answers(lambda text: suimon.Scenario(text).check(), odd)
    for _ in range(500):
        answers(check, {"duration": "1 ms", **{draw.choice(PATHS): nested(draw) for _ in range(3)}})


def nested(draw: random.Random) -> Any:
    match draw.randrange(4):
        case 0:
            return [nested(draw) for _ in range(draw.randrange(3))]
        case 1:
            return {draw.choice(["a", "from", "between", "ü", "", "."]): nested(draw) for _ in range(draw.randrange(3))}
        case _:
            return draw.choice(ODD)


def test_odd_changes_are_refused(folder: Path, pair: Pair) -> None:
    def change(path: str, odd: Any) -> None:
        pair().set(path, odd).check()

    def vary(path: str, odd: Any) -> None:
        suimon.sweep(pair(), {path: [odd]})

    draw = random.Random(2)
    for path in PATHS:
        for odd in ODD:
            answers(change, path, odd)
    for _ in range(500):
        path = "".join(draw.choice("abz..\"'[]{}=,#\\ \n\0ü\ud800") for _ in range(draw.randrange(12)))
        answers(change, path, draw.choice(ODD))
        answers(vary, path, draw.choice(ODD))


def test_odd_arguments_are_refused(folder: Path, pair: Pair) -> None:
    scenario = pair().set("duration", "1 ms")
    run, grid = scenario.run(), suimon.sweep(scenario, seeds=[1], out="grid")
    for odd in ODD:
        answers(scenario.run, seed=odd)
        answers(scenario.run, on=odd)
        answers(suimon.sweep, scenario, seeds=odd)
        answers(suimon.sweep, scenario, seeds=[odd, 3])
        answers(suimon.sweep, scenario, {"seed": [odd, odd]})
        answers(suimon.sweep, scenario, odd)
        answers(suimon.sweep, scenario, seeds=[1], workers=odd)
        answers(suimon.sweep, scenario, seeds=[1], measures=odd)
        answers(grid.intervals, odd)
        answers(suimon.compare, run, odd)
        answers(suimon.paper, odd)
        for kind in (suimon.Run, suimon.Sweep, suimon.Paper, suimon.Table):
            answers(kind, odd)


def answers(call: Callable[..., object], *words: Any, **named: Any) -> None:
    """Calls a function; an exception must be one of the allowed ones, and have a message."""
    try:
        call(*words, **named)
    except (*REFUSED, OSError) as error:
        assert str(error)


DEEP = {
    "a table that holds itself": "tables = {}; tables['a'] = tables; suimon.Scenario.from_dict(tables)",
    "a list that holds itself": "items = []; items.append(items); suimon.Scenario.from_dict({'a': items})",
    "a change that holds itself": "items = []; items.append(items); suimon.Scenario('').set('a', items)",
    "lists in a text": "suimon.Scenario('a = ' + '[' * 100_000).check()",
    "keys in a text": "suimon.Scenario('a' + '.a' * 100_000 + ' = 1').check()",
    "keys in a change": "suimon.Scenario('duration = \"1 ms\"').set('a' + '.a' * 100_000, 1).check()",
    "keys in a grid": "suimon.sweep(suimon.Scenario('duration = \"1 ms\"'), {'a' + '.a' * 100_000: [1]})",
}


@pytest.mark.parametrize("code", DEEP.values(), ids=DEEP.keys())
def test_what_is_nested_too_deep_is_refused(folder: Path, code: str) -> None:
    refused = "(suimon.SuimonError, ValueError, RecursionError)"
    script = f"import suimon\ntry:\n    {code}\nexcept {refused}:\n    print('refused')\n"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "refused\n"), ended.stderr
