import json
from pathlib import Path

import pytest

from apportion.decompose.reactions.pretrained import read_prior
from tests.behaviour.command import in_process
from tests.behaviour.small import write_small_corpus
from tests.reward_model.tiny import save_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("learning")
    for name in ("one", "two"):
        write_small_corpus(folder / name, sessions=12)
    save_tiny(folder / "tiny")
    return folder


def learn(patch: pytest.MonkeyPatch, folder: Path, *more: object) -> tuple[int, str, str]:
    reader = ("--backbone", folder / "tiny", "--max-tokens", 16)
    done = in_process(patch, "train", "reactions", folder / "one", folder / "two", *reader, *more)
    return done.returncode, done.stdout, done.stderr


def test_two_corpora_become_one_file_with_a_card(monkeypatch, folder):
    out = folder / "both.safetensors"
    code, said, err = learn(monkeypatch, folder, "--out", out, "--name", "ours", "--licence", "CC0-1.0")
    assert code == 0, err
    assert said.splitlines()[0] == "ours: learnt from 12 sessions of one (scores), 12 sessions of two (scores); CC0-1.0"
    assert "R^2 of scores that were left out one at a time" in said
    assert f'next: decompose.reaction.pretrained = "{out}"' in said
    card = read_prior(out).card
    assert card.reading["max_tokens"] == 16 and card.licence == "CC0-1.0" and len(card.backbone) == 64
    assert json.loads((folder / "both.json").read_text()) == card.model_dump(mode="json")


def test_what_is_there_stays_unless_forced(monkeypatch, folder):
    out = folder / "kept.safetensors"
    out.write_text("mine")
    code, _, err = learn(monkeypatch, folder, "--out", out)
    assert code == 2 and "exists. Use --force to replace it" in err and out.read_text() == "mine"
    code, said, err = learn(monkeypatch, folder, "--out", out, "--force", "--json")
    assert code == 0 and json.loads(said)["file"] == str(out) and "sessions" not in err


def test_stopped_it_says_that_nothing_is_kept(monkeypatch, folder):
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("apportion.decompose.reactions.transfer.read_session", stop)
    out = folder / "stopped.safetensors"
    code, _, err = learn(monkeypatch, folder, "--out", out)
    assert code == 130 and "stopped. Nothing was written; the same command reads all replies again." in err
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--out", "m.bin"), ".safetensors"),
        (("--out", "m.safetensors", "--name", "n" * 81), "--name: from 1 to 80 letters"),
        (("--out", "m.safetensors", "--rating", "humour"), "ratings satisfaction, and one of them is learnt from"),
        (("--out", "m.safetensors", "--max-tokens", "4"), "--max-tokens"),
    ],
)
def test_what_is_refused(monkeypatch, folder, more, message):
    monkeypatch.chdir(folder)
    code, _, err = learn(monkeypatch, folder, *more)
    assert code == 2 and message in err and not (folder / "m.safetensors").exists()
