import io
import json
import sys
from importlib.metadata import EntryPoint

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.chat import import_corpus as import_chat
from apportion.corpus.importers.registry import KINDS, find_importer, options_of
from apportion.corpus.writer import OtherCorpusError, options_before
from apportion.foundation.errors import ApportionError, InputError

CHAT = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}], "score": 4}
SCALE = {"low": "1", "high": "5"}
NO_ACCOUNT = (
    "from apportion.corpus import CorpusBuild, CorpusRows\n"
    "def import_corpus(src, options):\n"
    "    rows = CorpusRows()\n"
    "    rows.session('s', 'toy')\n"
    "    return CorpusBuild(rows.tables())\n"
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(CHAT | {"score": score}) + "\n" for score in (4, 4, "bad")))
    return path


def test_every_kind_is_there():
    assert all(callable(find_importer(kind)) for kind in KINDS)


@pytest.mark.parametrize(("kind", "near"), [("chats", "'chat'"), ("USS", "'uss'"), ("convo-kit", "'convokit'")])
def test_unknown_kind(kind, near, tmp_path):
    with pytest.raises(InputError, match=f"no such kind; did you mean {near}.*Known: chat, media"):
        import_to(kind, tmp_path, tmp_path / "corpus")


def test_an_importer_of_another_package(monkeypatch):
    point = EntryPoint("mine", "apportion.corpus.importers.chat:import_corpus", "apportion.importers")
    monkeypatch.setattr("apportion.corpus.importers.registry.entry_points", lambda group: [point])
    assert find_importer("mine") is import_chat
    with pytest.raises(InputError, match=r"no such kind; check the name\. Known: chat, .*casino, mine"):
        find_importer("nothing-like-it")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import_corpus = 1", "it must be a function of a path and its options"),
        ("raise OSError('no licence')", "cannot be loaded: OSError: no licence"),
        ("import nothing_of_the_kind", "cannot be loaded: ModuleNotFoundError"),
        ("def import_corpus(src, options): return 1 / 0", r"importer failed \(ZeroDivisionError: division by zero\)"),
        ("def import_corpus(src, options): return []", "importer gave list, no CorpusBuild"),
        (NO_ACCOUNT, r"does not add up: 0 sessions read, .* and 1 sessions in the corpus.*`account.current\(\)`"),
        (
            "from apportion.foundation.errors import UnitError\n"
            "def import_corpus(src, options): raise UnitError('its own')",
            "its own",
        ),
    ],
)
def test_a_broken_importer_of_another_package_is_an_error_of_ours(code, words, source, tmp_path, monkeypatch):
    (tmp_path / "broken_importer.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_importer", raising=False)
    point = EntryPoint("mine", "broken_importer:import_corpus", "apportion.importers")
    monkeypatch.setattr("apportion.corpus.importers.registry.entry_points", lambda group: [point])
    with pytest.raises(ApportionError, match=words):
        import_to("mine", source, tmp_path / "corpus")


def test_an_importer_is_its_file_and_one_row(source, tmp_path, monkeypatch):
    (tmp_path / "toy_importer.py").write_text(
        "from apportion.corpus import CorpusBuild, CorpusRows, account\n"
        "OPTIONS = {'scale': 'of the scores'}\n"
        "def import_corpus(src, options):\n"
        "    rows = CorpusRows()\n"
        "    account.current().read('dialogues')\n"
        "    account.current().said('turns', [src.name])\n"
        "    rows.session('s', 'toy')\n"
        "    rows.utterance('s', 0, 'ann', src.name)\n"
        "    return CorpusBuild(rows.tables(), ())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(KINDS, "toy", "toy_importer")
    assert list(options_of("toy")) == ["scale", "language"]
    assert import_to("toy", source, tmp_path / "corpus").rows["utterances"] == 1
    assert Corpus.open(tmp_path / "corpus").session_ids() == ["s"]


def test_the_report(source, tmp_path):
    report = import_to("chat", source, tmp_path / "corpus", SCALE)
    assert report.rows["sessions"] == 2 and Corpus.open(tmp_path / "corpus").session_ids() == ["log-0001", "log-0002"]
    text = str(report)
    assert "2 sessions, 4 utterances, 2 ratings" in text
    assert "left out: session log-0003: log.jsonl, line 3: score = 'bad'" in text
    assert "without variance" in text and "too few to tell" not in text
    assert json.loads(json.dumps(report.to_json()))["left_out"][0]["session_id"] == "log-0003"


def test_a_rating_called_score_is_asked_for_its_name_on_a_terminal_and_told_elsewhere(source, tmp_path, monkeypatch):
    out = tmp_path / "corpus"
    assert "a language model that is asked is told that name: -o name=" in str(import_to("chat", source, out, SCALE))
    monkeypatch.setattr("apportion.corpus.importers.reading.asking.is_answered", lambda: True)
    for typed, name in (("csat\n", "csat"), ("\n", "score")):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        report = import_to("chat", source, out, SCALE, overwrite=True)
        assert Corpus.open(out).rating_names() == [name] and "is told that name" not in str(report)
        assert options_before(out, source) == {**SCALE, "name": name}


def test_the_same_import_may_run_again_after_an_interruption(source, tmp_path):
    import_to("chat", source, tmp_path / "corpus", SCALE)
    (tmp_path / "corpus" / "sessions.parquet").unlink()
    import_to("chat", source, tmp_path / "corpus", SCALE)
    assert len(Corpus.open(tmp_path / "corpus").session_ids()) == 2


@pytest.mark.parametrize(
    ("change", "told"), [({"low": "0"}, r"low: 1 before, 0 now"), ({"name": "x"}, r"name: none before, x now")]
)
def test_another_import_does_not_replace_it_unasked(source, tmp_path, change, told):
    import_to("chat", source, tmp_path / "corpus", SCALE)
    with pytest.raises(
        OtherCorpusError, match=rf"does not come from this import or simulation \({told}\).*overwrite its tables"
    ):
        import_to("chat", source, tmp_path / "corpus", SCALE | change)
    import_to("chat", source, tmp_path / "corpus", SCALE | change, overwrite=True)


@pytest.mark.parametrize("name", ["notes.txt", "import.json"])
def test_a_folder_with_other_things(source, tmp_path, name):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / name).write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        import_to("chat", source, tmp_path / "corpus", SCALE)
    assert (tmp_path / "corpus" / name).read_text() == "mine"


def test_a_folder_that_cannot_be_written(source, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        import_to("chat", source, tmp_path / "file" / "corpus", SCALE)


def test_long_lists_are_cut_short(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(CHAT | {"score": s}) + "\n" for s in [1, *"x" * 15]))
    text = str(import_to("chat", tmp_path / "a.jsonl", tmp_path / "corpus", SCALE))
    assert text.count("left out: session") == 10
    assert f"left out: 5 more (all are in {tmp_path / 'corpus' / 'import_report.json'})" in text
    told = json.loads((tmp_path / "corpus" / "import_report.json").read_text())["left_out"]
    assert len(told) == 15 and told[-1]["session_id"] == "a-0016" and "score = 'x'" in told[-1]["message"]


def test_where_nothing_can_be_imported_every_cause_is_said(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(CHAT | {"score": "x"}) + "\n" for _ in range(25)))
    with pytest.raises(InputError) as told:
        import_to("chat", tmp_path / "a.jsonl", tmp_path / "corpus", SCALE)
    assert "no session could be imported" in str(told.value)
    assert str(told.value).count("left out: session") == 25 and not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("place", ["source", "out"])
def test_a_name_that_no_file_can_have(source, tmp_path, place):
    paths = {"source": source, "out": tmp_path / "corpus", place: tmp_path / ("x" * 300)}
    with pytest.raises(InputError, match=r"cannot be looked at \(File name too long\)"):
        import_to("chat", paths["source"], paths["out"], SCALE)


def test_a_source_that_is_a_link_to_itself(tmp_path):
    (tmp_path / "a.jsonl").symlink_to("a.jsonl")
    with pytest.raises(InputError, match=r"cannot be looked at \(Too many levels of symbolic links\)"):
        import_to("chat", tmp_path / "a.jsonl", tmp_path / "corpus", SCALE)
