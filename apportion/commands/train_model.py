"""`apportion models train`: a model trained on what a user has."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.parts.meter import Meter
from apportion.commands.parts.options import json_option


@click.command("train")
@click.argument("name", type=click.Choice(["intensity"]))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("intensity-model"), show_default=True)
@json_option(quiet=True)
def train_command(name: str, folder: Path, output: Path, as_json: bool) -> None:
    """Train the model `intensity` on the labelled speech in FOLDER, in RAVDESS's layout, and say how good it is.

    Files are called 03-01-06-01-02-01-12.wav: modality, channel, emotion, intensity (01 normal, 02 strong), statement,
    repetition, actor. It is judged by actors that it has not heard.
    """
    from features.settings import FeatureSettings
    from features.vocal_intensity.train import train_intensity
    from foundation.errors import InputError

    if output.exists() and not output.is_dir():
        raise InputError(f"--output {output}: a file; name the folder that the model is to be written into.")
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
