"""`apportion train refiner`: the Refiner, by GRPO against what speeches do to their followers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.shared.meter import Meter
from apportion.commands.shared.options import PATH, json_option


@click.command("refiner")
@click.argument("config", metavar="CONFIG", type=PATH)
@json_option(quiet=True)
def refiner_command(config: Path, as_json: bool) -> None:
    """Train a Refiner as the TOML file CONFIG says; `instances` is the one key that it needs.

    The reward is how far a speech moves its follower's probabilities towards the desired answers (Eq. 5), by a frozen
    Measurer. `impact` chooses the reward (printed or released, positive or negative answers alone), `k` and `count`
    are Figures 4 and 10, `stages = "one"` trains a policy that speaks itself, `align` takes whatever `align` takes.
    Killed, the same command goes on to the same adapters.
    """
    from apportion.rlhf.stackelberg.training import read_settings, train_refiner

    settings = read_settings(config)
    with Meter() as meter:
        trained = train_refiner(
            settings,
            lambda done, total, text: None if as_json else meter.say(text, done == total),
            lambda text: None if as_json else click.echo(text),
        )
    curve = [row.to_json() for row in trained.curve]
    if as_json:
        facts = {"refiner": str(trained.folder), "turns": trained.turns, "last": trained.last, "held_out": curve}
        click.echo(json.dumps(facts, indent=1, sort_keys=True))
        return
    for row in trained.curve:
        click.echo(
            f"epoch {row.epoch}: reward {row.reward:+.3f} on {row.turns} held-out turns (±{row.deviation:.3f}), "
            f"{row.words:.0f} words a speech; of what was said in the corpus {row.unrefined:+.3f}"
        )
    if "kl" in trained.last:
        click.echo(f"last step: {trained.last['kl']:.2f} nats a reply from the start")
    click.echo(f"wrote {trained.folder}")
    click.echo(f"next: --agents react+refiner@{trained.folder}, or apportion train refiner-eval {trained.folder}")
