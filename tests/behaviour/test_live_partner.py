import json
from importlib.metadata import EntryPoint

import pytest

from apportion.foundation import registry
from apportion.pipeline.assembly import assemble
from apportion.pipeline.config import load_config, shown_config
from apportion.rlhf.plugins import REWARDS
from tests.behaviour.command import config, read
from tests.behaviour.small import write_small_corpus
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.rlhf.saved import save_aligned

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
prices = "prices.toml"
[decompose]
method = "uniform"
[align]
steps = 2
batch_size = 4
mini_batch_size = 4
max_new_tokens = 4
max_context_tokens = 160
samples = 1
reward = "short"
prompts = "prompts.jsonl"
max_turns = 2
partner = "language-model"
[align.lora]
r = 2
alpha = 4
[align.tiny]
hidden = 32
layers = 1
vocabulary = 320
warmup_steps = 2
warmup_batch = 2
[align.partner_settings]
model = "m"
base_url = "{}"
max_retries = 0
"""
PROMPTS = ("Is there a train?", "May I take a dog along?", "Where is it?")


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    point = EntryPoint("short", "tests.rlhf.test_algorithms:SHORT", REWARDS.group)
    monkeypatch.setattr(registry, "points_of", lambda group: {"short": point} if group == REWARDS.group else {})


@pytest.fixture
def folder(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=8)
    (tmp_path / "prices.toml").write_text('[models]\n"m" = { input = 1000, output = 10000 }\n')
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps({"prompt": text}) + "\n" for text in PROMPTS))
    return tmp_path


def test_what_it_could_ask_is_priced_and_shown_before_anything_is_sent(folder, align):
    path = config(folder, TEXT.format("http://localhost:1/v1"))
    priced = align(path, "--dry-run", "--json")
    assert priced.returncode == 0, priced.stderr
    document = json.loads(priced.stdout)
    told = document["partner"]
    assert told["requests"] == 2 * 4 * 1 and told["input_tokens"] > 8 * 100
    assert told["usd"] == pytest.approx((told["input_tokens"] * 1000 + told["output_tokens"] * 10000) / 1e6)
    assert "train-reward" not in {row["stage"] for row in document["stages"]}
    assert "partner         m: at most 8 requests while align trains" in align(path, "--dry-run").stdout
    shown = align(path, "--preview", "2")
    assert shown.returncode == 0, shown.stderr
    assert "3 first requests to http://localhost:1/v1/chat/completions (stays on this machine)" in shown.stdout
    assert '{"speaker": "you", "text": "Is there a train?"}' in shown.stdout
    assert "in place of what the policy will say stands what was said in the session" in shown.stdout
    bodies = read(align(path, "--preview", "1", "--json"))["partner"]["bodies"]
    assert len(bodies) == 1


def test_it_trains_against_all_three_and_is_done_again_only_where_they_change(folder, align):
    with serving(OpenAIServer(answer=lambda body: completion('{"say": "Go on."}'))) as server:
        path = config(folder, TEXT.format(server.url))
        done = align(path)
        assert done.returncode == 0, done.stderr
        assert 0 < len(server.requests) <= 8
        asked = json.dumps(server.requests)
        assert any(prompt in asked for prompt in PROMPTS)
        card = (folder / "run" / "policy" / "README.md").read_text()
        assert "prompts of `prompts.jsonl`" in card and '"name": "language-model"' in card and server.url not in card
        assert f"m: {len(server.requests)} replies" in done.stdout
        once = len(server.requests)
        assert "align: 1 reused" in align(path).stderr
        assert len(server.requests) == once


def keys(folder, text, **given):
    engine = assemble(load_config(config(folder, text)))
    return [engine.plan.stages["align"].settings(engine.config, unit) for unit in engine.plan.units["align"]]


def test_prompts_partner_and_reward_are_part_of_the_key_and_the_address_is_not(folder):
    text = TEXT.format("http://localhost:1/v1")
    before = keys(folder, text)
    assert keys(folder, TEXT.format("http://localhost:2/v1")) == before
    for change in (
        text.replace('model = "m"', 'model = "n"'),
        text.replace('reward = "short"', 'reward = "short"\nreward_settings = { length = 9 }'),
    ):
        assert keys(folder, change) != before
    (folder / "prompts.jsonl").write_text('{"prompt": "Where?"}\n')
    assert keys(folder, text) != before


def test_text_leaves_this_machine_with_consent_only(folder, align, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    path = config(folder, TEXT.replace('base_url = "{}"\n', ""))
    refused = align(path)
    assert refused.returncode == 2
    assert "align: partner_settings: the text of your sessions would leave this machine for api.openai.com" in (
        refused.stderr
    )
    assert "--allow-host HOST agrees to it" in refused.stderr
    priced = align(path, "--dry-run")
    assert priced.returncode == 0 and "the run itself would stop: align: partner_settings" in priced.stdout
    told = align(path, "--dry-run", "--allow-host", "api.openai.com")
    assert "while the policy trains, its dialogues go to api.openai.com" in told.stdout


def test_files_are_found_from_the_configuration_and_shown_by_their_names(folder):
    (folder / "mine.txt").write_text("[system]\nHi.\n[user]\n{{ dialogue }}\n")
    text = TEXT.format("http://localhost:1/v1") + 'prompt = "./mine.txt"\n'
    loaded = load_config(config(folder, text))
    assert loaded.align.prompts == folder / "prompts.jsonl"
    assert loaded.align.partner_settings["prompt"] == str(folder / "mine.txt")
    shown = shown_config(loaded)["align"]
    assert (shown["prompts"], shown["partner_settings"]["prompt"]) == ("prompts.jsonl", "mine.txt")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("short", "shrt"), r"align: no reward 'shrt'; did you mean 'short'?"),
        (("prompts.jsonl", "none.jsonl"), "none.jsonl: no such file"),
        (('"language-model"', '"policy"'), "'policy': policy: missing"),
        (('model = "m"', 'model = "m"\nprompt = "none"'), "partner_settings.prompt: no prompt 'none'"),
    ],
)
def test_what_cannot_be_used_is_told_before_anything_is_done(folder, align, change, problem):
    done = align(config(folder, TEXT.format("http://localhost:1/v1").replace(*change)))
    assert done.returncode == 2 and problem in done.stderr, done.stderr
    assert not (folder / "run" / "policy").exists()


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [(100, None), (125, "align: partner_settings: policy 'PARTNER/base' reads at most 128 tokens")],
)
def test_a_policy_that_answers_is_looked_at_by_its_own_window(folder, align, tokens, problem):
    partner = save_aligned(folder / "partner")
    text = TEXT.replace('"language-model"', '"policy"').partition("[align.partner_settings]")[0]
    text += f'[align.partner_settings]\npolicy = "{partner}"\nmax_context_tokens = {tokens}\nmax_new_tokens = 4\n'
    done = align(config(folder, text), "--dry-run")
    assert done.returncode == (0 if problem is None else 2), done.stderr
    assert problem is None or problem.replace("PARTNER", str(partner)) in done.stderr
