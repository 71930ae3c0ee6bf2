"""DAT: a planner in the space of prefix embeddings, at each reply anew (Li et al., 2024, Dialogue action tokens:
steering language models in goal-directed dialogue with a multi-turn planner).

The planner is a small network from the frozen model's last hidden state to an action of `ACTION` numbers, which a fixed
up-mapping makes the embeddings of `PREFIX` tokens. The up-mapping is first trained to clone the model itself (the
likelihood of what it says without a prefix) and then fixed; the planner learns by TD3+BC (Fujimoto and Gu, 2021) from
episodes that it played with noise.

Choices where the paper leaves one, or cannot be followed:

- The prefix stands before all that the model reads, and begins as its first token once more: between the prompt and
  the reply, or at the prompt's end, any prefix took from `tiny` what it had learned.
- The planner begins near 0 and is not cloned: cloned, its actions went to their bounds, where noise and gradients do
  nothing. Rows of the up-mapping begin as random embeddings of tokens.
- What noise can change is what there is to learn from: before `tiny`, which heeds no words that it did not learn with,
  it moves the odds of its acts by some hundredths of a nat, and no gain was measured.
- The reward is the exact goal score (0 to 1) at the last act of the episode, 0 before; theirs asks a language model.
- Each round plays anew with noise of `NOISE`, and learns from all rounds so far by `UPDATES` updates; the learning
  rates, target rates and noise are TD3's, but `NOISE`, `RATE` and `SLOW`, which suit some hundred updates.
- In play there is no noise, and the reply is drawn as without a prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import zip_longest
from typing import NamedTuple

import torch
from torch import Tensor, nn

from apportion.environments.environment import Action, Observation
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.sampling.policy_agent import PolicyAgent, act_said
from apportion.rlhf.sampling.rollout import finite_probabilities, pad_prompts, reply_mask
from apportion.rlhf.social.episodes import HIGHEST, SocialEpisode
from apportion.rlhf.social.planner import (
    Decision,
    LearnedPlanner,
    PlannedAgent,
    Planner,
    hidden_states,
    seeded,
    states_of,
)
from apportion.rlhf.social.reinforce import in_rounds, supervise
from apportion.rlhf.social.run import IGNORED, SocialRun, TurnTokens, context_of
from apportion.rlhf.social.sotopia_pi import learn_best
from apportion.rlhf.social.strategies import answer, freeze

PREFIX, ACTION, WIDTH = 2, 64, 128
"""Prefix tokens, numbers of an action (both the paper's), and the width of the networks' hidden layers."""
SIZE = 0.5
"""Of the up-mapping's first rows, each a token's embeddings, by their own size."""
NOISE, SMOOTHING, CLIP = 0.5, 0.2, 0.5
"""Standard deviation of the noise while playing; of the target's, and where that is clipped (TD3)."""
DISCOUNT, ALPHA, SLOW, DELAY, RATE = 0.99, 2.5, 0.02, 2, 1e-3
UPDATES, BATCH = 300, 64


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    layers = (nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, outputs))
    return nn.Sequential(*layers)


class Prefixes(nn.Module):
    """From a hidden state [shape=(B, H)] to an action, each number between -1 and 1, and from that to embeddings."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        width = table.shape[1]
        self.actor = nn.Sequential(nn.LayerNorm(width), network(width, ACTION), nn.Tanh())
        self.up = nn.Parameter(SIZE * table[torch.randint(len(table), (ACTION, PREFIX))].flatten(1))
        self.offset = nn.Parameter(torch.zeros(PREFIX * width))

    def embedded(self, actions: Tensor) -> Tensor:
        """Embeddings [shape=(B, K, H)] of actions [shape=(B, A)]."""
        return (actions @ self.up + self.offset).reshape(len(actions), PREFIX, -1)


class PrefixPlanner(Planner):
    """Actions, each a prefix of what the model reads."""

    method, example = "dat", "dat@FOLDER"
    network: Prefixes

    def __init__(self, policy: PolicyAgent) -> None:
        super().__init__(policy)
        self.network = Prefixes(policy.model.get_input_embeddings().weight.detach().float())

    def decide(self, contexts: Sequence[DialogueContext], explores: bool) -> list[Decision]:
        """An action before each reply."""
        states = hidden_states(self.policy, contexts)
        with torch.no_grad():
            actions = self.network.actor(states)
            if explores:
                actions = (actions + NOISE * torch.randn_like(actions)).clamp(-1, 1)
        return [Decision(state, action) for state, action in zip(states, actions, strict=True)]

    @torch.no_grad()
    def reply(self, views: Sequence[Observation], decisions: Sequence[Decision]) -> list[Action]:
        """What the frozen model says behind the prefix and the prompt."""
        policy, model, window = self.policy.policy, self.policy.model, self.policy.window
        contexts = [context_of(view, policy, window) for view in views]
        tokens, attention = pad_prompts(contexts, policy.pad_id, model.device)
        before = self.network.embedded(torch.stack([one.choice for one in decisions]))
        embedded = torch.cat([before.to(model.dtype), model.get_input_embeddings()(tokens)], dim=1)
        seen = torch.cat([attention.new_ones(len(tokens), PREFIX), attention], dim=1)  # Padding has no place.
        drawn = {"do_sample": True, "temperature": window.temperature, "top_k": 0, "top_p": 1.0}
        with seeded([self.policy.seed, [view.number for view in views]]), finite_probabilities():
            replies = model.generate(
                inputs_embeds=embedded, attention_mask=seen, max_new_tokens=window.max_new_tokens, **drawn
            )
        said = [
            policy.tokenizer.decode(reply[own], skip_special_tokens=True)
            for reply, own in zip(replies, reply_mask(replies, policy.eos_ids), strict=True)
        ]
        return [act_said(view, " ".join(str(text).split())) for view, text in zip(views, said, strict=True)]

    def likelihood(self, examples: Sequence[tuple[Tensor, TurnTokens]]) -> Tensor:
        """Mean log-likelihood, nats a token, of what is said behind each prefix and its prompt, by the state there."""
        before = self.network.embedded(self.network.actor(torch.stack([state for state, _ in examples])))
        embed, pad = self.policy.model.get_input_embeddings(), torch.nn.utils.rnn.pad_sequence
        inputs, labels = [], []
        for (_, row), prefix in zip(examples, before, strict=True):
            one = row.labelled
            inputs.append(torch.cat([prefix, embed(torch.tensor(one["input_ids"]))]))
            labels.append(torch.tensor([IGNORED] * PREFIX + one["labels"]))
        out = self.policy.model(
            inputs_embeds=pad(inputs, batch_first=True),
            attention_mask=pad([torch.ones_like(one) for one in labels], batch_first=True),
            labels=pad(labels, batch_first=True, padding_value=IGNORED),
        )
        return -out.loss  # type: ignore[no-any-return]


class Transitions(NamedTuple):
    """N acts: ``states`` and ``following`` [shape=(N, H)], ``actions`` [shape=(N, A)], ``rewards`` and ``goes_on``
    (0 at an episode's last act) [shape=(N,)]; all float32."""

    states: Tensor
    actions: Tensor
    rewards: Tensor
    following: Tensor
    goes_on: Tensor


def transitions(played: Sequence[tuple[Sequence[Decision], float]]) -> Transitions:
    """Of episodes: their decisions, and what they were paid at their end."""
    number = torch.tensor
    rows = [
        (one.state, one.choice, number(0.0 if then else paid), (then or one).state, number(1.0 if then else 0.0))
        for decisions, paid in played
        for one, then in zip_longest(decisions, decisions[1:])
    ]
    return Transitions(*(torch.stack(column) for column in zip(*rows, strict=True)))


def improve(actor: nn.Module, known: Transitions, updates: int) -> None:
    """TD3+BC: two critics, a delayed actor that raises their value and stays near what was done; ``actor`` learns."""
    inputs = known.states.shape[1] + known.actions.shape[1]
    critics = nn.ModuleList(nn.Sequential(nn.LayerNorm(inputs), network(inputs, 1)) for _ in range(2))
    slow_actor, slow_critics = deepcopy(actor), deepcopy(critics)
    learns_values = torch.optim.Adam(critics.parameters(), lr=RATE)
    learns_acts = torch.optim.Adam(actor.parameters(), lr=RATE)
    for update in range(1, updates + 1):
        rows = torch.randint(len(known.rewards), (BATCH,))
        states, actions, following = known.states[rows], known.actions[rows], known.following[rows]
        with torch.no_grad():
            noise = (SMOOTHING * torch.randn_like(actions)).clamp(-CLIP, CLIP)
            then = torch.cat([following, (slow_actor(following) + noise).clamp(-1, 1)], dim=1)
            least = torch.minimum(*(one(then)[:, 0] for one in slow_critics))
            target = known.rewards[rows] + DISCOUNT * known.goes_on[rows] * least
        done = torch.cat([states, actions], dim=1)
        loss = sum(((one(done)[:, 0] - target) ** 2).mean() for one in critics)
        learns_values.zero_grad()
        loss.backward()
        learns_values.step()
        if update % DELAY:
            continue
        acts = actor(states)
        values = critics[0](torch.cat([states, acts], dim=1))
        scale = ALPHA / values.abs().mean().detach().clamp(min=1e-6)
        learns_acts.zero_grad()
        (-scale * values.mean() + ((acts - actions) ** 2).mean()).backward()
        learns_acts.step()
        for slow, fast in ((slow_actor, actor), (slow_critics, critics)):
            for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
                old.data.lerp_(new.data, SLOW)


def self_clone(run: SocialRun, planner: PrefixPlanner) -> None:
    """Teach the up-mapping prefixes with which the model says what it says without them."""
    played = run.play(planner.policy, "itself")
    steps = [step for episode in played for step in episode.steps if step.said and not step.act.stands]
    said = [answer(planner.policy, step, "", step.said) for step in steps]
    examples = list(zip(states_of(planner.policy, steps), said, strict=True))
    with torch.no_grad():
        begin = torch.tensor([said[0].prompt[0]] * PREFIX)
        planner.network.offset.copy_(run.model.get_input_embeddings()(begin).flatten())
    optimizer = torch.optim.Adam([planner.network.up, planner.network.offset], lr=run.settings.lr)
    supervise(run, "self-cloning", examples, lambda chosen: -planner.likelihood(chosen), optimizer)


def train(run: SocialRun) -> LearnedPlanner:
    """The expert is cloned (unless ``cloning`` is off) and the policy frozen; self-cloning, then rounds of TD3+BC."""
    if run.settings.cloning:
        learn_best(run, run.play(run.expert, "cloning"), 0.0, "cloning")
    freeze(run)
    with seeded(run.seed):
        planner = PrefixPlanner(run.agent())
        self_clone(run, planner)
    known: list[tuple[Sequence[Decision], float]] = []

    def learn(played: list[SocialEpisode], decided: list[list[Decision]]) -> None:
        known.extend((made, one.score / HIGHEST) for made, one in zip(decided, played, strict=True))
        improve(planner.network.actor, transitions(known), UPDATES)

    return in_rounds(run, PlannedAgent(f"dat@{run.policy.name}", planner), "noise", learn)
