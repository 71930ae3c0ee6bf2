import json
import subprocess
import sys

import pytest

from apportion.corpus.importers.registry import KINDS, find_importer, options_of
from apportion.foundation.errors import InputError
from tests.apportion.called import saying
from tests.behaviour.command import environment
from tests.behaviour.small import write_small_corpus

run = saying()


@pytest.mark.parametrize("kind", KINDS)
def test_the_help_of_a_kind_tells_its_options(kind, capsys):
    code, out, _ = run(capsys, "import", kind, "--help")
    assert code == 0 and f"Options of {kind}:" in out
    for name, meaning in options_of(kind).items():
        assert f"-o {name}=…" in out and meaning.split()[0] in out
    assert ("It has none." in out) == (not options_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_the_options_told_are_those_that_are_taken(kind, tmp_path):
    with pytest.raises(InputError, match=r"unknown option 'zzz'.*Allowed: ") as told:
        find_importer(kind)(tmp_path, {"zzz": "1"})
    allowed = str(told.value).partition("Allowed: ")[2].rstrip(".")
    assert allowed == (", ".join(options_of(kind)) or "none")


def test_the_help_without_a_kind_says_how_to_ask_and_an_unknown_kind_is_one(capsys):
    code, out, _ = run(capsys, "import", "--help")
    assert code == 0 and "apportion import KIND --help" in out
    code, out, _ = run(capsys, "import", "-o", "low=1", "chat", "--help")
    assert code == 0 and "Options of chat:" in out
    run.refuses(capsys, "did you mean 'chat'", "import", "chatt", "--help")


def test_the_help_of_the_command_loads_no_tables():
    code = (
        "import sys; from apportion.cli import main\n"
        "try: main(['import', '--help'])\n"
        "except SystemExit: print('loaded', [name for name in ('pyarrow', 'torch', 'av') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.stdout.endswith("loaded []\n"), done.stdout + done.stderr


def test_what_inspect_cuts_short_it_tells_elsewhere(tmp_path, capsys):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=15)
    (corpus / "media.jsonl").write_text(
        "".join(
            json.dumps({"session_id": f"s{i:02d}", "speaker": "user", "kind": "audio", "path": f"{i}.wav"}) + "\n"
            for i in range(15)
        )
    )
    _, out, _ = run(capsys, "inspect", corpus)
    assert "problem: 5 more (--json tells all)" in out
    _, out, _ = run(capsys, "inspect", corpus, "--json")
    assert len(json.loads(out)["problems"]) == 15


def test_who_speaks_is_asked_on_a_terminal_and_refused_elsewhere(tmp_path, capsys, monkeypatch):
    (tmp_path / "calls" / "s1").mkdir(parents=True)
    cues = (
        f"00:0{i}.000 --> 00:0{i}.900\n{line}\n"
        for i, line in enumerate(("Ann: Hi.", "Ann: So?", "Eve: Oh.", "PS: no."))
    )
    (tmp_path / "calls" / "s1" / "t.vtt").write_text("WEBVTT\n\n" + "\n".join(cues))
    arguments = ("import", "media", tmp_path / "calls", tmp_path / "corpus", "--json")
    run.refuses(capsys, ("s1       Eve    1     t.vtt, cue 3 (00:02.000)  Eve: Oh.", "-o speakers=FILE"), *arguments)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    answers = {"s1, t.vtt, cue 3 (00:02.000): Eve: Oh.": "Eva", "s1, t.vtt, cue 4 (00:03.000): PS: no.": "-"}
    monkeypatch.setattr("click.prompt", lambda text, **options: answers.pop(text.partition("\n")[0]))
    code, out, err = run(capsys, *arguments)
    told = json.loads(out)
    assert code == 0 and not answers and f"next time: -o speakers={tmp_path / 'corpus-speakers.csv'}" in err
    assert [(one["name"], one["words"]) for one in told["speakers"]] == [("Ann", 2), ("Eva", 3)]
    again = run(capsys, *arguments, "-o", f"speakers={tmp_path / 'corpus-speakers.csv'}")
    assert (again[0], again[1]) == (0, out)
