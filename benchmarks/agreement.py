"""How far two viewers who did not know of each other agree on what real faces do, by question.

Run: python benchmarks/agreement.py benchmarks/second_viewing.csv

The table has a row for each moment: `file`, `t_s`; what each viewer wrote down, `smile_first` and `smile_second` (yes,
no, unclear), `look_first` and `look_second` (on: open eyes at the camera; away; closed; blink; unclear); and what they
agree on, `smile` and `faces_camera` (yes; no: away or closed; unclear: both say so, a blink among it; differ), which
`real_faces.py` counts. Cohen's kappa (1960): (p - q) / (1 - q), p the share equal, q what two who answer by chance in
their own proportions would share. Intervals: 95 % of 2,000 draws of clips with replacement; with few clips coarse.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

DIFFER = "differ"
FACES_CAMERA = {"on": "yes", "away": "no", "closed": "no", "blink": "unclear", "unclear": "unclear"}
"""What a look says of facing the camera, in the words of `real_faces.py`."""
DRAWS, SEED = 2000, 0
Pair = tuple[str, str, str]
"""Clip, the first viewer's word, the second's."""


def agreed(first: str, second: str) -> str:
    """The word that both say, or that they differ."""
    return first if first == second else DIFFER


def share_equal(pairs: Sequence[Pair]) -> float:
    """The share of moments at which both say the same."""
    return sum(first == second for _, first, second in pairs) / len(pairs)


def kappa(pairs: Sequence[Pair]) -> float:
    """Cohen's kappa; NaN where both always say one and the same word, and chance alone would agree."""
    equal = share_equal(pairs)
    firsts, seconds = Counter(first for _, first, _ in pairs), Counter(second for _, _, second in pairs)
    chance = sum(firsts[word] * seconds[word] for word in firsts) / len(pairs) ** 2
    return (equal - chance) / (1.0 - chance) if chance < 1.0 else float("nan")


def intervals(pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    """95 % intervals of `share_equal` and `kappa`, clips drawn with replacement."""
    clips = sorted({clip for clip, _, _ in pairs})
    by_clip = {clip: [pair for pair in pairs if pair[0] == clip] for clip in clips}
    rng = np.random.default_rng(SEED)
    drawn = []
    for _ in range(DRAWS):
        sample = [pair for clip in rng.choice(clips, len(clips)) for pair in by_clip[str(clip)]]
        drawn.append((share_equal(sample), kappa(sample)))
    return [(float(a), float(b)) for a, b in np.nanpercentile(np.array(drawn), [2.5, 97.5], axis=0).T]


def show(question: str, pairs: Sequence[Pair]) -> None:
    """Print one question's agreement and the words on which the viewers differ."""
    told = zip(("equal", "kappa"), (share_equal(pairs), kappa(pairs)), intervals(pairs), strict=True)
    print(f"{question} ({len(pairs)}): " + ", ".join(f"{name} {v:.2f} [{a:.2f}, {b:.2f}]" for name, v, (a, b) in told))
    apart = Counter((first, second) for _, first, second in pairs if first != second)
    for (first, second), count in apart.most_common():
        print(f"  {count:>3} x first says {first}, second {second}")


def questions(rows: Sequence[dict[str, str]]) -> dict[str, list[Pair]]:
    """What both said, by question."""
    return {
        "smile": [(row["file"], row["smile_first"], row["smile_second"]) for row in rows],
        "look": [(row["file"], row["look_first"], row["look_second"]) for row in rows],
        "faces the camera": [
            (row["file"], FACES_CAMERA[row["look_first"]], FACES_CAMERA[row["look_second"]]) for row in rows
        ],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    with parser.parse_args().table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for question, pairs in questions(rows).items():
        show(question, pairs)
        clear = [pair for pair in pairs if not {"unclear", "blink"} & set(pair[1:])]
        show(f"{question}, where neither says unclear or blink", clear)
