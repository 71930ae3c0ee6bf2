import json
from pathlib import Path

import numpy as np
import pytest

from apportion.environments.negotiation.agents import ROSTER
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.vectorized import Pools, VectorizedGames
from apportion.environments.run_episode import play as play_one
from apportion.foundation.errors import InputError
from apportion.rlhf.negotiation.agent import CARD, WEIGHTS, LearnedNegotiator, agent_folder, write_agent
from apportion.rlhf.negotiation.datasets import drawn_contexts
from apportion.rlhf.negotiation.model.player import NetworkPlayer
from apportion.rlhf.negotiation.self_play import play
from tests.rlhf.negotiation.small import SMALL, weights


def write(output: Path, seed: int = 3) -> Path:
    folder = agent_folder(output, seed)
    write_agent(folder, weights((seed,)), SMALL, {"method": "sl"})
    return folder


def test_the_agent_plays_as_its_network_does_among_many(tmp_path: Path) -> None:
    folder, contexts = write(tmp_path), drawn_contexts(12, "learned")
    agent = ROSTER.scripted(f"learned@{folder}")
    assert ROSTER.scripted(f"learned@{tmp_path}#3").called == f"learned@{tmp_path}#3"
    assert ROSTER.scripted(f"learned@{tmp_path}").called == f"learned@{tmp_path}"
    single = []
    for seed, context in enumerate(contexts):
        episode = Negotiation(context)
        episode.reset(seed)
        play_one(episode, dict.fromkeys(episode.agents, agent))
        single.append(episode.game)
    starters = np.array([(game.seat + len(game.acts)) % 2 for game in single])
    games = VectorizedGames(Pools.of(contexts), starters)
    both = NetworkPlayer(weights((3,)), 0.0), NetworkPlayer(weights((3,)), 0.0)
    played = play(games, 1, both, np.zeros((len(contexts), 20)))
    assert [[act for act in row if act >= 0] for row in games.acts.tolist()] == [game.acts for game in single]
    assert played.taken.tolist() == [game.taken for game in single]


def test_what_is_no_agent_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no trained negotiator there"):
        LearnedNegotiator.of(str(tmp_path))
    folder = write(tmp_path)
    with pytest.raises(InputError, match=r"no trained negotiator there"):
        LearnedNegotiator.of(f"{tmp_path}#4")
    (folder / CARD).write_text(json.dumps({"network": {"embedding": "x"}}))
    with pytest.raises(InputError, match=r"embedding = 'x'.*The command that trained it writes it again"):
        LearnedNegotiator.of(str(folder))
    (folder / CARD).write_text(json.dumps({"network": SMALL.model_dump() | {"hidden": 99}}))
    with pytest.raises(InputError, match=r"is missing or not of the card's shape"):
        LearnedNegotiator.of(str(folder))
    (folder / CARD).write_text("{}")
    with pytest.raises(InputError, match=r"not the card of a negotiator"):
        LearnedNegotiator.of(str(folder))
    write(tmp_path)
    (folder / WEIGHTS).write_bytes(b"x")
    with pytest.raises(InputError, match=r"not to be read as weights"):
        LearnedNegotiator.of(str(folder))
