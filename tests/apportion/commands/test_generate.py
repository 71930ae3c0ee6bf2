import csv
import json
import math
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from datasets import Dataset
from peft import LoraConfig
from trl import DPOConfig, DPOTrainer

import apportion.rlhf.compare.generate as generating
from apportion.corpus.importers import import_to
from apportion.corpus.schema import BEST_RESPONSES, RESPONSES, SPLITS
from apportion.rlhf.compare.metadata import is_blind
from apportion.rlhf.compare.win_rate import scored_context
from apportion.rlhf.training.reward import ModelReward
from tests.apportion.called import saying
from tests.behaviour.command import apportion
from tests.behaviour.small import write_small_corpus
from tests.behaviour.soda import joined, soda_corpus
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small
from tests.rlhf.saved import save_aligned, save_model
from tests.rlhf.toy import small_policy


@pytest.fixture
def corpus(tmp_path) -> Path:
    return write_small_corpus(tmp_path / "corpus", sessions=12)


@pytest.fixture
def policy(tmp_path) -> Path:
    """A run's policy with the run's splits beside it: s00 to s02 are test sessions."""
    rows = [{"session_id": f"s{n:02d}", "split": "test" if n < 3 else "train"} for n in range(12)]
    (tmp_path / "run").mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=SPLITS.arrow), tmp_path / "run" / "splits.parquet")
    return save_aligned(tmp_path / "run" / "policy")


run = saying("policy", "generate")


def test_one_response_for_each_context_and_policy(capsys, corpus, policy, tmp_path):
    out = tmp_path / "deep" / "r.parquet"
    base = f"before={policy / 'base'}"
    code, told, _ = run(capsys, f"after={policy}", corpus, "--policy", base, "--out", out, "--seed", 5)
    assert code == 0
    table = pq.read_table(out)
    assert table.schema.equals(RESPONSES.arrow)
    rows = table.to_pylist()
    # Three target turns in each of three test sessions, each of them an answer.
    assert len(rows) == 18 and {row["session_id"] for row in rows} == {"s00", "s01", "s02"}
    assert Counter(row["policy"] for row in rows) == {"after": 9, "before": 9}
    assert {row["seed"] for row in rows} == {5}
    contexts = {(row["session_id"], row["turn"]): row["context"] for row in rows}
    assert contexts["s00", 1] == "user: Hello, I need some help."
    assert len(contexts["s00", 5].splitlines()) == 3
    both = {name: [row["response"] for row in rows if row["policy"] == name] for name in ("after", "before")}
    assert both["after"] != both["before"]
    assert "9 contexts of 3 sessions" in told and f"wrote {out} (18 responses)" in told
    assert "next: apportion policy compare" in told
    assert sorted(path.name for path in out.parent.iterdir()) == ["r.made.json", "r.parquet"]


def test_the_same_seed_gives_the_same_bytes_and_a_second_run_has_nothing_to_do(capsys, corpus, policy, tmp_path):
    one, two, other = (tmp_path / f"{name}.jsonl" for name in ("one", "two", "other"))
    for out, seed in ((one, 1), (two, 1), (other, 2)):
        assert run(capsys, policy, corpus, "--out", out, "--seed", seed)[0] == 0
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()
    code, told, _ = run(capsys, policy, corpus, "--out", one, "--seed", 1)
    assert code == 0 and "nothing to do: it was made with exactly this" in told
    run.refuses(capsys, "other policies, contexts or settings made it", policy, corpus, "--out", one, "--seed", 2)
    assert run(capsys, policy, corpus, "--out", one, "--seed", 2, "--force")[0] == 0
    assert one.read_bytes() == other.read_bytes()
    one.write_text(one.read_text() + "\n")
    run.refuses(capsys, "or it was changed since", policy, corpus, "--out", one, "--seed", 2)


@pytest.mark.parametrize("draws", [1, 2])
def test_a_run_that_was_stopped_goes_on_to_the_same_table(capsys, corpus, policy, tmp_path, monkeypatch, draws):
    asked = ("--split", "all", "--batch", 4)
    if draws > 1:
        save_reward(tmp_path / "run" / "reward_models" / "llm-seed0")
        asked += ("--best-of", draws)
    whole, out = tmp_path / "whole.parquet", tmp_path / "r.parquet"
    assert run(capsys, policy, corpus, *asked, "--out", whole)[0] == 0
    real, calls = generating.sample_replies, []

    def stops(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(generating, "sample_replies", stops)
    code, _, err = run(capsys, policy, corpus, *asked, "--out", out)
    assert code == 130 and "run the same command again to go on" in err and not out.exists()
    code, _, _ = run(capsys, policy, corpus, *asked, "--out", out)
    # 36 contexts in nine batches: two were kept, one was lost, and the rest are made now.
    assert code == 0 and len(calls) == 3 + 9 * draws - 2
    assert out.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob(".r*"))


def save_reward(folder: Path) -> Path:
    random_head(small(save_tiny(folder.parent.parent / "bert"))).save_pretrained(folder)
    return folder


@pytest.fixture
def reward(tmp_path) -> Path:
    """The only reward model of the policy's run."""
    return save_reward(tmp_path / "run" / "reward_models" / "llm-seed0")


def test_of_n_replies_the_best_by_the_runs_reward_model_is_kept(capsys, corpus, policy, reward, tmp_path, monkeypatch):
    plain, out = tmp_path / "plain.parquet", tmp_path / "best.parquet"
    assert run(capsys, f"p={policy}", corpus, "--out", plain)[0] == 0
    real, drawn = generating.sample_replies, []

    def noted(*arguments, **options):
        drawn.append(real(*arguments, **options))
        return drawn[-1]

    monkeypatch.setattr(generating, "sample_replies", noted)
    code, told, _ = run(capsys, f"p={policy}", corpus, "--best-of", 3, "--best-of", 1, "--out", out)
    assert code == 0 and "best of 1 (0.00), 3 (0.43) by llm-seed0" in told and "(18 responses)" in told
    assert "next: apportion policy compare" in told
    table = pq.read_table(out)
    assert table.schema.equals(BEST_RESPONSES.arrow)
    rows = {n: [row for row in table.to_pylist() if row["best_of"] == n] for n in (1, 3)}
    assert {n: {row["policy"] for row in rows[n]} for n in rows} == {1: {"p"}, 3: {"p best of 3"}}
    # The first reply is the one that is the response without --best-of.
    assert [row["response"] for row in rows[1]] == pq.read_table(plain)["response"].to_pylist()
    model = ModelReward(reward)
    for place, row in enumerate(rows[3]):
        asked = [scored_context(row["session_id"], row["turn"], row["context"])]
        texts = [rollout.texts[place] for rollout in drawn]
        paid = [model(asked, [asked[0].history], [text])[0] for text in texts]
        assert row["response"] == texts[paid.index(max(paid))] and row["candidates"] == len(set(texts))
        assert row["reward"] == pytest.approx(max(paid), rel=1e-5)
    assert any(more["reward"] > one["reward"] for more, one in zip(rows[3], rows[1], strict=True))


def test_best_and_worst_are_pairs_that_trl_s_dpo_reads(capsys, corpus, policy, reward, tmp_path):
    out = tmp_path / "r.jsonl"
    asked = (f"p={policy}", corpus, "--best-of", 3, "--pairs", "--out", out)
    code, told, _ = run(capsys, *asked)
    pairs = [json.loads(line) for line in (tmp_path / "r.pairs.jsonl").read_text().splitlines()]
    best = {(row["session_id"], row["turn"]): row for row in map(json.loads, out.read_text().splitlines())}
    assert code == 0 and f"r.pairs.jsonl ({len(pairs)}" in told and 0 < len(pairs) <= len(best)
    model = ModelReward(reward)
    for pair in pairs:
        row = best[pair["session_id"], pair["turn"]]
        (chosen,), (rejected,) = pair["chosen"], pair["rejected"]
        assert chosen == {"role": "assistant", "content": row["response"]} and pair["policy"] == "p"
        assert [said["role"] for said in pair["prompt"]][-1] == "user" and rejected["role"] == "assistant"
        context = scored_context(row["session_id"], row["turn"], row["context"])
        worst = model([context], [context.history], [rejected["content"]])[0]
        assert pair["margin"] == pytest.approx(row["reward"] - worst, rel=1e-4) and pair["margin"] > 0
    small = small_policy()
    arguments = {"max_steps": 1, "per_device_train_batch_size": 2, "report_to": "none", "use_cpu": True, "bf16": False}
    trainer = DPOTrainer(
        small.model,
        args=DPOConfig(str(tmp_path / "dpo"), save_strategy="no", disable_tqdm=True, **arguments),
        train_dataset=Dataset.from_list(pairs),
        processing_class=small.tokenizer,
        peft_config=LoraConfig(r=2, target_modules=["q_proj"]),
    )
    assert len(trainer.train_dataset) == len(pairs) and math.isfinite(trainer.train().training_loss)
    assert "nothing to do" in run(capsys, *asked)[1]
    for text in ("{}\n", None):
        (tmp_path / "r.pairs.jsonl").unlink() if text is None else (tmp_path / "r.pairs.jsonl").write_text(text)
        run.refuses(capsys, "or it was changed since", *asked)
    run.refuses(capsys, "and no --blind", *asked, "--policy", f"q={policy}", "--blind")


def test_best_of_n_of_a_bare_model_asks_for_its_reward_model_and_hides_n_where_it_is_blind(
    capsys, corpus, policy, reward, tmp_path
):
    out = tmp_path / "r.csv"
    bare = (save_model(tmp_path / "models" / "m"), corpus, "--max-context-tokens", 96, "--contexts", 2)
    run.refuses(
        capsys, "no reward_models beside a policy). Name the folder of one with --reward-model", *bare, "--best-of", 2
    )
    given = ("--best-of", 1, "--best-of", 2, "--blind", "--out", out, "--reward-model")
    run.refuses(capsys, "configuration cannot be read", *bare, *given, tmp_path)
    assert run(capsys, *bare, *given, reward)[0] == 0
    assert out.read_text().splitlines()[0] == ",".join(RESPONSES.arrow.names)
    assert "m best of 2" in (tmp_path / "r.key.csv").read_text() and "best of" not in out.read_text()
    # Another reward model would choose others.
    save_reward(tmp_path / "other" / "x" / "rm-seed1")
    run.refuses(capsys, "made it, or it was changed", *bare, *given, tmp_path / "other" / "x" / "rm-seed1")
    (reward.parent / "rrd-seed0").mkdir()
    run.refuses(capsys, "holds llm-seed0, rrd-seed0). Name the folder of one", policy, corpus, "--best-of", 2)


def test_what_a_run_with_other_settings_left_is_not_used(capsys, corpus, policy, tmp_path, monkeypatch):
    out = tmp_path / "r.parquet"
    real = generating.sample_replies

    def stops(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(generating, "sample_replies", stops)
    assert run(capsys, policy, corpus, "--out", out, "--seed", 1)[0] == 130
    monkeypatch.setattr(generating, "sample_replies", real)
    assert run(capsys, policy, corpus, "--out", out, "--seed", 2)[0] == 0
    assert run(capsys, policy, corpus, "--out", tmp_path / "two.parquet", "--seed", 2)[0] == 0
    assert out.read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_the_most_likely_response_and_the_window_as_trained_or_as_given(capsys, corpus, policy, tmp_path):
    outs = [tmp_path / f"{n}.parquet" for n in range(3)]
    for out, seed in zip(outs[:2], (1, 2), strict=True):
        assert run(capsys, policy, corpus, "--out", out, "--seed", seed, "--temperature", 0)[0] == 0
    one, two = (pq.read_table(out)["response"].to_pylist() for out in outs[:2])
    assert one == two
    made = json.loads((tmp_path / "0.made.json").read_text())
    assert (made["temperature"], made["max_new_tokens"]) == (None, 6)  # as tests/rlhf/toy.py trained it
    short = ("--context-turns", 1, "--max-new-tokens", 2)
    assert run(capsys, policy, corpus, "--out", outs[2], *short)[0] == 0
    assert all("\n" not in text for text in pq.read_table(outs[2])["context"].to_pylist())
    assert json.loads((tmp_path / "2.made.json").read_text())["max_new_tokens"] == 2


def test_blind_letters_are_shuffled_and_the_key_opens_them(capsys, corpus, policy, tmp_path):
    out, plain = tmp_path / "r.csv", tmp_path / "plain.csv"
    asked = (f"after={policy}", corpus, "--policy", f"before={policy / 'base'}", "--split", "all")
    code, told, _ = run(capsys, *asked, "--blind", "--out", out)
    assert code == 0 and f"the key is {tmp_path / 'r.key.csv'}: keep it from those who judge" in told
    assert run(capsys, *asked, "--out", plain)[0] == 0
    with out.open(newline="") as one, (tmp_path / "r.key.csv").open(newline="") as two, plain.open(newline="") as all_:
        blind, key, named = list(csv.DictReader(one)), list(csv.DictReader(two)), list(csv.DictReader(all_))
    assert "after" not in out.read_text() and "before" not in out.read_text()
    who = {(row["session_id"], row["turn"], row["label"]): row["policy"] for row in key}
    assert {who[place] for place in who if place[2] == "A"} == {"after", "before"}
    opened = [{**row, "policy": who[row["session_id"], row["turn"], row["policy"]]} for row in blind]
    by_key = sorted(opened, key=lambda row: (row["session_id"], int(row["turn"]), row["policy"]))
    assert by_key == named


def test_contexts_are_spread_evenly_and_counted(capsys, corpus, policy, tmp_path):
    out = tmp_path / "r.parquet"
    code, told, _ = run(capsys, policy, corpus, "--out", out, "--contexts", 3, "--json")
    assert code == 0
    found = json.loads(told)
    assert (found["contexts"], found["of_all"], found["rows"], found["sessions"]) == (3, 9, 3, 3)
    assert (found["without_history"], found["continued"], found["over_long"]) == (0, 0, 0)
    tight = ("--max-context-tokens", 8, "--out", tmp_path / "t.parquet")
    err = run.refuses(capsys, ("0 contexts; left out: 0 without history", "9 over-long"), policy, corpus, *tight)
    assert "--max-context-tokens" in err and not (tmp_path / "t.parquet").exists()


def test_without_a_runs_splits_the_default_shares_are_taken_and_said(capsys, corpus, tmp_path):
    model = save_model(tmp_path / "models" / "m")
    small = ("--max-context-tokens", 96)
    code, told, _ = run(capsys, model, corpus, "--out", tmp_path / "r.parquet", *small)
    assert code == 0 and "note: no splits.parquet beside a policy" in told
    write_small_corpus(tmp_path / "two", sessions=2)
    run.refuses(capsys, ("2 rated sessions cannot be shared out", "--split all"), model, tmp_path / "two", *small)
    nowhere = ("--splits", tmp_path / "none.parquet", *small)
    run.refuses(capsys, "no such file. Give the splits.parquet of a run", model, corpus, *nowhere)


def test_a_broken_session_is_named_and_the_others_are_answered(capsys, corpus, policy, tmp_path):
    table = pq.read_table(corpus / "utterances.parquet")
    rows = zip(table["session_id"].to_pylist(), table["turn"].to_pylist(), strict=True)
    turns = pa.array([0 if name == "s01" else turn for name, turn in rows], pa.int32())
    pq.write_table(table.set_column(1, "turn", turns), corpus / "utterances.parquet")
    code, told, _ = run(capsys, policy, corpus, "--out", tmp_path / "r.parquet")
    assert code == 1 and "failed: s01: utterances, row" in told
    assert set(pq.read_table(tmp_path / "r.parquet")["session_id"].to_pylist()) == {"s00", "s02"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--out", "x.txt"], "must end in .parquet, .jsonl or .csv"),
        (["--out", "x.csv", "--format", "jsonl"], "disagree. Give one of them, or x.jsonl"),
        (["--out", "folder.csv"], "a folder. Name a file in it"),
        (["--out", "file/x.csv"], "cannot be written"),
        (["--policy", "=there"], "write NAME=POLICY"),
        (["--policy", "tiny"], "`tiny` exists only where `apportion run --only align` has built it"),
        (["--policy", "same=b", "--policy", "same=c"], "two policies are called 'same'"),
        (["--blind"], "--blind with 1 policies: it needs 2 to 26"),
        (["--temperature", "9"], "temperature = 9.0"),
        (["--best-of", "0"], "--best-of 0: give 1 or more replies"),
        (["--best-of", "2", "--temperature", "0"], "with --temperature 0 all replies are the same. Raise it"),
        (
            ["--pairs"],
            "--pairs holds the best and the worst of several replies, and whose they are: it needs --best-of 2",
        ),
        (["--reward-model", "x"], "--reward-model is for --best-of: add that, or leave it out"),
        (
            ["--best-of", "2"],
            "--best-of: no one reward model to choose the best reply by (no reward_models beside a policy)",
        ),
        (["--split", "validation"], "no session is in the split 'validation'"),
        (["--target", "nobody"], "--target 'nobody': nobody of that name"),
        (["--max-context-tokens", "200"], "reads at most 128 tokens"),
    ],
)
def test_what_cannot_be_done_is_said(options, problem, capsys, corpus, policy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").write_text("x")
    run.refuses(capsys, problem, policy, corpus, *options)


def test_a_folder_with_an_equals_sign_is_a_folder(capsys, corpus, policy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    policy.rename(tmp_path / "lr=3")
    assert run(capsys, "lr=3", corpus, "--split", "all", "--contexts", 2, "--out", "r.jsonl")[0] == 0
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])["policy"] == "lr=3"


def test_policies_that_cannot_be_opened_are_said(capsys, corpus, policy, tmp_path):
    run.refuses(capsys, "no such folder", tmp_path / "none", corpus)
    weights = (policy / "adapter_model.safetensors").read_bytes()
    (policy / "adapter_model.safetensors").unlink()
    torch.save({}, policy / "adapter_model.bin")
    run.refuses(capsys, "no safetensors weights, and pickled ones are not loaded", policy, corpus)
    (policy / "adapter_model.safetensors").write_bytes(weights)
    (policy / "adapter_config.json").write_text("{}")
    run.refuses(capsys, "names no base_model_name_or_path", policy, corpus)


def test_a_second_policy_that_cannot_answer_is_known_before_the_first_one_answers(
    capsys, corpus, policy, tmp_path, monkeypatch
):
    def answers(*arguments, **options):
        raise AssertionError("asked")

    monkeypatch.setattr(generating, "sample_replies", answers)
    other = save_aligned(tmp_path / "other")
    shutil.rmtree(other / "base")
    run.refuses(capsys, "the folder 'base' with its base is not in it", policy, corpus, "--policy", other)


def test_a_window_that_cannot_be_used_is_named(capsys, corpus, policy, tmp_path):
    (policy / "window.json").write_text('{"context_turns": "x"}')
    run.refuses(capsys, (f"{policy / 'window.json'}: context_turns = 'x'", "Correct the file"), policy, corpus)


def test_two_tables_of_one_name_would_share_a_note(capsys, corpus, policy, tmp_path):
    asked = (f"after={policy}", corpus, "--policy", f"before={policy / 'base'}")
    assert run(capsys, *asked, "--blind", "--out", tmp_path / "r.csv")[0] == 0
    told = "r.made.json beside it says how r.csv was made. Give a name other than r."
    for force in ((), ("--force",)):
        run.refuses(capsys, told, *asked, "--out", tmp_path / "r.jsonl", *force)
    assert is_blind(tmp_path / "r.csv")
    (tmp_path / "r.made.json").unlink()
    assert is_blind(tmp_path / "r.csv") and not is_blind(tmp_path / "r.jsonl")


def test_probabilities_that_are_no_numbers_are_said(capsys, corpus, tmp_path):
    from tests.rlhf.toy import small_policy

    broken = small_policy()
    torch.nn.init.constant_(broken.model.lm_head.weight, float("nan"))
    broken.model.save_pretrained(tmp_path / "m")
    broken.tokenizer.save_pretrained(tmp_path / "m")
    code, _, err = run(capsys, tmp_path / "m", corpus, "--split", "all", "--max-context-tokens", 96,
                       "--out", tmp_path / "r.parquet")  # fmt: skip
    assert code == 1 and "its probabilities are no finite numbers" in err and "lower learning rate" in err


@pytest.mark.slow
def test_progress_goes_to_the_error_stream_and_json_has_none(corpus, policy, tmp_path):
    done = apportion("policy", "generate", policy, corpus, "--json", "--out", tmp_path / "r.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["status"] == "written"


def test_names_that_change_are_answered_for_by_place(capsys, policy, tmp_path):
    soda, out = soda_corpus(tmp_path / "soda"), tmp_path / "r.parquet"
    run.refuses(capsys, ("none of its sessions is in", "take all with --split all"), policy, soda)
    everything = (policy, soda, "--split", "all")
    run.refuses(capsys, ("Name the speaker with --target", "say first or second"), *everything)
    run.refuses(capsys, ("--target 'third': nobody of that name", "by place"), *everything, "--target", "third")
    code, told, _ = run(capsys, *everything, "--target", "second", "--out", out, "--json")
    assert code == 0
    rows, document = pq.read_table(out).to_pylist(), json.loads(told)
    # Two turns of the second speaker in 18 dialogues of two and in that of three; none where somebody talks alone.
    assert len(rows) == 38 == document["contexts"] == document["unrated"]
    assert document["note"] == "1 session (soda-0003) without --target 'second'"
    three = {row["turn"]: row["context"] for row in rows if row["session_id"] == "soda-0002"}
    # Of three who speak, those beside the target are told apart.
    assert sorted(three) == [1, 3] and three[1].startswith("user (Bob): ") and "\nuser (Ann): " in three[3]
    code, told, _ = run(capsys, policy, soda, "--split", "all", "--target", "first", "--out", tmp_path / "f.parquet")
    assert code == 0 and "(18 of sessions without a score)" in told
    alone = {row["session_id"] for row in pq.read_table(tmp_path / "f.parquet").to_pylist()}
    assert "soda-0002" not in alone and "soda-0003" not in alone


def test_only_monologues_have_nobody_who_answers(capsys, policy, tmp_path):
    (tmp_path / "alone.jsonl").write_text(json.dumps({"dialogue": ["Hi.", "Anyone?"], "speakers": ["Ann", "Ann"]}))
    import_to("soda", tmp_path / "alone.jsonl", tmp_path / "alone")
    told = ("0 contexts", "1 session (alone-0001) without --target 'second'")
    run.refuses(capsys, told, policy, tmp_path / "alone", "--split", "all", "--target", "second")


def test_sessions_without_a_score_are_answered_for_whom_the_others_credit(capsys, corpus, policy, tmp_path):
    both = joined(tmp_path / "both", corpus, soda_corpus(tmp_path / "soda"))
    code, told, _ = run(capsys, policy, both, "--split", "all", "--out", tmp_path / "r.parquet", "--contexts", 500)
    assert code == 0 and "74 contexts (38 of sessions without a score)" in told
    write_splits = pa.Table.from_pylist([{"session_id": "soda-0004", "split": "policy"}], schema=SPLITS.arrow)
    pq.write_table(write_splits, tmp_path / "own.parquet")
    asked = ("--split", "policy", "--splits", tmp_path / "own.parquet", "--out", tmp_path / "s.parquet")
    code, told, _ = run(capsys, policy, both, *asked)
    assert code == 0 and "2 contexts of 1 sessions, out of 2 contexts (2 of sessions without a score)" in told
