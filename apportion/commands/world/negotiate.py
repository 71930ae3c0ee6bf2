"""`apportion world play negotiation`: a person negotiates, or takes part in a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import with_options
from apportion.commands.world.games import CONTEXT_OPTIONS
from apportion.commands.world.play import MODEL_OPTIONS, how_to_play, tell_played


@click.command("negotiation")
@click.argument("out", metavar="CORPUS", type=click.Path(path_type=Path))
@click.option("--as", "seat", type=int, default=1, show_default=True, help="Your seat: 1 is Alice, 2 is Bob.")
@click.option("--with", "partner", metavar="AGENT", default="conceding", show_default=True, help="The other side.")
@click.option("--called", "person", metavar="NAME", help="Your name in the corpus [default: person]; in a study an id.")
@click.option("--study", type=click.Path(path_type=Path), metavar="FILE.toml", help="Take part in this study instead.")
@click.option("--report", is_flag=True, help="Write what came of the study as study.md and study.json, and stop.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
def play_negotiation_command(
    out: Path,
    seat: int,
    partner: str,
    person: str | None,
    study: Path | None,
    report: bool,
    seed: int,
    contexts: Path | None,
    most_acts: int,
    **how: Any,
) -> None:
    """Negotiate with an agent: share out books, hats and balls, of which you know what they are worth to you.

    --with is an agent of `simulate negotiation`: a script, learned@FOLDER, recorded@LOG#EPISODE, or a language model
    (base, react, base@MODEL), which is sent what its side knows and what you say. Say it in your own words, or by
    /propose, /insist, /agree, /disagree and /end; /help lists them. Ctrl-C stops; the same command goes on where it
    stopped, even after a kill. Another --seed gives another game; all of them may go into the same CORPUS.

    With --study, CORPUS is the study's folder: consent, rules, a quiz, a practice game, games with several agents, ten
    questions each. Every agent is called Alice: which one it is stands in the folder and on no screen. Nothing is kept
    of a person but the id, what they did and what they answered. docs/guides/people.md says what FILE holds.
    """
    if report or study is not None:
        _study(study, out, person, report, **how)
        return
    from apportion.environments.human_play.negotiation import PersonNegotiates
    from apportion.environments.terminal.console import terminal

    screen, how = terminal(), how_to_play(person or "person", seed, **how)
    played = PersonNegotiates(seat, partner, most_acts, contexts, **how).play(out, screen)
    points, advantage = played.scores["points"], played.scores["advantage"]
    tell_played(played, out, f"You have {points:g} points, the other {points - advantage:g}, of 10 each.")


def _study(
    file: Path | None,
    out: Path,
    person: str | None,
    report: bool,
    *,
    temperature: float,
    most_unusable: float,  # Of single games, as --as and --seed are.
    **model: Any,
) -> None:
    from apportion.commands.world.study import sit, write_report
    from apportion.foundation.errors import InputError

    if file is None:
        raise InputError("--report: of which study? Give --study FILE.toml, too")
    if report:
        write_report(file, out)
    else:
        sit(file, out, person, temperature, model)


with_options((*CONTEXT_OPTIONS, *MODEL_OPTIONS), play_negotiation_command)
