"""`--sessions`, and a recording that covers some of a corpus: what is there is used, the rest is told a line each."""

import json

import pyarrow.parquet as pq

from tests.behaviour.command import config
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.llm_run import TEXT, good

# Of the six sessions of `write_run`, two say the same, so that five are asked about.


def recording_of(folder, apportion, *sessions):
    """A recording of the replies about these sessions alone."""
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        options = ("--record", folder / "r.jsonl", "--sessions", ",".join(sessions))
        done = apportion("run", "--only", "decompose", path, *options)
        assert (done.returncode, len(server.requests)) == (0, len(sessions)), done.stderr
    return (
        TEXT.format("http://localhost:1/v1", "m")
        .replace("[run]", f'[run]\nrecorded = "{folder / "r.jsonl"}"')
        .replace("[decompose.llm]", '[decompose.llm]\nprovider = "recorded"')
        .replace('"run"', '"again"')
    )


def judged(folder, output):
    return sorted(set(pq.read_table(folder / output / "rewards.parquet").column("session_id").to_pylist()))


def test_only_the_named_sessions_are_worked_on(folder, apportion):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        listed = folder / "ids.txt"
        listed.write_text("s04\ns00\n")
        done = apportion("run", "--only", "decompose", path, "--sessions", listed)
        assert (done.returncode, len(server.requests)) == (0, 2), done.stderr
        assert f"next: apportion run {path} --sessions {listed}" in done.stdout
        assert judged(folder, "run") == ["s00", "s04"]
        # What was judged of a session is used again by a run on all of them.
        assert apportion("run", "--only", "decompose", path).returncode == 0
        assert len(server.requests) == 5 and len(judged(folder, "run")) == 6


def test_an_unknown_session_ends_every_command_before_any_work(folder, apportion):
    path = config(folder, TEXT.format("http://localhost:1/v1", "m"))
    for command in (("run",), *(("run", "--only", stage) for stage in ("decompose", "split", "report", "audit"))):
        done = apportion(*command, path, "--sessions", "s00,s03x")
        assert (done.returncode, "has no session 's03x' (did you mean 's03'?)" in done.stderr) == (2, True), command
    done = apportion("benchmark", folder / "corpus", "--sessions", "s03x", "-o", folder / "b")
    assert (done.returncode, "has no session 's03x'" in done.stderr) == (2, True)
    assert not (folder / "run" / "store").exists()


def test_a_recording_of_some_sessions_quarantines_the_others_with_a_line_each(folder, apportion):
    text = recording_of(folder, apportion, "s00", "s04", "s05")
    done = apportion("run", "--only", "decompose", config(folder, text))
    assert done.returncode == 1 and judged(folder, "again") == ["s00", "s04", "s05"], done.stderr
    lines = [line for line in done.stdout.splitlines() if "no recorded reply" in line]
    assert [line.split("(")[1].split(",")[0] for line in lines] == ["s01", "s02", "s03"]
    assert all(line.count("session s") == 1 and "request " in line for line in lines)
    assert "llm; s01, llm-multimodal" in lines[0] and "quarantined: 6" in done.stdout
    assert apportion("run", "--only", "decompose", config(folder, text), "--sessions", "s00,s04,s05").returncode == 0


def test_a_preview_names_session_and_request_as_a_recording_does(folder, apportion):
    text = TEXT.format("http://localhost:1/v1", "m")
    shown = json.loads(apportion("run", "--only", "decompose", config(folder, text), "--preview", "6", "--json").stdout)
    words = apportion("run", "--only", "decompose", config(folder, text), "--preview", "1", "--sessions", "s04").stdout
    recording_of(folder, apportion, "s04")
    (entry,) = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()[1:]]
    assert {"subject": entry["label"], "key": entry["key"]} in shown["requests"]
    assert f"{entry['label']}, request {entry['key']}" in words and entry["label"].startswith("session s04, ")


def test_a_session_keeps_its_split_whoever_else_is_named(folder, apportion):
    path = config(folder, TEXT.format("http://localhost:1/v1", "m"))
    assert apportion("run", "--only", "split", path).returncode == 0
    whole = pq.read_table(folder / "run" / "splits.parquet")
    assert apportion("run", "--only", "split", path, "--sessions", "s01").returncode == 0
    assert pq.read_table(folder / "run" / "splits.parquet") == whole and whole.num_rows == 6


def test_an_audit_asks_about_the_named_sessions(folder, apportion):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m").replace('"llm-multimodal"\ncompare = ["llm"]', '"llm"'))
        assert apportion("run", "--only", "audit", path, "--sessions", "s01,s05").returncode in (0, 1)
    asked = pq.read_table(folder / "run" / "audit.parquet").column("session_id").to_pylist()
    assert set(asked) == {"s01", "s05"}


def test_what_was_not_asked_for_is_not_lacking_in_the_evaluation(folder, apportion):
    from tests.behaviour.small import write_small_corpus

    write_small_corpus(folder / "corpus", sessions=12)
    text = (
        'corpus = "corpus"\noutput = "{}"\n[decompose]\nmethod = "sentiment"\ncompare = ["uniform"]\n'
        "[train_reward]\nepochs = 1\n[evaluate]\nbootstrap = 100\n"
    )
    path = config(folder, text.format("some"))
    assert apportion("run", "--only", "split", path).returncode == 0
    splits = pq.read_table(folder / "some" / "splits.parquet").to_pylist()
    of = {split: [row["session_id"] for row in splits if row["split"] == split] for split in ("train", "test")}
    left_out, *named = of["test"]
    done = apportion("run", "--only", "evaluate", path, "--sessions", ",".join([*of["train"], *named]))
    assert done.returncode == 0 and named, done.stdout + done.stderr
    told = json.loads((folder / "some" / "evaluation.json").read_text())
    assert told["counts"]["test_sessions"] == len(named)
    assert not [warning for warning in told["warnings"] if "lacks" in warning], told["warnings"]
    # What is asked for next is evaluated anew, though all of it was made before or is made now.
    assert apportion("run", "--only", "evaluate", path).returncode == 0
    told = json.loads((folder / "some" / "evaluation.json").read_text())
    assert told["counts"]["test_sessions"] == len([left_out, *named])
