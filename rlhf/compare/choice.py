"""Which policies answer, in which sessions and under which window: from what is asked for to what is generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from pydantic import ValidationError

from apportion.corpus.corpus import Corpus
from apportion.corpus.files.tablefile import read_table
from apportion.corpus.schema import SPLITS
from apportion.corpus.session import Episode
from apportion.corpus.splits.settings import SplitSettings
from apportion.corpus.splits.splits import split
from apportion.foundation.errors import InputError
from apportion.foundation.files import at_home
from apportion.foundation.progress import Progress
from apportion.foundation.settings import problems
from apportion.foundation.truncate import counted
from apportion.llm_client.model_spec import Called
from apportion.reward_model.checkpoint import check_checkpoint
from apportion.reward_model.corpus_scores import choose_episodes
from apportion.rlhf.compare.best_of_n import divergence
from apportion.rlhf.compare.blind import LETTERS
from apportion.rlhf.compare.generate import SamplingSettings, SharedContexts, fingerprint_of, generate, share_contexts
from apportion.rlhf.compare.metadata import is_finished, key_path, note_path, noted_table, pairs_path
from apportion.rlhf.policy.folder import check_policy, open_tokenizer, read_window, window_path
from apportion.rlhf.policy.loading import check_device
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.training.rng_state import quiet_transformers

ALL = "all"
"""In place of a split: every session."""
SPLITS_FILE, REWARD_MODELS = "splits.parquet", "reward_models"


@dataclass(frozen=True)
class GenerationRequest:
    """What is asked for.

    ``contexts``: Most contexts, spread evenly over those that every policy has room for. ``split``: The sessions that
    they are from: a split, or ``all``. ``splits_file``: Which session is in which split; None takes the table beside a
    policy, else the default shares. ``rating``, ``target``: Only episodes of this rating; in this speaker's place,
    whoever was rated: a name, or ``first`` or ``second``, who speaks then in a session. Without a target, sessions
    without a score are answered for whom the others' scores credit. ``seed``: Of the draws. ``batch``: Contexts at
    once; changes bits. ``blind``: Whether the policies are called by letters, anew in every context. ``context_turns``,
    ``max_context_tokens``, ``max_new_tokens``, ``temperature``: Most turns and tokens of history, longest response, and
    how it is drawn (0: the most likely token each time); None takes what the first policy was trained with. ``device``,
    ``dtype``: Where the policies run, and the number format of their weights. ``best_of``: Each n draws n replies and
    keeps the best by the reward model in the folder ``reward_model``; None takes the only one of a policy's run.
    ``pairs``: Whether best and worst of the most drawn are written for trainers of preferences.
    """

    contexts: int = 100
    split: str = "test"
    splits_file: Path | None = None
    rating: str | None = None
    target: str | None = None
    seed: int = 0
    batch: int = 16
    blind: bool = False
    context_turns: int | None = None
    max_context_tokens: int | None = None
    max_new_tokens: int | None = None
    temperature: float | None = None
    device: str | None = None
    dtype: str | None = None
    best_of: Sequence[int] = ()
    reward_model: Path | None = None
    pairs: bool = False

    def given(self, settings: type[Window | Placement]) -> dict[str, Any]:
        """The fields of ``settings`` that are asked for."""
        return {name: value for name in settings.model_fields if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Sessions:
    """The episodes that contexts are from, the sessions that could not be read, and how they were chosen."""

    episodes: Sequence[Episode]
    failed: Mapping[str, str]
    split: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Generation:
    """Policies (where each is, by its name), the contexts that they answer, and how their responses are drawn."""

    policies: Mapping[str, str]
    contexts: SharedContexts
    sampling: SamplingSettings
    sessions: Sessions

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """Everything that decides what the table holds."""
        return fingerprint_of(self.policies, self.contexts, self.sampling)

    @property
    def rows(self) -> int:
        """How many responses there are to be."""
        return len(self.contexts.shown) * self.answering

    @property
    def drawn(self) -> int:
        """How many replies are drawn for them."""
        return len(self.contexts.shown) * len(self.policies) * self.sampling.drawn

    @property
    def answering(self) -> int:
        """How many policies the table tells apart: each n of a policy's best-of-n is one."""
        return sum(len(self.sampling.called(name)) for name in self.policies)

    def beside(self, out: Path) -> dict[str, str]:
        """What belongs to the table ``out``: the ``key`` where it is blind, ``pairs`` where they were asked for."""
        key = {"key": str(key_path(out))} if self.sampling.blind else {}
        return key | ({"pairs": str(pairs_path(out))} if self.sampling.pairs else {})

    def beside_text(self, out: Path) -> str:
        """The same for a person, each line with its end."""
        key = f"the key is {key_path(out)}: keep it from those who judge\n" if self.sampling.blind else ""
        if not self.sampling.pairs:
            return key
        written = pairs_path(out).read_text(encoding="utf-8").count("\n")
        asked = len(self.contexts.shown) * len(self.policies)
        none = f"; the replies to {asked - written:,} contexts earn the same" if written < asked else ""
        return f"{key}pairs for trainers of preferences: {pairs_path(out)} ({written:,}{none})\n"

    def is_finished(self, out: Path) -> bool:
        """Whether ``out`` is there, was made with exactly this, and has not been changed since."""
        return is_finished(out, self.fingerprint)

    def check_free(self, out: Path, force: bool, called: Called = str) -> None:
        """Raise InputError where another table stands in the way; with ``force`` one of that name may be replaced."""
        other = noted_table(out)
        if other is not None and other != out.name and out.with_name(other).is_file():
            raise InputError(
                f"{called('out')} {out}: {note_path(out).name} beside it says how {other} was made. Give a name other "
                f"than {out.stem}."
            )
        if out.exists() and not force:
            raise InputError(
                f"{out} exists, and other policies, contexts or settings made it, or it was changed since. Use "
                f"{called('force')} to replace it, or {called('out')} for another name."
            )

    def write(self, out: Path, progress: Progress, threads: int | None = None) -> pa.Table:
        """Let the policies answer and write the table; see `apportion.rlhf.compare.generate.generate`.

        ``threads`` sets how many torch computes with in this process; another number changes bits.
        """
        if threads is not None:
            torch.set_num_threads(threads)
        return generate(self.policies, self.contexts, self.sampling, self.fingerprint, out, progress)

    def text(self) -> str:
        """What is answered and what was left out, for a person."""
        contexts = self.contexts
        room = f", {contexts.no_room} for which another policy has no room" if contexts.no_room else ""
        lines = [f"{len(contexts.shown):,} contexts of {contexts.sessions:,} sessions, out of {contexts.first}{room}"]
        if self.sampling.reward_model is not None:
            known = (f"{n} ({divergence(n):.2f})" for n in self.sampling.best_of)
            model = self.sampling.reward_model.resolve().name
            lines.append(f"best of {', '.join(known)} by {model}; in brackets, the most nats from the policy")
        lines += [f"note: {note}" for note in self.sessions.notes]
        return "\n".join([*lines, *(f"failed: {name}: {cause}" for name, cause in self.sessions.failed.items())])

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        contexts = self.contexts
        return {
            "rows": self.rows,
            "contexts": len(contexts.shown),
            "of_all": contexts.of_all,
            "sessions": contexts.sessions,
            "policies": list(self.policies),
            "best_of": {n: divergence(n) for n in self.sampling.best_of},
            "without_history": contexts.first.empty,
            "continued": contexts.first.continued,
            "over_long": contexts.first.over_long,
            "no_room": contexts.no_room,
            "unrated": contexts.first.unrated,
            "note": "; ".join(self.sessions.notes) or None,
            "failed": dict(self.sessions.failed),
        }


def choose(policies: Sequence[str], corpus: Path, wanted: GenerationRequest, called: Called = str) -> Generation:
    """Find out what is to be generated, and all that can be known of it before a policy answers.

    ``policies``: Folders or Hugging Face names, each with ``NAME=`` before it where it is to be called otherwise.
    ``corpus``: The corpus whose dialogues they answer in. ``wanted``: Which contexts, and how. ``called``: What the
    caller calls a parameter of `choose`, `GenerationRequest` or `Generation.check_free`, for errors. Raises InputError:
    A policy, session, split or window that cannot be used.
    """
    best_of = tuple(sorted(set(wanted.best_of)))
    if wanted.pairs and (wanted.blind or max(best_of, default=1) < 2):
        raise InputError(
            f"{called('pairs')} holds the best and the worst of several replies, and whose they are: it needs "
            f"{called('best_of')} 2 or more, and no {called('blind')}."
        )
    sources = name_policies(policies, wanted.blind, called, max(1, len(best_of)))
    window, temperature = choose_window(next(iter(sources.values())), wanted, called)
    reward_model = choose_reward(best_of, sources, temperature, wanted.reward_model, called)
    sessions = choose_sessions(Corpus.open(corpus), sources, wanted, called)
    placement = choose_placement(wanted, called)
    contexts = _contexts(sessions, sources, window, wanted.contexts)
    if not contexts.shown:
        raise InputError(
            f"{corpus}, split {sessions.split!r}, {len(sessions.episodes)} episodes: {contexts.first}, "
            f"{contexts.no_room} for which another policy has no room"
            f"{''.join(f'; {note}' for note in sessions.notes)}. Raise {called('max_context_tokens')}, or choose other "
            f"sessions with {called('split')}."
        )
    drawn = (temperature, wanted.seed, wanted.batch, wanted.blind, best_of, reward_model, wanted.pairs)
    sampling = SamplingSettings(window, placement, *drawn)
    return Generation(sources, contexts, sampling, sessions)


def choose_reward(
    best_of: Sequence[int],
    policies: Mapping[str, str],
    temperature: float | None,
    given: Path | None,
    called: Called = str,
) -> Path | None:
    """The folder of the reward model that the best replies are chosen by; None where the first one is taken.

    Raises InputError: an n that cannot be, replies that are all the same, or no reward model, or several.
    """
    if not best_of:
        if given is None:
            return None
        raise InputError(f"{called('reward_model')} is for {called('best_of')}: add that, or leave it out.")
    if best_of[0] < 1:
        raise InputError(f"{called('best_of')} {best_of[0]}: give 1 or more replies, of which the best is kept.")
    if temperature is None and best_of[-1] > 1:
        raise InputError(
            f"{called('best_of')} {best_of[-1]}: with {called('temperature')} 0 all replies are the same. Raise it."
        )
    folder = given or _reward_beside(policies, called)
    check_checkpoint(folder)
    return folder


def _reward_beside(policies: Mapping[str, str], called: Called) -> Path:
    beside = _beside(policies, REWARD_MODELS)
    found = sorted(path for path in beside.iterdir() if path.is_dir()) if beside else []
    if len(found) == 1:
        return found[0]
    there = (
        f"{beside} holds {', '.join(path.name for path in found) or 'none'}"
        if beside
        else f"no {REWARD_MODELS} beside a policy"
    )
    raise InputError(
        f"{called('best_of')}: no one reward model to choose the best reply by ({there}). Name the folder of one with "
        f"{called('reward_model')}."
    )


def name_policies(given: Sequence[str], blind: bool, called: Called = str, each: int = 1) -> dict[str, str]:
    """Where each policy is, by its name; in the table each stands for ``each`` of them."""
    sources: dict[str, str] = {}
    for text in given:
        name, equals, source = ("", "", "") if at_home(text).is_dir() else text.partition("=")
        if "tiny" in (text, source):
            raise InputError(
                f"policy {text!r}: `tiny` exists only where `apportion run --only align` has built it. Give that run's "
                "folder, RUN/policy, or RUN/policy/base for what it was before."
            )
        if equals and not (name and source):
            raise InputError(f"policy {text!r}: write NAME=POLICY, or POLICY alone.")
        name, source = (name, source) if equals else (text, text)
        if name in sources:
            raise InputError(f"two policies are called {name!r}. Give one of them a name of its own: NAME=POLICY.")
        sources[name] = source
    if blind and not 1 < len(sources) * each <= len(LETTERS):
        raise InputError(
            f"{called('blind')} with {len(sources) * each} policies: it needs 2 to {len(LETTERS)}. Add some with "
            f"{called('policies')}."
        )
    return sources


def choose_window(first: str, wanted: GenerationRequest, called: Called = str) -> tuple[Window, float | None]:
    """The window as wanted, else as the policy ``first`` was trained, else the default; and the temperature."""
    given = wanted.given(Window)
    greedy = given.get("temperature") == 0
    if greedy:
        given.pop("temperature")
    try:
        window = Window.model_validate({**read_window(first), **given})
    except ValidationError as error:
        if any(item["loc"] and item["loc"][0] in given for item in error.errors()):
            raise _unusable(error, called) from None
        raise InputError(
            f"{window_path(first)}: {'; '.join(problems(error))}. Correct the file, or take it away to get the "
            "defaults."
        ) from None
    return window, None if greedy else window.temperature


def choose_placement(wanted: GenerationRequest, called: Called = str) -> Placement:
    """Where policies run."""
    try:
        placement = Placement.model_validate(wanted.given(Placement))
    except ValidationError as error:
        raise _unusable(error, called) from None
    check_device(placement, called("device"))
    return placement


def _unusable(error: ValidationError, called: Called) -> InputError:
    return InputError(f"the settings cannot be used: {'; '.join(problems(error, called))}. Change the options.")


def choose_sessions(
    corpus: Corpus, policies: Mapping[str, str], wanted: GenerationRequest, called: Called = str
) -> Sessions:
    """The episodes that contexts are from, and what has to be said of how they were chosen."""
    names, notes = _sessions_of_split(corpus, policies, wanted, called)
    episodes, failed = choose_episodes(corpus, names, wanted.rating, wanted.target, called)
    silent = [episode.session_id for episode in episodes if wanted.target is not None and not episode.target_turns]
    notes += [f"{counted(silent, 'session')} without {called('target')} {wanted.target!r}"] if silent else []
    return Sessions(episodes, failed, wanted.split, tuple(notes))


def _sessions_of_split(
    corpus: Corpus, policies: Mapping[str, str], wanted: GenerationRequest, called: Called
) -> tuple[list[str], list[str]]:
    """The ids of the sessions, and what has to be said of the split."""
    names = corpus.session_ids()
    if wanted.split == ALL:
        return names, []
    path = wanted.splits_file or _beside(policies, SPLITS_FILE)
    table = _read_splits(path, called) if path else _default_splits(corpus, wanted.rating, called)
    split_of = dict(zip(table["session_id"].to_pylist(), table["split"].to_pylist(), strict=True))
    chosen = [name for name in names if split_of.get(name) == wanted.split]
    if path and split_of.keys().isdisjoint(names):
        raise InputError(
            f"{corpus.root}: none of its sessions is in {path}, which shares out another corpus. No policy of that run "
            f"has seen any of them: take all with {called('split')} {ALL}, or give a table of this corpus with "
            f"{called('splits_file')}."
        )
    if not chosen:
        raise InputError(
            f"{corpus.root}: no session is in the split {wanted.split!r}. Choose another with {called('split')}, or "
            f"{ALL}."
        )
    note = (
        f"no {SPLITS_FILE} beside a policy: the sessions were shared out by the default shares; if a run with "
        f"others trained the policy, give its table with {called('splits_file')}"
    )
    return chosen, [] if path else [note]


def _beside(policies: Mapping[str, str], name: str) -> Path | None:
    """What of a run is called ``name``, by the first policy's folder that has it beside it."""
    for source in policies.values():
        folder = at_home(source)
        if folder.is_dir():
            for place in (folder, *folder.resolve().parents[:2]):
                if (place / name).exists():
                    return place / name
    return None


def _read_splits(path: Path, called: Called) -> pa.Table:
    if not path.is_file():
        raise InputError(f"{called('splits_file')} {path}: no such file. Give the {SPLITS_FILE} of a run.")
    return read_table(path, SPLITS)


def _default_splits(corpus: Corpus, rating: str | None, called: Called) -> pa.Table:
    try:
        return split(corpus, SplitSettings(), rating)
    except InputError as error:
        raise InputError(f"{error} Or take every session with {called('split')} {ALL}.") from None


def _contexts(sessions: Sessions, policies: Mapping[str, str], window: Window, count: int) -> SharedContexts:
    with quiet_transformers():
        for source in policies.values():
            # Not found out only after another policy has answered for hours.
            check_policy(source, window)
        tokenizers = {name: open_tokenizer(source) for name, source in policies.items()}
    return share_contexts(sessions.episodes, tokenizers, window, count)
