import json

from tests.apportion.called import called
from tests.shared import shared


def test_the_list_tells_constraints_and_what_rules_check_and_no_goal(capsys):
    assert called("world", "tasks", "sotopia", "list") == 0
    told = capsys.readouterr().out
    assert "bundled: 12 scenarios, 8 characters" in told and "price" in told and "Tomasz Wilk (friend)" in told
    assert "110 dollars" not in told and "behind with its rent" not in told
    assert called("world", "tasks", "sotopia", "list", "--set", "checkable", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["scenarios"]) == 8


def test_the_sets_are_told(capsys):
    assert called("world", "tasks", "sotopia", "list", "--sets") == 0
    told = capsys.readouterr().out
    assert "sotopia-hard: 20 tasks" in told and "savoir-hard: 14 scenarios" in told and "stackelberg: 90" in told
    assert called("world", "tasks", "sotopia", "list", "--sets", "--json") == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)][1:] == [
        "sotopia-hard", "savoir-hard", "stackelberg",
    ]  # fmt: skip


def test_a_sample_plays(tmp_path, capsys):
    path, corpus = tmp_path / "t.toml", tmp_path / "c"
    assert called("world", "tasks", "sotopia", "sample", path, "-n", 3, "--seed", 1) == 0
    assert "t.toml: 3 tasks" in capsys.readouterr().out
    before = path.read_bytes()
    assert called("world", "tasks", "sotopia", "sample", path, "-n", 3, "--seed", 1) == 2
    assert "--force" in capsys.readouterr().err
    assert called("world", "tasks", "sotopia", "sample", path, "-n", 3, "--seed", 1, "--force") == 0
    assert path.read_bytes() == before
    assert called("world", "simulate", "sotopia", corpus, "--tasks", path, "--json") == 0
    capsys.readouterr()
    path.write_text(path.read_text() + "# a comment changes nothing\n")
    assert called("world", "simulate", "sotopia", corpus, "--tasks", path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"]["sessions"] == 3
    path.write_text(path.read_text().replace("secret = ", "secret = 'another one' # ", 1))
    assert called("world", "simulate", "sotopia", corpus, "--tasks", path) == 2
    assert "not empty" in capsys.readouterr().err


def test_the_published_profiles_play(tmp_path, capsys):
    folder = shared("data/sotopia")
    scenario = "01HER99V6GVY2NH1D1Z1BJWM2J"
    arguments = ("--tasks", folder, "--scenario", scenario)
    assert called("world", "simulate", "sotopia", tmp_path / "c", *arguments, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"]["sessions"] == 5 and any("CC BY-SA" in note for note in told["notes"])
    path = tmp_path / "t.toml"
    assert called("world", "tasks", "sotopia", "sample", path, *arguments) == 0
    assert path.read_text().startswith("# 5 tasks, drawn with seed 0 from sotopia.\n# SOTOPIA's published profiles")
    assert called("world", "simulate", "sotopia", tmp_path / "d", "--tasks", path, "--json") == 0
    for table in ("utterances.parquet", "ratings.parquet", "sessions.parquet"):
        if (tmp_path / "c" / table).exists():
            assert (tmp_path / "c" / table).read_bytes() == (tmp_path / "d" / table).read_bytes()
