"""`apportion world play negotiation|bargaining|casino`: a person negotiates, or takes part in a study."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import PATH, with_options
from apportion.commands.world.games import ABOUT, MOST_ACTS, choice_in
from apportion.commands.world.play import MODEL_OPTIONS, how_to_play, tell_played
from apportion.commands.world.playing import SEED

_CALLED = "Your name in the corpus [default: person]"


def _command(kind: str, text: str, seats: str, unit: str, options: Sequence[Any] = ()) -> click.Command:
    """The command of a world; ``seats``: who is 1 and who is 2; ``unit``: what points are, behind the result."""

    @click.command(kind, help=text)
    @click.argument("out", metavar="CORPUS", type=PATH)
    @click.option("--as", "seat", type=int, default=1, show_default=True, help=f"Your seat: {seats}.")
    @click.option("--with", "partner", metavar="AGENT", default="conceding", show_default=True, help="The other side.")
    @click.option("--called", "person", metavar="NAME", help=_CALLED + "; in a study an id." * bool(options))
    @partial(with_options, (*options, SEED, *ABOUT[kind], MOST_ACTS, *MODEL_OPTIONS))
    def command(
        out: Path,
        seat: int,
        partner: str,
        person: str | None,
        seed: int,
        most_acts: int,
        study: Path | None = None,
        report: bool = False,
        contexts: Path | None = None,
        scenarios: Path | None = None,
        **how: Any,
    ) -> None:
        if report or study is not None:
            _study(study, out, person, report, **how)
            return
        from apportion.environments.human_play.negotiation import PersonNegotiates
        from apportion.environments.terminal.console import terminal

        screen, how = terminal(), how_to_play(person or "person", seed, **how)
        files: dict[str, Any] = {"contexts": contexts, "scenarios": scenarios}
        about = {name: file for name, file in files.items() if file is not None}
        choice = choice_in(kind)(most_acts=most_acts, **about)
        played = PersonNegotiates(choice, seat, partner, **how).play(out, screen)
        points, advantage = played.scores["points"], played.scores["advantage"]
        tell_played(played, out, f"You have {points:.3g} points, the other {points - advantage:.3g}, {unit}.")

    return command


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


_STUDY = (
    click.option("--study", type=PATH, metavar="FILE.toml", help="Take part in this study instead."),
    click.option("--report", is_flag=True, help="Write what came of the study as study.md and study.json, and stop."),
)
_NEGOTIATION = """Negotiate with an agent: share out books, hats and balls, whose worth to you only you know.

--with is an agent of `simulate negotiation`: a script, learned@FOLDER, recorded@LOG#EPISODE, or a language model
(base, react, base@MODEL), which is sent what its side knows and what you say. Say it in your own words, or by
/propose, /insist, /agree, /disagree and /end; /help lists them. Ctrl-C stops; the same command goes on where it
stopped, even after a kill. Another --seed gives another game; all of them may go into the same CORPUS.

With --study, CORPUS is the study's folder: consent, rules, a quiz, a practice game, games with several agents, ten
questions each. Every agent is called Alice: which one it is stands in the folder and on no screen. Nothing is kept
of a person but the id, what they did and what they answered. docs/guides/people.md says what FILE holds.
"""
_OTHERS = """{task}

--with is an agent of `simulate {kind}`: a script, recorded@LOG#EPISODE, or a language model (base, base@MODEL),
which is sent what its side knows and what you say. Say it in your own words, or by {acts}; /help lists
them. Ctrl-C stops; the same command goes on where it stopped, even after a kill. Another --seed gives another
game; all of them may go into the same CORPUS.
"""
_BARGAINING = _OTHERS.format(
    task="Bargain with an agent about a price: only you know your budget, or your cost as the seller.",
    kind="bargaining",
    acts="/offer, /accept, /refuse and /leave",
)
_CASINO = _OTHERS.format(
    task="Play CaSiNo's game with an agent: share out food, water and firewood; without a deal both have 5 points.",
    kind="casino",
    acts="/propose, /insist, /agree, /disagree and /end",
)
PLAY_COMMANDS = (
    _command("negotiation", _NEGOTIATION, "1 is Alice, 2 is Bob", "of 10 each", _STUDY),
    _command("bargaining", _BARGAINING, "1 buys, 2 sells", "in percent of the list price"),
    _command("casino", _CASINO, "1 is Alice, 2 is Bob", "of 36 each"),
)
