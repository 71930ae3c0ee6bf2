"""OpenRLHF's reward function, called as its executor calls it; the executor: `contracts/test_openrlhf.py`."""

import json
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.rlhf.adapters.openrlhf import reward_function
from tests.rlhf.adapters.recorded import PROMPT, write

ASKED, LABEL = "<|im_start|>user\ntrain ?<|im_end|>\n<|im_start|>assistant\n", json.dumps({"prompt": PROMPT})


@pytest.mark.parametrize("cut", [0, 20])
@pytest.mark.parametrize("end", ["", "<|im_end|>", "</s></s>", "<|im_end|>\n<|endoftext|>"])
def test_the_answer_is_what_stands_between_the_prompt_and_its_end(cut: int, end: str, tmp_path: Path) -> None:
    reward_func = reward_function(write(tmp_path))
    found = reward_func([f"{ASKED[cut:]}{text}{end}" for text in ("yes good", "no")], [ASKED] * 2, [LABEL] * 2)
    assert found["rewards"].tolist() == [1.0, -1.0]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    reward_func = reward_function(write(tmp_path))
    with pytest.raises(InputError, match=r"query 'no': it does not begin with its prompt '<\|im_start\|>user"):
        reward_func(["no"], [ASKED], [LABEL])
    for label in ("4", "{}", "none"):
        with pytest.raises(InputError, match=rf"label '{label}': no JSON with a prompt.*--for openrlhf"):
            reward_func([f"{ASKED}no"], [ASKED], [label])


def test_a_tokenizer_may_write_marked_letters_in_its_own_form(tmp_path: Path) -> None:
    reward_func = reward_function(write(tmp_path))
    assert reward_func(["caf\u00e9 no"], ["cafe\u0301 "], [LABEL])["rewards"].tolist() == [-1.0]
