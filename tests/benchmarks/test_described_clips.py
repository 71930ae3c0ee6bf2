"""The page of described clips: who speaks when, what belongs to which window, a page that asks nobody for anything."""

from html.parser import HTMLParser

import numpy as np

from apportion.features.settings import DescriptorSettings, FeatureSettings
from benchmarks.described_clips import OTHER, SEEN, Window, conversation, described, page
from tests.features.clips import write_movie


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.elements, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_the_person_of_the_film_listens_and_replies_in_turn():
    session = conversation("clip.mp4", 7.5, 2.0)
    assert [turn.speaker for turn in session.turns] == [OTHER, SEEN, OTHER, SEEN]
    assert [(turn.start_s, turn.end_s) for turn in session.turns] == [(0, 2), (2, 4), (4, 6), (6, 7.5)]
    assert conversation("clip.mp4", 6.9, 2.0).turns[-1].end_s == 6.0


def test_the_page_is_escaped_and_holds_its_pictures():
    grey = np.full((20, 40, 3), 128, np.uint8)
    reader = Reader()
    reader.feed(page({"<script>a</script>.mp4": [Window(0.0, 2.0, False, "smiles & <b>nods", [grey, grey])]}))
    assert {tag for tag, _ in reader.elements} <= {
        "meta",
        "title",
        "style",
        "h2",
        "table",
        "tr",
        "td",
        "br",
        "b",
        "img",
    }
    assert "<script>a</script>.mp4" in reader.text and "smiles & <b>nods" in reader.text
    images = [attributes["src"] for tag, attributes in reader.elements if tag == "img"]
    assert len(images) == 2 and all(src.startswith("data:image/jpeg;base64,") for src in images)


def test_every_window_has_its_own_pictures(tmp_path):
    levels = np.linspace(40, 220, 40)
    write_movie(tmp_path / "grey.mp4", [np.full((64, 96), level, np.uint8) for level in levels], fps=10)
    settings = FeatureSettings(detector="haar", emotion_model="none")
    windows = described(tmp_path, "grey.mp4", 2.0, settings, DescriptorSettings())
    assert [(window.speaks, len(window.pictures)) for window in windows] == [(False, 6), (True, 6)]
    assert max(image.mean() for image in windows[0].pictures) < min(image.mean() for image in windows[1].pictures)
    assert [window.words for window in windows] == [None, None]  # A grey wall has no face, and not enough is heard.
