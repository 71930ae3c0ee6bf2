import json

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.recognise import recognise
from apportion.foundation.errors import InputError
from apportion.pipeline.default_methods import TABLE
from tests.apportion.called import saying
from tests.apportion.commands.start_inputs import INPUTS
from tests.behaviour.command import threads
from tests.behaviour.small import write_small_corpus

start = saying("start")
GERMAN = ("Wo bleibt mein Paket? Ich warte schon seit Montag darauf.", "Es kommt morgen.", "Das ist sehr schade.")
FILES = {
    "conture": ("data.json", '[{"dialog_id": 1, "turns": [{"user": "User: Hi", "chatbot": "Chatbot: Ho"}]}]'),
    "esconv": ("ESConv.json", '[{"emotion_type": "fear", "dialog": [{"speaker": "seeker", "content": "Hi"}]}]'),
    "sotopia": ("a.jsonl", '{"scenario": "s", "social_interactions": "x"}'),
    "casino": ("casino.json", '[{"chat_logs": [], "participant_info": {}}]'),
    "soda": ("soda.jsonl", '{"speakers": ["A"], "dialogue": ["Hi"]}'),
    "uss": ("SGD.txt", "\nUSER\tHi\t\t3\n"),
    "dealornodeal": ("data.txt", "1 0 4 2 1 2 YOU: hi <selection> item0=1\n"),
    "convokit": ("utterances.jsonl", "{}"),
    "chat": ("rows.ndjson", '{"conversations": []}'),
}
FOLDERS = {
    "candor": ("0020a0c5-1658-4747-99c1-2839e736b481/transcription/", "raw/0020a0c5-1658-4747-99c1-2839e736b481/"),
    "media": ("s1/alice.mp4", "alice.mp4", "talk.vtt", "s1/transcript.csv"),
    "corpus": ("sessions.parquet", "sessions.jsonl"),
    "chat": ("observations_v2/", "dataset_dict.json"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("apportion.pipeline.execution.runner._process_pool", threads)
    return tmp_path


def german(folder, *scores, low=1, high=5):
    rows = [
        {"messages": [{"role": r, "content": t} for r, t in zip(("user", "bot", "user"), GERMAN, strict=True)]}
        | ({} if score is None else {"score": score, "low": low, "high": high})
        for score in scores
    ]
    (folder / "chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_known_by_its_first_bytes_alone_and_in_its_folder(kind, tmp_path):
    name, text = FILES[kind]
    (tmp_path / name).write_text(text)
    if kind == "convokit":
        (tmp_path / "conversations.json").write_text("{}")
    else:
        assert recognise(tmp_path / name).kind == kind
    assert recognise(tmp_path).kind == kind


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in FOLDERS.items() for path in paths])
def test_a_folder_is_known_by_what_is_in_it(kind, path, tmp_path):
    place = tmp_path / path
    place.mkdir(parents=True) if path.endswith("/") else place.parent.mkdir(exist_ok=True)
    if not path.endswith("/"):
        place.write_bytes(b"")
    assert recognise(tmp_path).kind == kind


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.md", b'# Like {"messages": []}', "not recognised. apportion reads chats"),
        ("a.docx", b"PK\x03\x04", "a spreadsheet or a zip archive"),
        ("folder/notes.md", b"# Notes", "nothing that is read is in it"),
        ("a.txt.gz", b"\x1f\x8b cut short", "not recognised"),
    ],
)
def test_what_is_not_read_is_refused_with_what_is(name, content, said, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        recognise(path.parent if name.startswith("folder") else path)


def test_a_pilot_of_two_sessions_in_german_gets_equal_shares_once(here, capsys):
    german(here, 2, 4)
    code, out, _ = start(capsys, "chats.jsonl")
    assert code == 0
    assert "each has the same share; not in English: 2 German" in out
    assert "uniform: 2 turns of 2 episodes; each sum is exact" in out
    assert "scores for 4 sessions or more" in out
    config = here / "chats-apportion" / "apportion.toml"
    assert len(config.read_text().splitlines()) <= 12
    before = {path: path.stat().st_mtime_ns for path in (config.parent / "run" / "store").rglob("*.parquet")}
    code, out, _ = start(capsys, "chats.jsonl")
    assert code == 0 and "kept as it is" in out
    assert before == {path: path.stat().st_mtime_ns for path in (config.parent / "run" / "store").rglob("*.parquet")}
    saying("run").refuses(capsys, "2 rated sessions cannot be shared out", config)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("chats.jsonl",), "no session has a score, and none is in English (1 German)"),
        (("turns.csv",), ("have no scale", "-o scale=", "Or --yes, which takes 1..5")),
        (("talk",), "--target second"),
        (("turns.csv", "-o", "score=zzz"), "option score=zzz: no such key"),
        (("turns.csv", "-o", "scale=1..5", "--rating", "zzz"), "--rating zzz: the scores here are csat"),
        (("turns.csv", "--out", "used"), "used: it is there and does not come from `apportion start turns.csv`"),
    ],
)
def test_what_is_not_sure_is_refused_with_the_option_that_settles_it(arguments, said, here, capsys):
    for name in ("turns.csv", "talk"):
        INPUTS[name](here)
    german(here, None)
    (here / "used").mkdir()
    (here / "used" / "thesis.tex").write_text("")
    start.refuses(capsys, said, *arguments)


def test_a_corpus_is_taken_where_it_is_and_several_scores_are_asked_for(here, capsys, monkeypatch):
    corpus = write_small_corpus(here / "mine", sessions=4)
    table = Corpus.open(corpus).ratings.to_pylist()
    rows = [*table, *({**row, "name": "liking"} for row in table)]
    (corpus / "ratings.parquet").unlink()
    (corpus / "ratings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr("apportion.pipeline.default_methods.TABLE", TABLE[3:])
    start.refuses(capsys, "--rating", corpus, "--out", "first")
    code, out, _ = start(capsys, corpus, "--out", "first", "--rating", "liking")
    assert code == 0 and "a corpus of apportion" in out and "each sum is exact" in out
    assert 'rating = "liking"' in (here / "first" / "apportion.toml").read_text()
    assert start(capsys, corpus, "--out", "first")[0] == 0
    assert not (here / "first" / "corpus").exists()


def test_after_a_stop_the_same_command_goes_on(here, capsys, monkeypatch):
    german(here, 2, 4)

    def stop(*given, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("apportion.pipeline.execution.local.run_locally", stop)
        assert start(capsys, "chats.jsonl")[0] == 130
    assert start(capsys, "chats.jsonl")[0] == 0


def test_where_nobody_answers_each_turn_has_an_equal_share(here, capsys):
    rows = [{"role": "user", "content": "Where is my parcel?"}, {"role": "assistant", "content": "It comes today."}]
    (here / "chats.jsonl").write_text(json.dumps({"messages": rows, "score": 4, "low": 1, "high": 5, "language": "en"}))
    code, out, _ = start(capsys, "chats.jsonl")
    assert code == 0 and "uniform: 1 turn of 1 episode" in out
    config = here / "chats-apportion" / "apportion.toml"
    config.write_text(config.read_text().replace('"uniform"', '"reactions-en"'))
    code, out, _ = start(capsys, "chats.jsonl")
    assert code == 1 and "no rewards by reactions-en in 1 session" in out and 'method = "uniform"' in out


def test_control_characters_do_not_reach_the_terminal(here, capsys):
    german(here, 2, 4)
    (here / "chats.jsonl").write_text((here / "chats.jsonl").read_text().replace("morgen", "\\u001b[2Jmorgen"))
    _, out, _ = start(capsys, "chats.jsonl")
    assert "\x1b" not in out and "\\x1b[2Jmorgen" in out
