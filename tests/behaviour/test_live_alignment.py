import pyarrow.parquet as pq
import pytest

from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import SimulationChoice
from tests.behaviour.command import config, read

TEXT = """corpus = "play"
output = "run"
rating = "GOAL"
[run]
workers = 1
[split]
train = 0.8
validation = 0
test = 0.2
policy = 0
[decompose]
method = "savoir"
[train_reward]
epochs = 2
[align]
algorithm = "grpo"
environment = "sotopia"
steps = 2
batch_size = 4
num_generations = 2
mini_batch_size = 4
max_context_tokens = 1500
max_new_tokens = 4
samples = 1
[align.lora]
r = 2
alpha = 4
[align.tiny]
hidden = 32
layers = 1
vocabulary = 320
warmup_steps = 2
warmup_batch = 2
[align.environment_settings]
scenarios = ["used_bicycle"]
pairs = 1
most_acts = 4
"""


@pytest.fixture
def folder(tmp_path):
    choice = SimulationChoice(("conceding", "random"), ("used_bicycle",), pairs=2, rules=Rules(most_acts=8), seed=5)
    write_corpus(choice, tmp_path / "play")
    return tmp_path


@pytest.mark.slow
def test_a_run_goes_from_episodes_to_a_policy_that_played_live(folder, apportion, align):
    path = config(folder, TEXT)
    done = apportion("run", path)
    assert done.returncode == 0, done.stderr
    history = pq.read_table(folder / "run" / "histories.parquet").to_pylist()
    seen = {row["metric"] for row in history if row["stage"] == "align" and row["step"] == 2}
    assert {"reward", "outcome", "ended", "unusable", "kl"} <= seen
    card = (folder / "run" / "policy" / "README.md").read_text()
    assert "4 contexts" not in card and "episodes of `sotopia`, played live" in card and "trained with GRPO" in card
    # No session of the split policy is needed: nothing of the corpus is answered.
    assert "align: 1 reused" in align("--algorithm", "grpo", path).stderr
    other = config(folder, TEXT.replace("most_acts = 4", "most_acts = 6"))
    assert "align: 1 reused" not in align(other).stderr


def test_what_cannot_be_played_stops_a_run_before_anything_is_trained(folder, apportion):
    for wrong, told in (
        (TEXT.replace('"used_bicycle"', '"used_bicycel"'), "used_bicycle"),
        (TEXT + 'other = "conceeding"\n', "conceding"),
        (TEXT + 'other = "policy@./mine"\n', "mine"),
    ):
        stopped = apportion("run", config(folder, wrong))
        assert stopped.returncode == 2 and told in stopped.stderr
    assert not (folder / "run" / "reward_models").exists()


def test_a_model_that_has_the_other_seat_is_priced_shown_and_asked_with_consent_only(folder, align):
    model = '[align.environment_settings.llm]\nmodel = "m"\nbase_url = "{}"\n'
    asks = TEXT + 'other = "base"\n' + model
    (folder / "prices.toml").write_text('[models]\n"m" = { input = 1000, output = 10000 }\n')
    refused = align(config(folder, asks.format("https://models.example/v1")))
    assert refused.returncode == 2 and "models.example" in refused.stderr
    here = config(folder, asks.format("http://localhost:1/v1").replace("[run]", '[run]\nprices = "prices.toml"'))
    priced = read(align(here, "--dry-run", "--json"))["partner"]
    # Two steps of four episodes, in each of which the other acts twice at most.
    assert priced["requests"] == 2 * 4 * 2 and priced["usd"] > 0
    shown = align(here, "--preview", "1")
    assert shown.returncode == 0, shown.stderr
    assert "touring bicycle" in shown.stdout and "the other side of align" in shown.stdout
