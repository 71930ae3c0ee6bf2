from __future__ import annotations

import pytest

from apportion.rlhf.policy.folder import read_window, write_window
from apportion.rlhf.policy_settings import Window
from tests.rlhf.toy import SMALL


def test_what_was_trained_is_what_is_read(tmp_path):
    write_window(tmp_path, SMALL.window)
    assert Window(**read_window(str(tmp_path))) == SMALL.window


@pytest.mark.parametrize("text", [None, "no json", "[1]", '{"other": 3}'])
def test_where_there_is_none_nothing_is_known(tmp_path, text):
    if text is not None:
        (tmp_path / "window.json").write_text(text)
    assert read_window(str(tmp_path)) == {}
    assert read_window("tiny") == {}


def test_a_folder_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "policy").mkdir()
    write_window(tmp_path / "policy", SMALL.window)
    assert read_window("~/policy") == read_window(str(tmp_path / "policy")) != {}
