"""How well the sentences of people are read as acts: Deal or No Deal, part by part, as JSON lines.

For each part: its rows, the share of each kind of act (a row's selection counts as one), and of the rows with a deal
those in which the last proposal, as it was read, is what was selected. The parser was made on rows of ``train`` alone.

    python benchmarks/negotiation_parser.py ../shared/data/dealornodeal
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # Else this folder's environments.py would hide the package.

from apportion.corpus.importers.dealornodeal import read_rows
from apportion.environments.negotiation.dialogue_acts import as_selected, shares


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds data.txt, val.txt and test.txt")
    parts, damaged = read_rows(parser.parse_args().data)
    for part, rows in parts.items():
        right, agreed = as_selected(rows)
        told = {
            "part": part,
            "rows": len(rows),
            "damaged": sum(one.part == part for one in damaged),
            "acts": {kind: round(share, 4) for kind, share in shares(rows).items()},
            "agreed": agreed,
            "last_proposal_selected": right,
            "share": round(right / agreed, 4) if agreed else None,
        }
        print(json.dumps(told))


if __name__ == "__main__":
    main()
