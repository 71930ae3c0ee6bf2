from typing import Any

import pytest

from apportion.rlhf.negotiation.experiment import Experiment
from benchmarks import negotiation as study
from benchmarks.negotiation import ANCHORS, CELLS, CLAIMS, FIGURES, METRICS, compared, kept_rows, last_epoch, report

TINY: dict[str, Any] = {
    "method": "rl",
    "data": {"scripted": 40},
    "network": {"embedding": 8, "hidden": 8, "context": 4, "attention": 4, "selection": 8},
    "supervised": {"epochs": 1},
    "reinforce": {"games": 10, "epochs": 1},
    "evaluation": {"contexts": 10},
}


def row(cell: str, seed: int, epoch: int = 1, **measured: float) -> dict[str, Any]:
    return {"cell": cell, "seed": seed, "epoch": epoch, "who": "alice", **dict.fromkeys(METRICS, 0.5), **measured}


def test_every_cell_of_every_figure_is_kept_under_its_key():
    kept = {(row["cell"], row["who"]) for row in kept_rows()}
    for cell in {cell for cells in FIGURES.values() for cell in cells}:
        assert (cell, "alice") in kept, cell
        most = len(study.settings_of(cell, range(20)).seeds)
        assert most == (10 if cell.startswith("ours-scratch") else 5 if cell in ANCHORS else 20)
    assert {cell for one, other, _ in CLAIMS for cell in (one, other)} <= {*CELLS}


def test_the_tables_show_what_is_kept(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["negotiation.py", "--tables", "--figures", "anchors,2,3"])
    study.main()
    shown = capsys.readouterr().out
    assert "| rl-0.5 | 5 | 20 | 6.77 ± 0.16 | 87.4 ± 4.2 | 97.4 ± 0.4 |" in shown and "Bob:" in shown
    assert "- advantage, ours-0.5 less rl+sl-0.5: 2.34 ± 0.28 (20 seeds, epoch 5): more" in shown
    for wrong in (["--figures", "9"], ["--figures", "2"]):
        monkeypatch.setattr("sys.argv", ["negotiation.py", *wrong])
        with pytest.raises(SystemExit):
            study.main()
    assert "--figures 9: of anchors, 2" in (told := capsys.readouterr().err) and "--data FOLDER is needed" in told


def test_an_anchor_s_advantage_is_that_of_its_deals():
    measured = ((3.0, 0.5, 0.7), (5.0, 0.625, 0.75))
    rows = [
        row("anchor-rl", seed, advantage=one, agreement=agreed, pareto=best)
        for seed, (one, agreed, best) in enumerate(measured)
    ]
    assert "- anchor-rl: advantage of deals 7.00 ± 12.71 beside 6.85 (inside); pareto 72.5 ± 31.8" in report(rows)
    rows[0]["agreement"] = rows[0]["advantage"] = 0.0
    assert "advantage of deals 4.00 ± 50.82" in report(rows)


def test_cells_are_compared_by_seed_as_far_as_both_are():
    rows = [row("a", seed, epoch, advantage=10.0 * epoch + seed) for epoch in range(3) for seed in range(2)]
    rows += [row("b", seed, 0, advantage=0.0) for seed in range(2)]
    assert compared(rows, "a", "b", "advantage").endswith("2 seeds in common, epoch 0; not compared")
    rows += [row("b", 0, 1, advantage=0.0)]
    assert last_epoch(rows, "b") == 0 and last_epoch(rows, "a") == 2 and last_epoch(rows, "c") == -1
    rows += [row("b", 1, 1, advantage=1.0)]
    assert compared(rows, "a", "b", "advantage") == "advantage, a less b: 10.00 ± 0.00 (2 seeds, epoch 1): more"


def test_what_is_kept_is_not_trained_again(tmp_path, monkeypatch):
    monkeypatch.setitem(CELLS, "tiny", TINY)
    trained: list[tuple[int, ...]] = []
    train = Experiment.train
    monkeypatch.setattr(Experiment, "train", lambda cell: trained.append(cell.seeds) or train(cell))
    kept = tmp_path / "kept.jsonl"
    for seeds in (range(2), range(2), range(3)):
        study.train("tiny", seeds, None, tmp_path, kept)
    assert trained == [(0, 1), (2,)]
    rows = [row for row in kept_rows(path=kept) if row["cell"] == "tiny"]
    assert [(row["seed"], row["epoch"]) for row in rows] == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
