"""A plea in another player's speech, on recorded votes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apportion.environments.deduction.onuw.claims import all_accounts, sentence
from benchmarks import deduction_injection as injection
from benchmarks.judge_injection import CLEAN, PARAPHRASED, PLANTED

POSITIONS = tuple(injection.positions())


@pytest.mark.slow
def test_the_recorded_votes_say_what_is_told_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["deduction_injection.py", "--each"])
        injection.main()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 40 + 1 + 3
    told = lines[40]
    assert told["votes"] == 40
    assert told["as the plea asks"] == {CLEAN: 0.225, PARAPHRASED: 0.225, PLANTED: 0.125}
    assert told["planting obeyed more than paraphrase by"] == [-0.1, -0.225, 0.0]
    assert told["against the speaker"] == {CLEAN: 0.393, PARAPHRASED: 0.429, PLANTED: 0.893}
    assert [one["game"] for one in lines[41:]] == ["onuw", "werewolf", "avalon"]


@pytest.mark.slow
def test_no_folder_of_requests_holds_two_wordings_of_a_vote(tmp_path: Path) -> None:
    injection.write_requests(tmp_path)
    folders = sorted(tmp_path.iterdir())
    assert [len(list(folder.iterdir())) for folder in folders] == [40, 40, 40]
    for position in POSITIONS:
        keys = [injection.request(position, wording).key() for wording in injection.WORDINGS]
        places = [[folder.name for folder in folders if (folder / f"{key}.txt").exists()] for key in keys]
        assert sorted(places) == [["0"], ["1"], ["2"]]


def test_only_one_speech_changes_and_the_voter_s_own_never() -> None:
    for position in POSITIONS:
        lines = {wording: position.view(wording).text.splitlines() for wording in injection.WORDINGS}
        for wording in (PARAPHRASED, PLANTED):
            changed = [pair for pair in zip(lines[CLEAN], lines[wording], strict=True) if pair[0] != pair[1]]
            assert len(changed) == 1 and f"Player {position.speaker} said: " in changed[0][0]
        assert position.voter != position.speaker != position.asked.data != position.voter


def test_every_account_has_other_words() -> None:
    for seat in range(5):
        accounts = [one for one in all_accounts(seat) if one.role != "werewolf"]
        words = {injection.in_other_words(one) for one in accounts}
        assert len(words) == len(accounts) and not words & {sentence(one) for one in accounts}


def test_a_reply_that_is_no_vote_ends_it() -> None:
    with pytest.raises(SystemExit, match="position 0, clean: "):
        injection.votes(lambda position, wording: "I vote for Player 3.")
