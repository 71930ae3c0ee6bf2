import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from apportion.cli import cli
from apportion.pipeline.stages.registry import STAGES
from tests.apportion.called import saying
from tests.behaviour.command import ROOT, environment
from tests.behaviour.small import write_small_corpus

run = saying()


def commands(group: click.Group = cli, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command, by its words."""
    for name, command in group.commands.items():
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


def test_few_words_are_listed():
    assert len(cli.commands) <= 18


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_help_fits_one_screen(capsys, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "110")
    code, out, _ = run(capsys, *words, "--help")
    assert code == 0 and f"Usage: apportion {' '.join(words)}" in out
    assert len(out.splitlines()) <= 45 and not out.endswith("...")


def test_commands_named_in_help_exist(capsys):
    for words, command in (((), cli), *commands()):
        for line in re.findall(r"`apportion ([^`]*)`", f"{command.help} {command.epilog}"):
            there: click.Command = cli
            for word in line.split():
                if not isinstance(there, click.Group) or word.isupper():
                    break
                assert word in there.commands, f"{words}: apportion {line}"
                there = there.commands[word]
            known = {option for parameter in there.params for option in parameter.opts}
            assert known.issuperset(word for word in line.split() if word.startswith("--")), f"{words}: {line}"


@pytest.mark.parametrize("name", [*dict.fromkeys(map(STAGES.group, STAGES)), "judge", "rewards"])
def test_each_stage_runs_alone(tmp_path, capsys, name):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    text = '[decompose]\nmethod = "llm"\ncompare = ["uniform"]\n[decompose.llm]\nmodel = "m"\nbase_url = "http://localhost:1"\n'
    (tmp_path / "a.toml").write_text(f'corpus = "corpus"\noutput = "run"\n{text}')
    code, out, err = run(capsys, "run", tmp_path / "a.toml", "--only", name, "--dry-run", "--json")
    stages = [row["stage"] for row in json.loads(out)["stages"]] if code == 0 else err
    assert set(STAGES.called(name)) <= set(stages)


def test_help_loads_no_heavy_library():
    script = (
        "import sys; from apportion.cli import cli; "
        "print([n for n in ('torch', 'transformers', 'librosa', 'cv2', 'pandas', 'openai', 'pyarrow') "
        "if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_inspect_as_text_and_as_json(tmp_path, capsys):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=3)
    code, out, _ = run(capsys, "inspect", corpus)
    assert (code, "satisfaction" in out, "next: apportion init" in out) == (0, True, True)
    code, out, _ = run(capsys, "inspect", corpus, "--json")
    assert json.loads(out)["sessions"] == 3


def test_an_option_without_a_value(tmp_path, capsys):
    run.refuses(capsys, "KEY=VALUE", "import", "chat", tmp_path, tmp_path / "c", "-o", "low")


def test_a_corpus_that_is_not_there(tmp_path, capsys):
    code, _, err = run(capsys, "inspect", tmp_path / "none")
    assert code == 2
    assert err.startswith("error: ")


def test_the_demo_without_its_corpus(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("apportion.commands.runs.DEMO_CONFIG", tmp_path / "none.toml")
    run.refuses(capsys, "install it again", "demo")


@pytest.mark.parametrize("here", [True, False])
def test_the_demo_aligns_smollm2_where_it_is_and_says_which_policy(capsys, monkeypatch, here):
    from apportion.commands import runs

    ran = []
    monkeypatch.setattr("apportion.foundation.model_hub.text.find_text", lambda name: ROOT if here else None)
    monkeypatch.setattr(runs, "run", lambda config, *rest, **options: ran.append(config))
    code, _, err = run(capsys, "demo")
    (config,) = ran
    assert code == 0 and config.align.policy == ("smollm2" if here else "tiny") and config.align.anyway
    assert err.startswith(f"policy: {config.align.policy}") and ("SmolLM2" in " ".join(config.notes)) is here
    assert config.align.steps == (3 if here else 40) and ("models fetch smollm2" in err) is not here


def test_a_stage_alone_is_no_part_of_a_chain(tmp_path, capsys):
    (tmp_path / "a.toml").write_text('corpus = "corpus"\n')
    run.refuses(capsys, "--only runs one stage", "run", tmp_path / "a.toml", "--only", "split", "--skip", "align")
    run.refuses(capsys, "--only 'splt': no stage; did you mean 'split'?", "run", tmp_path / "a.toml", "--only", "splt")


def test_memory_that_ran_out_is_one_line(capsys, monkeypatch, tmp_path):
    def out_of_memory(*_, **__):
        raise MemoryError

    monkeypatch.setattr("apportion.corpus.importers.chat.import_corpus", out_of_memory)
    code, out, err = run(capsys, "import", "chat", str(tmp_path), str(tmp_path / "corpus"))
    assert code == 1 and re.fullmatch(r"error: memory ran out\. Split the input, .*\n", out + err)


def test_what_the_encoding_of_a_pipe_cannot_hold_is_escaped(tmp_path):
    chat = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    (tmp_path / "→.jsonl").write_text(json.dumps(chat) + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "apportion", "import", "chat", str(tmp_path / "→.jsonl"), str(tmp_path / "→")],
        env=environment(PYTHONIOENCODING="cp1252"), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and b"\\u2192: 1 sessions" in done.stdout and b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ({}, "expandable_segments:True"),
        ({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}, "max_split_size_mb:64"),
        ({"PYTORCH_ALLOC_CONF": "max_split_size_mb:64"}, None),
    ],
)
def test_memory_of_a_card_grows_in_place_unless_somebody_says_otherwise(capsys, monkeypatch, given, held):
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert run(capsys, "--version")[0] == 0
    assert os.environ.get("PYTORCH_CUDA_ALLOC_CONF") == held
