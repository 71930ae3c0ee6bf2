from __future__ import annotations

from apportion.features.face.nods import HeadEvents
from apportion.features.probe.probe import Figure, Probe, render
from apportion.features.settings import FeatureSettings


def test_a_line_a_feature_with_the_digits_of_its_unit_and_when_there_were_nods():
    figures = (
        Figure("f0_hz", 150.126, 0.5, "Hz"),
        Figure("smile", None, 0.0, "of the time"),
        Figure("nod_yes", 1.0, 1.0, "nods"),
        Figure("happiness", 0.2, 1.0, "probability"),
    )
    events = HeadEvents(((0.5, 1.25),), ())
    probe = Probe("a\x1b.mp4", "video", 0.0, 2.0, figures, {}, events, FeatureSettings(), None, ("be careful",))
    assert render(probe).splitlines() == [
        "a\N{REPLACEMENT CHARACTER}.mp4: video, from 0.00 to 2.00 s",
        "",
        "feature                mean  unit         coverage",
        "f0_hz                150.13  Hz             50.0%",
        "smile                     -  of the time     0.0%",
        "nod_yes                   1  nods          100.0%",
        "nod_yes at 0.50 to 1.25 s",
        "",
        "note: be careful",
    ]
