"""The reward model r_theta(s_t, a_t): a backbone that reads text, and heads that give a number each."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from apportion.corpus.languages.identifier import spoken_in
from apportion.corpus.session import Episode
from apportion.corpus.speaker_labels import TARGET
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.reward_model.checkpoint import (
    BACKBONE_FOLDER,
    fill,
    read_config,
    read_weights,
    stored_weights,
    write_checkpoint,
)
from apportion.reward_model.config import RewardModelConfig
from apportion.reward_model.context_fit import ContextFit
from apportion.reward_model.heads import Heads, HeadsOfTwoReaders
from apportion.reward_model.history_windows import (
    HistoryWindows,
    Pair,
    Said,
    last_window,
    reply_text,
    said_by,
    said_in,
    said_in_chat,
    window,
)
from apportion.reward_model.network.backbones import Backbone, backbone_of_folder, frozen_backbone, load_backbone
from apportion.reward_model.network.dialogue import EncodedDialogue
from apportion.reward_model.network.embed import CONTEXT, Embeddings, embed_episodes, embed_windows, minilm_beside
from apportion.reward_model.out_of_domain import Domain
from apportion.reward_model.settings import MINILM, RewardModelSettings
from apportion.reward_model.state_baseline import PLACE, StateBaseline, turns_before

ROLES = ("user", "assistant", "system")


class TurnScores(NamedTuple):
    """What a model says of N turns, each [shape=(N,)] float64 in units of reward.

    ``reward``: r_theta, the mean over its heads. ``sd``: their spread (n - 1), 0 of one head. ``advantage``: the reward
    less what the state before the turn foretells (`apportion.reward_model.state_baseline`), or, of a model that knows
    no baseline, less the mean of the rewards that it was trained on: what a policy is paid.
    """

    reward: Floats
    sd: Floats
    advantage: Floats


class RewardModel(nn.Module):
    """r_theta of LLM-GELI, section 4.2: it sees the dialogue's text alone, never the rater's behaviour.

    Make one with `new`, read one with `from_pretrained`. Rewards are in the units of the turn rewards it learned: the
    mean over heads of ``config.reward_mean + config.reward_scale * head(embedding)``. ``baseline`` is None until one is
    fitted.

    >>> model = RewardModel.new(RewardModelSettings(), width=768, seed=0, mean=0.5)  # untrained: the mean, always
    >>> model.score([{"role": "user", "content": "Is there a train?"}, {"role": "assistant", "content": "At nine."}])
    [0.5]
    """

    def __init__(self, config: RewardModelConfig, backbone: Backbone | None = None) -> None:
        super().__init__()
        self.config = config
        shape = (config.head_hidden_size, config.dropout)
        self.head: nn.Module = (
            HeadsOfTwoReaders(config.heads, (config.width, config.beside), *shape)
            if config.beside
            else Heads(config.heads, config.width, *shape)
        )
        self.baseline: StateBaseline | None = None
        self.context_fit: ContextFit | None = None
        self.trained_backbone = None if config.freeze_backbone else backbone
        self.domain: Domain | None = None
        """What the training turns were like; None of a model that was not trained on turns."""
        # In a list, so that it is no part of what is saved.
        self._placed: list[Backbone] = []
        self._exact = True

    @classmethod
    def new(
        cls,
        settings: RewardModelSettings,
        width: int,
        seed: int,
        backbone: Backbone | None = None,
        mean: float = 0.0,
        scale: float = 1.0,
        score_offset: float = 0.0,
    ) -> RewardModel:
        """An untrained model for embeddings of ``width`` d; equal seeds give equal weights.

        ``backbone`` is the one to train, None for a frozen one; ``mean`` and ``scale`` put its output into units of
        reward.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(RewardModelConfig.of(settings, width, mean, scale, score_offset), backbone)

    @property
    def backbone(self) -> Backbone:
        """The network that reads the text; a frozen one is loaded on first use and shared within the process.

        Raises InputError: The frozen backbone cannot be loaded, or is not the size of the one that the head was trained
        on.
        """
        config = self.config
        if self._placed:
            return self._placed[0]
        backbone = self.trained_backbone or frozen_backbone(
            config.backbone, config.max_tokens, config.scoring, exact=True
        )
        if backbone.width != config.width:
            raise InputError(
                f"backbone {config.backbone!r} gives {backbone.width} numbers a turn, and this reward model's "
                f"head reads {config.width}: it is not the backbone that it was trained on. Restore that one, or "
                "train the reward model again."
            )
        return backbone

    def place(self, device: str | torch.device) -> RewardModel:
        """Read text on ``device`` from here on; the head is small and stays on the CPU.

        The backbone is copied there: a frozen one is shared with all else that this process does.
        """
        self._placed = [copy.deepcopy(self.backbone).to(device)]
        return self

    def members(self, embeddings: Tensor) -> Tensor:
        """What each head says [shape=(N, E)] of embedded windows [shape=(N, d)], in units of reward."""
        heads: Tensor = self.head(embeddings[:, : self.config.width + self.config.beside])
        return self.config.reward_mean + self.config.reward_scale * heads

    def of_embeddings(self, embeddings: Tensor) -> Tensor:
        """r_theta [shape=(N,)] of embedded windows [shape=(N, d)], in units of reward."""
        return self.members(embeddings).mean(dim=1)

    @torch.inference_mode()
    def scores(self, embeddings: Tensor, contexts: Tensor | None, places: Sequence[int]) -> TurnScores:
        """The three numbers of N embedded windows [shape=(N, d)].

        ``contexts`` are what `contexts_of` gives; ``places`` how many of the target's turns came before each.
        """
        members = self.members(embeddings).double().cpu()
        reward = members.mean(dim=1)
        sd = members.std(dim=1) if self.config.members > 1 else torch.zeros_like(reward)
        if self.baseline is None or contexts is None:
            return TurnScores(reward.numpy(), sd.numpy(), (reward - self.config.reward_mean).numpy())
        advantage = reward - self.baseline(contexts, places)
        if self.context_fit is not None:
            advantage += self.context_fit(contexts)
        return TurnScores(reward.numpy(), sd.numpy(), advantage.numpy())

    def contexts_of(self, embeddings: Tensor, pairs: Sequence[Pair]) -> Tensor | None:
        """What baseline and context are read of [shape=(N, 3 d)]; None where there is no baseline."""
        if self.baseline is None:
            return None
        return embeddings[:, -CONTEXT:] if self.has_context else self.context(pairs)

    @property
    def pools_minilm(self) -> bool:
        """Whether what its heads read is what the baseline and the context are read of, too."""
        return (self.config.backbone, self.config.scoring) == (MINILM, "pooled")

    @property
    def has_context(self) -> bool:
        """Whether the last numbers of an embedding are what the baseline and the context are read of."""
        return self.pools_minilm or self.config.beside > 0

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """For many turns at once: frozen backbones read in bfloat16, twice as fast and rounded otherwise
        (`apportion.reward_model.network.backbones.frozen_backbone`)."""
        placed, config = self._placed, self.config
        if not placed and config.freeze_backbone:
            self._placed = [frozen_backbone(config.backbone, config.max_tokens, config.scoring)]
        self._exact = False
        try:
            yield
        finally:
            self._placed, self._exact = placed, True

    def context(self, pairs: Sequence[Pair]) -> Tensor:
        """What baseline and context are read of [shape=(N, 1152)], whatever the backbone reads: MiniLM's embeddings of
        the last ``history_turns`` turns, of the reply and of the turn before it (`network.texts.embed_pooled`)."""
        windows = tuple(last_window(said_in(pair), self.config.history_turns) for pair in pairs)
        return _contexts(windows, self._exact)

    def _with_minilm(self, states: Tensor, pairs: Sequence[Pair]) -> Tensor:
        """The states of a language model, beside a frozen one MiniLM's embeddings of the same windows."""
        return torch.cat([states.float(), self.context(pairs)], dim=1) if self.config.beside else states

    def window(self, episode: Episode, position: int) -> Pair:
        """(s_t, a_t) of the turn at ``position``, as `score_windows` takes it: with all turns before it in one pass."""
        whole = self.config.scoring == "one_pass"
        return window(episode, position, position if whole else self.config.history_turns)

    def score_windows(self, pairs: Sequence[Pair], places: Sequence[int] | None = None) -> TurnScores:
        """Scores of (history, reply) texts; the history is made by `reward_model.history_windows.history_text`.

        ``places`` are how many of the target's turns came before each reply; where None, those in its history.
        """
        embeddings = self.embedded(pairs)
        places = [turns_before(pair) for pair in pairs] if places is None else places
        return self.scores(embeddings, self.contexts_of(embeddings, pairs), places)

    def embedded(self, pairs: Sequence[Pair]) -> Tensor:
        """What `scores` reads of (history, reply) texts [shape=(N, d)]."""
        self.eval()
        if self.config.scoring == "one_pass":
            encode = self.backbone.dialogues.encode
            return self._with_minilm(self._read([encode(said_in(pair), only_last=True) for pair in pairs]), pairs)
        return torch.from_numpy(embed_windows(self.backbone, pairs))

    def reads_as(self, other: RewardModel) -> bool:
        """Whether `embedded` is the same of both: a frozen backbone, read in the same way."""
        frozen = self.trained_backbone is None and other.trained_backbone is None
        names = ("backbone", "scoring", "max_tokens", "beside")
        return frozen and all(getattr(self.config, name) == getattr(other.config, name) for name in names)

    def score_dialogue(self, said: Sequence[Said]) -> TurnScores:
        """Scores of the target's T turns among those ``said``: a window for each, or all of them in one pass.

        Warns where one pass over them is more than ``max_tokens``.
        """
        pairs = self._windows(said)
        if self.config.scoring == "one_pass":
            encoded = self.backbone.dialogues.encode(said)
            if encoded.shortened:
                warnings.warn(
                    f"the dialogue is longer than the {self.config.max_tokens} tokens that this model reads at once: "
                    "its later turns are scored with the last half of that, or more, as history",
                    stacklevel=2,
                )
            embeddings = self._with_minilm(self._read([encoded]), pairs)
            return self.scores(embeddings, self.contexts_of(embeddings, pairs), range(len(pairs)))
        return self.score_windows(pairs, range(len(pairs)))

    def score_last(self, dialogues: Sequence[Sequence[Said]]) -> TurnScores:
        """Scores of the last turn of each dialogue, which is the target's."""
        back = None if self.config.scoring == "one_pass" else self.config.history_turns
        places = [sum(letter == TARGET for letter, _ in said[:-1]) for said in dialogues]
        return self.score_windows([last_window(said, back) for said in dialogues], places)

    def score_episode(self, episode: Episode) -> Floats:
        """r_theta [shape=(T,)] of the target's turns."""
        return self.score_dialogue(said_by(episode)).reward

    def score_episodes(self, episodes: Sequence[Episode]) -> tuple[HistoryWindows, TurnScores, list[tuple[str, ...]]]:
        """The N target turns of some episodes, the scores of each, and why it is unlike what taught the model.

        What is equal in them is read once. A turn that is not unlike has no reasons, nor has any where no `domain` is.
        """
        self.eval()
        windows, embeddings = embed_episodes(self.backbone, episodes, self.config.history_turns)
        reasons: list[tuple[str, ...]] = []
        language = {episode.key: episode.language for episode in episodes}
        for key, start, end in zip(windows.keys, windows.offsets, windows.offsets[1:], strict=False):
            replies = [reply for _, reply in windows.pairs[start:end]]
            reasons += self._unlike(embeddings[start:end], replies, language[key])
        read = self._with_minilm(torch.from_numpy(embeddings), windows.pairs)
        return windows, self.scores(read, self.contexts_of(read, windows.pairs), windows.places), reasons

    def shortens(self, episode: Episode) -> bool:
        """Whether one pass over the episode is more than ``max_tokens``, so that later turns have less history."""
        return self.config.scoring == "one_pass" and self.backbone.dialogues.encode(said_by(episode)).shortened

    def score(self, messages: Sequence[Mapping[str, str]]) -> list[float]:
        """r_theta of each assistant message of a chat, ``[{"role": "user", "content": "…"}, …]``.

        Where several people are the user, ``name`` tells them apart: each becomes a letter, and the name is not read.
        System messages are not read: the model was trained on what people said.

        Raises InputError: A message without role or content, or of another role than user, assistant or system.
        """
        rewards: list[float] = self.score_dialogue(_said(messages)).reward.tolist()
        return rewards

    def out_of_domain(self, messages: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
        """Why each assistant message is unlike what taught the model: of ``language``, ``length`` and ``distance``.

        Nothing for a message that is not, nor of a model that does not store what taught it (``domain`` is None).
        Raises InputError: As `score`.
        """
        said = _said(messages)
        if self.config.scoring == "one_pass":
            embeddings = self._read([self.backbone.dialogues.encode(said)]).float().numpy()
        else:
            embeddings = embed_windows(self.backbone, self._windows(said))
        replies = [reply_text(text) for letter, text in said if letter == TARGET]
        return self._unlike(embeddings, replies, spoken_in([text for _, text in said]))

    def save_pretrained(self, out: str | Path, metrics: Mapping[str, float] | None = None) -> None:
        """Write config.json, model.safetensors and README.md (with ``metrics``) into the folder ``out``.

        A frozen backbone is stored by name; a trained one with weights, configuration and tokenizer; one with adapters
        by name, with the adapters' weights.
        """
        config = self.config if self.domain is None else self.config.model_copy(update={"domain": self.domain.bounds})
        write_checkpoint(Path(out), config, stored_weights(self), metrics or {})
        if self.domain is not None:
            self.domain.save(Path(out))
        if self.trained_backbone is not None and not self.config.lora_rank:
            self.trained_backbone.save(Path(out) / BACKBONE_FOLDER)

    @classmethod
    def from_pretrained(cls, path: str | Path) -> RewardModel:
        """Read what `save_pretrained` wrote.

        Raises InputError: No such folder, a pickle offered as a checkpoint, files missing or damaged, a checkpoint of
        something else, weights of another architecture, or a backbone that cannot be loaded.
        """
        folder = Path(path)
        config = read_config(folder)
        weights = read_weights(folder)
        backbone = None
        if config.lora_rank:
            backbone = load_backbone(config.backbone, config.max_tokens, config.scoring).adapt(config.lora_rank)
        elif not config.freeze_backbone:
            backbone = backbone_of_folder(folder / BACKBONE_FOLDER, config.max_tokens, config.scoring)
        with torch.random.fork_rng(devices=[]):
            model = cls(config, backbone)
            if "baseline.weight" in weights:
                model.baseline = StateBaseline((len(weights["baseline.weight"]) - PLACE) // 2)
            if "context_fit.weight" in weights:
                model.context_fit = ContextFit(weights["context_fit.of_reply.weight"].shape[1])
        fill(model, weights, folder)
        model.domain = Domain.read(folder, config.domain, config.width)
        return model.eval()

    def _windows(self, said: Sequence[Said]) -> list[Pair]:
        ends = [i + 1 for i, (letter, _) in enumerate(said) if letter == TARGET]
        return [last_window(said[:end], self.config.history_turns) for end in ends]

    def _unlike(self, embeddings: Embeddings, replies: Sequence[str], language: str | None) -> list[tuple[str, ...]]:
        """`Domain.reasons` of the target's turns in one dialogue."""
        if self.domain is None or not replies:
            return [()] * len(replies)
        # One that takes all the room there is has lost its end, or just not.
        full = [len(tokens.ids) >= self.config.max_tokens for tokens in self.backbone.tokens.alone(replies)]
        return self.domain.reasons(embeddings[:, : self.config.width], replies, full, language)

    def _read(self, dialogues: Sequence[EncodedDialogue]) -> Tensor:
        self.eval()
        with torch.inference_mode():
            return self.backbone.read(dialogues)


def _said(messages: Sequence[Mapping[str, str]]) -> list[Said]:
    turns = [chat_turn(number, message) for number, message in enumerate(messages, 1)]
    return said_in_chat(turn for turn in turns if turn is not None)


@lru_cache(maxsize=1)
def _contexts(windows: tuple[Pair, ...], exact: bool) -> Tensor:
    """One corpus teaches several models: its windows are read once where they come again."""
    return torch.from_numpy(embed_windows(minilm_beside(exact), windows))


def chat_turn(number: int, message: Mapping[str, str]) -> tuple[str | None, str] | None:
    """Who says what in a message (None: the assistant); of a system message nothing.

    Raises InputError: it has no role or content, or another role than user, assistant or system.
    """
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise InputError(f"message {number}: role {role!r}; allowed are {', '.join(ROLES)}. Correct or drop it.")
    if not isinstance(content, str):
        raise InputError(f"message {number}: content {content!r}; it must be text. Give the words that were said.")
    if role == "system":
        return None
    return (None if role == "assistant" else str(message.get("name") or ""), content)
