import pytest

from apportion.corpus.session import Media
from apportion.features.media_io.channel import Channel, parse_channel
from apportion.foundation.errors import UnitError


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("audio", None, Channel()),
        ("audio", "", Channel()),
        ("audio", "L", Channel(audio=0)),
        ("audio", "R", Channel(audio=1)),
        ("audio", "3", Channel(audio=3)),
        ("video", "left", Channel(half="left")),
        ("video", "right", Channel(half="right")),
        ("video", "R", Channel(audio=1)),
    ],
)
def test_known_channels(kind, name, expected):
    assert parse_channel(Media("ann", kind, "a.mp4", 0.0, name)) == expected


@pytest.mark.parametrize(("kind", "name"), [("audio", "left"), ("audio", "-1"), ("video", "top"), ("audio", "²")])
def test_unknown_channels_name_what_is_allowed(kind, name):
    with pytest.raises(UnitError, match=rf"a\.mp4: channel '{name}' of ann's {kind} is not known.*L, R, a channel"):
        parse_channel(Media("ann", kind, "a.mp4", 0.0, name))
