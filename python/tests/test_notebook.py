"""The notebook docs/notebooks/pacing.ipynb: it runs, has the right types, and is stored without outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs/notebooks/pacing.ipynb"


def test_the_notebook_runs_and_has_the_right_types(
    folder: Path, monkeypatch: pytest.MonkeyPatch, typed: Callable[[Path], None]
) -> None:
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    for name in ("ipykernel", "matplotlib", "polars"):
        pytest.importorskip(name)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    # The kernel's default, which draws into the page.
    monkeypatch.delenv("MPLBACKEND")
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    shown = {kind for cell in code for output in cell.outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= shown
    Path("notebook.py").write_text("\n".join(cell.source for cell in code), encoding="utf-8")
    typed(Path("notebook.py"))
