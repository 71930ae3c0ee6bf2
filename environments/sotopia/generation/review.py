"""The list that a person accepts or rejects: a file with every candidate, what the rules say of it, and ``accept``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from apportion.environments.sotopia.generation.choice import KINDS, Kind
from apportion.environments.sotopia.generation.generate import RULES, Candidate, Generated, Made
from apportion.environments.sotopia.generation.profile_rules import findings
from apportion.environments.sotopia.generation.scenario_rules import FOR_A_PERSON
from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace
from apportion.environments.sotopia.sources.task_file import (
    CharacterRow,
    RelationshipRow,
    ScenarioRow,
    character_row,
    refused,
    relationship_row,
    scenario_row,
    table,
)  # fmt: skip
from apportion.environments.sotopia.tasks import Character, Scenario
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Settings
from apportion.foundation.toml_text import toml_text

YES, NO, UNDECIDED = "yes", "no", ""
_HEAD = (
    'Made up by a language model. Read each candidate, mend its text where you like, and write accept = "yes" or "no".',
    "failed: what code finds wrong by the authors' guideline; passed: the rules that hold. A rule can be mistaken.",
)


class CandidateRow(Settings):
    """One candidate; one of the three tables is there."""

    accept: Annotated[str, Field(pattern=r"^(?i:yes|no|)$")] = UNDECIDED
    failed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    origin: str = ""
    character: CharacterRow | None = None
    relationship: RelationshipRow | None = None
    scenario: ScenarioRow | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> CandidateRow:
        if sum(row is not None for row in (self.character, self.relationship, self.scenario)) != 1:
            raise ValueError("a candidate is one of character, relationship and scenario")
        return self

    def made(self) -> Made:
        """What it is, as the person has left it; raises InputError for what cannot be used."""
        row = self.character or self.relationship or self.scenario
        assert row is not None
        return row.made()


class ReviewFile(Settings):
    """The whole list; ``kind`` says which rules hold, ``model`` who made it up."""

    kind: Kind
    model: str
    candidate: tuple[CandidateRow, ...] = ()


@dataclass(frozen=True)
class Accepted:
    """The task space with what was accepted, how many were; ``against``: rules that accepted ones break."""

    space: TaskSpace
    accepted: int = 0
    rejected: int = 0
    undecided: int = 0
    against: tuple[str, ...] = ()


def review_text(generated: Generated) -> str:
    """The file's text; the same candidates give the same bytes."""
    people = [f"Only a person can tell: {words}." for words in FOR_A_PERSON] if generated.kind == "scenarios" else []
    lines = [f"# {line}" for line in (*_HEAD, *people)]
    lines += [f"kind = {toml_text(generated.kind)}", f"model = {toml_text(generated.model)}"]
    for candidate in generated.candidates:
        lines += _candidate(candidate)
    return "\n".join(lines) + "\n"


def _candidate(candidate: Candidate) -> Iterator[str]:
    yield from ("", "[[candidate]]", f'accept = "{UNDECIDED}"')
    for name, values in (("failed", candidate.findings.failed), ("passed", candidate.findings.passed)):
        yield f"{name} = {toml_text(values)}"
    yield f"origin = {toml_text(candidate.origin)}"
    made = candidate.made
    if isinstance(made, Character):
        yield from table("candidate.character", character_row(made), "[]")[1:]
    elif isinstance(made, KnownPair):
        yield from table("candidate.relationship", relationship_row(made), "[]")[1:]
    else:
        yield from table("candidate.scenario", scenario_row(made), "[]")[1:]


def read_review(path: Path) -> ReviewFile:
    """Read a list that a person has gone through.

    Raises InputError: a file that cannot be read, or is no such list: what is wrong is named.
    """
    try:
        return ReviewFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML ({error})") from None
    except ValidationError as error:
        raise InputError(f"{path}: {'; '.join(refused(error)[:5])}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from None


def accept(paths: Sequence[Path], base: TaskSpace) -> Accepted:
    """A task space with what a person has accepted of some lists.

    ``paths``: Lists; their order does not matter: characters come first, then relationships, then scenarios. ``base``:
    What it is added to; empty where the accepted ones stand for themselves. Returns: Rules are looked at again, for the
    texts as the person has left them. Raises InputError: A list that cannot be read, an accepted candidate that cannot
    be used, or none accepted.
    """
    if base.tasks and base.exact:
        note = f"{len(base.tasks)} stated tasks of {base.place} are left out: pairs are drawn for all scenarios"
        base = replace(base, tasks=(), named="", notes=(*base.notes, note))
    read = sorted(((path, read_review(path)) for path in paths), key=lambda item: _ORDER[item[1].kind])
    done = Accepted(base)
    for path, review in read:
        for number, row in enumerate(review.candidate, 1):
            decision = row.accept.lower()
            if decision == YES:
                done = _added(done, f"{path}: candidate {number}", review.kind, row)
            else:
                done = replace(
                    done, rejected=done.rejected + (decision == NO), undecided=done.undecided + (decision == UNDECIDED)
                )
    if not done.accepted:
        raise InputError(
            f"{', '.join(map(str, paths))}: nothing is accepted ({done.rejected} rejected, {done.undecided} "
            f'undecided); write accept = "{YES}" above what you want'
        )
    return done


_ORDER = {kind: order for order, kind in enumerate(KINDS)}


def _added(done: Accepted, place: str, kind: Kind, row: CandidateRow) -> Accepted:
    try:
        made = row.made()
        said = findings(RULES[kind], made, done.space)
        space = _with(done.space, made)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    against = tuple(f"{place}: {problem}" for problem in said.failed)
    return replace(done, space=space, accepted=done.accepted + 1, against=(*done.against, *against))


def _with(space: TaskSpace, made: Made) -> TaskSpace:
    if isinstance(made, Character):
        return replace(space, characters=(*space.characters, made))
    if isinstance(made, KnownPair):
        return replace(space, relationships=(*space.relationships, made))
    assert isinstance(made, Scenario)
    return replace(space, scenarios=(*space.scenarios, made))
