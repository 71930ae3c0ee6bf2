from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from apportion.corpus.splits.splits import SplitEpisodes
from apportion.foundation.errors import InputError
from apportion.reward_model.learning.distillation import Lesson, train_reward_model
from apportion.reward_model.model import RewardModel
from apportion.reward_model.out_of_domain import REFERENCE, REFERENCE_BYTES, Domain, Unlike, marked
from tests.reward_model.test_model import MESSAGES
from tests.reward_model.tiny import ignore, planted, rewards_of, small, splits_of, values_of

EPISODES = planted(12)
RNG = np.random.default_rng(0)
CLOUD = (np.eye(8, dtype=np.float32)[0] + 0.1 * RNG.normal(size=(3000, 8))).astype(np.float32)
FAR = np.eye(8, dtype=np.float32)[7:]


@pytest.fixture(scope="module")
def domain() -> Domain:
    return Domain.of(CLOUD[:1500], CLOUD[1500:2500], ["x" * (1 + i % 1000) for i in range(1500)], ["en"] * 39 + ["de"])


@pytest.fixture(scope="module")
def model(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    split = SplitEpisodes(EPISODES, splits_of(EPISODES, 0.5, 0.25))
    lesson = Lesson(rewards_of(EPISODES, values_of(EPISODES)), split)
    train_reward_model(lesson, small(bert), 0, folder, ignore)
    return folder


@pytest.mark.parametrize(
    ("embedding", "reply", "cut", "language", "expected"),
    [
        (CLOUD[:1], "x", False, "en-GB", ()),
        (CLOUD[:1], "x", False, None, ()),  # A language that nobody knows is no other one.
        (CLOUD[:1], "x", False, "de", ("language",)),  # Spoken in one of 40 training sessions alone.
        (CLOUD[:1], "x" * 990, False, "en", ()),
        (CLOUD[:1], "x" * 998, False, "en", ("length",)),
        (CLOUD[:1], "x", True, "en", ("length",)),
        (FAR, "x", False, "en", ("distance",)),
        (0 * FAR, "x" * 1000, False, "fr+en", ("language", "length", "distance")),
    ],
)
def test_each_reason_by_itself(domain, embedding, reply, cut, language, expected) -> None:
    assert domain.reasons(embedding, [reply], [cut], language) == [expected]


def test_one_in_a_hundred_turns_like_the_held_out_ones_is_far(domain: Domain) -> None:
    flags = domain.reasons(CLOUD[2500:], ["x"] * 500, [False] * 500, "en")
    assert 0 < sum(flag == ("distance",) for flag in flags) <= 15


def test_the_reference_has_a_bound_and_without_held_out_turns_nothing_is_far() -> None:
    wide = np.ones((2000, 800), np.float32)
    found = Domain.of(wide, wide[:0], ["x"], [None])
    assert found.reference.nbytes <= REFERENCE_BYTES and found.bounds.distance is None
    assert found.reasons(-wide[:1], ["x"], [False], "de") == [()]


def test_a_trained_model_keeps_what_taught_it_and_flags_messages(model: Path) -> None:
    loaded = RewardModel.from_pretrained(model)
    assert loaded.domain is not None and loaded.domain.bounds == loaded.config.domain
    assert loaded.domain.bounds.longest_turn == len("yes train .")
    learnt = sum(len(e.target_turns) for e in EPISODES[:6])
    assert loaded.domain.reference.shape == (learnt, 32) and (model / REFERENCE).stat().st_size < 1e6
    assert "up to 11 characters a turn" in " ".join((model / "README.md").read_text().split())
    *_, reasons = loaded.score_episodes(EPISODES[:6])
    assert reasons == [()] * learnt
    long = {"role": "assistant", "content": "good " * 40}
    assert [("length" in each) for each in loaded.out_of_domain([*MESSAGES, long])] == [False, False, True]
    assert loaded.out_of_domain([]) == []


@pytest.mark.parametrize("damage", ["missing", "torn", "another", "type"])
def test_a_damaged_reference_is_refused(damage: str, model: Path, tmp_path: Path) -> None:
    path = tmp_path / REFERENCE
    for file in model.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(path.read_bytes()[:20])
    else:
        save_file({"reference": np.zeros((2, 32 if damage == "type" else 5), np.float32)}, path)
    with pytest.raises(InputError, match=r"domain\.safetensors: (not readable|.* not int8 of 32 columns)"):
        RewardModel.from_pretrained(tmp_path)


def test_flags_are_counted_for_each_reason_and_session() -> None:
    marks = [marked(["length"]), None, marked(["length", "distance"]), marked([])]
    found = Unlike.of(["a", "a", "b", "c"], marks)
    assert (found.turns, found.flagged, found.share) == (4, 2, 0.5)
    assert (found.by, found.sessions) == ({"length": 2, "distance": 1}, {"a": 0.5, "b": 1.0})
