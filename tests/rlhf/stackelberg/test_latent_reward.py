"""LSPO's preferences: what the reward says of replies in simulated games, and one round of DPO by it on `tiny`."""

import math
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Episode
from apportion.environments.deduction.chooser import mind_of
from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.latent_strategies import minimise_regret
from apportion.environments.deduction.simulation import DeductionChoice
from apportion.environments.simulation import write_corpus
from apportion.foundation.errors import InputError
from apportion.llm_client.request import ChatRequest
from apportion.rlhf.plugins import REWARDS
from apportion.rlhf.policy.contexts import make_contexts
from apportion.rlhf.stackelberg import latent_reward
from apportion.rlhf.stackelberg.latent_reward import LatentReward, LatentSettings, of_job
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.tiny_policy import build_tiny
from apportion.rlhf.training_data import TrainingData
from tests.behaviour.small import write_small_corpus
from tests.rlhf.toy import SMALL, train

GAME = game_called("werewolf")
RULES = GAME.options_of(("roles=werewolf,seer,villager,villager", "most_days=1"))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LatentReward]:
    """Some reduced games, and a strategy that was learned in others."""
    folder = tmp_path_factory.mktemp("lspo")
    write_corpus(DeductionChoice(GAME, ("claims",), games=4, rules=RULES), folder / "games")
    games = []
    for number in range(10):
        games.append(GAME.make(RULES, None))
        games[-1].reset(f"train/{number}")
    script = GAME.roster.scripted("claims")
    minimise_regret(mind_of("lspo", "werewolf"), games, script, 0, lambda done, regret: None).write(
        folder / "lspo.json"
    )
    settings = REWARDS.find("lspo").checked({"corpus": folder / "games", "strategies": folder / "lspo.json"})
    return folder, of_job(None, settings)


def episodes_of(folder: Path) -> list[Episode]:
    return [session.episodes()[0] for session in Corpus.open(folder / "games").iter_sessions()]


def test_a_reply_is_worth_the_chance_of_its_cluster(played: tuple[Path, LatentReward]) -> None:
    folder, reward = played
    spoke = 0
    for session in Corpus.open(folder / "games").iter_sessions():
        for turn in session.turns:
            view = reward.view(session.session_id, turn.turn)
            if view.agent in ("Moderator",) or not view.legal:
                continue
            said = ["I suspect Player 2.", "I suspect Player 3.", "I am the seer. Player 1 is a werewolf."]
            one, same, other = (reward.speaker.chance(view, text) for text in said)
            assert one == same and 0 <= other <= 1
            spoke += one != other
    assert spoke and reward.history(episodes_of(folder)[0], 0) == ""


def test_one_round_of_dpo_on_tiny_prefers_what_the_strategy_plays(played: tuple[Path, LatentReward]) -> None:
    folder, reward = played
    settings = SMALL.model_copy(
        update={"algorithm": "dpo", "num_generations": 2, "steps": 1, "max_context_tokens": 3000}
    )
    episodes = episodes_of(folder)
    policy = build_tiny(episodes, settings, 0)
    contexts = make_contexts(
        episodes, policy.tokenizer, reward.history, context_turns=3, max_context_tokens=2500
    ).contexts
    seen: list[dict[str, float]] = []
    train(TrainingData(policy, contexts, reward), Run(settings, 0, watch=(lambda step, metrics: seen.append(metrics),)))
    assert len(seen) == 1 and 0 <= seen[0]["reward"] <= 1 and math.isfinite(seen[0]["loss"]) and seen[0]["pairs"] >= 0


def test_what_cannot_be_scored_is_refused(played: tuple[Path, LatentReward], tmp_path: Path) -> None:
    folder, _ = played
    with pytest.raises(InputError, match="No such file"):
        of_job(None, LatentSettings(corpus=folder / "games", strategies=tmp_path / "none.json"))
    write_small_corpus(tmp_path / "other", sessions=6)
    reward = of_job(None, LatentSettings(corpus=tmp_path / "other", strategies=folder / "lspo.json"))
    with pytest.raises(InputError, match=r"no game of .* with its log; simulate it"):
        reward.view(next(iter(Corpus.open(tmp_path / "other").iter_sessions())).session_id, 0)
    with pytest.raises(InputError, match="a reward asks no language model"):
        latent_reward._nobody(ChatRequest(model="m", messages=(), subject="a speech"))
