"""Make the demo corpus again: ``python demo/make_corpus.py --out demo``.

Writes ``OUT/corpus`` (tables and media) and ``OUT/ground_truth.json``. The same seed gives the same tables, byte for
byte. Everything in it is synthetic; see demo/README.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __package__ in (None, ""):
    # Run as a script: demo/corpus (the data) must not hide the package of that name.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from demo.dialogues import make_chats
from demo.tables import to_corpus, write_ground_truth

CHATS, SEED = 80, 7


def main() -> None:
    """Read the arguments, make the corpus, say what was written."""
    parser = argparse.ArgumentParser(description="Make the synthetic demo corpus.")
    parser.add_argument("--out", type=Path, required=True, help="folder for corpus/ and ground_truth.json")
    parser.add_argument("--seed", type=int, default=SEED, help=f"another seed, another corpus (default {SEED})")
    arguments = parser.parse_args()
    planted = make_chats(CHATS, arguments.seed)
    root = arguments.out / "corpus"
    to_corpus(planted, root).write(root)
    write_ground_truth(planted, arguments.seed, arguments.out / "ground_truth.json")
    print(f"{root}: {len(planted)} sessions")


if __name__ == "__main__":
    main()
