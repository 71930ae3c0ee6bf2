"""Four short games of hidden roles in which a recorded language model plays: all acts are usable, no note is heard."""

import json
from pathlib import Path

import pytest

from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.simulation import DeductionChoice
from apportion.environments.simulation import write_corpus
from apportion.llm_client.model_spec import ModelSpec
from tests.environments.deduction.test_private_notes import written

PLAYED = Path(__file__).resolve().parents[2] / "demo" / "deduction" / "played.jsonl"
GAMES = {
    "recon": ("werewolf", ("recon", "belief", "claims"), 45, ("players=5", "most_days=2")),
    "belief": ("werewolf", ("belief", "claims"), 46, ("players=5", "most_days=2")),
    "llm-ins": ("onuw", ("llm-ins", "claims"), 45, ("rounds=1",)),
    "lasi": ("werewolf", ("lasi", "claims"), 47, ("roles=werewolf,seer,villager,villager", "most_days=1")),
}
REPLIES = {"recon": 13, "belief": 12, "llm-ins": 17, "lasi": 20}


@pytest.mark.parametrize("style", GAMES)
def test_a_game_is_played_again_from_its_replies_and_tells_no_private_word(tmp_path: Path, style: str) -> None:
    kind, agents, seed, rules = GAMES[style]
    game = game_called(kind)
    chosen = ModelSpec("claude", recorded=PLAYED)
    choice = DeductionChoice(game, agents, games=1, seed=seed, rules=game.options_of(rules), chosen=chosen)
    report = write_corpus(choice, tmp_path / "c")
    assert not report.left_out and not [note for note in report.notes if "no usable" in note]
    replies = [json.loads(line) for line in PLAYED.read_text().splitlines()[1:]]
    mine = [json.loads(one["reply"]) for one in replies if one["label"].startswith(f"{style}@")]
    told = written(tmp_path / "c")
    private = [words for one in mine for name, words in one.items() if name not in ("act", "players", "text")]
    assert len(mine) == REPLIES[style] and private and not [words for words in private if words in told]
    # Of a draft and its revision, and of a reply that was none, one is heard; of the others every one.
    heard = [one["text"] for one in mine if one.get("text") and json.dumps(one["text"])[1:-1] in told]
    assert len(heard) == {"recon": 2, "belief": 2, "llm-ins": 3, "lasi": 2}[style]
