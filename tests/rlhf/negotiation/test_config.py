from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.foundation.files import locked
from apportion.rlhf.negotiation.config import read_settings, train_negotiators
from tests.rlhf.negotiation.small import settings


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
