"""`apportion probe`: the behaviour in one media file as a table and a picture, before a corpus is made of it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import PATH, json_option, option_names, with_options
from apportion.commands.shared.places import check_place, unwritable, write
from apportion.commands.shared.progress import shown_progress
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.features.settings import FeatureSettings

SETTINGS_OPTIONS = (
    click.option("--pitch-floor", "pitch_floor_hz", type=float, metavar="HZ", help="Lowest pitch.  [default: own]"),
    click.option("--pitch-ceiling", "pitch_ceiling_hz", type=float, metavar="HZ", help="Highest.  [default: own]"),
    click.option(
        "--detector",
        type=click.Choice(["auto", "haar", "yunet", "mesh", "mediapipe"]),
        help="What finds faces.  [default: auto: mesh where it is here, else haar]",
    ),
    click.option("--yunet-model", type=PATH, metavar="FILE", help="For --detector yunet."),
    click.option("--landmarker-model", type=PATH, metavar="FILE", help="For --detector mediapipe."),
    click.option("--emotion-model", metavar="FILE", help="ONNX file of the eight emotions, or `auto` or `none`."),
)


@click.command("probe")
@click.argument("media", type=PATH)
@click.option("--start", "start_s", type=float, default=0.0, metavar="S", help="Report from this second on.")
@click.option("--end", "end_s", type=float, metavar="S", help="Report up to this second.  [default: the file's end]")
@json_option("the figures", quiet=True, more="; a picture only with --png")
@click.option("--png", type=PATH, metavar="FILE", help="The picture.  [default: NAME.probe.png here]")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="CHANNEL",
    help="L, R or a number from 0 (sound), left or right (half of the picture); one of each may be given.",
)
@click.option("--config", type=PATH, help="Take [features] of this configuration.")
@partial(with_options, SETTINGS_OPTIONS)
def probe_command(
    media: Path,
    start_s: float,
    end_s: float | None,
    as_json: bool,
    png: Path | None,
    channels: tuple[str, ...],
    config: Path | None,
    **changes: Any,
) -> None:
    """Measure the behaviour in one audio or video file: a table here and a picture in a PNG.

    The figures are those that `apportion run --only features` would give. --start and --end choose what is reported:
    the sound is analysed whole all the same, pictures to a few seconds after the end.
    """
    from apportion.features.probe.probe import probe, render

    settings = _settings(config, changes)
    png = Path(f"{media.stem}.probe.png") if png is None and not as_json else png
    if png is not None:
        _check_place(png, media)
    with shown_progress("pictures", "s", as_json) as progress:
        probed = probe(media, settings, start_s, end_s, channels, progress)
    if png is not None:
        from apportion.features.probe.picture import draw_probe

        write(png, "--png", draw_probe(probed))
    if as_json:
        click.echo(
            json.dumps({**probed.to_json(), "png": None if png is None else str(png)}, indent=1, allow_nan=False)
        )
        return
    click.echo(render(probed))
    if png is not None:
        click.echo(f"wrote {click.format_filename(png)}")
    click.echo("next: apportion import media FOLDER CORPUS (a folder a session), then apportion init CORPUS")


def _settings(config: Path | None, changes: dict[str, Any]) -> FeatureSettings:
    from pydantic import ValidationError

    from apportion.features.settings import FeatureSettings
    from apportion.foundation.settings import problems

    settings = FeatureSettings()
    if config is not None:
        from apportion.pipeline.config import load_config

        settings = load_config(config).features
    given = {name: value for name, value in changes.items() if value is not None}
    for name, detector in (("yunet_model", "yunet"), ("landmarker_model", "mediapipe")):
        if name in given:
            given.setdefault("detector", detector)
    try:
        return FeatureSettings.model_validate({**settings.model_dump(), **given})
    except ValidationError as error:
        refused = "; ".join(problems(error, option_names()))
        raise InputError(f"the settings cannot be used: {refused}. Change the options.") from None


def _check_place(png: Path, media: Path) -> None:
    """Before minutes are spent: whether the picture can be written there. Only pictures are replaced."""
    check_place(png, "--png", (".png",), make_folder=False)
    try:
        same = png.exists() and media.exists() and png.samefile(media)
    except OSError as error:
        raise unwritable(png, "--png", error) from None
    if same:
        raise InputError(f"--png {png}: that is the recording itself. Choose another name.")
