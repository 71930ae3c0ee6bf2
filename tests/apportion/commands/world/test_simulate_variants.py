"""`apportion world simulate bargaining` and `simulate casino`."""

import json

import pytest

from apportion.cli import main


@pytest.mark.parametrize(
    ("kind", "ratings"), [("bargaining", {"points", "advantage", "snp", "share"}), ("casino", {"points", "advantage"})]
)
def test_games_become_a_corpus(tmp_path, capsys, kind, ratings):
    out = tmp_path / "play"
    arguments = ["world", "simulate", kind, str(out), "--agents", "conceding,fair", "--games", "2"]
    for options in ([], ["--overwrite"]):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, *options])
        assert ended.value.code == 0 and "8 sessions" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["inspect", str(out), "--json"])
    assert {one["name"] for one in json.loads(capsys.readouterr().out)["ratings"]} == ratings
    with pytest.raises(SystemExit) as ended:
        main(["world", "simulate", kind, str(out), "--agents", "nobody"])
    assert ended.value.code == 2
    with pytest.raises(SystemExit) as ended:
        main(
            [
                *arguments[:4],
                "--agents",
                "base",
                "--model",
                "m",
                "--base-url",
                "http://127.0.0.1:9",
                "--games",
                "1",
                "--dry-run",
            ]
        )
    assert ended.value.code == 0 and "at most" in capsys.readouterr().out
