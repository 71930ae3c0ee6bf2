"""`apportion world play`: a person takes part in a simulated environment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import PATH, model_options, option_names, with_options
from apportion.commands.world.playing import MOST_UNUSABLE, RULE_OPTIONS
from apportion.commands.world.task_sets.tasks import SOURCE_OPTIONS

if TYPE_CHECKING:
    from apportion.environments.human_play.episode import PersonPlayed

MODEL_OPTIONS = (
    *model_options("--model", "what agents know and what you and they say", 1000, "replies.sqlite in CORPUS"),
    click.option("--temperature", type=float, default=1.0, show_default=True, help="Of a language model."),
    MOST_UNUSABLE,
)
"""Whoever the others are: what `how_to_play` takes."""


@click.group("play")
def play_group() -> None:
    """Take part in a simulated dialogue, in this terminal; what was played becomes a session of a corpus."""


@play_group.command("sotopia")
@click.argument("out", metavar="CORPUS", type=PATH)
@click.option("--as", "who", default="1", show_default=True, help="A character by name, or the seat 1 or 2.")
@click.option("--scenario", metavar="NAME", help="A scenario; drawn by the seed without it.")
@click.option("--with", "partner", metavar="AGENT", default="conceding", show_default=True, help="The other side.")
@click.option(
    "--called", "person", metavar="NAME", default="person", show_default=True, help="Your name in the corpus."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
def play_sotopia_command(
    out: Path,
    who: str,
    scenario: str | None,
    partner: str,
    person: str,
    place: Path | None,
    named: str | None,
    seed: int,
    visibility: Any,
    most_acts: int,
    **how: Any,
) -> None:
    """Play a character in a social episode (SOTOPIA) against an agent.

    `apportion world tasks sotopia list` names scenarios and characters. --with is an agent of `simulate sotopia`: a
    script, recorded@LOG#EPISODE, or a language model (base, react, refine, metamind, base@MODEL), which is sent what
    its character knows and what you say. You see what your character may know, and nothing else. Ctrl-C stops; the
    same command goes on where it stopped, even after a kill. Episodes of other scenarios, seeds and people may go into
    the same CORPUS.
    """
    from apportion.environments.human_play.sotopia import PersonChoice
    from apportion.environments.sotopia.game import Rules
    from apportion.environments.terminal.console import terminal

    screen, rules = terminal(), Rules(visibility, most_acts)
    choice = PersonChoice(who, scenario, partner, rules, place, named, **how_to_play(person, seed, **how))
    played = choice.play(out, screen)
    tell_played(played, out, _scores(played))


def how_to_play(person: str, seed: int, most_unusable: float, temperature: float, **model: Any) -> dict[str, Any]:
    """What is the same in all that people play, of the options of the running command."""
    from apportion.llm_client.model_spec import ModelSpec

    plain = {"person": person, "seed": seed, "most_unusable": most_unusable, "temperature": temperature}
    return {**plain, "chosen": ModelSpec(**model), "called": option_names()}


def tell_played(played: PersonPlayed, out: Path, scores: str | None) -> None:
    """How it ended; of the corpus no more than counts, since its notes name what players may not know."""
    before = " It was before this command; another --seed gives another episode." if played.again else ""
    click.echo(f"It is over, after {played.acts} acts.{before}")
    if scores is not None:
        click.echo(scores)
    if played.unusable:
        click.echo(played.unusable)
    rows = played.report.rows
    click.echo(f"{out}: {rows['sessions']:,} sessions, {rows['utterances']:,} utterances")
    if played.begun:
        click.echo(f"{played.begun:,} other episodes there are not over; the commands that began them go on with them")
    click.echo(f"next: apportion inspect {out}")
    if played.report.left_out or played.report.problems:
        sys.exit(1)


def _scores(played: PersonPlayed) -> str | None:
    from apportion.corpus.sotopia_eval import RANGES

    known = [name for name in RANGES if name in played.scores]
    if not known:
        return None
    told = ", ".join("{} {:.3g} ({:g} to {:g})".format(name, played.scores[name], *RANGES[name]) for name in known)
    return f"What rules can tell of your part: {told}. This is not SOTOPIA-EVAL."


with_options((*RULE_OPTIONS, *SOURCE_OPTIONS, *MODEL_OPTIONS), play_sotopia_command)
