"""Runs the README's lines as somebody does who has just installed the wheel: in a folder with the demo's scenario. Run
as a program; prints how many lines they are.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def code() -> str:
    """The README's lines of Python."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", (HERE.parent / "README.md").read_text(), re.DOTALL)
    return blocks[0]


def run(folder: Path) -> list[Path]:
    """Runs them there; returns the pictures that they made."""
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
