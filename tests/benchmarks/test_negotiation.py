"""The study of negotiators in small: scripted dialogues, three seeds."""

from pathlib import Path
from typing import Any

import pytest
import torch

from apportion.foundation.files import locked
from apportion.rlhf.negotiation.experiment import Experiment
from benchmarks.negotiation import Choice, changed, kept_rows, main, run, seeds_from, settings_of
from benchmarks.negotiation_cells import BESIDE, CELLS, FIGURES, OTHERS, SHOWN
from benchmarks.negotiation_kept import KeptFigures, key_of
from benchmarks.negotiation_report import by_seed, compared, last_epoch, report

SMALL: dict[str, Any] = {
    "data": {"scripted": 600},
    "network": {"embedding": 64, "hidden": 64, "context": 32, "attention": 32, "selection": 64},
    "supervised": {"epochs": 10},
    "reinforce": {"games": 1000, "epochs": 1},
    "acquisition": {"asked": 100, "epochs": 1},
}


def test_every_cell_of_every_figure_can_be_set_up(tmp_path: Path) -> None:
    choice = Choice(
        None, tmp_path, tuple(range(20)), changed(["supervised.epochs=8", "reinforce.epochs=2"]), tmp_path / "kept"
    )
    for cells in FIGURES.values():
        for cell in cells:
            found = settings_of(cell, choice)
            assert cell in CELLS and found.supervised.epochs == 8
            most = 10 if cell.startswith("ours-scratch") else 5 if cell.startswith("anchor") else 20
            assert len(found.seeds) == most
    assert settings_of("anchor-rl", choice).reinforce.epochs == 1
    unchanged = Choice(None, tmp_path, (10, 11), {}, tmp_path / "kept")
    assert kept_rows(CELLS, unchanged) == []  # Of seeds that some of the cells have not.
    unchanged = Choice(None, tmp_path, (0,), {}, tmp_path / "kept")
    assert [settings_of(cell, unchanged).supervised.epochs for cell in ("anchor-rl", "ours-0.5")] == [30, 8]
    assert settings_of("ours-random-0.65", choice).data.unique == 0.65


def test_what_stands_beside_the_claims_is_shown_in_a_figure() -> None:
    shown = {cell for cells in FIGURES.values() for cell in cells}
    assert {cell for one, other, _ in BESIDE for cell in (one, other)} <= shown
    assert {metric for *_, metrics in BESIDE for metric in metrics} <= {*SHOWN, *OTHERS}
    rows = [
        {"cell": cell, "seed": seed, "epoch": 1, "who": "alice", **dict.fromkeys((*SHOWN, *OTHERS), number + seed / 10)}
        for number, cell in enumerate(("rl-scratch", "ours-scratch-likelihood"))
        for seed in range(2)
    ]
    assert "- length, ours-scratch-likelihood less rl-scratch: 1.00 ± 0.00 (2 seeds, epoch 1): more\n" in report(rows)


def test_an_anchor_s_advantage_is_that_of_its_deals() -> None:
    measured = [(3.0, 0.5, 0.7), (5.0, 0.625, 0.75)]
    others = dict.fromkeys((*SHOWN, *OTHERS), 0.5)
    rows = [
        {"cell": "anchor-rl", "seed": seed, "epoch": 1, "who": "alice", **others}
        | {"advantage": advantage, "agreement": agreement, "pareto": pareto}
        for seed, (advantage, agreement, pareto) in enumerate(measured)
    ]
    assert "- anchor-rl: advantage of deals 7.00 ± 12.71 beside 6.85 (inside); pareto 72.5 ± 31.8" in report(rows)
    rows[0]["agreement"] = rows[0]["advantage"] = 0.0
    assert "advantage of deals 4.00 ± 50.82" in report(rows)


def test_a_comparison_is_paired_by_seed() -> None:
    rows = [
        {"cell": cell, "seed": seed, "epoch": 1, "who": "alice", "advantage": 10.0 * seed + more}
        for cell, more in (("a", 2.0), ("b", 0.0))
        for seed in range(3)
    ]
    assert compared(rows, "a", "b", "advantage") == "advantage, a less b: 2.00 ± 0.00 (3 seeds, epoch 1): more"


def test_cells_that_are_not_as_far_are_compared_as_far_as_both_are() -> None:
    def row(cell: str, epoch: int, seed: int, advantage: float) -> dict[str, Any]:
        return {"cell": cell, "seed": seed, "epoch": epoch, "who": "alice", "advantage": advantage}

    rows = [row("a", epoch, seed, 10.0 * epoch + seed) for epoch in range(3) for seed in range(2)]
    rows += [row("b", 0, seed, 0.0) for seed in range(2)]
    assert compared(rows, "a", "b", "advantage").endswith("one of them has no epoch behind it; not compared")
    rows += [row("b", 1, 0, 0.0)]
    assert last_epoch(rows, "b") == 0 and last_epoch(rows, "a") == 2 and last_epoch(rows, "c") == -1
    rows += [row("b", 1, 1, 1.0)]
    assert compared(rows, "a", "b", "advantage") == "advantage, a less b: 10.00 ± 0.00 (2 seeds, epoch 1): more"


def test_two_studies_do_not_write_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["negotiation.py", "--out", str(tmp_path), "--cells", "sl-0.5"])
    refused = pytest.raises(SystemExit, match=r"in use by another study\. Wait for it, or give another --out")
    with locked(tmp_path / ".lock", "", RuntimeError), refused:
        main()
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


TINY: dict[str, Any] = {
    "data": {"scripted": 40},
    "network": {"embedding": 8, "hidden": 8, "context": 4, "attention": 4, "selection": 8},
    "supervised": {"epochs": 1},
    "reinforce": {"games": 10, "epochs": 1},
    "evaluation": {"contexts": 10},
}


@pytest.mark.slow
def test_what_is_kept_is_not_trained_again_and_other_settings_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    kept = tmp_path / "kept.jsonl"

    def chosen(out: str, seeds: tuple[int, ...], more: dict[str, Any] = TINY) -> Choice:
        return Choice(None, tmp_path / out, seeds, more, kept, together=2)

    first = run("rl+sl-0.5", chosen("one", (0, 1, 2)))
    assert sorted({path.name for path in (tmp_path / "one" / "rl+sl-0.5").iterdir()}) == ["0-1", "2"]
    assert len(first) == len(kept.read_text().splitlines()) == 6, "three seeds, before and after the epoch"

    trained: list[tuple[int, ...]] = []
    train = Experiment.train
    monkeypatch.setattr(Experiment, "train", lambda cell: trained.append(cell.seeds) or train(cell))
    again = run("rl+sl-0.5", chosen("elsewhere", (0, 1, 2)))
    assert trained == [] and not (tmp_path / "elsewhere").exists()
    figures = {(row["seed"], row["epoch"]): row["advantage"] for row in first}
    assert {(row["seed"], row["epoch"]): row["advantage"] for row in again} == pytest.approx(figures, abs=1e-6)
    assert {row["cell"] for row in run("rl+sl-0.5-n4", chosen("one", (0, 1, 2)))} == {"rl+sl-0.5-n4"}
    assert trained == [], "the same settings under another name"

    run("rl+sl-0.5", chosen("one", (0, 1, 2, 3)))
    other = run("rl+sl-0.5", chosen("one", (0,), TINY | {"mixed": {"after": 5}}))
    assert trained == [(3,), (0,)] and [row["seed"] for row in other] == [0, 0]
    longer = run("rl+sl-0.5", chosen("longer", (0,), TINY | {"reinforce": {"games": 10, "epochs": 2}}))
    assert trained[2:] == [(0,)] and [row["epoch"] for row in longer] == [0, 1, 2]
    assert longer[1]["advantage"] == pytest.approx(figures[0, 1], abs=1e-6), "how many epochs follow decides nothing"
    assert [row["epoch"] for row in run("rl+sl-0.5", chosen("one", (0,)))] == [0, 1], "kept of the longer one"
    assert "| rl+sl-0.5 | 1 | 4 |" in report(kept_rows(["rl+sl-0.5"], chosen("one", (0, 1, 2, 3))))


def test_a_seed_has_the_same_figures_in_any_company(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    found = []
    for out, together in (("one", 1), ("both", 2)):
        choice = Choice(None, tmp_path / out, (0, 1), TINY, tmp_path / f"{out}.jsonl", together)
        rows = run("rl-0.5", choice)
        found.append({(row["seed"], row["epoch"]): (row["length"], row["unique"]) for row in rows})
    assert found[0] == found[1]


def test_a_damaged_line_and_figures_of_two_data_sets_are_refused(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    choice = Choice(None, tmp_path, (0,), TINY, kept)
    row = {"cell": "sl-0.5", "seed": 0, "epoch": 0, "who": "alice"}
    for data in ("one", "two"):
        KeptFigures(kept).add([row], key_of(settings_of("sl-0.5", choice), data), data, "")
    with pytest.raises(SystemExit, match=r"figures of 2 data sets"):
        kept_rows(["sl-0.5"], choice)
    kept.write_text(kept.read_text() + "{}\n")
    with pytest.raises(SystemExit, match=r"line 3: not a kept figure \('key'\)\. Remove that line"):
        kept_rows(["sl-0.5"], choice)


def test_seeds_are_a_number_or_a_range() -> None:
    assert seeds_from("2") == (0, 1) and seeds_from("10-11") == (10, 11)
    for wrong in ("x", "0", "3-1", "1-"):
        with pytest.raises(SystemExit, match=r"write it as 20, or as 10-19"):
            seeds_from(wrong)


@pytest.mark.slow
def test_reinforcement_has_more_advantage_than_supervision(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    choice = Choice(None, tmp_path, (0, 1, 2), SMALL, tmp_path / "kept.jsonl")
    rows = [row for cell in FIGURES["anchors"][:2] for row in run(cell, choice)]
    rows += run("ours-0.5", choice)
    supervised, reinforced = (by_seed(rows, cell, "advantage") for cell in ("anchor-sl", "anchor-rl"))
    assert all(reinforced[seed] > supervised[seed] for seed in range(3))
    assert "## Figure 3" in report(rows) and "(3 seeds, epoch 1): more" in compared(
        rows, "anchor-rl", "anchor-sl", "advantage"
    )
