"""The page docs/how-to/python.md: its Python code runs, prints the output on the page, and has the right types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/python.md"


def test_the_page_runs_and_prints_what_it_says(
    demo: Path, execute: Callable[[Path], str], typed: Callable[[Path], None]
) -> None:
    for name in ("duckdb", "polars", "pyarrow", "pandas"):
        pytest.importorskip(name)
    Path("page.py").write_text(execute(PAGE), encoding="utf-8")
    typed(Path("page.py"))
