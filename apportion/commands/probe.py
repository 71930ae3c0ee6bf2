"""`apportion probe`: the behaviour in one media file as a table and a picture, before a corpus is made of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foundation.errors import InputError

if TYPE_CHECKING:
    from features.probe.probe import Figure, Probe
    from features.settings import FeatureSettings

SETTINGS_OPTIONS = (
    click.option("--pitch-floor", "pitch_floor_hz", type=float, metavar="HZ", help="Lowest pitch.  [default: 75]"),
    click.option("--pitch-ceiling", "pitch_ceiling_hz", type=float, metavar="HZ", help="Highest.  [default: 500]"),
    click.option(
        "--detector", type=click.Choice(["haar", "yunet", "mediapipe"]), help="What finds faces.  [default: haar]"
    ),
    click.option("--yunet-model", type=click.Path(path_type=Path), metavar="FILE", help="For --detector yunet."),
    click.option(
        "--landmarker-model", type=click.Path(path_type=Path), metavar="FILE", help="For --detector mediapipe."
    ),
    click.option("--emotion-model", metavar="FILE", help="ONNX file of the eight emotions, or `auto` or `none`."),
)


def _with_settings_options(command: Any) -> Any:
    for option in reversed(SETTINGS_OPTIONS):
        command = option(command)
    return command


@click.command("probe")
@click.argument("media", type=click.Path(path_type=Path))
@click.option("--start", "start_s", type=float, default=0.0, metavar="S", help="Report from this second on.")
@click.option("--end", "end_s", type=float, metavar="S", help="Report up to this second.  [default: the file's end]")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the figures as JSON and no progress; a picture only with --png."
)
@click.option(
    "--png", type=click.Path(path_type=Path), metavar="FILE", help="The picture.  [default: NAME.probe.png here]"
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="CHANNEL",
    help="L, R or a number from 0 (sound), left or right (half of the picture); one of each may be given.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Take [features] of this configuration.")
@_with_settings_options
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

    The figures are those that `apportion features` would give. --start and --end choose what is reported: the sound
    is analysed whole all the same, pictures to a few seconds after the end.
    """
    from features.probe.probe import probe

    settings = _settings(config, changes)
    png = Path(f"{media.stem}.probe.png") if png is None and not as_json else png
    if png is not None:
        _check_place(png, media)
    with _Meter(quiet=as_json) as meter:
        probed = probe(media, settings, start_s, end_s, channels, meter)
    if png is not None:
        _write_picture(probed, png)
    if as_json:
        click.echo(
            json.dumps({**probed.to_json(), "png": None if png is None else str(png)}, indent=1, allow_nan=False)
        )
        return
    click.echo(_table(probed))
    if png is not None:
        click.echo(f"wrote {click.format_filename(png)}")
    click.echo("next: apportion import media FOLDER CORPUS (a folder a session), then apportion init CORPUS")


def _settings(config: Path | None, changes: dict[str, Any]) -> FeatureSettings:
    from pydantic import ValidationError

    from features.settings import FeatureSettings

    settings = FeatureSettings()
    if config is not None:
        from pipeline.config import load_config

        settings = load_config(config).features
    given = {name: value for name, value in changes.items() if value is not None}
    for name, detector in (("yunet_model", "yunet"), ("landmarker_model", "mediapipe")):
        if name in given:
            given.setdefault("detector", detector)
    try:
        return FeatureSettings.model_validate({**settings.model_dump(), **given})
    except ValidationError as error:
        problems = "; ".join(_problem(item) for item in error.errors())
        raise InputError(f"the settings cannot be used: {problems}. Change the options.") from None


def _problem(item: Any) -> str:
    said = str(item["msg"]).removeprefix("Value error, ")
    return f"{item['loc'][0]} = {item['input']}: {said}" if item["loc"] else said


def _check_place(png: Path, media: Path) -> None:
    """Before minutes are spent: whether the picture can be written there. Only pictures are replaced."""
    if png.suffix.lower() != ".png":
        raise InputError(f"--png {png}: the name must end in .png, because that is what is written.")
    if png.is_dir():
        raise InputError(f"--png {png}: a folder. Name a file in it.")
    try:
        if png.exists() and media.exists() and png.samefile(media):
            raise InputError(f"--png {png}: that is the recording itself. Choose another name.")
        with tempfile.TemporaryFile(dir=png.parent):
            pass
    except OSError as error:
        raise _unwritable(png, error) from None


def _write_picture(probed: Probe, png: Path) -> None:
    from features.probe.picture import draw_probe
    from foundation.files import write_atomically

    try:
        write_atomically(png, draw_probe(probed))
    except OSError as error:
        raise _unwritable(png, error) from None


def _unwritable(png: Path, error: OSError) -> InputError:
    return InputError(f"{png}: cannot be written ({error.strerror}). Choose another place with --png.")


def _table(probed: Probe) -> str:
    lines = [
        f"{probed.shown_name}: {probed.holds}, from {probed.start_s:.2f} to {probed.end_s:.2f} s",
        "",
        f"{'feature':<17}{'mean':>10}  {'unit':<13}coverage",
    ]
    observed = [f for f in probed.figures if f.unit != "probability" or probed.emotion_model is not None]
    lines += [f"{f.feature:<17}{_mean(f):>10}  {f.unit:<13}{f.coverage:>7.1%}" for f in observed]
    lines += [f"{feature} at {_listed(spans)}" for feature, spans in probed.nods.items() if spans]
    return "\n".join([*lines, "", *(f"note: {note}" for note in probed.notes)])


def _mean(figure: Figure) -> str:
    if figure.mean is None:
        return "-"
    digits = {"Hz": 2, "dB": 2, "fraction": 5, "%": 3, "nods": 0, "shakes": 0}.get(figure.unit, 3)
    return f"{figure.mean:.{digits}f}"


def _listed(spans: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{start_s:.2f} to {end_s:.2f} s" for start_s, end_s in spans)


class _Meter:
    """Seconds of pictures looked at so far, on the error stream."""

    def __init__(self, quiet: bool) -> None:
        from pipeline.engine.progress import StageProgress

        self._progress = StageProgress(quiet=quiet)
        self._shown: int | None = None

    def __enter__(self) -> _Meter:
        self._progress.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._progress.__exit__(*error)

    def __call__(self, done_s: float, total_s: float | None) -> None:
        done, total = max(0, int(done_s)), int(total_s or 0)
        if self._shown is None:
            self._progress.begin("pictures", total)
            self._shown = 0
        if done > self._shown:
            self._progress.advance("pictures", done - self._shown)
            self._progress.note("pictures", f"{done} of {total} s" if total else f"{done} s")
            self._shown = done
