"""Report pages, for notebooks and browsers."""

from __future__ import annotations

import html
import webbrowser
from pathlib import Path

__all__ = ["Report"]


class Report:
    """A report: one HTML page that needs no network. A notebook shows it; ``open()`` opens it in the browser.

    Attributes:
        path: The file; None if it was not written.
        html: The page.
    """

    def __init__(self, page: str, path: Path | None = None, height: int = 640) -> None:
        self.html = page
        self.path = path
        self._height = height

    def open(self) -> None:
        """Opens the page in the browser."""
        if self.path is None:
            raise FileNotFoundError("the page was not written: save() it first")
        webbrowser.open(self.path.absolute().as_uri())

    def save(self, path: str | Path) -> Path:
        """Writes the page to ``path``."""
        self.path = Path(path)
        self.path.write_text(self.html, encoding="utf-8")
        return self.path

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: {self._height}px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"<report {self.path or 'not written'}>"
