from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from apportion.corpus.schema import REACTIONS
from apportion.corpus.session import Rating, Session, Turn
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import arrange, read_session
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.errors import InputError, UnitError
from apportion.reward_model.network.backbones import frozen_backbone
from apportion.reward_model.network.texts import embed_texts
from tests.reward_model.tiny import save_tiny

SAID = (
    ("bot", "good train"),
    ("user", "w1 w2"),
    ("user", "w3"),
    ("bot", "bad hotel ?"),
    ("bot", "sorry"),
    ("user", "w1 w2"),
    ("bot", "w4"),
)


def session(session_id: str = "s1", said: tuple[tuple[str, str], ...] = SAID, ratings: int = 1) -> Session:
    turns = tuple(Turn(i, who, text) for i, (who, text) in enumerate(said))
    both = (Rating("user", "bot", "liked", 3.0, 1.0, 5.0), Rating("bot", "user", "liked", 4.0, 1.0, 5.0))
    return Session(session_id, turns, both[:ratings])


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ReactionSettings:
    return ReactionSettings(backbone=str(save_tiny(tmp_path_factory.mktemp("tiny"))), max_tokens=16)


def test_each_target_turn_has_its_reply(settings: ReactionSettings) -> None:
    table = read_session(session(), "liked", settings)
    declared = REACTIONS.arrow
    assert table.column_names == declared.names
    for name in ("cues", "embedding"):
        assert table.schema.field(name).type.value_type == declared.field(name).type.value_type
    assert table.column("turn").to_pylist() == [0, 3, 4, 6]
    assert table.column("replied").to_pylist() == [True, True, True, False]
    found = arrange(table, session().episodes())
    assert found.cues.shape == (4, len(CUES)) and found.embeddings.shape == (4, 16)
    np.testing.assert_array_equal(found.embeddings[1], found.embeddings[2])  # one reply to the whole floor
    assert not found.embeddings[3].any()
    asked = found.cues[:, CUES.index("asked before")]
    assert asked[0] == 0 and asked[1] == pytest.approx(1.0, abs=1e-5)  # word for word what was said before
    assert found.cues[:, CUES.index("silent")].tolist() == [0, 0, 0, 1]


def test_turns_that_were_read_before_are_not_read_again(settings: ReactionSettings, monkeypatch) -> None:
    vectors = embed_texts(frozen_backbone(settings.backbone, 16), [turn.text for turn in session().turns])
    expected = arrange(read_session(session(), "liked", settings), session().episodes())
    monkeypatch.setattr("apportion.reward_model.network.texts.embed_texts", None)
    found = arrange(read_session(session(), "liked", settings, vectors), session().episodes())
    np.testing.assert_allclose(found.embeddings, expected.embeddings, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.cues, expected.cues, rtol=1e-4, atol=1e-5)


def test_a_reply_of_two_utterances_has_their_mean(settings: ReactionSettings) -> None:
    alone = [("bot", "x"), ("user", "w1 w2"), ("bot", "y"), ("user", "w3"), ("bot", "z"), ("user", "w1 w2")]
    one = arrange(read_session(session(said=tuple(alone)), "liked", settings), session(said=tuple(alone)).episodes())
    two = arrange(read_session(session(), "liked", settings), session().episodes())
    np.testing.assert_allclose(two.embeddings[0], one.embeddings[:2].mean(axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("said", [(), (("user", "w1"),), (("bot", ""), ("user", "  ")), (("bot", "x"), ("bot", "y"))])
def test_no_target_turns_no_rater_turns_and_empty_text(
    settings: ReactionSettings, said: tuple[tuple[str, str], ...]
) -> None:
    table = read_session(session(said=said), "liked", settings)
    assert len(table) == sum(who == "bot" for who, _ in said)
    assert not any(table.column("replied").to_pylist())


def test_the_bits_of_a_session_do_not_depend_on_others(settings: ReactionSettings) -> None:
    first = read_session(session(), "liked", settings)
    read_session(session("s2", (("bot", "w9"), ("user", "w7 " * 30))), "liked", settings)
    assert read_session(session(), "liked", settings).equals(first)


def test_an_episode_that_is_half_there_is_named_and_one_that_is_not_there_left_out(settings: ReactionSettings) -> None:
    table = read_session(session(), "liked", settings).slice(0, 2)
    with pytest.raises(UnitError, match="session s1, turn 4: no reaction was read"):
        arrange(table, session().episodes())
    table = read_session(session(), "liked", settings)
    assert len(arrange(table, [*session("other").episodes(), *session().episodes()]).episodes) == 1


def test_a_backbone_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        read_session(session(), "liked", ReactionSettings(backbone=str(tmp_path / "none")))


@pytest.mark.slow
def test_a_dialogue_of_five_thousand_turns(settings: ReactionSettings) -> None:
    said = tuple(turn for i in range(2500) for turn in (("bot", f"w{i % 40}"), ("user", f"w{i % 40} w{i % 7}")))
    found = arrange(read_session(session(said=said), "liked", settings), session(said=said).episodes())
    assert found.cues.shape == (2500, len(CUES)) and np.isfinite(found.cues).all()


def test_to_a_target_whom_the_environment_scores_all_others_react(settings: ReactionSettings) -> None:
    three = tuple(("other" if i == 2 else who, text) for i, (who, text) in enumerate(SAID))
    scored = replace(session(said=three), ratings=(Rating("environment", "bot", "liked", 3.0, 1.0, 5.0),))
    found = arrange(read_session(scored, "liked", settings), scored.episodes())
    rated = arrange(read_session(session(), "liked", settings), session().episodes())
    np.testing.assert_array_equal(found.embeddings, rated.embeddings)
    np.testing.assert_array_equal(found.cues, rated.cues)


def test_the_reply_after_the_next_stands_beside_it(settings: ReactionSettings) -> None:
    one = arrange(read_session(session(), "liked", settings), session().episodes())
    two = arrange(read_session(session(), "liked", settings.model_copy(update={"replies": 2})), session().episodes())
    np.testing.assert_array_equal(two.embeddings[:, :16], one.embeddings)
    np.testing.assert_array_equal(two.cues, one.cues)
    np.testing.assert_array_equal(two.embeddings[0, 16:], one.embeddings[1])  # after the reply to turn 0 comes turn 5
    assert two.embeddings[1].any() and not two.embeddings[1:, 16:].any() and two.embeddings.shape == (4, 32)


def test_a_reply_is_read_in_the_light_of_the_turn(settings: ReactionSettings) -> None:
    other = (("bot", "bad"), *SAID[1:])
    exchange = settings.model_copy(update={"inputs": "exchange"})
    alone, light, moved = (
        arrange(read_session(one, "liked", how), one.episodes())
        for one, how in ((session(), settings), (session(), exchange), (session(said=other), exchange))
    )
    assert light.embeddings.shape == alone.embeddings.shape and not light.embeddings[3].any()
    assert not np.allclose(light.embeddings[0], alone.embeddings[0])
    assert not np.allclose(light.embeddings[0], moved.embeddings[0])  # the same reply to another turn
    np.testing.assert_allclose(light.embeddings[1:], moved.embeddings[1:], atol=1e-6)
    both = settings.model_copy(update={"inputs": "both"})
    found = arrange(read_session(session(), "liked", both), session().episodes())
    np.testing.assert_allclose(found.embeddings, np.hstack([alone.embeddings, light.embeddings]), atol=1e-6)
    np.testing.assert_array_equal(found.cues, alone.cues)
    whole = settings.model_copy(update={"inputs": "both", "replies": 2})
    assert arrange(read_session(session(), "liked", whole), session().episodes()).embeddings.shape == (4, 64)


def test_a_reading_is_named_by_what_is_not_as_it_always_was(settings: ReactionSettings) -> None:
    plain = ReactionSettings()
    assert plain.reading() == {"backbone": "minilm", "max_tokens": 128}
    assert ReactionSettings(replies=2, recency_weights=(1.0,), target="bot").reading() == {
        **plain.reading(),
        "replies": 2,
    }
    assert ReactionSettings(inputs="both").reading()["inputs"] == "both"
