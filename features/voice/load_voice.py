"""From one row of the media table to the voice in its recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from apportion.corpus.session import Media
from apportion.features.media_io.audio import Track, read_pieces
from apportion.features.media_io.channel import heard_channel, parse_channel, voice_channel
from apportion.features.media_io.chunks import Blocks
from apportion.features.media_io.media import open_recording
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Span
from apportion.features.voice.voice_features import Voice, measure_blocks
from apportion.foundation.errors import UnitError


def listen(
    root: Path,
    media: Media,
    settings: FeatureSettings,
    tell: Callable[[str], None] = lambda text: None,
    own: Sequence[Span] = (),
) -> Voice | None:
    """Measure the voice of ``media.speaker`` on the session clock; ``root`` is the corpus folder.

    ``tell`` hears which track and channel was chosen, where the media table names none: of several tracks the one that
    sounds, of two channels the one that sounds, of more the voice's. ``own``: when the speaker has the floor, seconds
    on the session clock (nothing: not known). None where a video has no sound. Memory does not grow with the
    recording, which is decoded three times where it is longer than two minutes, and once more where there are several
    channels.

    Raises ``UnitError`` for a recording that cannot be used, and for an audio row whose file has no sound.
    """
    channel = parse_channel(media)
    with open_recording(root, media.path, settings.missing_tolerance_s) as recording:
        if recording.stream("audio") is None:
            if media.kind != "audio":
                return None
            raise UnitError(
                f"{media.path}: no sound in the file that the media table gives as {media.speaker}'s audio "
                f"(it holds {recording.holds()}). Name a file with sound, or change the row's kind to video."
            )
        channel, told = heard_channel(recording, channel)
    if told is not None:
        tell(f"{told}. Name another in the media table's column channel.")
    with open_recording(root, media.path, settings.missing_tolerance_s) as recording:
        chosen = voice_channel(recording, channel) if channel.audio is None else None
    if chosen is not None:
        channel = chosen[0]
        tell(f"{media.path}: {chosen[1]}. Name another in the media table's column channel.")

    def pieces() -> Iterator[Track]:
        with open_recording(root, media.path, settings.missing_tolerance_s) as recording:
            for piece in read_pieces(recording, channel) or ():
                yield replace(piece, start_s=piece.start_s + media.offset_s)

    return measure_blocks(Blocks(pieces), settings, own)
