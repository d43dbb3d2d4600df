"""What is wrong with a workload file: the first error is raised, or all are kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from headgate.model import HeadgateError


@dataclass(slots=True)
class Problems:
    """Errors of a file. With `keep` each one is noted and reading goes on with the next part; without, it is raised.

    >>> problems = Problems(keep=True)
    >>> for number in 1, 2:
    ...     with problems.noted():
    ...         raise HeadgateError(f"part {number} is wrong")
    >>> [error.message for error in problems.found]
    ['part 1 is wrong', 'part 2 is wrong']
    """

    keep: bool = False
    found: list[HeadgateError] = field(default_factory=list)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note an error that is raised inside."""
        try:
            yield
        except HeadgateError as error:
            if not self.keep:
                raise
            self.note(error)

    def note(self, error: HeadgateError) -> None:
        """Note an error; one of each place is enough."""
        if not error.where or all(other.where != error.where for other in self.found):
            self.found.append(in_one_line(error))


def in_one_line(error: HeadgateError) -> HeadgateError:
    """The error without line breaks: a file may have them in its names and texts."""
    if len(str(error).splitlines()) <= 1:
        return error
    message, where, hint = (" ".join(part.split()) for part in (error.message, error.where, error.hint))
    return HeadgateError(message, where=where, hint=hint)
