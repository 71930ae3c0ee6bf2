"""Make the demo corpus again: ``python demo/builders/make_corpus.py --out demo``.

Writes ``OUT/corpus`` (tables and media) and ``OUT/ground_truth.json``. The same seed gives the same tables, byte for
byte. Everything in it is synthetic; see demo/README.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

if __package__ in (None, ""):
    # Run as a script, from anywhere: the packages are found in the checkout.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from apportion.demo.builders.dialogues import make_chats
from apportion.demo.builders.films import make_films
from apportion.demo.builders.scenes import shoot
from apportion.demo.builders.tables import to_corpus, write_ground_truth
from apportion.demo.builders.voices import TESTED_VERSION, espeak_version

CHATS, SEED = 80, 7


def main() -> None:
    """Read the arguments, make the corpus, say what was written."""
    parser = argparse.ArgumentParser(description="Make the synthetic demo corpus.")
    parser.add_argument("--out", type=Path, required=True, help="folder for corpus/ and ground_truth.json")
    parser.add_argument("--seed", type=int, default=SEED, help=f"another seed, another corpus (default {SEED})")
    arguments = parser.parse_args()
    _check_tools()
    root, seed = arguments.out / "corpus", arguments.seed
    films = make_films(seed)
    planted = [*make_chats(CHATS, seed), *(film.planted for film in films)]
    for film in films:
        for path in shoot(film, root, seed):
            print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    to_corpus(planted, root).write(root)
    write_ground_truth(planted, seed, arguments.out / "ground_truth.json")
    print(f"{root}: {len(planted)} sessions, {len(films)} of them with video")


def _check_tools() -> None:
    version = espeak_version()
    if version != TESTED_VERSION:
        print(
            f"espeak-ng is {version}; demo/corpus was made with {TESTED_VERSION}, so times may differ.", file=sys.stderr
        )
    if importlib.util.find_spec("skimage") is None:
        raise SystemExit(
            "scikit-image is not installed, and its photograph is the face in the demo videos: "
            "pip install 'apportion[demo-build]'. "
            "The corpus in demo/corpus is already made; nobody needs this for the demo."
        )


if __name__ == "__main__":
    main()
