"""README.md, the package's page on PyPI: its ten lines run the demo and plot it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import suimon

PAGE = Path(__file__).resolve().parents[1] / "README.md"


def test_ten_lines_run_the_demo_and_plot_it(
    demo: Path,
    blocks: Callable[[Path], list[tuple[int, str, str | None]]],
    execute: Callable[[Path], str],
    typed: Callable[[Path], None],
) -> None:
    pytest.importorskip("polars")
    image = pytest.importorskip("matplotlib.image")
    [(_, code, _)] = blocks(PAGE)
    assert len(code.splitlines()) <= 10
    Path("readme.py").write_text(execute(PAGE), encoding="utf-8")
    [picture] = Path().glob("*.png")
    pixels = image.imread(picture)
    assert pixels.min() < pixels.max()
    assert suimon.Run("runs/demo-1").status == "met"
    typed(Path("readme.py"))
