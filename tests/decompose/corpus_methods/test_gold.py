from dataclasses import replace

import pytest

from apportion.corpus.session import Rating, Session, Turn
from apportion.decompose.corpus_methods import gold
from apportion.decompose.corpus_methods.gold import REACTIONS, SCORES, GoldLesson, gold_reader, train_gold
from apportion.decompose.corpus_methods.trained_network import TrainingConfig
from apportion.decompose.settings import DecomposeSettings
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings

SAID = (("ann", "Where is my parcel?"), ("bot", "On its way."), ("ann", "Great, thank you!"))


def session(number: int, score: float | None = None) -> Session:
    turns = tuple(Turn(i, who, f"{text} {number}") for i, (who, text) in enumerate(SAID))
    given = 1.0 + number % 5 if score is None else score
    return Session(f"s{number}", turns, (Rating("ann", "bot", "mood", given, 1.0, 5.0),))


def lesson(count: int = 11, method: str = REACTIONS, seed: int = 0) -> GoldLesson:
    nobodys = replace(session(99), ratings=())
    model = RewardModelSettings(heads=1, epochs=1)
    return GoldLesson(
        [nobodys, *map(session, range(count))], None, method, TrainingConfig(DecomposeSettings(), model, seed)
    )


def test_the_scored_sessions_are_dealt_out_by_the_seed_and_none_is_in_both_halves():
    first, second = ({one.session_id for one in half} for half in lesson().halves)
    assert first | second == {f"s{number}" for number in range(11)} and not first & second
    assert (len(first), len(second)) == (6, 5)
    assert {one.session_id for one in lesson(seed=1).halves[0]} != first


def test_too_few_sessions_give_no_gold_and_say_how_many_are_needed():
    assert lesson(80).lacking is None
    assert "has 79 sessions with a score, and 80 are needed (split.policy" in str(lesson(79).lacking)
    assert "gold A (6 sessions) and gold B (5 others)" in lesson().told()


def test_only_lessons_that_make_the_same_models_have_one_key():
    others = [lesson(12), lesson(method=SCORES), lesson(seed=1), replace(lesson(), rating="mood")]
    assert lesson().key == lesson().key
    assert len({one.key for one in (lesson(), *others)}) == 5


@pytest.mark.parametrize(
    ("proxy", "fetched", "backbone", "scoring"),
    [
        ({"backbone": "minilm"}, True, "smollm2", "windowed"),
        ({"backbone": "minilm"}, False, "minilm", "windowed"),
        ({"backbone": "minilm", "scoring": "windowed"}, False, "minilm", "pooled"),
        ({"backbone": "smollm2"}, True, "minilm", "windowed"),  # Beside which MiniLM pools.
        (None, True, "smollm2", "windowed"),
        (None, False, "minilm", "pooled"),
    ],
)
def test_gold_reads_by_another_encoder_than_the_proxy_where_one_is_here(
    monkeypatch, tmp_path, proxy, fetched, backbone, scoring
):
    monkeypatch.setattr(gold, "model_folder", lambda name: tmp_path if fetched else tmp_path / "none")
    found = gold_reader(None if proxy is None else RewardModelSettings(**proxy))
    assert (found.backbone, found.scoring) == (backbone, scoring)


@pytest.mark.parametrize("method", [REACTIONS, SCORES])
def test_each_half_teaches_a_model_and_one_that_is_there_is_not_taught_again(tmp_path, method):
    first, second = train_gold(lesson(method=method), tmp_path)
    chat = [{"role": "user", "content": SAID[0][1]}, {"role": "assistant", "content": SAID[1][1]}]
    assert RewardModel.from_pretrained(first).score(chat) != RewardModel.from_pretrained(second).score(chat)
    (first / "README.md").unlink()
    train_gold(lesson(method=method), tmp_path)
    assert not (first / "README.md").exists() and not list(tmp_path.glob("tmp.*"))
    (first / "config.json").unlink()
    train_gold(lesson(method=method), tmp_path)
    assert RewardModel.from_pretrained(first).score(chat)  # A damaged one is taught again.
