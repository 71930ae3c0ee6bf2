import re
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.pipeline.config import load_config
from apportion.pipeline.preflight import check_output
from apportion.pipeline.template import render_template
from tests.apportion.called import saying
from tests.behaviour.small import write_small_corpus

run = saying()


@pytest.mark.parametrize("more", [(), ("--preset", "paper"), ("--preset", "savoir"), ("--no-align",)])
def test_init_writes_what_a_newcomer_needs_and_all_where_asked(tmp_path, capsys, more):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=2)

    def written(*options: str) -> tuple[list[str], list[str]]:
        """The lines, and the keys by section."""
        assert run(capsys, "init", corpus, "-o", tmp_path / "a.toml", "--force", *more, *options)[0] == 0
        lines = (tmp_path / "a.toml").read_text().splitlines()
        uncommented = [re.sub(r"^# (\w+ =)", r"\1", line) for line in lines]
        keys = [line.partition(" ")[0] for line in uncommented if re.match(r"\w+ =", line)]
        return lines, keys

    lines, keys = written()
    assert len(keys) == 13 and len(lines) < 40 and max(map(len, lines)) <= 140
    assert {"corpus", "output", "rating", "seeds", "method", "compare", "budget_usd", "allow_host", "policy"} <= set(
        keys
    )
    short = load_config(tmp_path / "a.toml")
    _, every = written("--all")
    assert len(every) > 250 and set(keys) <= set(every)
    assert load_config(tmp_path / "a.toml") == short


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("a.toml", "corpus"),
        ("corpus/a.toml", "."),
        ("runs/a.toml", "../corpus"),
        ("x/y/a.toml", "../../corpus"),
        ("x/y/z/a.toml", None),
    ],
)
def test_a_corpus_nearby_is_named_from_the_file(tmp_path, capsys, place, named):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=2)
    assert run(capsys, "init", corpus, "-o", tmp_path / place)[0] == 0
    assert f'corpus = "{named or corpus}"' in (tmp_path / place).read_text().splitlines()
    assert load_config(tmp_path / place).corpus == corpus
    moved = tmp_path.rename(tmp_path.with_name(f"{tmp_path.name}-moved"))
    assert load_config(moved / place).corpus == (moved / "corpus" if named else corpus)


@pytest.mark.parametrize("name", ["\x7f", 'a"b', "a\\b", "\x1b[1m", "a\nb", "\u2028", "🤷🏽"])
def test_a_rating_of_any_name_is_one_in_toml(name):
    assert tomllib.loads(render_template({"corpus": "c", "rating": name}))["rating"] == name


def test_init_replaces_nothing_unasked(tmp_path, capsys):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=2)
    (tmp_path / "a.toml").write_text("mine")
    run.refuses(capsys, "--force", "init", corpus, "-o", tmp_path / "a.toml")
    assert (tmp_path / "a.toml").read_text() == "mine"
    assert run(capsys, "init", corpus, "-o", tmp_path / "a.toml", "--force")[0] == 0


def test_init_refuses_an_unknown_rating_and_an_impossible_place(tmp_path, capsys):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=2)
    run.refuses(capsys, "satisfaction", "init", corpus, "--rating", "none", "-o", tmp_path / "a.toml")
    (tmp_path / "file").write_text("")
    run.refuses(capsys, "cannot be written", "init", corpus, "-o", tmp_path / "file" / "a.toml")


def test_init_asks_whether_to_align_where_somebody_can_answer(tmp_path, capsys, monkeypatch):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=2)

    def enabled(*options) -> bool:
        assert run(capsys, "init", corpus, "-o", tmp_path / "a.toml", "--force", *options)[0] == 0
        return load_config(tmp_path / "a.toml").align.enabled

    assert enabled() and enabled("--align") and not enabled("--no-align")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    asked = []
    monkeypatch.setattr("click.confirm", lambda text, **options: asked.append(text))
    assert not enabled() and asked == ["Fine-tune a policy against the rewards, too?"]
    assert enabled("--align") and len(asked) == 1


def test_a_rating_without_a_name_is_none_that_can_be_chosen(tmp_path, capsys):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=2)
    table = pq.read_table(corpus / "ratings.parquet")
    rows = table.to_pylist()
    rows[0]["name"] = None
    columns = [pa.array([row[name] for row in rows], table.schema.field(name).type) for name in table.column_names]
    pq.write_table(pa.table(columns, names=table.column_names), corpus / "ratings.parquet")
    code, _, err = run(capsys, "init", corpus, "-o", tmp_path / "a.toml")
    assert (code, err) == (0, "")
    assert load_config(tmp_path / "a.toml").rating == "satisfaction"
    code, out, _ = run(capsys, "inspect", corpus)
    assert code == 0 and "ratings, row 1, column name, session s00: no value" in out


@pytest.mark.parametrize(("corpus", "file"), [("calls", "calls/a.toml"), ("runs/calls", "a.toml"), ("runs", "a.toml")])
def test_what_init_writes_beside_or_inside_the_corpus_can_be_run(corpus, file, tmp_path, capsys):
    write_small_corpus(tmp_path / corpus)
    assert run(capsys, "init", tmp_path / corpus, "-o", tmp_path / file)[0] == 0
    written = load_config(tmp_path / file)
    assert written.output.resolve() == (tmp_path / f"{corpus}-run")
    check_output(written)
