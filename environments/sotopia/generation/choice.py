"""What is to be generated, as a person chooses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, Literal

from apportion.environments.sotopia.generation.inputs import read_items, read_vignettes
from apportion.environments.sotopia.generation.questions import Questions
from apportion.environments.sotopia.sources.space import TaskSpace
from apportion.environments.sotopia.sources.task_sets import open_space
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import Called, ModelSpec

Kind = Literal["characters", "relationships", "scenarios", "sales"]
KINDS: tuple[Kind, ...] = ("characters", "relationships", "scenarios", "sales")
TEMPERATURE = 1.0
A_LIST = 10
"""Characters that one reply lists, at most."""
DEFAULT_COUNT = 10


@dataclass(frozen=True)
class GenerationChoice:
    """What is generated.

    ``kind``: One of `KINDS`. ``count``: How many; None: ten characters or relationships, or every vignette or item.
    ``tasks``: The task space that it is for: whose names are taken, who is related, who has to be able to play. None:
    what comes with the project (for characters: nobody). ``source``: The file of vignettes (``scenarios``) or of things
    for sale (``sales``). ``seed``: Of what is drawn; another one asks for other replies. ``chosen``: The model, its
    server and limits. ``temperature``: Of the model. ``called``: What a caller calls the fields, for errors.
    """

    kind: Kind
    count: int | None = None
    tasks: Path | None = None
    source: Path | None = None
    seed: int = 0
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    called: Called = str

    @cached_property
    def space(self) -> TaskSpace:
        """What it is for; raises InputError where it cannot be read."""
        if self.kind == "characters" and self.tasks is None:
            return TaskSpace("nobody")
        return open_space(self.tasks)

    @cached_property
    def questions(self) -> Questions:
        """What is asked; raises InputError where no model is chosen, or a setting cannot be used."""
        if not self.chosen.asks:
            raise InputError(f"no language model is chosen: give {self.called('model')}, or recorded replies")
        return Questions(self.chosen.llm(self.called, self.temperature), self.seed)

    @cached_property
    def drawn(self) -> Sequence[Any]:
        """What each candidate begins with: pairs, vignettes or items, in the order of the draw; for characters nothing.

        Raises InputError: a file that cannot be read or is not given, or less than is asked for.
        """
        if self.source is not None and self.kind in ("characters", "relationships"):
            raise InputError(f"{self.kind} begin with no file: leave {self.called('source')} out")
        if self.kind == "characters":
            return ()
        there: Sequence[Any]
        if self.kind == "relationships":
            known = {frozenset(pair.between) for pair in self.space.relationships}
            people = self.space.characters
            there = [pair for pair in combinations(people, 2) if frozenset(one.name for one in pair) not in known]
        else:
            if self.source is None:
                raise InputError(f"{self.kind} begin with a file: give {self.called('source')}")
            there = read_items(self.source) if self.kind == "sales" else read_vignettes(self.source)
        count = self.count
        if count is None:
            count = min(DEFAULT_COUNT, len(there)) if self.kind == "relationships" else len(there)
        if count > len(there) or not there:
            what = "pairs who are not related yet" if self.kind == "relationships" else self.kind
            raise InputError(f"{count:,} {self.kind} are asked for, and there are {len(there):,} {what} to begin with")
        if self.count is None and self.kind != "relationships":
            return there
        return Random(f"{self.seed}/{self.kind}").sample(list(there), count)

    @property
    def lists(self) -> list[int]:
        """How many characters each reply is to list."""
        count = DEFAULT_COUNT if self.count is None else self.count
        return [min(A_LIST, count - start) for start in range(0, count, A_LIST)]

    @property
    def total(self) -> int:
        """How many candidates there will be, if all goes well; raises as `drawn`."""
        drawn = self.drawn
        return sum(self.lists) if self.kind == "characters" else len(drawn)
