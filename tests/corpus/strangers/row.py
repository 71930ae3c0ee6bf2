"""One fault that strangers' files have, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from apportion.corpus.corpus import Corpus

Outcome = Literal["recovered", "refused", "told"]
"""Read as it was meant; exit code 2 with the place and the next step; read, and what is odd is said."""


@dataclass(frozen=True)
class Row:
    """``write`` makes the input in a folder and gives the arguments of `apportion import` but for the corpus.

    ``says`` is a pattern in what the command prints, ``holds`` looks at the corpus that was made; a recovered row needs
    the latter, the others the former.
    """

    kind: str
    fault: str
    outcome: Outcome
    write: Callable[[Path], list[str]]
    says: str = ""
    holds: Callable[[Corpus], bool] | None = None

    def __post_init__(self) -> None:
        assert self.says or self.outcome == "recovered", f"{self.fault}: nothing is looked for in what is said"
        assert self.holds or self.outcome != "recovered", f"{self.fault}: nothing is looked for in the corpus"

    def __str__(self) -> str:
        return f"{self.kind}: {self.fault}"
