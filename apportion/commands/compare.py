"""`apportion compare`: which policy's responses are preferred, by a reward model and by a language model."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.options import with_options
from apportion.commands.places import check_place, unwritable
from foundation.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from evaluation.settings import EvaluationSettings
    from llm_client.request import ChatReply, ChatRequest
    from llm_client.settings import LLMSettings
    from rlhf.compare.disguise import Disguised
    from rlhf.compare.judge import Judged
    from rlhf.compare.pairs import Pair
    from rlhf.compare.tables import Comparison
    from rlhf.compare.win_rate import Verdict

NO_MODEL = "recorded"
MOST_FAILURES = 10
TOO_LONG = "Generate with fewer --context-turns."

JUDGE_OPTIONS = (
    click.option("--judge", "model", metavar="MODEL", help="Ask this language model, by the name its server knows."),
    click.option("--base-url", metavar="URL", help="Its server, e.g. http://localhost:8000/v1.  [default: OpenAI's]"),
    click.option("--send-to", metavar="HOST", help="Your consent to send the responses and their contexts to HOST."),
    click.option("--api-key-env", metavar="NAME", help="The environment variable with the key."),
    click.option("--max-tokens", type=int, default=1000, show_default=True, help="Longest reply of the judge."),
    click.option("--concurrency", type=int, default=16, show_default=True, help="Requests under way at once."),
    click.option("--budget", type=float, metavar="USD", help="Stop before all ever paid into the cache passes USD."),
    click.option("--prices", type=click.Path(path_type=Path), metavar="FILE", help="A price table (TOML)."),
    click.option(
        "--cache", type=click.Path(path_type=Path), metavar="FILE", help="Kept replies.  [default: NAME.judge.sqlite]"
    ),
    click.option(
        "--recorded", type=click.Path(path_type=Path), metavar="FILE", help="Recorded replies instead of a server."
    ),
    click.option("--record", type=click.Path(path_type=Path), metavar="FILE", help="Write the replies to FILE."),
    click.option(
        "--pseudonyms",
        type=click.Path(path_type=Path),
        metavar="CORPUS",
        help="Show the judge other names than those of the speakers of CORPUS, which the responses are from.",
    ),
    click.option("--name", "names", multiple=True, metavar="NAME", help="A further name to replace; may be repeated."),
    click.option("--preview", type=click.IntRange(min=1), metavar="N", help="Show the first N requests and stop."),
    click.option("--dry-run", is_flag=True, help="Say how many requests there are and what they would cost, and stop."),
)


@click.command("compare")
@click.argument("responses", type=click.Path(path_type=Path))
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="The key to blind responses.")
@click.option(
    "--reward-model",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Judge by this reward model: the higher reward wins.",
)
@click.option("--out", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Also write it to a .md or .json.")
@click.option("--verdicts", type=click.Path(path_type=Path), metavar="FILE", help="Write every verdict (JSON Lines).")
@click.option("--bootstrap", type=click.IntRange(100, 100_000), default=2000, show_default=True, help="Resamples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads that compute.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and no progress.")
def compare_command(
    responses: Path,
    key: Path | None,
    reward_model: Path | None,
    out: Path | None,
    verdicts: Path | None,
    bootstrap: int,
    seed: int,
    threads: int,
    as_json: bool,
    **judge: Any,
) -> None:
    """Compare the policies whose RESPONSES `apportion generate` wrote: the win rate of every two of them.

    --reward-model, --judge or both say who judges. A language model is asked about each pair in both orders; a
    response wins where both name it, all else is a tie. Replies are kept, so that the same command goes on. Exit code 1
    where a pair could not be judged.
    """
    from evaluation.settings import EvaluationSettings
    from rlhf.compare.pairs import pairs_of

    asks = judge["model"] is not None or judge["recorded"] is not None
    if reward_model is None and not asks:
        raise InputError("nobody judges: give --reward-model FOLDER, --judge MODEL, or both.")
    if not asks and (judge["pseudonyms"] is not None or judge["names"]):
        raise InputError("--pseudonyms and --name are for a judge: add --judge MODEL, or leave them out.")
    _check_places(out, verdicts)
    pairs = pairs_of(_responses(responses, key))
    settings = _judge_settings(judge) if asks else None
    question = None if settings is None else _Question(_shown(pairs, judge), settings, responses, judge)
    if question is not None and judge["preview"] is not None:
        click.echo(question.preview(judge["preview"]))
        return
    if question is not None and judge["dry_run"]:
        click.echo(f"{question.estimate()}\nnothing was sent (--dry-run)")
        return
    work = _Work(pairs, EvaluationSettings(bootstrap=bootstrap, seed=seed), as_json)
    if reward_model is not None:
        work.by_reward(reward_model, threads)
    if question is not None:
        work.by_language_model(question)
    _tell(work, responses, out, verdicts, as_json)
    if work.failed:
        sys.exit(1)


class _Work:
    """What the judges said so far."""

    def __init__(self, pairs: Sequence[Pair], settings: EvaluationSettings, quiet: bool) -> None:
        self.pairs, self.settings, self.quiet = pairs, settings, quiet
        self.verdicts: dict[str, Sequence[Verdict]] = {}
        self.rewards: tuple[Any, ...] = ()
        self.notes: list[str] = []
        self.failed: list[str] = []

    def by_reward(self, folder: Path, threads: int) -> None:
        """The higher reward wins."""
        import torch

        from rlhf.compare.win_rate import by_reward
        from rlhf.training.reward import ModelReward

        torch.set_num_threads(threads)
        found, rewards = by_reward(self.pairs, ModelReward(folder))
        self.verdicts[f"reward model {folder.resolve().name}"] = found
        self.rewards = tuple(rewards)
        self.notes.append(
            "A reward model that a policy was trained against favours it: its win rate says that the training worked, "
            "not that people prefer the policy."
        )

    def by_language_model(self, question: _Question) -> None:
        """A language model is asked in both orders."""
        judged = question.ask(self.quiet)
        name = question.settings.model
        if question.settings.provider == "recorded":
            from llm_client.kept.recorded import read_header

            header = read_header(question.options["recorded"])
            self.notes.append(f"The judge's replies are recorded ({header.model}, {header.date}, {header.how}).")
        if judged.counted:
            self.verdicts[name] = judged.counted
        self.notes += judged.notes(name)
        self.failed = [cause for _, cause in judged.failed]

    def comparison(self) -> Comparison:
        """The tables."""
        from rlhf.compare.tables import Comparison
        from rlhf.compare.win_rate import win_rates

        rates = [rate for name, found in self.verdicts.items() for rate in win_rates(name, found, self.settings)]
        return Comparison(tuple(rates), self.rewards, tuple(self.notes), self.settings)


def _responses(path: Path, key: Path | None) -> pa.Table:
    from rlhf.compare.blind import unblinded
    from rlhf.compare.generate import is_blind, key_path
    from rlhf.compare.responses import KEY, RESPONSES, read_rows

    table = read_rows(path, RESPONSES)
    if key is not None:
        return unblinded(table, read_rows(key, KEY))
    if is_blind(path):
        raise InputError(
            f"{path}: blind responses, in which A is another policy in every context. Give their key with --key "
            f"{shlex.quote(str(key_path(path)))}."
        )
    return table


def _judge_settings(options: dict[str, Any]) -> LLMSettings:
    from pydantic import ValidationError

    from llm_client.settings import LLMSettings

    if options["budget"] is not None and not (math.isfinite(options["budget"]) and options["budget"] > 0):
        raise InputError(f"--budget {options['budget']}: give a number of US dollars above 0.")
    names = ("model", "base_url", "send_to", "api_key_env", "max_tokens", "concurrency")
    given = {name: options[name] for name in names if options[name] is not None}
    if options["recorded"] is not None:
        given = {"model": NO_MODEL, **given, "provider": "recorded"}
    try:
        return LLMSettings.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(
            f"--{_option(str(item['loc'][0]))} {item['input']}: {item['msg']}" for item in error.errors()
        )
        raise InputError(f"{problems}. Change the options.") from None


def _option(setting: str) -> str:
    return "judge" if setting == "model" else setting.replace("_", "-")


def _shown(pairs: Sequence[Pair], options: dict[str, Any]) -> dict[Pair, Disguised | None]:
    """Each pair as the judge is shown it: under other names where that was asked for."""
    from corpus.corpus import Corpus
    from rlhf.compare.disguise import disguised, speakers

    if options["pseudonyms"] is None and not options["names"]:
        return dict.fromkeys(pairs)
    people = speakers(Corpus.open(options["pseudonyms"]), pairs) if options["pseudonyms"] is not None else {}
    return {pair: disguised(pair, people.get(pair.session_id, ()), options["names"]) for pair in pairs}


@dataclass(frozen=True)
class _Question:
    """What a language model is asked, and how: ``pairs`` as they are, each with what is shown in its place."""

    pairs: Mapping[Pair, Disguised | None]
    settings: LLMSettings
    responses: Path
    options: dict[str, Any]

    @property
    def shown(self) -> list[Pair]:
        """The pairs as they are sent."""
        return [pair if other is None else other.pair for pair, other in self.pairs.items()]

    @property
    def cache(self) -> Path:
        """Where replies are kept."""
        path: Path = self.options["cache"] or self.responses.with_name(f"{self.responses.stem}.judge.sqlite")
        return path

    def ask(self, quiet: bool) -> Judged:
        """Verdicts on the pairs as they are, reasons with the real names."""
        from llm_client.asker import Tools
        from pipeline.engine.progress import StageProgress
        from rlhf.compare.judge import judge

        options = self.options
        tools = Tools(
            self.settings,
            cache=self.cache,
            recorded=options["recorded"],
            record=options["record"],
            prices=options["prices"],
            budget_usd=options["budget"],
            called="--judge",
            too_long=TOO_LONG,
        )
        with tools, StageProgress(quiet=quiet) as progress:
            tools.check()
            progress.begin("compare", len(self.pairs))

            def tell(done: int, total: int, place: str) -> None:
                progress.advance("compare", 1)
                progress.note("compare", f"{done} of {total} pairs")

            return judge(self.shown, self.settings, tools.complete, tell).under_real_names(self.pairs)

    def preview(self, count: int) -> str:
        """The first ``count`` requests that would be sent, word for word."""
        from pipeline.asking.preview import Preview

        with self._kept() as kept:
            left = [request for request in self._requests() if kept(request) is None]
        return Preview(self.settings, tuple(left[:count]), len(left), 0, consent_setting=None).text()

    def estimate(self) -> str:
        """How many requests there are, how many of them are answered, and what the others would cost."""
        from llm_client.cost.estimate import estimate
        from llm_client.cost.prices import find_price
        from llm_client.errors import SetupError
        from rlhf.compare.judge import TOKENS_A_REPLY

        asked = [(request, TOKENS_A_REPLY) for request in self._requests()]
        try:
            price = find_price(self.settings.model, self.options["prices"])
        except SetupError as error:
            raise InputError(f"--judge: {error}") from None
        with self._kept() as kept:
            return estimate(self.settings.model, asked, kept, price).text()

    def _requests(self) -> list[ChatRequest]:
        from rlhf.compare.judge import requests_for

        return [request for pair in self.shown for request in requests_for(pair, self.settings)]

    @contextmanager
    def _kept(self) -> Iterator[Callable[[ChatRequest], ChatReply | None]]:
        """Looks up the replies that are there already; makes no file."""
        from llm_client.errors import SetupError
        from llm_client.kept.cache import ReplyCache
        from llm_client.kept.recorded import RecordedReplies

        try:
            if self.options["recorded"] is not None:
                yield RecordedReplies(self.options["recorded"]).find
            elif not self.cache.exists():
                yield lambda request: None
            else:
                with closing(ReplyCache(self.cache)) as kept:
                    yield lambda request: kept.get(request.key())
        except SetupError as error:
            raise InputError(f"--judge: {error}") from None


def _check_places(out: Path | None, verdicts: Path | None) -> None:
    if out is not None and out.suffix not in (".md", ".json"):
        raise InputError(f"--out {out}: the name must end in .md or .json, which says how it is written.")
    if verdicts is not None and verdicts.suffix != ".jsonl":
        raise InputError(f"--verdicts {verdicts}: the name must end in .jsonl, because that is what is written.")
    for option, path in (("--out", out), ("--verdicts", verdicts)):
        if path is not None:
            check_place(path, option)


def _tell(work: _Work, responses: Path, out: Path | None, verdicts: Path | None, as_json: bool) -> None:
    from rlhf.compare.judge import verdict_rows

    comparison = work.comparison()
    document = json.dumps(
        {"responses": str(responses), **comparison.to_json(), "failed": work.failed}, indent=1, ensure_ascii=False
    )
    rows = [row for name, found in work.verdicts.items() for row in verdict_rows(name, found)]
    _write(verdicts, "--verdicts", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    _write(out, "--out", (document if out is not None and out.suffix == ".json" else comparison.markdown()) + "\n")
    if as_json:
        click.echo(document)
        return
    click.echo(comparison.markdown())
    for line in work.failed[:MOST_FAILURES]:
        click.echo(f"failed: {line}")
    if len(work.failed) > MOST_FAILURES:
        click.echo(f"and {len(work.failed) - MOST_FAILURES:,} more failed; --json or --out FILE.json tells all")
    for path in (out, verdicts):
        if path is not None:
            click.echo(f"wrote {path}")
    click.echo(f"next: read the responses behind the figures in {responses}")


def _write(path: Path | None, option: str, text: str) -> None:
    from foundation.files import write_atomically

    if path is None:
        return
    try:
        write_atomically(path, text)
    except OSError as error:
        raise unwritable(path, option, error) from None


compare_command = with_options(JUDGE_OPTIONS, compare_command)
