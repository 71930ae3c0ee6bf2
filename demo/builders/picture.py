"""Draws the README's picture from a finished demo run: one session, every method, turn by turn.

python -m apportion.demo.builders.picture runs/demo docs/images/turn_rewards.svg --session video-3 --rater bea
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.foundation.files import write_atomically
from apportion.pipeline.report.picture import turn_rewards_svg


def main() -> None:
    """Read the run's rewards and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--session", required=True)
    parser.add_argument("--rater", required=True)
    arguments = parser.parse_args()
    session = Corpus.open(Path(__file__).resolve().parents[1] / "corpus").session(arguments.session)
    (episode,) = (e for e in session.episodes("satisfaction") if e.rating.rater == arguments.rater)
    values: dict[str, dict[int, float]] = {}
    for row in pq.read_table(arguments.run / "rewards.parquet").to_pylist():
        if tuple(row[name] for name in ("session_id", "rater", "target", "name")) == episode.key:
            values.setdefault(row["method"], {})[row["turn"]] = row["reward"]
    title = f"{episode.rating.rater} gave {episode.rating.target} {episode.rating.score:g} of {episode.rating.high:g}"
    svg = turn_rewards_svg(episode, values, f"{title} (synthetic demo session; LLM replies recorded)")
    write_atomically(arguments.out, svg)


if __name__ == "__main__":
    main()
