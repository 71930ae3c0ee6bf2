import hashlib
import json
import random
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.expert_queries import Queue, UnansweredError
from apportion.environments.negotiation.expert_queries.queue import Answer
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import locked
from apportion.rlhf.negotiation.checkpoint import Tensors, TrainingCheckpoint, number
from apportion.rlhf.negotiation.config import read_settings, train_negotiators
from apportion.rlhf.negotiation.datasets import drawn_contexts, material_of
from apportion.rlhf.negotiation.experiment import Experiment
from apportion.rlhf.negotiation.reinforce import ReinforceTraining
from tests.forked import Tell, ended, forked
from tests.rlhf.negotiation.small import settings


def trained(folder: Path, **changed: Any) -> Experiment:
    chosen = settings(**changed)
    cell = Experiment(chosen, material_of(chosen), folder)
    cell.write_agents(cell.train())
    return cell


def bytes_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def answer_all(queue: Queue) -> int:
    """Whoever is asked takes the last that is allowed, or everything."""
    questions = queue.open_questions()
    for question in questions:
        number = max(code for code in range(253) if question.problem(code) is None)
        queue.answer(Answer(question, number, "test"))
    return len(questions)


LONG: list[dict[str, Any]] = [
    {"method": "rl", "reinforce": {"games_per_update": 1}},
    {"method": "rl", "reinforce": {"greedy": True, "reward": "points+pareto"}},
    {"method": "rl+sl", "mixed": {"after": 3}},
    {"method": "rl+sl", "mixed": {"after": 3}, "reinforce": {"games_per_update": 1}},
    {"method": "acquisition", "data": {"scratch": True}, "acquisition": {"novelty": "margin", "again": "afresh"}},
    {"method": "acquisition", "data": {"unique": 0.65}, "acquisition": {"novelty": "random"}},
]
SHORT: list[dict[str, Any]] = [
    {"method": "sl"},
    {"method": "acquisition", "acquisition": {"novelty": "entropy", "order": "first", "expert": "conceding"}},
]


@pytest.mark.parametrize("changed", [*SHORT, *(pytest.param(one, marks=pytest.mark.slow) for one in LONG)])
def test_the_same_seed_gives_the_same_bytes_and_done_work_is_not_done_again(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    one = trained(tmp_path / "a", **changed)
    trained(tmp_path / "b", **changed)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").glob("*.safetensors")}
    again = trained(tmp_path / "a", **changed)
    assert [row.to_json() for row in again.rows] == [row.to_json() for row in one.rows]
    assert {path: path.stat().st_mtime_ns for path in times} == times
    epochs = 0 if changed["method"] == "sl" else 2
    assert {row.epoch for row in one.rows} == set(range(epochs + 1))
    assert {row.who for row in one.rows} == {"alice", *(["bob"] if changed["method"] == "acquisition" else [])}


@pytest.mark.slow
def test_a_person_is_asked_what_the_training_waits_for_and_nothing_twice(tmp_path: Path) -> None:
    changed = {"method": "acquisition", "acquisition": {"expert": "person"}}
    rounds = 0
    while True:
        try:
            trained(tmp_path, **changed)
            break
        except UnansweredError:
            rounds += 1
            assert answer_all(Queue(tmp_path / "questions"))
    assert rounds > 2
    names = [json.loads(line)["question"] for line in (tmp_path / "questions" / "questions.jsonl").open()]
    assert len(names) == len(set(names)) and all(
        question.seat == 1 for question in Queue(tmp_path / "questions").questions().values()
    )


def train_and_answer(tell: Tell, folder: Path) -> None:
    tell("begun")
    while True:
        try:
            trained(folder, method="acquisition", acquisition={"expert": "person"})
            break
        except UnansweredError:
            answer_all(Queue(folder / "questions"))


@pytest.mark.slow
def test_killed_at_twenty_moments_of_acquisition_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    began = time.monotonic()
    ended(train_and_answer, tmp_path / "whole")
    lasts = time.monotonic() - began
    draws, kills, killed = random.Random(4), 0, tmp_path / "killed-0"
    while kills < 20:
        with forked(train_and_answer, killed) as (process, told):
            assert next(told) == "begun"
            time.sleep(draws.uniform(0, lasts / 6))
            process.kill()
        assert process.exitcode in (0, -signal.SIGKILL)
        if process.exitcode == 0:  # What is finished is begun anew elsewhere, so that twenty kills hit something.
            _same(killed, tmp_path / "whole")
            killed = tmp_path / f"killed-{kills}"
        kills += process.exitcode == -signal.SIGKILL
    ended(train_and_answer, killed)
    _same(killed, tmp_path / "whole")


def _same(killed: Path, whole: Path) -> None:
    """The same bytes, and no question asked twice."""
    assert bytes_of(killed) == bytes_of(whole)
    lines = (killed / "questions" / "answers.jsonl").read_text().splitlines()
    asked = [json.loads(line)["question"] for line in lines]
    assert len(asked) == len(set(asked))


@pytest.mark.slow
def test_cells_share_the_first_epoch_of_reinforcement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []
    update = ReinforceTraining.update
    monkeypatch.setattr(
        ReinforceTraining, "update", lambda own, first, until: played.append(own.epoch) or update(own, first, until)
    )

    def rows(folder: str, method: str, models: Path | None) -> list[dict[str, Any]]:
        played.clear()
        chosen = settings(method=method)
        cell = Experiment(chosen, material_of(chosen), tmp_path / folder, models)
        cell.train()
        return [row.to_json() for row in cell.rows]

    alone = {method: rows(method, method, None) for method in ("rl", "acquisition", "rl+sl")}
    shared = tmp_path / "models"
    assert rows("shared-rl", "rl", shared) == alone["rl"] and set(played) == {1, 2}
    assert rows("shared-acquisition", "acquisition", shared) == alone["acquisition"] and set(played) == {2}
    assert rows("shared-mixed", "rl+sl", shared) == alone["rl+sl"] and set(played) == {1, 2}
    first = {row["advantage"] for row in alone["rl"] if row["epoch"] == 1}
    assert first == {row["advantage"] for row in alone["acquisition"] if row["epoch"] == 1 and row["who"] == "alice"}


@pytest.fixture(scope="module")
def supervised(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """A training without games."""
    return trained(tmp_path_factory.mktemp("supervised"), method="sl")


def test_another_training_in_the_folder_is_refused(supervised: Experiment) -> None:
    with pytest.raises(InputError, match="other settings or other data"):
        trained(supervised.folder, method="sl", supervised={"epochs": 2})


@pytest.mark.parametrize("method", ["rl+sl", pytest.param("acquisition", marks=pytest.mark.slow)])
def test_more_epochs_go_on_from_the_last_to_the_same_bytes(method: str, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    trained(whole, method=method, reinforce={"epochs": 2, "games": 10})
    first = trained(parts, method=method, reinforce={"epochs": 1, "games": 10})
    gone_on = trained(parts, method=method, reinforce={"epochs": 2, "games": 10})
    assert gone_on.rows[: len(first.rows)] == first.rows
    assert bytes_of(parts) == bytes_of(whole)
    trained(parts, method=method, reinforce={"epochs": 1, "games": 10})  # Fewer again: the agents of that epoch.
    agent = next(iter(sorted((parts / "agents").iterdir())))
    assert bytes_of(agent) != bytes_of(whole / "agents" / agent.name)
    trained(parts, method=method, reinforce={"epochs": 2, "games": 10})
    assert bytes_of(parts) == bytes_of(whole)


@pytest.mark.parametrize("together", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_stopped_between_games_it_goes_on_to_the_same_bytes(
    together: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed: dict[str, Any] = {"method": "rl", "reinforce": {"games_per_update": together, "epochs": 1}}
    trained(tmp_path / "whole", **changed)
    update = ReinforceTraining.update

    def until_game(own: ReinforceTraining, first: int, until: int) -> None:
        if first == 20:
            raise KeyboardInterrupt
        update(own, first, until)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ReinforceTraining, "update", until_game)
        trained(tmp_path / "parts", **changed)
    assert (tmp_path / "parts" / "epoch-1-alice.partial.safetensors").is_file()
    trained(tmp_path / "parts", **changed)
    assert bytes_of(tmp_path / "parts") == bytes_of(tmp_path / "whole")


def test_more_questions_than_games_an_empty_limit_and_unknown_experts_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"acquisition.asked = 31: more than the 30 games"):
        settings(method="acquisition", acquisition={"asked": 31})
    with pytest.raises(ValueError, match="one of them stands twice"):
        settings(seeds=[1, 1])
    with pytest.raises(InputError, match=r"none of 120 dialogues is left"):
        material_of(settings(data={"unique": 0.001}))
    with pytest.raises(InputError, match="only 20 contexts are held out"):
        _few_held_out(monkeypatch)
    with pytest.raises(InputError, match="'persn': no such expert; did you mean 'person'"):
        trained(tmp_path, acquisition={"expert": "persn"})


def _few_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(count: int, purpose: str) -> tuple[Context, ...]:
        return drawn_contexts(20 if purpose.startswith("held-out") else count, purpose)

    monkeypatch.setattr("apportion.rlhf.negotiation.datasets.drawn_contexts", drawn)
    material_of(settings(evaluation={"contexts": 21}))


@pytest.mark.parametrize("together", [1, 5])
def test_a_gradient_that_is_not_finite_ends_the_training_and_keeps_what_was_before(
    together: int, tmp_path: Path
) -> None:
    chosen = settings(method="rl", supervised={"epochs": 0}, reinforce={"games_per_update": together})
    cell = Experiment(chosen, material_of(chosen), tmp_path)
    broken = cell._learned("own")
    broken["act.bias"][1, 3] = float("inf")
    cell._learned = lambda which: {name: one.clone() for name, one in broken.items()}  # type: ignore[method-assign]
    cell._measure = lambda epoch, alice, bob: None  # type: ignore[method-assign]
    with pytest.raises(UnitError, match=r"reinforcement, epoch 1, game [01]: the gradient of seed 1 is not finite"):
        cell.train()
    assert not (tmp_path / "epoch-1-alice.safetensors").exists()
    assert torch.isinf(broken["act.bias"]).any()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    changed: dict[str, Any] = {"method": "rl", "reinforce": {"epochs": 1}}
    trained(tmp_path, **changed)
    (tmp_path / "epoch-1-alice.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match=r"epoch-1-alice.safetensors: not to be read as weights"):
        trained(tmp_path, **changed)


@pytest.mark.parametrize(
    ("name", "damage", "told"),
    [
        ("epoch-0-measured.json", b"garbage", "not to be read as figures .*Remove it; it is made again"),
        ("epoch-0-measured.json", b"\xff\xfe", "not to be read as figures .*Remove it"),
        ("epoch-0-measured.json", b"[1]\n", "not to be read as figures"),
        (
            "epoch-0-measured.json",
            b'{"epoch": 0, "seed": 0, "who": "alice"}\n',
            "not to be read as figures .*advantage",
        ),
        ("epoch-0-measured.json", b"", "not to be read as figures .it has 0 lines for 2"),
        ("cell.json", b"\xff\xfe", "not to be read as the settings of a training .*Choose another output"),
        ("cell.json", b"{", "not to be read as the settings of a training .*Choose another output"),
    ],
)
def test_figures_and_settings_that_are_damaged_are_named(
    name: str, damage: bytes, told: str, supervised: Experiment, tmp_path: Path
) -> None:
    folder = shutil.copytree(supervised.folder, tmp_path / "copy")
    kept = (folder / name).read_bytes()
    (folder / name).write_bytes(damage)
    with pytest.raises(InputError, match=f"{name}: {told}"):
        trained(folder, method="sl")
    if damage in (b"garbage", b"{"):
        (folder / name).unlink()
        assert [row.to_json() for row in trained(folder, method="sl").rows] == [
            row.to_json() for row in supervised.rows
        ]
        assert (folder / name).read_bytes() == kept


@pytest.mark.slow
def test_the_batch_between_games_is_the_supervised_one_and_16_without_a_word(tmp_path: Path) -> None:
    def weights(folder: str, **supervised: int) -> bytes:
        trained(tmp_path / folder, method="rl+sl", reinforce={"epochs": 1}, supervised={"epochs": 0, **supervised})
        return (tmp_path / folder / "epoch-1-alice.safetensors").read_bytes()

    assert weights("default") == weights("sixteen", batch=16)
    assert weights("default") != weights("four", batch=4)


@dataclass
class Counting:
    """Does nothing, ``step`` at once; stopped after ``most``."""

    step: int
    total: int
    most: int = 10**9
    done: int = 0
    begun: list[int] = field(default_factory=list)

    def run(self) -> Iterator[int]:
        self.begun.append(self.done)
        while self.done < self.total:
            if self.done >= self.most:
                raise KeyboardInterrupt
            self.done = min(self.total, self.done + self.step)
            yield self.done

    def state(self) -> Tensors:
        return {"done": number(self.done)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.done = int(state["done"])


@pytest.mark.parametrize(
    ("step", "kept"), [(1, [4, 8, 12, 16, 20]), (3, [6, 9, 12, 18, 20]), (7, [7, 14, 20]), (4, [4, 8, 12, 16, 20])]
)
def test_a_checkpoint_is_kept_whenever_so_many_are_done_whatever_an_update_is(
    step: int, kept: list[int], tmp_path: Path
) -> None:
    told: list[int] = []
    found = TrainingCheckpoint(tmp_path, 4, lambda done, total, text: told.append(done)).trained(
        "one", Counting(step, 20)
    )
    assert told[:-1] == kept and int(found["done"]) == told[-1] == 20
    assert [path.name for path in tmp_path.iterdir()] == ["one.safetensors"]


def test_what_was_killed_between_its_last_file_and_the_end_of_its_checkpoint_leaves_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.name == "one.partial.safetensors":
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    kept = TrainingCheckpoint(tmp_path, 4, lambda done, total, text: None)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            kept.trained("one", Counting(1, 20))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.partial.safetensors", "one.safetensors"]
    again = Counting(1, 20)
    assert int(kept.trained("one", again)["done"]) == 20 and again.begun == []
    assert [path.name for path in tmp_path.iterdir()] == ["one.safetensors"]


def test_an_empty_file_is_a_training_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text("")
    found = read_settings(path)
    assert (found.method, found.output) == ("rl", tmp_path / "negotiator")
    path.write_text('output = "out"\n[data]\ndialogues = "human"\n')
    assert read_settings(path).data.dialogues == tmp_path / "human"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("method = ", "not valid TOML"),
        ('method = "ppo"', "method = 'ppo'"),
        ("[reinforce]\ngames = 0", "reinforce.games = 0"),
        ("[reinforce]\ngame = 1", "reinforce.game: unknown key"),
        ('[acquisition]\nexpert = "nobody"', "no such expert"),
        ('method = "sl"\n[data]\nscratch = true', 'method = "sl" learns from dialogues; data.scratch = true has none'),
        (
            'method = "sl"\n[supervised]\nepochs = 0',
            'supervised.epochs = 0: method = "sl" would learn nothing; make it 1',
        ),
        ('method = "rl+sl"\n[data]\nscratch = true', "learns from dialogues; data.scratch"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        read_settings(path)


def test_two_trainings_do_not_share_an_output(tmp_path: Path) -> None:
    with (
        locked(tmp_path / ".lock", "", InputError),
        pytest.raises(InputError, match="another process trains there"),
    ):
        train_negotiators(settings(output=tmp_path), lambda done, total, text: None)


@pytest.mark.parametrize("inside", ["", "agents"])
def test_an_output_that_is_a_file_or_in_one_is_refused(inside: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt: a file, where output = .* choose another output"):
        train_negotiators(settings(output=tmp_path / "notes.txt" / inside), lambda done, total, text: None)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_output_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"/proc/self/none/here: the folder cannot be made \(No such file or directory\)"
    ):
        train_negotiators(settings(output=Path("/proc/self/none/here")), lambda done, total, text: None)
