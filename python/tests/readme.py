"""Runs the README's example as a new user does: with the wheel only, in a folder with the demo's scenario. Run it as a
program; it prints the number of lines.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def code() -> str:
    """Returns the README's Python example."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", (HERE.parent / "README.md").read_text(), re.DOTALL)
    return blocks[0]


def run(folder: Path) -> list[Path]:
    """Runs the example in ``folder``; returns the plots."""
    shutil.copy(HERE.parent.parent / "scenarios" / "demo.toml", folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec(compile(code(), "README.md", "exec"), {"__name__": "__main__"})
    finally:
        os.chdir(before)
    return sorted(folder.glob("*.png"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        pictures = run(Path(name))
        assert pictures, "they plot nothing"
        assert all(picture.stat().st_size > 10_000 for picture in pictures)
    print(f"the README's {len(code().splitlines())} lines plot the demo")
