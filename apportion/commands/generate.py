"""`apportion generate`: what policies answer in the dialogues of a corpus, one response per context and policy."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.options import with_options
from apportion.commands.places import check_place, unwritable
from corpus.settings import SPLITS
from foundation.errors import InputError

if TYPE_CHECKING:
    from corpus.corpus import Corpus
    from corpus.session import Episode
    from rlhf.compare.generate import Drawing
    from rlhf.compare.questions import Questions
    from rlhf.settings import AlignSettings

ALL = "all"
MOST_BLIND = 26
EVEN_BATCH = 16

WINDOW_OPTIONS = (
    click.option("--context-turns", type=int, metavar="N", help="Most turns of history.  [default: as trained]"),
    click.option("--max-context-tokens", type=int, metavar="N", help="Longest prompt.  [default: as trained]"),
    click.option("--max-new-tokens", type=int, metavar="N", help="Longest response.  [default: as trained]"),
    click.option(
        "--temperature", type=float, metavar="T", help="0: the most likely token each time.  [default: as trained]"
    ),
    click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Where the policies run.  [default: cpu]"),
    click.option(
        "--dtype", type=click.Choice(["float32", "bfloat16"]), help="Number format of weights.  [default: float32]"
    ),
)
CONTEXT_OPTIONS = (
    click.option("--contexts", type=click.IntRange(min=1), default=100, show_default=True, help="Most contexts."),
    click.option(
        "--split",
        type=click.Choice([*SPLITS, ALL]),
        default="test",
        show_default=True,
        help="The sessions that contexts are from.",
    ),
    click.option(
        "--splits",
        "splits_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Which session is in which split.  [default: the run's splits.parquet beside POLICY]",
    ),
    click.option("--rating", metavar="NAME", help="Only episodes of this rating.  [default: all]"),
    click.option("--target", metavar="SPEAKER", help="Answer in this speaker's place, whoever was rated."),
)


@click.command("generate")
@click.argument("policy")
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--policy", "more", multiple=True, metavar="POLICY", help="A further policy; may be given several times.")
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), metavar="FILE", help="The table.  [default: responses.FORMAT here]"
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["parquet", "jsonl", "csv"]),
    help="How the table is written.  [default: by --out's suffix, else parquet]",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the draws.")
@click.option("--blind", is_flag=True, help="Call the policies A, B, ... anew in every context; a key file says who.")
@click.option("--batch", type=click.IntRange(min=1), default=EVEN_BATCH, show_default=True, help="Contexts at once.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads that compute.")
@click.option("--force", is_flag=True, help="Replace the table if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and no progress.")
def generate_command(
    policy: str,
    corpus: Path,
    more: tuple[str, ...],
    out: Path | None,
    kind: str | None,
    seed: int,
    blind: bool,
    batch: int,
    threads: int,
    force: bool,
    as_json: bool,
    contexts: int,
    split: str,
    splits_file: Path | None,
    rating: str | None,
    target: str | None,
    **window: Any,
) -> None:
    """Let POLICY answer in dialogues of CORPUS, in the place of the rated speaker: one response a context.

    POLICY is a folder that `apportion align` wrote (RUN/policy), or any causal language model with a chat template, by
    folder or Hugging Face name. NAME=POLICY calls it NAME in the table. With --policy all of them answer the same
    contexts. Stopped and run again it goes on; the same seed gives the same table.
    """
    from corpus.corpus import Corpus
    from rlhf.compare.generate import Drawing, identity, is_made

    path = _place(out, kind)
    policies = _named([policy, *more], blind)
    settings, temperature = _settings(next(iter(policies.values())), window)
    sessions = _sessions(Corpus.open(corpus), policies, split, splits_file, (rating, target))
    questions = _questions(sessions, policies, settings, contexts, corpus)
    drawing = Drawing(settings, temperature, seed, batch, blind)
    made = identity(policies, questions, drawing)
    told = _Told(path, policies, questions, sessions, blind)
    if not force and is_made(path, made):
        told.say(as_json, "nothing to do: it was made with exactly this")
    else:
        _check_free(path, force)
        _generate(policies, questions, drawing, made, path, threads, as_json)
        told.say(as_json, "written")
    if sessions.failed:
        sys.exit(1)


def _generate(
    policies: Mapping[str, str],
    questions: Questions,
    drawing: Drawing,
    made: Mapping[str, Any],
    out: Path,
    threads: int,
    quiet: bool,
) -> None:
    import torch

    from pipeline.engine.progress import StageProgress
    from rlhf.compare.generate import generate

    torch.set_num_threads(threads)
    with StageProgress(quiet=quiet) as progress:
        progress.begin("generate", len(questions.shared) * len(policies))
        shown = 0

        def tell(done: int, total: int, policy: str) -> None:
            nonlocal shown
            progress.advance("generate", done - shown)
            progress.note("generate", f"{done} of {total} responses, {policy}")
            shown = done

        try:
            generate(policies, questions, drawing, made, out, tell)
        except OSError as error:
            raise unwritable(out, "--out", error) from None


def _place(out: Path | None, kind: str | None) -> Path:
    from rlhf.compare.responses import check_suffix

    path = out or Path(f"responses.{kind or 'parquet'}")
    check_suffix(path, "--out")
    if kind is not None and path.suffix != f".{kind}":
        raise InputError(
            f"--out {path} and --format {kind}: the two disagree. Give one of them, or {path.stem}.{kind}."
        )
    check_place(path, "--out")
    return path


def _check_free(path: Path, force: bool) -> None:
    from rlhf.compare.generate import made_for, made_path

    other = made_for(path)
    if other is not None and other != path.name and path.with_name(other).is_file():
        raise InputError(
            f"--out {path}: {made_path(path).name} beside it says how {other} was made. Give a name other than "
            f"{path.stem}."
        )
    if path.exists() and not force:
        raise InputError(
            f"{path} exists, and other policies, contexts or settings made it, or it was changed since. Use --force to "
            "replace it, or --out for another name."
        )


def _named(given: Sequence[str], blind: bool) -> dict[str, str]:
    """Where each policy is, by its name."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, source = ("", "", "") if Path(text).expanduser().is_dir() else text.partition("=")
        if "tiny" in (text, source):
            raise InputError(
                f"policy {text!r}: `tiny` exists only where `apportion align` has built it. Give that run's folder, "
                "RUN/policy, or RUN/policy/base for what it was before."
            )
        if equals and not (name and source):
            raise InputError(f"policy {text!r}: write NAME=POLICY, or POLICY alone.")
        name, source = (name, source) if equals else (text, text)
        if name in found:
            raise InputError(f"two policies are called {name!r}. Give one of them a name of its own: NAME=POLICY.")
        found[name] = source
    if blind and not 1 < len(found) <= MOST_BLIND:
        raise InputError(f"--blind with {len(found)} policies: it needs 2 to {MOST_BLIND}. Add some with --policy.")
    return found


def _settings(first: str, options: Mapping[str, Any]) -> tuple[AlignSettings, float | None]:
    """Window and device: as given, else as the first policy was trained, else the defaults."""
    from pydantic import ValidationError

    from rlhf.policy.window_file import read_window, window_path
    from rlhf.settings import AlignSettings

    given = {name: value for name, value in options.items() if value is not None}
    greedy = given.get("temperature") == 0
    if greedy:
        given.pop("temperature")
    try:
        settings = AlignSettings.model_validate({**read_window(first), **given})
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))} = {e['input']}: {e['msg']}" for e in error.errors())
        if not any(e["loc"] and e["loc"][0] in given for e in error.errors()):
            raise InputError(
                f"{window_path(first)}: {problems}. Correct the file, or take it away to get the defaults."
            ) from None
        raise InputError(f"the settings cannot be used: {problems}. Change the options.") from None
    return settings, None if greedy else settings.temperature


@dataclass(frozen=True)
class _Sessions:
    episodes: list[Episode]
    failed: dict[str, str]
    split: str
    note: str | None


def _sessions(
    corpus: Corpus,
    policies: Mapping[str, str],
    split: str,
    splits_file: Path | None,
    choice: tuple[str | None, str | None],
) -> _Sessions:
    """The episodes that contexts are from, and what has to be said of how they were chosen."""
    from reward_model.corpus_scores import choose_episodes

    note, table = None, None
    if split != ALL:
        found = splits_file or _splits_beside(policies)
        table = _read_splits(found) if found else _default_splits(corpus, choice[0])
        if not found:
            note = (
                "no splits.parquet beside a policy: the sessions were shared out by the default shares; if a run with "
                "others trained the policy, give its table with --splits"
            )
    of = None if table is None else dict(zip(*(table[n].to_pylist() for n in ("session_id", "split")), strict=True))
    chosen = [name for name in corpus.session_ids() if of is None or of.get(name) == split]
    if not chosen:
        raise InputError(f"{corpus.root}: no session is in the split {split!r}. Choose another with --split, or all.")
    episodes, failed = choose_episodes(corpus, chosen, *choice)
    return _Sessions(episodes, failed, split, note)


def _splits_beside(policies: Mapping[str, str]) -> Path | None:
    for source in policies.values():
        folder = Path(source).expanduser()
        if folder.is_dir():
            for place in (folder, *folder.resolve().parents[:2]):
                if (place / "splits.parquet").is_file():
                    return place / "splits.parquet"
    return None


def _read_splits(path: Path) -> Any:
    from corpus.schema import SPLITS as SPLITS_TABLE
    from corpus.tablefile import read_table

    if not path.is_file():
        raise InputError(f"--splits {path}: no such file. Give the splits.parquet of a run.")
    return read_table(path, SPLITS_TABLE)


def _default_splits(corpus: Corpus, rating: str | None) -> Any:
    from corpus.settings import SplitSettings
    from corpus.splits import split

    try:
        return split(corpus, SplitSettings(), rating)
    except InputError as error:
        raise InputError(f"{error} Or take every session with --split all.") from None


def _questions(
    sessions: _Sessions, policies: Mapping[str, str], settings: AlignSettings, count: int, corpus: Path
) -> Questions:
    from rlhf.compare.questions import make_questions
    from rlhf.policy.loading import check_device
    from rlhf.policy.opening import check_policy, open_tokenizer
    from rlhf.training.isolation import quiet_transformers

    check_device(settings.placement, "--device")
    with quiet_transformers():
        for source in policies.values():
            # Not found out only after another policy has answered for hours.
            check_policy(source, settings.window)
        tokenizers = {name: open_tokenizer(source) for name, source in policies.items()}
    questions = make_questions(sessions.episodes, tokenizers, settings, count)
    if not questions.shared:
        raise InputError(
            f"{corpus}, split {sessions.split!r}, {len(sessions.episodes)} episodes: {questions.found}, "
            f"{questions.no_room} for which another policy has no room. Raise --max-context-tokens, or choose other "
            "sessions with --split."
        )
    return questions


@dataclass(frozen=True)
class _Told:
    out: Path
    policies: Mapping[str, str]
    questions: Questions
    chosen: _Sessions
    blind: bool

    def say(self, as_json: bool, done: str) -> None:
        """What was written, and the next command."""
        from rlhf.compare.generate import key_path

        asked = self.questions
        rows = len(asked.shared) * len(self.policies)
        if as_json:
            told = {
                "out": str(self.out),
                "status": done,
                "rows": rows,
                "contexts": len(asked.shared),
                "of_all": asked.of_all,
                "sessions": asked.sessions,
                "policies": list(self.policies),
                "without_history": asked.found.empty,
                "continued": asked.found.continued,
                "over_long": asked.found.over_long,
                "no_room": asked.no_room,
                "key": str(key_path(self.out)) if self.blind else None,
                "note": self.chosen.note,
                "failed": self.chosen.failed,
            }
            click.echo(json.dumps(told, indent=1, sort_keys=True))
            return
        room = f", {asked.no_room} for which another policy has no room" if asked.no_room else ""
        click.echo(f"{len(asked.shared):,} contexts of {asked.sessions:,} sessions, out of {asked.found}{room}")
        if self.chosen.note:
            click.echo(f"note: {self.chosen.note}")
        for session_id, cause in self.chosen.failed.items():
            click.echo(f"failed: {session_id}: {cause}")
        click.echo(
            f"wrote {self.out} ({rows:,} responses)"
            if done == "written"
            else f"{self.out}: {done} ({rows:,} responses)"
        )
        if self.blind:
            click.echo(f"the key is {key_path(self.out)}: keep it from those who judge")
        click.echo(self._next())

    def _next(self) -> str:
        from rlhf.compare.generate import key_path

        if len(self.policies) < 2:
            return f"next: read {self.out}, or let another policy answer the same with --policy"
        key = f" --key {shlex.quote(str(key_path(self.out)))}" if self.blind else ""
        return (
            f"next: apportion compare {shlex.quote(str(self.out))}{key} --reward-model RUN/reward_models/METHOD-seed0"
        )


generate_command = with_options((*CONTEXT_OPTIONS, *WINDOW_OPTIONS), generate_command)
