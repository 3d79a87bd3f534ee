"""The generated classes compared with the schemas, scenarios built from them, units, and summaries read from JSON."""

from __future__ import annotations

import doctest
import inspect
import json
import math
import random
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields, is_dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import pytest

from suimon import model as m
from suimon import summary, units
from suimon._table import Plain, Table, plain

REPOSITORY = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((REPOSITORY / "scenarios").rglob("*.toml"))
Schema = dict[str, Any]
SCALARS = {"string": str, "number": float, "integer": int, "boolean": bool}


def schema(name: str) -> Schema:
    return cast(Schema, json.loads((REPOSITORY / f"docs/{name}.schema.json").read_text("utf-8")))


def toml(path: Path) -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib")
    return cast("dict[str, Any]", tomllib.loads(path.read_text("utf-8")))


def test_generated_files_are_current() -> None:
    command = [sys.executable, str(REPOSITORY / "python/generate"), "--check"]
    check = subprocess.run(command, capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr


# The structure of the schema, compared with that of the annotations.


def original(part: Field[Any]) -> str:
    return cast(str, part.metadata.get("name", part.name))


def alternatives(node: Schema, definitions: Schema) -> Iterator[Schema]:
    """Yields the alternatives of a schema, each of one type, with references resolved."""
    if "$ref" in node:
        yield from alternatives(definitions[node["$ref"].removeprefix("#/$defs/")], definitions)
    elif "anyOf" in node or "oneOf" in node:
        for one in node.get("anyOf") or node["oneOf"]:
            yield from alternatives(one, definitions)
    elif isinstance(node["type"], list):
        for kind in node["type"]:
            yield {**node, "type": kind}
    else:
        yield node


def members(hint: Any) -> list[Any]:
    return list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]


def constants(node: Schema) -> list[str]:
    values = node.get("enum", [node["const"]] if "const" in node else [])
    return [value for value in values if value is not None]


class Walk:
    """Compares annotations with a schema, from its root on."""

    def __init__(self, root: Schema, cls: type) -> None:
        self.definitions: Schema = root["$defs"]
        self.reached: set[type] = set()
        self.table(root, cls, "")

    def table(self, node: Schema, cls: Any, path: str) -> None:
        assert {original(part) for part in fields(cls)} == set(node["properties"]), path
        if cls in self.reached:
            return
        self.reached.add(cls)
        hints = get_type_hints(cls)
        for part in fields(cls):
            key = original(part)
            self.value(node["properties"][key], members(hints[part.name]), f"{path}.{key}")
            must = part.default is MISSING and part.default_factory is MISSING
            assert must == (key in node.get("required", [])), f"{path}.{key}"
            assert f"\n    {part.name}: " in (inspect.getdoc(cls) or ""), f"{path}.{key}"

    def value(self, node: Schema, hints: list[Any], path: str) -> None:
        kinds = list(alternatives(node, self.definitions))
        literals = {value for hint in hints if get_origin(hint) is Literal for value in get_args(hint)}
        assert literals == {value for kind in kinds for value in constants(kind)}, path
        scalars = {SCALARS[kind["type"]] for kind in kinds if kind["type"] in SCALARS and not constants(kind)}
        assert scalars == set(hints) & set(SCALARS.values()), path
        assert sum("properties" in kind for kind in kinds) == sum(map(is_dataclass, hints)), path
        for kind in kinds:
            match kind:
                case {"properties": _}:
                    self.kind_of_table(kind, hints, path)
                case {"additionalProperties": True}:
                    assert Plain in hints, path
                case {"additionalProperties": values}:
                    [named] = [hint for hint in hints if get_origin(hint) in (Mapping, dict) and hint != Plain]
                    self.value(values, members(get_args(named)[1]), f"{path}.NAME")
                case {"items": items}:
                    [array] = [hint for hint in hints if get_origin(hint) in (Sequence, list)]
                    self.value(items, members(get_args(array)[0]), f"{path}[]")

    def kind_of_table(self, node: Schema, hints: list[Any], path: str) -> None:
        """Follows a table into its class: the one tagged with the table's only key, or else the only one."""
        classes = [hint for hint in hints if is_dataclass(hint)]
        tagged = {getattr(cls, "_tag", None): cls for cls in classes}
        key = next(iter(node["properties"]), None)
        if key is not None and key in tagged:
            self.table(node["properties"][key], tagged[key], f"{path}.{key}")
        else:
            [cls] = classes
            self.table(node, cls, path)


def test_every_table_and_field_of_the_scenario_schema_has_its_type() -> None:
    assert Walk(schema("scenario"), m.Scenario).reached == classes_of(m) - {Table}


def test_every_object_and_field_of_the_summary_schema_has_its_type() -> None:
    assert Walk(schema("summary"), summary.Summary).reached == classes_of(summary)


def classes_of(module: types.ModuleType) -> set[type]:
    return {value for value in vars(module).values() if isinstance(value, type) and is_dataclass(value)}


# Scenarios.


def demo() -> m.Scenario:
    """scenarios/demo.toml."""
    host = m.Host(profile="linux-2.4-web100", processor=m.Processor(machine="pentium-4-linux-2.4"))
    path = m.Emulator(rate=mb_per_second(62.5), delay=units.ms(100), buffer=units.kib(512))

    def flow(sender: str) -> m.Flow:
        return m.Flow(
            from_=sender,
            to=f"{sender}-receiver",
            congestion="scalable",
            tcp=m.Tcp(buffers=m.TcpBuffers(send=units.mb(32))),
            receiver_tcp={"buffers": m.TcpBuffers(receive=units.mb(32), window_share="1/1")},
        )

    def link(*between: str, at: Mapping[str, m.LinkEnd] | None = None) -> m.Link:
        return m.Link(between=list(between), rate=units.gbit(1), at=at)

    return m.Scenario(
        title="Scalable TCP through a shallow buffer, as it is and paced with gap packets",
        duration=units.seconds(60),
        host={name: host for name in ("stock", "paced", "stock-receiver", "paced-receiver")},
        emulator={"stock-path": path, "paced-path": path},
        link={
            "stock-access": link("stock", "stock-path"),
            "paced-access": link("paced", "paced-path", at={"paced": m.LinkEnd(queue=m.Psp(rate=mb_per_second(62.5)))}),
            "stock-egress": link("stock-path", "stock-receiver"),
            "paced-egress": link("paced-path", "paced-receiver"),
        },
        flow={"stock": flow("stock"), "paced": flow("paced")},
        probe=m.Probes(
            flows=m.Sampling(every=units.ms(100)),
            queues=m.Sampling(every=units.ms(100)),
            bandwidth={name: m.Bandwidth(at=f"{name}:{name}-access", bin=units.ms(10)) for name in ("stock", "paced")},
            capture={
                name: m.Capture(at=at, from_=units.seconds(2.8), until=units.seconds(3.2))
                for name, at in {"stock": "stock-path:stock-egress", "paced": "paced:paced-access"}.items()
            },
        ),
        expect=m.Expect(
            flow={"paced": m.ExpectFlow(goodput=m.RateBounds(min=mb_per_second(50), max=mb_per_second(59.7)))},
            emulator={
                "paced-path": m.ExpectEmulator(drops={"max": 0}),
                "stock-path": m.ExpectEmulator(drops=m.NumberBounds(min=100)),
            },
        ),
    )


def mb_per_second(rate: float) -> str:
    return units.mb(rate) + "/s"


def test_a_scenario_of_classes_is_the_file_of_the_same_tables() -> None:
    built = demo().to_dict()
    assert built == toml(REPOSITORY / "scenarios/demo.toml")
    assert types_in(built) == {dict, list, str, int}


def types_in(value: object) -> set[type]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {type(value)}.union(*map(types_in, below))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: cast(str, path.stem))
def test_plain_tables_stay_as_they_are(path: Path) -> None:
    tables = toml(path)
    assert m.Scenario(**tables).to_dict() == tables


def test_classes_of_a_discipline_have_their_names_and_kinds() -> None:
    queue = m.Cbq(
        default="rest",
        class_={
            "web": m.CbqClass(rate=units.mbit(40), borrow=True, match=[m.Match(flow="web"), {"dscp": "ef"}]),
            "rest": m.CbqClass(rate=units.mbit(10), queue=m.Codel()),
        },
    )
    assert queue.to_dict() == {
        "cbq": {
            "default": "rest",
            "class": {
                "web": {"rate": "40 Mbit/s", "borrow": True, "match": [{"flow": "web"}, {"dscp": "ef"}]},
                "rest": {"rate": "10 Mbit/s", "queue": {"codel": {}}},
            },
        }
    }


def test_an_algorithm_is_its_name_or_a_table() -> None:
    flow = m.Flow(from_="a", to="b", congestion="vegas")
    assert flow.to_dict() == {"from": "a", "to": "b", "congestion": "vegas"}
    flow.congestion = m.Vegas(alpha=3)
    assert flow.to_dict()["congestion"] == {"vegas": {"alpha": 3}}
    flow.congestion = m.CubicRfc9438()
    assert flow.to_dict()["congestion"] == {"cubic-rfc9438": {}}


def test_values_become_plain() -> None:
    swept = m.Scenario(duration="1 s", sweep={"seed": range(3), "link.a.loss": (0.5, Fraction(1, 4))}, seed=None)
    assert swept.to_dict() == {"duration": "1 s", "sweep": {"seed": [0, 1, 2], "link.a.loss": [0.5, 0.25]}}


def test_a_value_of_no_kind_is_named_by_its_path() -> None:
    with pytest.raises(TypeError, match=r"^sweep\.seed\[1\] is a bytes: give "):
        m.Scenario(duration="1 s", sweep={"seed": [1, b"2"]}).to_dict()
    with pytest.raises(TypeError, match=r"^sweep has the key 1: give a str"):
        m.Scenario(duration="1 s", sweep=cast("dict[str, object]", {1: 2})).to_dict()


def test_what_must_be_given_must_be_given() -> None:
    with pytest.raises(TypeError, match="'between'"):
        m.Link()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'dealy'"):
        m.Link(between=["a", "b"], dealy="5 ms")  # type: ignore[call-arg]


# Units.

QUANTITIES: dict[Callable[[float], str], tuple[str, type]] = {
    units.bit: ("bit/s", units.Rate),
    units.kbit: ("kbit/s", units.Rate),
    units.mbit: ("Mbit/s", units.Rate),
    units.gbit: ("Gbit/s", units.Rate),
    units.byte: ("B", units.Size),
    units.kb: ("kB", units.Size),
    units.mb: ("MB", units.Size),
    units.gb: ("GB", units.Size),
    units.kib: ("KiB", units.Size),
    units.mib: ("MiB", units.Size),
    units.gib: ("GiB", units.Size),
    units.ns: ("ns", units.Time),
    units.us: ("us", units.Time),
    units.ms: ("ms", units.Time),
    units.seconds: ("s", units.Time),
    units.percent: ("%", str),
}
quantities = pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda quantity: cast(str, quantity.__name__))


@quantities
def test_a_quantity_is_digits_and_a_unit(quantity: Callable[[float], str]) -> None:
    unit, kind = QUANTITIES[quantity]
    for number, digits in {0: "0", 5: "5", 0.1: "0.1", 2.0: "2", 1e22: "1" + "0" * 22, 1e-7: "0.0000001"}.items():
        assert quantity(number) == f"{digits} {unit}"
    assert quantity(-0.0) == f"0 {unit}"
    assert type(quantity(1)) is kind


@quantities
def test_a_quantity_is_exact(quantity: Callable[[float], str]) -> None:
    drawn = random.Random(1)
    for _ in range(1000):
        whole = drawn.getrandbits(drawn.randrange(1, 200))
        assert int(quantity(whole).split()[0]) == whole
        number = drawn.uniform(1, 10) * 10.0 ** drawn.randrange(-20, 20)
        digits = quantity(number).split()[0]
        assert float(digits) == number and set(digits) <= set("0123456789.")


@quantities
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, -1, -0.5])
def test_a_quantity_is_finite_and_not_negative(quantity: Callable[[float], str], number: float) -> None:
    with pytest.raises(ValueError, match=rf"such as {quantity.__name__}\("):
        quantity(number)


@quantities
def test_a_quantity_may_be_a_decimal(quantity: Callable[[float | Decimal], str]) -> None:
    for digits in ("0.1", "12", "1.50", "0.00000000000000000000000001"):
        kept = digits.rstrip("0") if "." in digits else digits
        assert quantity(Decimal(digits)).split()[0] == kept


def test_a_decimal_and_a_span_of_time_are_values() -> None:
    assert plain({"rate": Decimal("0.25"), "delay": timedelta(milliseconds=20)}) == {"rate": 0.25, "delay": "20000 us"}
    with pytest.raises(ValueError, match=r"a\.b is -1 day"):
        plain({"b": timedelta(days=-1)}, "a")


@pytest.mark.parametrize("number", ["5", None, True, 1j])
def test_a_quantity_is_a_number(number: Any) -> None:
    with pytest.raises(TypeError, match=r"give an int or a float, such as mbit\(100\)"):
        units.mbit(number)


def test_examples_of_units() -> None:
    assert doctest.testmod(units).failed == 0


# Summaries.


def sample(node: Schema, definitions: Schema, numbers: Iterator[int]) -> Any:
    """Makes a complete value of a schema."""
    kind = next(alternatives(node, definitions))
    match kind["type"]:
        case "object" if "properties" in kind:
            return {key: sample(part, definitions, numbers) for key, part in kind["properties"].items()}
        case "object":
            return {name: sample(kind["additionalProperties"], definitions, numbers) for name in ("a", "b.1")}
        case "array":
            return [sample(kind["items"], definitions, numbers) for _ in range(2)]
        case "number":
            return next(numbers) + 0.5
        case "string":
            return f"text {next(numbers)}"
        case "boolean":
            return True
        case _:
            return next(numbers)


def assert_equal(read: Any, data: Any) -> None:
    """Compares typed values with JSON. Values missing in JSON are None or empty."""
    if is_dataclass(read):
        assert isinstance(data, dict)
        parts = {original(part): getattr(read, part.name) for part in fields(read)}
        assert parts.keys() >= data.keys()
        for key, value in parts.items():
            if key in data or is_dataclass(value):
                assert_equal(value, data.get(key, {}))
            else:
                assert not value
    elif isinstance(read, dict):
        assert read.keys() == data.keys()
        for key, value in read.items():
            assert_equal(value, data[key])
    elif isinstance(read, list):
        for item, other in zip(read, data, strict=True):
            assert_equal(item, other)
    else:
        assert (type(read), read) == (type(data), data)


def test_a_summary_has_the_values_of_its_json() -> None:
    data = json.loads((REPOSITORY / "crates/record/tests/it/summary.json").read_text("utf-8"))
    read = summary.Summary.from_dict(data)
    assert_equal(read, data)
    assert read.run.fairness == 0.8571428571428571
    assert read.flow["bulk.1"].min_rtt_seconds == 0.2
    assert read.link["wan"].forward.from_ == "gnet"
    assert read.link["wan"].forward.drops_by_reason["queue_bytes"] == 5
    assert read.flow["solo"].datagrams is None


def test_every_value_of_a_summary_is_read() -> None:
    root = schema("summary")
    data = sample(root, root["$defs"], count(1))
    assert_equal(summary.Summary.from_dict(data), data)


def test_a_summary_of_another_version_is_read() -> None:
    read = summary.Summary.from_dict({"run": {"title": "old", "unknown": 1}, "unknown": {}})
    assert (read.run.title, read.run.drops, read.run.goodput, read.run.complete) == ("old", 0, 0.0, False)
    assert (read.flow, read.change, read.run.measured_from_seconds) == ({}, {}, None)
    assert summary.MpiSummary.from_dict({}).waiting_for == summary.NetworkWaits.from_dict({})


def test_a_summary_cannot_be_changed() -> None:
    read = summary.Summary.from_dict({})
    with pytest.raises(FrozenInstanceError):
        read.run.drops = 1  # type: ignore[misc]
