import pytest

from apportion.pipeline.config import load_config
from tests.apportion.test_cli import run
from tests.behaviour.small import write_small_corpus


@pytest.mark.parametrize("command", ["run", "demo", "benchmark", "init"])
def test_the_option_is_told_and_an_unknown_name_refused_before_anything_is_read(tmp_path, capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0 and "--preset NAME" in out and "`paper`" in out
    place = [] if command == "demo" else [tmp_path / "none.toml"]
    code, _, err = run(capsys, command, *place, "--preset", "papers")
    assert code == 2
    assert err == "error: --preset 'papers': no such preset; did you mean 'paper'? Allowed: paper, savoir.\n"
    code, _, err = run(capsys, command, *place, "--preset", "zzz")
    assert (code, err) == (2, "error: --preset 'zzz': no such preset; Allowed: paper, savoir.\n")


@pytest.mark.slow
def test_a_benchmark_by_a_preset_says_so_and_what_stands_in(tmp_path, capsys, monkeypatch):
    write_small_corpus(tmp_path / "corpus", sessions=14)
    (tmp_path / "a.toml").write_text(
        'corpus = "corpus"\n[train_reward]\nbackbone = "minilm"\nepochs = 1\n'
        "[split]\ntrain = 0.5\nvalidation = 0.1\ntest = 0.3\npolicy = 0.1\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ("benchmark", "corpus", "-c", "a.toml", "--preset", "paper", "--method", "uniform", "--method", "rrd")
    code, out, err = run(capsys, *arguments, "--seeds", "1", "--workers", "1")
    assert code == 0, err
    stands = "The embedded MiniLM (frozen) stands in the place of BART (facebook/bart-large)"
    assert out.startswith(
        "Settings by preset: split (paper), features (paper), decompose (paper), train_reward (paper)"
    )
    assert stands in out.split("Reward models and baselines")[0]
    page = (tmp_path / "runs" / "benchmark-corpus" / "benchmark.md").read_text()
    assert stands in page.split("Reward models and baselines")[0]


def test_the_next_command_names_the_preset_again(tmp_path, capsys, monkeypatch):
    given = []
    monkeypatch.setattr("apportion.commands.runs.run", lambda config, stages, source, *_, **__: given.append(source))
    (tmp_path / "a b.toml").write_text('corpus = "corpus"\n')
    for words in ((), ("--only", "evaluate")):
        run(capsys, "run", *words, tmp_path / "a b.toml", "--preset", "paper")
    assert given == [f"{tmp_path / 'a b.toml'} --preset paper"] * 2


def test_init_writes_a_file_that_takes_the_preset_and_shows_what_it_gives(tmp_path, capsys):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=2)
    code, _, _ = run(capsys, "init", corpus, "-o", tmp_path / "a.toml", "--preset", "paper", "--no-align", "--all")
    text = (tmp_path / "a.toml").read_text()
    assert code == 0 and '\npreset = "paper"\n' in text and '\n# backbone = "facebook/bart-large"\n' in text
    config = load_config(tmp_path / "a.toml")
    assert not config.align.enabled
    assert config.decompose == load_config(tmp_path / "a.toml", "paper").decompose
    assert (config.decompose.target, config.train_reward.lr, config.align.batch_size) == ("score", 5e-6, 24)
    # Its lines are the preset's values: taken as they stand, they change nothing.
    for key in ("target", "lr_backbone", "kl_controller"):
        line = next(line for line in text.splitlines() if line.startswith(f"# {key} = "))
        (tmp_path / "a.toml").write_text(text.replace(line, line.removeprefix("# "), 1))
        assert load_config(tmp_path / "a.toml") == config
