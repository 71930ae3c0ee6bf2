import json

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.sotopia.evaluation.human_ratings.log import KEPT
from tests.apportion.commands.world.test_judge import run
from tests.environments.sotopia.evaluation.judges import played
from tests.pseudo_terminal import CTRL_C, CTRL_D, PseudoTerminal

PLANTED = "Hi \x1b[2J\x9b31m\x07 \u202egive me 10 </episode>"


def test_a_form_is_written_filled_in_and_taken(tmp_path, capsys):
    played(tmp_path / "one")
    corpus, form = str(tmp_path / "one"), tmp_path / "form.csv"
    assert run(corpus, "--export-sheet", str(form)) == 0
    told = capsys.readouterr().out
    assert "rows to fill in" in told and "neither says who played" in told and f"--ratings NAME={form}" in told
    assert run(corpus, "--export-sheet", str(form)) == 2 and "may be filled in" in capsys.readouterr().err
    assert run(corpus, "--export-sheet", str(form), "--overwrite", "--json") == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == str(form.with_suffix(".txt"))
    form.write_text(form.read_text().replace(",,\n", ",0,so\n"))
    assert run(corpus, "--ratings", f"ann={form}", "--without", "rules") == 0
    told = capsys.readouterr().out
    assert (
        "ann: everything is rated" in told
        and f"next: apportion world tables sotopia {tmp_path / 'one'}-rated --people ann" in told
    )
    assert {row["annotator"] for row in Corpus.open(tmp_path / "one-rated").ratings.to_pylist()} == {"ann"}
    assert run(corpus, "--ratings", f"ann={form}", "--without", "rules", "--json") == 0
    assert json.loads(capsys.readouterr().out)["left"] == {"ann": 0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ratings", "ann"), "write NAME=FILE"),
        (("--ratings", "ann=a.csv", "--ratings", "ann=b.csv"), "two forms of 'ann'"),
        (("--ratings", "ann=none.csv"), "none.csv"),
        (("--rate", "ann"), "the standard input is none"),
        (("--rate", "ann", "--ratings", "ann=a.csv"), "--ratings and --rate are not for the same command"),
        (("--rate", "ann", "--model", "m"), "--rate and --model are not for the same command"),
        (("--export-sheet", "form.txt"), "must end in .csv"),
        (("--ratings", "ann=a.csv", "--overwrite"), "--overwrite would lose what people have rated"),
    ],
)
def test_bad_input_ends_with_code_2(tmp_path, capsys, arguments, message):
    played(tmp_path / "one")
    assert run(str(tmp_path / "one"), *arguments) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "one-rated").exists()


@pytest.mark.slow
def test_a_person_rates_in_a_terminal_that_strangers_words_do_not_move(tmp_path):
    """Wrong input, Ctrl-C, kill -9, going on; the screen holds no control character of the transcript."""
    corpus = played(tmp_path / "one", pairs=1)
    rows = corpus.utterances.to_pylist()
    (tmp_path / "one" / "utterances.parquet").unlink()
    (tmp_path / "one" / "utterances.jsonl").write_text(
        "".join(json.dumps(row | ({"text": PLANTED} if row["turn"] == 0 else {})) + "\n" for row in rows)
    )
    arguments = ("-m", "apportion", "world", "evaluate", str(tmp_path / "one"), "--rate", "ann")
    with PseudoTerminal(arguments) as terminal:
        shown = terminal.until("BEL, 0 to 10> ")
        assert "\\x1b[2J\\x9b31m\\x07 \\u202egive me 10" in shown and "\x1b[2J" not in shown and "\u202e" not in shown
        terminal.type("7.5\n")
        terminal.until("a whole number from 0 to 10 is needed")
        terminal.until("BEL, 0 to 10> ")
        terminal.type("8\n")
        terminal.until("why")
        terminal.type("natural\n")
        terminal.until("REL, -5 to 5> ")
        assert terminal.end_by(CTRL_C) == 130 and "run the same command again" in terminal.screen
    assert not (tmp_path / "one-rated" / "sessions.parquet").exists()
    with PseudoTerminal(arguments) as terminal:
        terminal.until("REL, -5 to 5> ")
        assert "BEL, 0 to 10> " not in terminal.screen
        terminal.type("1\n")
        terminal.until("why")
        terminal.type("\n")
        terminal.until("KNO, 0 to 10> ")
        terminal.kill()
    with PseudoTerminal(arguments) as terminal:
        terminal.until("KNO, 0 to 10> ")
        terminal.type(CTRL_D)
        terminal.until("scores are not given yet")
        assert terminal.end() == 0
    kept = [json.loads(line) for line in (tmp_path / "one-rated" / KEPT).read_text().splitlines()]
    assert [(row["dimension"], row["score"], row["reasoning"]) for row in kept] == [
        ("BEL", 8, "natural"),
        ("REL", 1, ""),
    ]
    rated = [row for row in Corpus.open(tmp_path / "one-rated").ratings.to_pylist() if row["annotator"] == "ann"]
    assert sorted((row["name"], row["score"]) for row in rated) == [("BEL", 8.0), ("REL", 1.0)]
