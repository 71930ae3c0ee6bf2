"""`apportion train intensity` and `train measurer`: a model trained on what a user has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.meter import Meter
from apportion.commands.shared.options import PATH, json_option
from apportion.foundation.errors import InputError


def _trained_model(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The argument, and the options of both: where the model is written, and JSON."""
    place = click.option("--output", "-o", type=PATH, default=Path(f"{name}-model"), show_default=True, help="Folder.")
    return lambda command: click.argument("folder", type=PATH)(place(json_option(quiet=True)(command)))


@click.command("intensity")
@_trained_model("intensity")
def intensity_command(folder: Path, output: Path, as_json: bool) -> None:
    """Train a model of vocal intensity on the labelled speech in FOLDER, in RAVDESS's layout.

    Files are called 03-01-06-01-02-01-12.wav: modality, channel, emotion, intensity (01 normal, 02 strong), statement,
    repetition, actor. It is judged by actors that it has not heard.
    """
    from apportion.features.settings import FeatureSettings
    from apportion.features.vocal_intensity_model.train import train_intensity

    _check_folder(output)
    with Meter() as meter:
        model, held_out = train_intensity(
            folder,
            FeatureSettings(),
            lambda done, total, text: None if as_json else meter.say(f"{done} of {total} clips", done == total),
        )
    model.save(output, held_out.to_json())
    _tell(
        output,
        held_out.to_json(),
        as_json,
        f"{held_out.normal} normal and {held_out.strong} strong clips of {held_out.actors} actors",
        f"on actors not heard: AUC {held_out.auc:.3f}, {held_out.accuracy:.1%} told rightly",
        f"(always saying the more frequent one: {held_out.majority:.1%})",
        used="intensity",
    )


@click.command("measurer")
@_trained_model("measurer")
@click.option("--steps", type=click.IntRange(min=1), default=600, show_default=True, help="How long it learns.")
@click.option("--tokens", type=click.IntRange(128), default=512, show_default=True, help="The longest text it reads.")
@click.option("--sessions", type=PATH, help="Only those whose ids this file lists.")
def measurer_command(folder: Path, output: Path, as_json: bool, steps: int, tokens: int, sessions: Path | None) -> None:
    """Train a small language model on the dialogues of the corpus FOLDER, for the method influence.

    For where no other model can be had. It reads texts alone, and is judged by sessions that it has not read.
    """
    from apportion.rlhf.language_model_finetune import CorpusModelSettings, sessions_of, train_corpus_model

    _check_folder(output)
    settings = CorpusModelSettings(steps=steps, tokens=tokens)
    with Meter() as meter:

        def note(step: int, loss: float) -> None:
            if not as_json and step % 10 == 0:
                meter.say(f"step {step} of {settings.steps}, {loss:.3f} nats a token", step == settings.steps)

        held_out = train_corpus_model(sessions_of(folder, sessions), output, settings, note)
    _tell(
        output,
        held_out.to_json(),
        as_json,
        f"learned from {held_out.read} sessions",
        f"{held_out.sessions} sessions not read: {held_out.nats:.3f} nats a token "
        f"(knowing nothing: {held_out.uniform:.3f})",
        used="influence",
    )


TRAIN_COMMANDS = (intensity_command, measurer_command)


def _check_folder(output: Path) -> None:
    if output.exists() and not output.is_dir():
        raise InputError(f"--output {output}: a file; name the folder that the model is to be written into.")


def _tell(output: Path, held_out: dict[str, Any], as_json: bool, *lines: str, used: str) -> None:
    if as_json:
        click.echo(json.dumps({"model": str(output), **held_out}, indent=1, sort_keys=True))
        return
    for line in (*lines, f"wrote {output}"):
        click.echo(line)
    click.echo(f'next: decompose.{used}.model = "{output}" and the method {used} in a configuration')
