"""Progress of long operations."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = bool | Callable[[float], object] | None
"""The values of ``progress=``: a callable that gets the completed share, 0 to 1; True for a bar by tqdm; False for
none; None for a bar if tqdm is installed and there is a terminal or a notebook."""


@contextmanager
def shown(progress: Progress, what: str) -> Iterator[Callable[[float], object] | None]:
    """Yields the callable for the completed share, if any."""
    if callable(progress):
        yield progress
        return
    tqdm = None if progress is False else _tqdm()
    if tqdm is None or (progress is None and not _is_watched()):
        yield None
        return
    with tqdm(total=100, desc=what, unit="%", bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}") as bar:

        def tell(share: float) -> None:
            bar.update(100 * share - bar.n)

        yield tell


def _tqdm() -> Any:
    try:
        with warnings.catch_warnings():
            # In a notebook without ipywidgets, tqdm warns and draws its bar as text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


def _is_watched() -> bool:
    """Returns whether there is a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
