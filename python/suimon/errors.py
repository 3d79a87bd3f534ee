"""What goes wrong, as exceptions that say what to change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Diagnostic", "MachineError", "ScenarioError", "SuimonError", "UsageError"]


class SuimonError(Exception):
    """Any error of Suimon.

    Attributes:
        message: What is wrong.
        help: What would be right; empty where that is plain.
    """

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message, help)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return f"{self.message}\n  help: {self.help}" if self.help else self.message


class UsageError(SuimonError, ValueError):
    """What was asked for does not exist or does not fit: the arguments or a file are wrong."""


class MachineError(SuimonError, OSError):
    """The machine lacks something, such as a right, a program or room on the disk."""

    def __init__(self, message: str, help: str = "") -> None:
        SuimonError.__init__(self, message, help)
        # OSError takes two arguments for number and text.
        self.errno, self.strerror = None, message

    def __str__(self) -> str:
        return SuimonError.__str__(self)


@dataclass(frozen=True)
class Diagnostic:
    """One problem of a scenario.

    Attributes:
        file: The file, or the change (``--set``, ``--vary``), that it is in.
        line: Its line, from 1.
        column: Its column in characters, from 1.
        message: What is wrong.
        help: What would be right; may be empty.
    """

    file: str
    line: int
    column: int
    message: str
    help: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: {self.message}"
        return f"{place}\n  help: {self.help}" if self.help else place


class ScenarioError(SuimonError, ValueError):
    """A scenario is wrong.

    Attributes:
        diagnostics: Every problem with its place, in the order of the text; at least one.
        file, line, column: Where the first of them is.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        first = self.diagnostics[0]
        super().__init__(first.message, first.help)
        self.file, self.line, self.column = first.file, first.line, first.column

    @classmethod
    def of(cls, problems: Iterable[tuple[str, int, int, str, str]]) -> ScenarioError:
        """The error with these problems, each file, line, column, message and help."""
        return cls(Diagnostic(*problem) for problem in problems)

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.diagnostics)
