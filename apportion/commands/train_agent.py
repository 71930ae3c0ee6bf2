"""`apportion train negotiator` and `train player`: agents that are learned from dialogues and by playing."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.shared.meter import Meter
from apportion.commands.shared.options import PATH, option_names
from apportion.commands.shared.places import check_place
from apportion.commands.shared.stopped import Stopped
from apportion.commands.world.deduction import RULES
from apportion.commands.world.playing import COUNT, SEED
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path

TINY = "tiny"


@click.command("negotiator")
@click.argument("config", metavar="CONFIG", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and no progress.")
def train_negotiation_command(config: Path, as_json: bool) -> None:
    """Train negotiators as the TOML file CONFIG says: by dialogues, by reward, or by targeted acquisition.

    `method` is sl, rl, rl+sl or acquisition (Kwon et al., 2021); all `seeds` are trained at once. Without
    `data.dialogues` scripts play the dialogues, so that an empty file is a training. Killed, the same command goes on.
    """
    from apportion.rlhf.negotiation.config import read_settings, train_negotiators

    settings = read_settings(config)
    with Meter() as meter:
        trained = train_negotiators(
            settings,
            lambda done, total, text: None if as_json else meter.say(f"{text}: {done} of {total}", done == total),
        )
    if as_json:
        figures = [row.to_json() for row in trained.rows]
        click.echo(json.dumps({"agents": [str(agent) for agent in trained.agents], "figures": figures}, indent=1))
        return
    for row in trained.last:
        found = row.measured
        pareto = "–" if found.pareto is None else f"{found.pareto:.1%}"
        click.echo(
            f"seed {row.seed}: advantage {found.advantage:+.2f}, Pareto-optimal {pareto} of deals, agreement "
            f"{found.agreement:.1%} on {settings.evaluation.contexts} held-out contexts"
        )
    click.echo(f"wrote {len(trained.agents)} agents into {trained.agents[0].parent}")
    click.echo(f"next: apportion world simulate negotiation CORPUS --agents learned@{trained.agents[0]},fair")


@click.command("player")
@click.argument("method", metavar="METHOD")
@click.argument("game", metavar="GAME")
@click.argument("out", metavar="FILE", type=PATH)
@click.option("--games", type=COUNT, help="Games that are played; by default 300 to 1,500, by method.")
@click.option("--policy", default=TINY, show_default=True, help="In sotopia: the model that learns, name or folder.")
@SEED
@RULES
def train_player_command(
    method: str, game: str, out: Path, games: int | None, policy: str, seed: int, rules: tuple[str, ...]
) -> None:
    """Train METHOD in GAME by playing with scripts and with itself, and write FILE, which an agent is made of.

    strategist avalon, strategist werewolf: a value, by self-play. sla werewolf, rl-ins onuw: a policy that chooses
    among candidates, in a league. lspo werewolf: strategies of speech, by regret minimisation. No language model is
    asked; the same seed gives the same file.

    sotopia-pi, dsi, sdpo sotopia: the language model --policy, on bundled bargains; FILE is a folder, which
    policy@FILE plays, and --rule rounds=2 a setting (an unknown one names all). ppdpp, epo, dat sotopia: a planner
    before that model, which is frozen; ppdpp@FILE, epo@FILE or dat@FILE plays.
    """
    from apportion.environments.sotopia.reports.social_methods import TRAINED

    if method in TRAINED and game != "sotopia":
        raise InputError(f"{method} is trained in sotopia: apportion train player {method} sotopia FOLDER")
    check_path(out)
    try:
        if game == "sotopia":
            _train_social(method, policy, out, games, seed, rules)
        else:
            _train_in_game(method, game, policy, out, games, seed, rules)
    except KeyboardInterrupt:
        raise Stopped("Nothing was written; the same command begins anew.") from None


def _train_in_game(
    method: str, game: str, policy: str, out: Path, games: int | None, seed: int, rules: tuple[str, ...]
) -> None:
    from apportion.environments.deduction.games import game_called
    from apportion.environments.deduction.player_training import MEASURES, trained

    options = game_called(game).options_of(rules, option_names())
    if policy != TINY:
        raise InputError(f"--policy is of sotopia; in {game} no language model learns")
    check_place(out, "FILE")
    told: list[float] = []
    with Meter() as meter:

        def tell(done: int, value: float) -> None:
            told.append(value)
            meter.say(f"{done}: {MEASURES[method]} {value:.3f}", False)

        table = trained(method, game, options, games, seed, tell)
    table.write(out)
    click.echo(
        f"wrote {out}: {len(table.rows):,} rows; {MEASURES[method]} {told[0]:.3f} at first, {told[-1]:.3f} at last"
    )
    click.echo(f"next: apportion world tournament {game} CORPUS --teams --agents {method}@{out},claims")


def _train_social(method: str, policy: str, out: Path, games: int | None, seed: int, rules: tuple[str, ...]) -> None:
    from apportion.environments.deduction.games import options_given
    from apportion.rlhf.social.methods import train_social
    from apportion.rlhf.social.run import SocialSettings

    if games is not None:
        raise InputError("--games is of games of hidden roles; in sotopia say --rule draws=2: episodes a task and seat")
    settings = options_given(SocialSettings, rules, option_names())
    if not out.exists():
        check_place(out, "FILE")
    report = train_social(method, policy, out, settings, seed, lambda line: click.echo(line, err=True))
    click.echo(f"wrote {out}. {report.text()}")
    partner = "" if settings.partner == "self" else f",{settings.partner}"  # One agent has both seats.
    click.echo(f"next: apportion world simulate sotopia CORPUS --agents {report.agent}@{out}{partner}")
