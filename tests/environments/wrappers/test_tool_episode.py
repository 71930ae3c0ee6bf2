"""A seat that is played by calling a tool; and TRL's GRPO that plays it."""

import json
import math
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from apportion.environments.agents.agent import RandomLegalAgent, ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.wrappers import seated_episode
from apportion.environments.wrappers.tool_episode import OVER, ToolEpisode, tool_episodes, tool_rows
from apportion.foundation.errors import InputError, UnitError
from tests.environments.games import Countdown, Matching, take

TASKS = [Sotopia(task) for task in bundled_tasks.tasks(pairs=2)[:4]]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("task", range(len(TASKS)))
def test_an_episode_by_calls_is_the_episode_that_agents_play(task: int, seat: int) -> None:
    """The caller does what a script would, from what it was told alone: the same acts, the same score."""
    episode = tool_episodes(TASKS, Conceding(), "GOAL")()
    told = episode.reset(task=task, seat=seat, seed=7, prompt="is ignored")
    game = TASKS[task].clone()
    game.reset(7)
    play(game, dict.fromkeys(game.agents, Conceding()))
    own = game.agents[seat]
    for (move,) in game.steps:
        if move.agent == own:
            told += "\n" + episode.act(move.act.kind, move.act.text)
    assert episode._episode.game.steps == game.steps and episode.get_reward() == game.outcome()[own]["GOAL"]
    assert told.endswith(OVER) and episode.act("speak", "Hello?") == OVER
    # Every act of the episode was told once, and the beginning is the whole observation.
    assert [told.count(f"\n#{number} ") for number in range(len(game.steps))] == [1] * len(game.steps)
    assert told.count("Your goal: ") == 1


def test_nothing_that_is_hidden_from_the_seat_is_told() -> None:
    other = TASKS[0].task.characters[1].secret
    episode = tool_episodes(TASKS, RandomLegalAgent(), "GOAL")()
    told = [episode.reset(seed=3), *(episode.act("speak", "Who are you?") for _ in range(12))]
    assert other and other not in " ".join(told) and TASKS[0].task.scenario.goal(1) not in " ".join(told)


def test_an_act_that_is_not_allowed_is_told_and_not_done() -> None:
    episode = tool_episodes(TASKS, Conceding(), "GOAL")()
    episode.reset()
    assert episode.act("sing", "la").startswith("Not allowed: step 0")
    assert "without words" in episode.act("speak", "  ")
    assert episode._episode.game.steps == [] and episode.get_reward() == 0.0


def test_who_acts_at_once_is_asked_with_the_caller() -> None:
    show = ScriptedAgent("shows", lambda view: Action("show", "a"))

    class Scaled(Matching):
        def scales(self) -> dict[str, tuple[float, float]]:
            return {"same": (0.0, 3.0)}

    episode = tool_episodes([Scaled(("ann", "bob"))], show, "same")()
    assert episode.reset(seat=1) == "round 0"
    assert episode.act("show", "a") == "round 1" and episode.act("show", "b") == "round 2"
    assert episode.act("show", "a").endswith(OVER) and episode.get_reward() == 2.0


def test_episodes_of_one_row_draw_the_same_and_rows_have_every_seat() -> None:
    rows = tool_rows(TASKS, repeats=2, prompt="Play.")
    assert len(rows) == len(TASKS) * 2 * 2 and rows[0]["prompt"] == [{"role": "user", "content": "Play."}]
    assert {(row["task"], row["seat"]) for row in rows} == {(t, s) for t in range(len(TASKS)) for s in (0, 1)}
    assert json.loads(json.dumps(rows)) == rows
    factory = tool_episodes(TASKS, RandomLegalAgent(), "GOAL")
    for row in rows:
        assert factory().reset(**row) == factory().reset(**row)
    one = [factory().reset(**row) for row in tool_rows(TASKS[:1], repeats=9) if row["seat"] == 1]
    assert len(set(one)) > 1


def test_bad_input_is_told() -> None:
    with pytest.raises(InputError, match="no environment to play"):
        tool_episodes([], Conceding(), "GOAL")
    with pytest.raises(InputError, match="no dimension 'FAME' to reward; there are GOAL"):
        tool_episodes(TASKS, Conceding(), "FAME")
    episode = tool_episodes(TASKS, Conceding(), "GOAL")()
    for wrong in ({"task": 4}, {"task": -1}, {"seat": 2}):
        with pytest.raises(InputError, match=rf"{next(iter(wrong))} .*: there are"):
            episode.reset(**wrong)


def test_a_seat_that_is_never_asked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Alone(Countdown):
        def acting(self) -> tuple[str, ...]:
            return ("bob",)

    monkeypatch.setattr(seated_episode, "MOST_STEPS", 5)
    episode = ToolEpisode([Alone(("ann", "bob"))], ScriptedAgent("one", lambda view: take(0)), "points")
    with pytest.raises(UnitError, match="'ann' is not asked in 5 steps"):
        episode.reset()
    assert Observation(Alone(("ann", "bob")), "bob").step == 0


CALLS = ("offer: 70", "offer: 85", "offer: 100", "accept")
OPENING, CLOSING, PADDING = "<|im_start|>", "<|im_end|>", "<|endoftext|>"


def call(text: str) -> str:
    arguments = json.dumps({"kind": "physical action", "text": text})
    return f'<tool_call>\n{{"name": "act", "arguments": {arguments}}}\n</tool_call>'


def tiny_tokenizer():
    """Pieces of what is said in our tasks, the marks of a chat, and a token for each whole call of the tool."""
    import trl
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    texts = [game.observe(name) for game in TASKS for name in game.agents]
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=1_000, initial_alphabet=alphabet, show_progress=False)
    )
    tokenizer.add_special_tokens([AddedToken(mark, special=True) for mark in (OPENING, CLOSING, PADDING)])
    tokenizer.add_tokens([AddedToken(call(text), normalized=False) for text in CALLS])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=CLOSING, pad_token=PADDING)
    made.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen2_5.jinja").read_text()
    return made


def tiny_policy(tokenizer):
    """A model of one layer that calls the tool at random, ends its turn after a call, and can learn which call pays."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    marks = {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": None, "pad_token_id": tokenizer.pad_token_id}
    size = {"n_positions": 8192, "n_embd": 16, "n_layer": 1, "n_head": 1}
    config = GPT2Config(vocab_size=len(tokenizer), **size, **marks, tie_word_embeddings=False)
    model = GPT2LMHeadModel(config)
    calls = tokenizer.convert_tokens_to_ids([call(text) for text in CALLS])
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(0.01)
        model.transformer.ln_f.weight.fill_(1.0)
        model.transformer.wte.weight[:, 0], model.transformer.wte.weight[calls, 0] = -1.0, 1.0  # Was there a call?
        model.transformer.ln_f.bias[1] = 1.0
        head = model.lm_head.weight
        head.zero_()
        head[:, 1] = -20.0  # Nothing else is ever said …
        head[calls, 1], head[calls, 0] = 0.0, -5.0  # … but a call where none was, …
        head[tokenizer.eos_token_id, 1], head[tokenizer.eos_token_id, 0] = 0.0, 5.0  # … and the end after one.
    return model


@pytest.mark.slow
def test_trl_s_grpo_plays_social_episodes_and_learns_from_their_scores(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    games = [Sotopia(task) for task in bundled_tasks.tasks(pairs=1)[:1]]
    played: list[ToolEpisode] = []
    factory = tool_episodes(games, Conceding(), "GOAL")

    def watched() -> ToolEpisode:
        played.append(factory())
        return played[-1]

    tokenizer = tiny_tokenizer()
    model = tiny_policy(tokenizer)
    before = model.lm_head.weight.clone()
    args = GRPOConfig(
        str(tmp_path), max_steps=2, per_device_train_batch_size=4, num_generations=4, max_completion_length=600,
        learning_rate=0.05, use_cpu=True, report_to="none", save_strategy="no", logging_steps=1, beta=0.0,
        max_tool_calling_iterations=8, disable_tqdm=True, bf16=False, gradient_checkpointing=False,
    )  # fmt: skip
    rows = Dataset.from_list([row for row in tool_rows(games, repeats=4) if row["seat"] == 0])
    trainer = GRPOTrainer(model, args=args, train_dataset=rows, processing_class=tokenizer, environment_factory=watched)
    trainer.train()
    logged = [entry for entry in trainer.state.log_history if "rewards/ToolEpisode/mean" in entry]
    assert len(logged) == 2 and all(math.isfinite(entry["loss"]) for entry in logged)
    assert [entry["tools/call_frequency"] > 1 for entry in logged] == [True, True]
    assert [entry["tools/failure_frequency"] for entry in logged] == [0.0, 0.0]
    rewards = [episode.get_reward() for episode in played[-4:]]
    assert logged[-1]["rewards/ToolEpisode/mean"] == pytest.approx(sum(rewards) / 4, abs=1e-4)
    assert all(episode._episode.game.steps for episode in played[-4:])
    assert not model.lm_head.weight.equal(before)


def test_no_trainer_and_no_extra_is_imported_before_it_is_used() -> None:
    script = (
        "import sys, apportion.environments.wrappers.tool_episode; "
        "print(sorted({'torch', 'trl', 'transformers', 'gymnasium', 'pettingzoo'} & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


FOREIGN = {
    "aec": r"'apportion\[pettingzoo\]'",
    "openenv": "'openenv>=0.10,<0.11'",
    "textarena": "'textarena>=0.7.4,<0.8'",
    "verifiers": "'verifiers>=0.4,<0.5'",
}


@pytest.mark.parametrize(("module", "asked"), [*FOREIGN.items(), ("single_player", FOREIGN["aec"])])
def test_without_the_package_it_is_told_how_to_install_it(module: str, asked: str, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, f"apportion.environments.wrappers.{module}", raising=False)
    if module == "single_player":
        pytest.importorskip("pettingzoo", reason="the extra pettingzoo is not installed")
        import_module("apportion.environments.wrappers.aec")
    for name in ("gymnasium", "pettingzoo", "openenv", "textarena", "verifiers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"Install it with `pip install {asked}`"):
        import_module(f"apportion.environments.wrappers.{module}")
