"""The study of negotiators in small: scripted dialogues, three seeds."""

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.negotiation import CELLS, FIGURES, Choice, by_seed, changed, compared, main, report, run, settings_of
from foundation.files import locked

SMALL: dict[str, Any] = {
    "data": {"scripted": 600},
    "network": {"embedding": 64, "hidden": 64, "context": 32, "attention": 32, "selection": 64},
    "supervised": {"epochs": 10},
    "reinforce": {"games": 1000, "epochs": 1},
    "acquisition": {"asked": 100, "epochs": 1},
}


def test_every_cell_of_every_figure_can_be_set_up(tmp_path: Path) -> None:
    choice = Choice(None, tmp_path, 20, changed(["supervised.epochs=8", "reinforce.epochs=2"]))
    for cells in FIGURES.values():
        for cell in cells:
            found = settings_of(cell, choice)
            assert cell in CELLS and found.supervised.epochs == 8
            assert len(found.seeds) == (10 if cell.startswith("ours-scratch") else 20)
    assert settings_of("anchor-rl", choice).reinforce.epochs == 1
    assert settings_of("ours-random-0.65", choice).data.unique == 0.65


def test_a_comparison_is_paired_by_seed() -> None:
    rows = [
        {"cell": cell, "seed": seed, "epoch": 1, "who": "alice", "advantage": 10.0 * seed + more}
        for cell, more in (("a", 2.0), ("b", 0.0))
        for seed in range(3)
    ]
    assert compared(rows, "a", "b", "advantage") == "advantage, a less b: 2.00 ± 0.00 (3 seeds): more"


def test_two_studies_do_not_write_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["negotiation.py", "--out", str(tmp_path), "--cells", "sl-0.5"])
    refused = pytest.raises(SystemExit, match=r"in use by another study\. Wait for it, or give another --out")
    with locked(tmp_path / ".lock", "", RuntimeError), refused:
        main()
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


@pytest.mark.slow
def test_reinforcement_has_more_advantage_than_supervision(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    choice = Choice(None, tmp_path, 3, SMALL)
    rows = [row for cell in FIGURES["anchors"][:2] for row in run(cell, choice)]
    rows += run("ours-0.5", choice)
    supervised, reinforced = (by_seed(rows, cell, "advantage") for cell in ("anchor-sl", "anchor-rl"))
    assert all(reinforced[seed] > supervised[seed] for seed in range(3))
    assert "## Figure 3" in report(rows) and "(3 seeds): more" in compared(rows, "anchor-rl", "anchor-sl", "advantage")
