"""`apportion world simulate` and `play` of games of hidden roles, made from one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import PATH, option_names, with_options
from apportion.commands.world import play
from apportion.commands.world.playing import COUNT, HOW_OPTIONS, MODEL_OPTIONS, SEED, names_of
from apportion.environments.worlds import WORLDS

if TYPE_CHECKING:
    from apportion.environments.deduction.simulation import DeductionChoice

DEDUCTION = {world.name: world.title for world in WORLDS if world.game is not None}
"""By kind, what is played."""
RULES = click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the rules, as in docs/explanations/hidden-roles.md.",
)
LIMIT = click.option(
    "--act-limit", "limit_s", type=float, metavar="SECONDS", help="Time for one act; later is silence."
)
GAME_OPTIONS = (
    click.option("--games", type=COUNT, default=100, show_default=True, help="Games, each with a deal of its own."),
    SEED,
    RULES,
    LIMIT,
    *HOW_OPTIONS,
    *MODEL_OPTIONS,
)
"""Of a game: all but who plays, and where it is written."""


def deduction_of(kind: str, agents: str, rules: tuple[str, ...], **options: Any) -> DeductionChoice:
    """What the options of the running command choose; those that are left are the language model's."""
    from apportion.environments.deduction.games import game_called
    from apportion.environments.deduction.simulation import DeductionChoice
    from apportion.llm_client.model_spec import ModelSpec

    game, names = game_called(kind), option_names()
    own = {name: options.pop(name) for name in ("games", "seed", "limit_s", "temperature")}
    chosen = ModelSpec(**options)
    return DeductionChoice(
        game, names_of(agents), rules=game.options_of(rules, names), **own, chosen=chosen, called=names
    )


def play_command(kind: str, title: str) -> click.Command:
    """`apportion world play KIND`."""

    @click.command(kind, help=_PLAY.format(title=title, kind=kind), short_help=f"Play {title}.")
    @click.argument("out", metavar="CORPUS", type=PATH)
    @click.option("--seat", type=int, default=1, show_default=True, help="Your seat, from 1.")
    @click.option("--with", "partners", default="claims", show_default=True, help="Who has the other seats.")
    @click.option("--called", "person", default="person", show_default=True, help="Your name in the corpus.")
    def command(
        out: Path, seat: int, partners: str, person: str, rules: tuple[str, ...], seed: int, **how: Any
    ) -> None:
        from apportion.environments.deduction.games import game_called
        from apportion.environments.human_play.deduction import PersonPlays
        from apportion.environments.terminal.console import terminal

        screen, game = terminal(), game_called(kind)
        options, how = game.options_of(rules, option_names()), play.how_to_play(person, seed, **how)
        ended = PersonPlays(game, seat, names_of(partners), options, **how).play(out, screen)
        play.tell_played(ended, out, "Your team has won." if ended.scores.get("win") else "Your team has lost.")

    made: click.Command = with_options((RULES, SEED, *play.MODEL_OPTIONS), command)
    return made


SIMULATE = """Play {title}.

--agents are `random`, `claims` and `bayes` (scripts), recorded@LOG#EPISODE, a package's, and `base`, `react`,
`recon`, `belief`, `llm-ins` and `lasi` (the language model --model; base@OTHER names another one of the same server).
The seats of every game are drawn from them. Utterances are the speeches, the public acts in brackets, and what the
Moderator makes known; the rating is `win`, by the rules. docs/explanations/hidden-roles.md tells the rest. The same
command goes on after a kill, and pays for no reply twice.
"""
_PLAY = """Play {title}, with agents in the other seats.

--with are agents of `simulate {kind}`, with commas between; a language model is sent what its seat knows and what you
say. You see what your seat may know, and nothing else. In a discussion you type what you say; elsewhere the numbers of
players; /help lists what you can do. Ctrl-C stops; the same command goes on where it stopped, even after a kill.
Another --seed gives another game; all of them may go into the same CORPUS.
"""
