import json

from apportion.rlhf.social import run
from tests.apportion.called import called
from tests.rlhf.social.small import small_tasks

CONFIG = """
method = "rl"
seeds = [0, 1]
[data]
scripted = 40
[network]
embedding = 8
hidden = 8
[supervised]
epochs = 1
[reinforce]
games = 8
[evaluation]
contexts = 10
"""


def test_it_names_what_it_wrote_and_the_next_command_which_works(tmp_path, capsys):
    config = tmp_path / "agent.toml"
    config.write_text(CONFIG)
    assert called("train", "negotiator", config) == 0
    out = capsys.readouterr().out
    agent = tmp_path / "negotiator" / "agents" / "seed-0"
    assert "seed 1: advantage" in out and f"wrote 2 agents into {agent.parent}" in out
    assert out.splitlines()[-1] == f"next: apportion world simulate negotiation CORPUS --agents learned@{agent},fair"
    plays = f"world simulate negotiation {tmp_path / 'corpus'} --agents learned@{agent},fair --games 2"
    assert called(*plays.split()) == 0
    capsys.readouterr()
    assert called("train", "negotiator", config, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["agents"]) == 2 and {row["epoch"] for row in shown["figures"]} == {0, 1}


def test_a_missing_file_is_exit_code_2(tmp_path, capsys):
    assert called("train", "negotiator", tmp_path / "none.toml") == 2 and "none.toml" in capsys.readouterr().err


def test_a_player_is_trained_to_a_file_that_plays(tmp_path, capsys):
    for method, game in (("sla", "werewolf"), ("rl-ins", "onuw"), ("lspo", "werewolf"), ("strategist", "werewolf")):
        place = tmp_path / f"{method}.json"
        small = (
            ("--rule", "roles=werewolf,seer,villager,villager", "--rule", "most_days=1") if game == "werewolf" else ()
        )
        assert (
            called("train", "player", method, game, place, "--games", 20 if method != "strategist" else 8, *small) == 0
        )
        out = capsys.readouterr().out
        assert f"wrote {place}: " in out and "at last" in out
        agents = out.splitlines()[-1].rpartition(" ")[2]
        assert agents == f"{method}@{place},claims"
        league = ("world", "tournament", game, tmp_path / method, "--agents", agents, "--matches", 2, *small)
        assert called(*league) == 0
        capsys.readouterr()
    # Of another cast it says so, and how one is made for it.
    assert called("world", "simulate", "werewolf", tmp_path / "x", "--agents", f"sla@{tmp_path / 'sla.json'}") == 2
    assert "apportion train player sla werewolf FILE" in capsys.readouterr().err


def test_what_is_no_player_is_exit_code_2(tmp_path, capsys):
    for method, game, why in (
        ("sla", "avalon", "there are strategist avalon, strategist werewolf"),
        ("sla", "chess", "chess"),
        ("sdpo", "werewolf", "sdpo is trained in sotopia: apportion train player sdpo sotopia FOLDER"),
    ):
        assert called("train", "player", method, game, tmp_path / "x.json") == 2
        assert why in capsys.readouterr().err
    assert called("train", "player", "sla", "werewolf", tmp_path / "x.json", "--policy", "smollm2") == 2
    assert "--policy is of sotopia; in werewolf no language model learns" in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()


def test_where_nothing_can_be_written_is_told_before_anything_is_trained(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("apportion.rlhf.social.methods.train_social", None)
    monkeypatch.setattr("apportion.environments.deduction.player_training.trained", None)
    (tmp_path / "file").write_text("")
    for method, game, place, why in (
        ("sla", "werewolf", tmp_path, f"FILE {tmp_path}: a folder. Name a file in it."),
        ("sla", "werewolf", tmp_path / "file" / "x.json", "file"),
        ("sdpo", "sotopia", tmp_path / "file" / "x", "file"),
    ):
        assert called("train", "player", method, game, place) == 2
        assert why in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


SMALL_SOCIAL = ("pairs=1", "most_acts=4", "draws=1", "warmup=2", "epochs=1", "least=0", "tokens=512")


def test_a_social_training_writes_a_folder_that_plays(tmp_path, capsys, monkeypatch, recwarn):
    # Two tasks: more of a policy that knows nothing takes a quarter of a minute.
    monkeypatch.setattr(run, "split_tasks", lambda *asked: small_tasks(4))
    out, rules = tmp_path / "pi", [part for one in SMALL_SOCIAL for part in ("--rule", one)]
    assert called("train", "player", "sotopia-pi", "sotopia", out, *rules) == 0
    told = capsys.readouterr()
    assert f"wrote {out}. sotopia-pi, from tiny: goal score on 1 held-out tasks" in told.out and "cloning:" in told.err
    assert "[transformers]" not in told.err and not [one for one in recwarn if one.category is FutureWarning]
    agents = told.out.splitlines()[-1].rpartition(" ")[2]
    assert agents == f"policy@{out},conceding"
    few = ("--scenario", "drum_kit", "--pairs", 1, "--most-acts", 4)
    assert called("train", "player", "dsi", "sotopia", tmp_path / "self", *rules, "--rule", "partner=self") == 0
    assert capsys.readouterr().out.endswith(f" --agents policy@{tmp_path / 'self'}\n")
    assert called("world", "simulate", "sotopia", tmp_path / "corpus", "--agents", agents, *few) == 0


def test_what_is_no_social_training_is_exit_code_2(tmp_path, capsys):
    for method, options, why in (
        ("sotopia-pie", (), "sotopia-pi"),
        ("sdpo", ("--policy", "/nowhere/x"), "no such folder"),
        ("sdpo", ("--rule", "rounds=many"), "rounds"),
        ("sdpo", ("--rule", "ruonds=1"), "rounds"),
        ("sdpo", ("--games", 3), "draws"),
        ("sdpo", ("--rule", "held_out=0.01", "--rule", "pairs=1"), "leave some for both"),
    ):
        assert called("train", "player", method, "sotopia", tmp_path / "x", *options) == 2, method
        assert why in capsys.readouterr().err
    assert called("train", "player", "sdpo", "sotopia", tmp_path) == 2
    assert "is not replaced" in capsys.readouterr().err and not (tmp_path / "x").exists()


def test_ctrl_c_says_that_nothing_is_kept(tmp_path, capsys, monkeypatch):
    def pressed(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr("apportion.rlhf.social.methods.train_social", pressed)
    monkeypatch.setattr("apportion.environments.deduction.player_training.trained", pressed)
    for method, game in (("dsi", "sotopia"), ("sla", "werewolf")):
        assert called("train", "player", method, game, tmp_path / "out") == 130
        assert "stopped. Nothing was written; the same command begins anew." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
