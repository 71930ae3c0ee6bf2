"""What tests ask of whole tracks; the product reads them in blocks."""

from apportion.features.media_io.audio import Track, joined, read_pieces
from apportion.features.media_io.channel import Channel
from apportion.features.media_io.media import Recording
from apportion.features.registry import FEATURES


def read_track(recording: Recording, channel: Channel) -> Track | None:
    """The whole sound at once; None where the file has no sound."""
    pieces = read_pieces(recording, channel)
    return None if pieces is None else joined(list(pieces))


def names_on(track: str) -> set[str]:
    """The features of one track."""
    return {row.name for row in FEATURES.values() if row.track == track}
