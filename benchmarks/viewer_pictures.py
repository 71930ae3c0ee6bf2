"""Make the pictures of the viewer in docs/images: pages of the demo's run, and of made-up slices, in Chromium.

Run: python benchmarks/viewer_pictures.py RUN --responses FILE [--out docs/images] [--only NAME]

RUN is the folder that `apportion demo` has written, FILE what `apportion study demo` has let its policies answer
(runs/demo-study-responses.parquet). RUN is copied, and the copy given slices of made-up conversations
(tests/evaluation/error_slices/planted.py) and a question to label, so that neither stays in it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# The folder of this file is not searched: some files in it are named like packages of ours.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from playwright.sync_api import Browser, Page

from apportion.evaluation.error_slices.find import find_slices
from apportion.pipeline.results.run_folder import read_record, recorded_corpus
from apportion.viewer.labels.label import question_on
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from benchmarks.viewer_browser import Viewing, chromium, viewing
from tests.evaluation.error_slices.planted import corpus

ASKED = "who=Ann&ask=landing"
WHY = "document.querySelector('#turn-5 .why').click()"
OPEN = "document.querySelector('details').open = true"


@dataclass(frozen=True)
class Picture:
    """A page as it is shown: ``then`` is done by a script before the picture is taken."""

    name: str
    path: str
    width: int = 1440
    height: int = 900
    dark: bool = False
    then: str = ""


PICTURES = (
    Picture("sessions", "?sort=-disagreement"),
    Picture("session", "session/video-1?t=13#turn-5", then=WHY),
    Picture("session_dark", "session/video-1?t=13#turn-5", dark=True, then=WHY),
    Picture("session_chat", "session/chat-001"),
    Picture("session_800", "session/video-1?t=13#turn-5", 800),
    Picture("session_390", "session/video-1?t=13#turn-5", 390, 844),
    Picture("compare", "compare?a=own.rewards.sentiment&b=own.rewards.llm"),
    Picture("people", "compare/people?a=own.rewards.llm&split=test"),
    Picture("policies", "compare/policies"),
    Picture("audit", "compare/audit"),
    Picture("report", "report#sessions"),
    Picture("report_390", "report#sessions", 390, 844, dark=True),
    Picture("label", f"label/chat-003?{ASKED}"),
    Picture("slices", "slices?method=made-up", then=OPEN),
)


@contextmanager
def prepared(run: Path) -> Iterator[Path]:
    """A copy of a run with slices and a question."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "demo"
        shutil.copytree(run, copy, ignore=shutil.ignore_slices("store", "viewer", "models", "policy"))
        found = find_slices(corpus(0, sessions=300, cost=1.0)[0], "made-up")
        (copy / "slices").mkdir(exist_ok=True)
        (copy / "slices" / "made-up.json").write_text(json.dumps(found.to_json()), encoding="utf-8")
        Overlay(overlay_beside(copy)).ask(question_on("1 to 5"))
        yield copy


def take(browser: Browser, served: Viewing, picture: Picture, out: Path) -> None:
    """One picture, its file 256 colours: these pages have fewer."""
    scheme = "dark" if picture.dark else "light"
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height}, color_scheme=scheme, bypass_csp=True
    )
    page: Page = context.new_page()
    page.goto(served.address)
    page.wait_for_url(lambda url: "token" not in url)
    page.goto(served.root + picture.path)
    page.wait_for_load_state("networkidle")
    if picture.then:
        page.evaluate(picture.then)
        page.wait_for_load_state("networkidle")
    page.wait_for_timeout(700)  # Films show their picture, waves are drawn.
    path = out / f"viewer_{picture.name}.png"
    page.screenshot(path=path)
    context.close()
    _small(path)


def _small(path: Path) -> None:
    from PIL import Image

    with Image.open(path) as image:
        image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            path, optimize=True
        )


def main() -> None:
    """All pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--responses", type=Path, required=True, help="a table of responses of two policies")
    parser.add_argument("--only", action="append", help="a picture's name; all where it is left out")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    options = parser.parse_args()
    place = recorded_corpus(read_record(options.run), options.run)
    beside = ("--corpus", str(place), "--responses", str(options.responses))
    with prepared(options.run) as run, viewing(run, *beside) as served, chromium() as browser:
        for picture in PICTURES:
            if options.only is None or picture.name in options.only:
                take(browser, served, picture, options.out)
                print(options.out / f"viewer_{picture.name}.png")


if __name__ == "__main__":
    main()
