import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from apportion.environments.negotiation.action_encoding import AGREE, END, INSIST
from apportion.foundation.errors import InputError
from apportion.rlhf.negotiation.data.dialogues import UNKNOWN, joined
from apportion.rlhf.negotiation.data.human import read_human
from apportion.rlhf.negotiation.datasets import limited, scripted, unique_share

FOLDER = Path(os.environ.get("APPORTION_SHARED", "/nowhere")) / "data" / "dealornodeal"
TRAIN = (
    "1 0 4 2 1 2 YOU: i would like 4 hats and you can have the rest . <eos> THEM: deal <eos> YOU: <selection> "
    "item0=0 item1=4 item2=0 <eos> reward=8 agree 1 4 4 1 1 2"
)
HELD_OUT = (
    "<input> 1 6 3 0 2 2 </input> <dialogue> YOU: hello <eos> THEM: <selection> </dialogue> "
    "<output> <disagree> <disagree> <disagree> <disagree> <disagree> <disagree> </output> "
    "<partner_input> 1 2 3 2 2 1 </partner_input>"
)


def write(folder: Path) -> Path:
    (folder / "data.txt").write_text(TRAIN + "\n")
    for name in ("val", "test"):
        (folder / f"{name}.txt").write_text(HELD_OUT + "\n")
    with gzip.open(folder / "selfplay.txt.gz", "wt") as file:
        file.write("1 0 1 1 3 3\n1 1 1 0 3 3\n")
    return folder


def test_a_row_becomes_acts_with_what_both_took(tmp_path: Path) -> None:
    human = read_human(write(tmp_path))
    dialogues = human.dialogues
    assert dialogues.acts.tolist() == [[20, AGREE, END]] and dialogues.roles.tolist() == [[0, 1, 0]]
    assert dialogues.taken.tolist() == [[0, 4, 0, 1, 0, 1]] and dialogues.values.tolist() == [[0, 2, 2]]
    assert len(human.contexts) == 1 and len(human.held_out) == 2


def test_contexts_to_play_about_are_needed(tmp_path: Path) -> None:
    (write(tmp_path) / "selfplay.txt.gz").unlink()
    with pytest.raises(InputError, match=r"selfplay.txt and test.txt are needed"):
        read_human(tmp_path)


def test_dialogues_of_few_different_acts() -> None:
    whole = scripted(60)
    assert limited(whole, 1.0) is whole
    sizes = [len(limited(whole, share)) for share in (0.1, 0.5, 0.78)]
    assert sizes == sorted(sizes) and 0 < sizes[1] < len(whole)
    own = limited(whole, 0.65, "dialogue")
    assert (unique_share(own.acts) <= 0.65).all() and 0 < len(own) < len(whole)
    with pytest.raises(InputError, match="no dialogues to put together"):
        joined([])


@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs APPORTION_SHARED with data/dealornodeal")
def test_the_published_rows_are_read_and_d_l_is_smaller_shorter_and_more_agreeable() -> None:
    human = read_human(FOLDER)
    whole = human.dialogues
    assert (len(whole), len(human.contexts)) == (10_095, 4_086) and len(human.held_out) >= 500
    low = limited(whole, 0.5)
    assert 0.85 < len(low) / len(whole) < 0.95 and low.lengths.mean() < whole.lengths.mean()

    def share(acts: np.ndarray, act: int) -> float:
        return float((acts == act).sum() / (acts >= 0).sum())

    assert share(low.acts, AGREE) > share(whole.acts, AGREE)
    assert 0 < share(whole.acts, UNKNOWN) < 0.1 and ((whole.acts >= INSIST) & (whole.acts < AGREE)).any()
