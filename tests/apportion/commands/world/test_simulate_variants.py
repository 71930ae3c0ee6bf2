import json

import pytest

from tests.apportion.called import called


@pytest.mark.parametrize(
    ("kind", "ratings"), [("bargaining", {"points", "advantage", "snp", "share"}), ("casino", {"points", "advantage"})]
)
def test_games_become_a_corpus(tmp_path, capsys, kind, ratings):
    arguments = f"world simulate {kind} {tmp_path / 'play'}".split()
    for options in ((), ("--overwrite",)):
        assert called(*arguments, *["--agents", "conceding,fair", "--games", "2"], *options) == 0
        assert "8 sessions" in capsys.readouterr().out
    assert called("inspect", tmp_path / "play", "--json") == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out)["ratings"]} == ratings
    assert called(*arguments, "--agents", "nobody") == 2
    asks = ["--agents", "base", "--model", "m", "--base-url", "http://127.0.0.1:9", "--games", "1", "--dry-run"]
    assert called(*arguments, *asks) == 0 and "at most" in capsys.readouterr().out
