import json
import re
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.decompose.method import LogprobMethod, RolloutMethod
from apportion.decompose.methods import METHODS
from apportion.evaluation.evaluation import Evaluation
from tests.behaviour.command import chosen_methods, config, in_process
from tests.behaviour.small import TINY_POLICY
from tests.behaviour.table_talk import NAMES, write_table_talk
from tests.decompose.influence.measurers import small_model, tokenizer
from tests.decompose.reactions.made_up import write_made_up
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving
from tests.pipeline.stages.test_rubric import answer as signals

RECORDED = {"affect", "affect-raw", "intensity", "intensity-raw", "llm-multimodal", "rrd-va", "ircr-va", "rudder-va"}
"""Methods that read voices and faces, which this talk has none of."""
QUICK = ("uniform", "sentiment", "llm")
TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[split]
train = 0.4
validation = 0.2
test = 0.2
policy = 0.2
[decompose]
{methods}[decompose.llm]
base_url = "{url}"
model = "m"
max_retries = 0
pseudonyms = true
[decompose.sotopia_rl]
weights = {{ outcome = 1 }}
[decompose.reaction]
pretrained = "learnt.safetensors"
[train_reward]
epochs = 1
head_hidden_size = 8
[evaluate]
bootstrap = 100
labelled_turns = 2
[align]
anyway = true
steps = 1
batch_size = 2
mini_batch_size = 2
max_new_tokens = 4
max_turns = 2
samples = 1
[decompose.influence]
model = "measurer"
"""
TEXT += TINY_POLICY


def judged(body: Body) -> Body:
    """Every second turn is better; the turns that are asked for end the question. Signals are made up."""
    if "signals" in body["messages"][0]["content"]:
        return signals(body)
    found = re.findall(r"\[[\d, ]*\]$", body["messages"][-1]["content"])
    values = [{"turn": turn, "value": turn % 2, "evidence": None} for turn in json.loads(found[0])]
    return completion(json.dumps({"turns": values}))


def carried_out(folder: Path, monkeypatch, players: int, methods: tuple[str, ...], *options: str) -> list[Body]:
    """Run the chain with these options; what the language model was asked."""
    apportion = partial(in_process, monkeypatch)
    write_table_talk(folder / "corpus", players, sessions=6, rounds=2)
    small_model().save_pretrained(folder / "measurer")
    tokenizer().save_pretrained(folder / "measurer")
    write_made_up(folder / "learnt.safetensors")
    with serving(OpenAIServer(answer=judged)) as server:
        path = config(folder, TEXT.format(methods=chosen_methods(*methods), url=server.url))
        done = apportion("run", path, *options)
        assert done.returncode == 0, done.stderr
        assert not pq.read_table(folder / "run" / "quarantine.parquet").num_rows
    exported = apportion("export", path, "--format", "dataset", "--out", folder / "dataset")
    assert exported.returncode == 0, exported.stderr
    return server.requests


def check_rewards(folder: Path, players: int, methods: tuple[str, ...]) -> None:
    """Every method has a reward for every turn of every player, each in the episode of that player alone."""
    rewards = pq.read_table(folder / "run" / "rewards.parquet").to_pylist()
    spoken = pq.read_table(folder / "corpus" / "utterances.parquet").to_pylist()
    who = {(row["session_id"], row["turn"]): row["speaker"] for row in spoken}
    for method in methods:
        found = {(row["session_id"], row["turn"]): row["target"] for row in rewards if row["method"] == method}
        assert found == who
    assert {row["rater"] for row in rewards} == {"environment"} and len(set(who.values())) == players


def check_prompts(requests: list[Body], players: int) -> None:
    """Nobody is asked about by a name of the corpus, roles aside, and everybody keeps a name of their own."""
    asked = "\n".join(request["messages"][-1]["content"] for request in requests)
    assert not re.search(r"\b(Dora|P0412|Ann Lee|emil|Zoë|environment)\b", asked)
    for request in (one for one in requests if "<transcript>" in one["messages"][-1]["content"]):
        spoken = request["messages"][-1]["content"].split("<transcript>")[1].split("</transcript>")[0]
        assert len(set(re.findall(r'"speaker": "(.*?)"', spoken))) == players


def test_three_players_are_judged_and_exported_by_name(tmp_path, monkeypatch):
    requests = carried_out(tmp_path, monkeypatch, 3, QUICK, "--only", "decompose")
    check_rewards(tmp_path, 3, QUICK)
    check_prompts(requests, 3)
    parts = [pq.read_table(path).to_pylist() for path in (tmp_path / "dataset" / "data").glob("*.parquet")]
    for row in (row for part in parts for row in part):
        for speaker, message in zip(row["speakers"], row["messages"], strict=True):
            assert (message["role"] == "assistant") == (speaker == row["target"])
            assert message["content"].startswith(f"{speaker}: ") == (speaker != row["target"])


def _is_taken(name):
    """Whether there is what a method reads, plays or is told here."""
    return name not in RECORDED and not isinstance(METHODS[name], RolloutMethod | LogprobMethod)


@pytest.mark.slow
@pytest.mark.parametrize("players", [3, 7])
def test_every_method_and_stage_takes_several_players(players, tmp_path, monkeypatch):
    methods = tuple(name for name in METHODS if _is_taken(name))
    requests = carried_out(tmp_path, monkeypatch, players, methods)
    check_rewards(tmp_path, players, methods)
    check_prompts(requests, players)
    found = Evaluation.from_json(json.loads((tmp_path / "run" / "evaluation.json").read_text()))
    assert found.agreement.label == "quality" and [truth.by for truth in found.computed] == ["computed:rules"]
    assert {row.method for row in found.reward_models} >= set(methods)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Decompositions and labels of computed:rules" in page and "P0412: " in page
    assert all(name in page for name in NAMES[:players])
    assert (tmp_path / "run" / "policy" / "adapter_model.safetensors").is_file()
