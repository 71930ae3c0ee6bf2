"""`apportion models train`: a model trained on what a user has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.commands.shared.meter import Meter
from apportion.commands.shared.options import json_option

if TYPE_CHECKING:
    from apportion.rlhf.language_model_finetune import CorpusModelSettings


@click.command("train")
@click.argument("name", type=click.Choice(["intensity", "measurer"]))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Where it is written.  [default: NAME-model]")
@click.option(
    "--steps", type=click.IntRange(min=1), default=600, show_default=True, help="measurer: how long it learns."
)
@click.option(
    "--tokens", type=click.IntRange(128), default=512, show_default=True, help="measurer: the longest text it reads."
)
@click.option("--sessions", type=click.Path(path_type=Path), help="measurer: only those whose ids this file lists.")
@json_option(quiet=True)
def train_command(
    name: str, folder: Path, output: Path | None, steps: int, tokens: int, sessions: Path | None, as_json: bool
) -> None:
    """Train a model on what is in FOLDER, and say how good it is on what it was kept from.

    `intensity`: of voices, on labelled speech in RAVDESS's layout. Files are called 03-01-06-01-02-01-12.wav: modality,
    channel, emotion, intensity (01 normal, 02 strong), statement, repetition, actor. It is judged by actors that it has
    not heard.

    `measurer`: a small language model of the dialogues of a corpus, for the method influence, where no other model can
    be had. It reads texts alone, and is judged by sessions that it has not read.
    """
    from apportion.foundation.errors import InputError

    output = output or Path(f"{name}-model")
    if output.exists() and not output.is_dir():
        raise InputError(f"--output {output}: a file; name the folder that the model is to be written into.")
    if name == "intensity":
        _train_intensity(folder, output, as_json)
    else:
        from apportion.rlhf.language_model_finetune import CorpusModelSettings

        _train_measurer(folder, output, CorpusModelSettings(steps=steps, tokens=tokens), sessions, as_json)


def _train_intensity(folder: Path, output: Path, as_json: bool) -> None:
    from apportion.features.settings import FeatureSettings
    from apportion.features.vocal_intensity_model.train import train_intensity

    with Meter() as meter:
        model, held_out = train_intensity(
            folder,
            FeatureSettings(),
            lambda done, total, text: None if as_json else meter.say(f"{done} of {total} clips", done == total),
        )
    model.save(output, held_out.to_json())
    if as_json:
        click.echo(json.dumps({"model": str(output), **held_out.to_json()}, indent=1, sort_keys=True))
        return
    click.echo(f"{held_out.normal} normal and {held_out.strong} strong clips of {held_out.actors} actors")
    click.echo(f"on actors not heard: AUC {held_out.auc:.3f}, {held_out.accuracy:.1%} told rightly")
    click.echo(f"(always saying the more frequent one: {held_out.majority:.1%})")
    click.echo(f"wrote {output}")
    click.echo(f'next: decompose.intensity.model = "{output}" and the method intensity in a configuration')


def _train_measurer(
    folder: Path, output: Path, settings: CorpusModelSettings, sessions: Path | None, as_json: bool
) -> None:
    from apportion.rlhf.language_model_finetune import sessions_of, train_corpus_model

    with Meter() as meter:

        def note(step: int, loss: float) -> None:
            if not as_json and step % 10 == 0:
                meter.say(f"step {step} of {settings.steps}, {loss:.3f} nats a token", step == settings.steps)

        held_out = train_corpus_model(sessions_of(folder, sessions), output, settings, note)
    if as_json:
        click.echo(json.dumps({"model": str(output), **held_out.to_json()}, indent=1, sort_keys=True))
        return
    click.echo(f"learned from {held_out.read} sessions")
    click.echo(
        f"{held_out.sessions} sessions not read: {held_out.nats:.3f} nats a token "
        f"(knowing nothing: {held_out.uniform:.3f})"
    )
    click.echo(f"wrote {output}")
    click.echo(f'next: decompose.influence.model = "{output}" and the method influence in a configuration')
