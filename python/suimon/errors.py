"""Exceptions, with a suggestion where there is one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Diagnostic", "MachineError", "ScenarioError", "SuimonError", "UsageError"]


class SuimonError(Exception):
    """Any error of Suimon.

    Attributes:
        message: The error.
        help: How to fix it; empty if that is obvious.
    """

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message, help)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return f"{self.message}\n  help: {self.help}" if self.help else self.message


class UsageError(SuimonError, ValueError):
    """Wrong arguments or a wrong file: something does not exist or does not match."""


class MachineError(SuimonError, OSError):
    """The machine lacks something, such as a right, a program or disk space."""

    def __init__(self, message: str, help: str = "") -> None:
        SuimonError.__init__(self, message, help)
        # OSError interprets two arguments as number and text.
        self.errno, self.strerror = None, message

    def __str__(self) -> str:
        return SuimonError.__str__(self)


@dataclass(frozen=True)
class Diagnostic:
    """One error of a scenario.

    Attributes:
        file: The file, or the command's option for the change (``--set``, ``--vary``), with the error.
        line: Its line, from 1.
        column: Its column in characters, from 1; in a change, that in ``PATH=VALUE``.
        message: The error.
        help: How to fix it; may be empty.
        argument: The change, such as ``set("link.wan.delay")``; empty if the error is in a file.
    """

    file: str
    line: int
    column: int
    message: str
    help: str
    argument: str = field(default="", compare=False)

    def __str__(self) -> str:
        place = self.argument or f"{self.file}:{self.line}:{self.column}"
        text = f"{place}: {self.message}"
        return f"{text}\n  help: {self.help}" if self.help else text


class ScenarioError(SuimonError, ValueError):
    """A scenario has errors.

    Attributes:
        diagnostics: Every error with its position, in the order of the text; at least one.
        file, line, column: The position of the first error.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        first = self.diagnostics[0]
        super().__init__(first.message, first.help)
        self.file, self.line, self.column = first.file, first.line, first.column

    @classmethod
    def of(cls, problems: Iterable[tuple[str, str, int, int, str, str]]) -> ScenarioError:
        """Returns the exception for these errors, each a tuple of file or option, its text, line, column, message and
        help.
        """
        return cls(
            Diagnostic(file, line, column, message, help, _change(file, text))
            for file, text, line, column, message, help in problems
        )

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.diagnostics)


# What the command's options are called here. Those that are not listed keep their name.
_ARGUMENTS = {
    "--all": "all=True",
    "--fresh": "fresh=True",
    "--keep": "keep=",
    "--measure": "measures=",
    "--only": "only=",
    "--out": "out=",
    "--pair": "pair=",
    "--quick": "quick=True",
    "--seeds": "seeds=",
    "--set": "Scenario.set",
    "--vary": "vary=",
}
_OPTION = re.compile(
    r"(?<![\w-])(?:--on (?P<driver>[\w.-]+)|--pair (?P<first>[^\s=]+)=(?P<other>\S+)|--[a-z]+(?![\w-]))"
)
_Kind = TypeVar("_Kind", UsageError, MachineError)
_keeps_options = False


def keep_options() -> None:
    """Keeps the command's options in errors from now on: for the process that works for the command."""
    global _keeps_options
    _keeps_options = True


def from_library(kind: type[_Kind], text: str) -> _Kind:
    """Returns the exception for an error of the library or of the program. The command's options in its text become
    the arguments of this package: ``out=`` for ``--out``.
    """
    if not _keeps_options:
        text = _OPTION.sub(_argument, text)
    message, _, help = text.partition("\n  help: ")
    return kind(message, help)


def _change(option: str, text: str) -> str:
    """Returns what ``option`` with this text is called here, ``set("link.wan.delay")``; empty for a file."""
    path = text.partition("=")[0].strip()
    if _keeps_options or not path:
        return ""
    quoted = json.dumps(path, ensure_ascii=False)
    if option == "--set":
        return f"set({quoted})"
    if option == "--vary":
        return "seeds" if path == "seed" else f"vary[{quoted}]"
    return "seeds" if option == "--seeds" else ""


def _argument(option: re.Match[str]) -> str:
    driver, first, other = option.group("driver", "first", "other")
    if driver:
        return f'on="{driver}"'
    return f'pair={{"{first}": "{other}"}}' if first else _ARGUMENTS.get(option[0], option[0])
