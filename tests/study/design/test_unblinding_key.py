import pytest

from apportion.foundation.errors import InputError
from apportion.study.design.unblinding_key import KEY_FILE, Key, KeyRow, key_text, read_key

ROWS = (KeyRow("i0001", "r1", "llama", 0), KeyRow("i0001", "r2", "geli", 3))


@pytest.mark.parametrize("base", [None, "llama"])
def test_a_key_is_the_same_after_its_file(tmp_path, base):
    (tmp_path / KEY_FILE).write_text(key_text(ROWS, base), encoding="utf-8")
    key = read_key(tmp_path)
    assert key == Key(ROWS, base) and key.policies == ("geli", "llama")
    assert key.policy_of["i0001", "r2"] == "geli"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"item": "i1"}', "line 1: item, response, policy and seed are needed"),
        ('{"item": "i1", "response": "r1", "policy": "p", "seed": 1.5}', "line 1: seed 1.5 is no whole number"),
        ('{"base": "other"}', "the base 'other' is none of the policies"),
        ("x", "line 1: not valid JSON"),
    ],
)
def test_what_is_no_key_is_told(tmp_path, line, told):
    (tmp_path / KEY_FILE).write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_key(tmp_path)
