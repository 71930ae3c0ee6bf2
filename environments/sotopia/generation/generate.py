"""From a choice to candidates: what a language model makes up, each held to its rules, for a person to decide on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from apportion.environments.sotopia.generation.choice import GenerationChoice, Kind
from apportion.environments.sotopia.generation.inputs import Item, Vignette
from apportion.environments.sotopia.generation.profile_rules import (
    CHARACTER_RULES,
    RELATIONSHIP_RULES,
    Findings,
    Rule,
    findings,
)
from apportion.environments.sotopia.generation.questions import Question, Questions
from apportion.environments.sotopia.generation.scenario_rules import SALE_RULES, SCENARIO_RULES, Sale, sale_of
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario
from apportion.foundation.errors import UnitError
from apportion.foundation.progress import Progress
from apportion.llm_client.many_requests import PlannedRequests, ask_each
from apportion.llm_client.session import Complete

RULES: Mapping[Kind, Sequence[Rule[Any]]] = {
    "characters": CHARACTER_RULES,
    "relationships": RELATIONSHIP_RULES,
    "scenarios": SCENARIO_RULES,
    "sales": SALE_RULES,
}
EXAMPLES = ("borrowed_coat", "holiday_plans")
"""Of our scenarios, those that a model is shown."""
TOO_LONG = "Use a model with a longer context, or shorter vignettes."
Made = Character | KnownPair | Scenario


@dataclass(frozen=True)
class Candidate:
    """Something generated: what it is, what it began with, and what the rules say of it."""

    made: Made
    origin: str
    findings: Findings


@dataclass(frozen=True)
class Failed:
    """What could not be made: what it began with, and why."""

    origin: str
    cause: str


@dataclass(frozen=True)
class Generated:
    """Candidates in their order, and what could not be made."""

    kind: Kind
    model: str
    candidates: tuple[Candidate, ...]
    failed: tuple[Failed, ...]


def generate(choice: GenerationChoice, complete: Complete, progress: Progress) -> Generated:
    """Ask for everything; what fails is left out and the rest goes on.

    ``choice``: What is generated. ``complete``: Asks the model (`apportion.llm_client.session.LLMSession.complete`),
    which keeps each reply before it is used. ``progress``: Told how many candidates are done, of how many, and what the
    last one began with. Raises InputError: The choice cannot be used, or no request can succeed until a person changes
    something. Raises StoppedError: The budget is used up; replies are kept, and the same call goes on.
    """
    asked, model = choice.questions, choice.questions.settings.model
    made: list[tuple[Made, str]] = []
    failed: list[Failed] = []
    jobs: list[tuple[str, Callable[[], Made]]]
    if choice.kind == "characters":
        listed, failed = _characters(choice, complete)
        jobs = [(one.name, partial(_with_background, asked, one, complete)) for one in listed]
    else:
        jobs = [(_place(begun), partial(_one, choice, begun, complete)) for begun in choice.drawn]
    before = len(failed)
    results = ask_each(
        lambda job: job[1](),
        jobs,
        choice.chosen.concurrency,
        lambda done, job: progress(before + done, choice.total, job[0]),
    )
    for (origin, _), result in zip(jobs, results, strict=True):
        if isinstance(result, UnitError):
            failed.append(Failed(origin, str(result)))
        else:
            made.append((result, origin))
    return Generated(choice.kind, model, tuple(_judged(choice, made, model)), tuple(failed))


def every_question(choice: GenerationChoice) -> Iterator[Question[Any]]:
    """Everything that would be asked; a list or a character that is not made yet has a stand-in of the same length."""
    asked, drawn = choice.questions, choice.drawn
    if choice.kind == "characters":
        names = [one.name for one in choice.space.characters]
        ours = bundled_tasks.characters()
        number = 0
        for count in choice.lists:
            yield asked.characters(count, names)
            for _ in range(count):
                stand_in = replace(ours[number % len(ours)], name=f"Somebody {number}", public_info="", personality="")
                names.append(stand_in.name)
                number += 1
                yield asked.background(stand_in)
        return
    for begun in drawn:
        if isinstance(begun, Item):
            with suppress(UnitError):  # Told when it is made: nothing is asked for it.
                yield from asked.sale(sale_of(begun, choice.seed))
        else:
            yield _question(choice, begun)


def _characters(choice: GenerationChoice, complete: Complete) -> tuple[list[Character], list[Failed]]:
    """Lists one after the other, because each is told the names that are taken."""
    made: list[Character] = []
    failed: list[Failed] = []
    for number, count in enumerate(choice.lists, 1):
        taken = {one.name for one in (*choice.space.characters, *made)}
        try:
            made += choice.questions.characters(count, taken).ask(complete)
        except UnitError as error:
            failed.append(Failed(f"list {number} of {count} characters", str(error)))
    return made, failed


def _with_background(asked: Questions, character: Character, complete: Complete) -> Character:
    reply = asked.background(character).ask(complete)
    return replace(character, secret=reply.secret, public_info=reply.public_info)


def _question(choice: GenerationChoice, begun: Any) -> Question[Any]:
    if isinstance(begun, Vignette):
        examples = [one for one in bundled_tasks.scenarios() if one.name in EXAMPLES]
        return choice.questions.scenario(begun, examples, {one.occupation for one in choice.space.characters} - {""})
    return choice.questions.relationship(begun)


def _one(choice: GenerationChoice, begun: Any, complete: Complete) -> Made:
    if isinstance(begun, Item):
        sale = sale_of(begun, choice.seed)
        context, *goals = (question.ask(complete) for question in choice.questions.sale(sale))
        return Scenario(
            "sale", context, tuple(goals), Relationship.STRANGER, terms=sale.terms, source=_source(choice, sale)
        )
    reply = _question(choice, begun).ask(complete)
    if not isinstance(begun, Vignette):
        one, other = begun
        return KnownPair((one.name, other.name), reply.kind, reply.background_story)
    source = _source(choice, begun)
    return Scenario("vignette", reply.context, reply.goals, reply.kind, reply.ages, reply.occupations, source=source)


def _source(choice: GenerationChoice, begun: Sale | Vignette) -> str:
    what = "a template" if isinstance(begun, Sale) else "a vignette"
    named = f" of {begun.source}" if isinstance(begun, Vignette) and begun.source else ""
    return f"generated by {choice.questions.settings.model} from {what}{named}"


def _place(begun: Any) -> str:
    return begun.place if isinstance(begun, Item | Vignette) else " and ".join(one.name for one in begun)


def _judged(choice: GenerationChoice, made: Sequence[tuple[Made, str]], model: str) -> Iterator[Candidate]:
    """Each with a name of its own, held to the rules among all that was there and was made before it."""
    space, rules = choice.space, RULES[choice.kind]
    begun = {_place(one): one for one in choice.drawn}
    for thing, origin in made:
        if isinstance(thing, Scenario):
            of = begun[origin]
            thing = replace(thing, name=_name(of.title if isinstance(of, Item) else of.text, space))
        yield Candidate(thing, origin, findings(rules, thing, space))
        if isinstance(thing, Scenario):
            space = replace(space, scenarios=(*space.scenarios, thing))


def _name(text: str, space: TaskSpace) -> str:
    """A name for a scenario, of its first words."""
    words = re.findall(r"[a-z0-9]+", text.lower())[:5]
    name, taken = "_".join(words)[:50] or "scenario", {one.name for one in space.scenarios}
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    return unique


def planned(choice: GenerationChoice, cache: Path) -> PlannedRequests:
    """What would be sent; replies that are kept in ``cache`` count as answered.

    Raises InputError: the choice cannot be used.
    """
    asked = [(question.request, question.tokens) for question in every_question(choice)]
    note = "of characters that are not made yet, the requests hold others in their place"
    notes = (note,) if choice.kind == "characters" else ()
    return PlannedRequests(choice.questions.settings, choice.chosen, cache, asked, choice.called, notes)
