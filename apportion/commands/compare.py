"""`apportion compare`: which policy's responses are preferred, by a reward model and by a language model."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.options import with_options
from apportion.commands.places import check_place, unwritable
from corpus.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from evaluation.settings import EvaluationSettings
    from llm_client.settings import LLMSettings
    from rlhf.comparison import Comparison
    from rlhf.judge import Judged
    from rlhf.pairs import Pair
    from rlhf.win_rate import Verdict

NO_MODEL = "recorded"
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
    from rlhf.pairs import pairs_of

    asks = judge["model"] is not None or judge["recorded"] is not None
    if reward_model is None and not asks:
        raise InputError("nobody judges: give --reward-model FOLDER, --judge MODEL, or both.")
    _check_places(out, verdicts)
    pairs = pairs_of(_responses(responses, key))
    settings = _judge_settings(judge) if asks else None
    if settings is not None and judge["preview"] is not None:
        click.echo(_preview(pairs, settings, judge["preview"]))
        return
    if settings is not None and judge["dry_run"]:
        click.echo(f"{_estimate(pairs, settings, responses, judge)}\nnothing was sent (--dry-run)")
        return
    work = _Work(pairs, EvaluationSettings(bootstrap=bootstrap, seed=seed), as_json)
    if reward_model is not None:
        work.by_reward(reward_model, threads)
    if settings is not None:
        work.by_language_model(settings, responses, judge)
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

        from rlhf.reward import ModelReward
        from rlhf.win_rate import by_reward

        torch.set_num_threads(threads)
        found, rewards = by_reward(self.pairs, ModelReward(folder))
        self.verdicts[f"reward model {folder.resolve().name}"] = found
        self.rewards = tuple(rewards)
        self.notes.append(
            "A reward model that a policy was trained against favours it: its win rate says that the training worked, "
            "not that people prefer the policy."
        )

    def by_language_model(self, settings: LLMSettings, responses: Path, options: dict[str, Any]) -> None:
        """A language model is asked in both orders."""
        judged = _ask(self.pairs, settings, responses, options, self.quiet)
        name = settings.model
        if settings.provider == "recorded":
            from llm_client.recorded import read_header

            header = read_header(options["recorded"])
            self.notes.append(f"The judge's replies are recorded ({header.model}, {header.date}, {header.how}).")
        if judged.verdicts:
            self.verdicts[name] = judged.verdicts
        share = judged.first_share
        moved = "" if share is None else f"; {share:.0%} of its decided answers named the response shown first"
        self.notes.append(
            f"{name} was asked about each pair in both orders; on {judged.disagreements:,} of {len(judged.verdicts):,} "
            f"pairs the two named different responses, which makes a tie{moved}."
        )
        self.failed = [f"{pair.place}, {pair.left} and {pair.right}: {cause}" for pair, cause in judged.failed]

    def comparison(self) -> Comparison:
        """The tables."""
        from rlhf.comparison import Comparison
        from rlhf.win_rate import win_rates

        rates = [rate for name, found in self.verdicts.items() for rate in win_rates(name, found, self.settings)]
        return Comparison(tuple(rates), self.rewards, tuple(self.notes), self.settings)


def _responses(path: Path, key: Path | None) -> pa.Table:
    from rlhf.blind import unblinded
    from rlhf.generate import is_blind, key_path
    from rlhf.responses import KEY, RESPONSES, read_rows

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
            f"--{str(item['loc'][0]).replace('_', '-')} {item['input']}: {item['msg']}" for item in error.errors()
        )
        raise InputError(f"{problems}. Change the options.") from None


def _ask(pairs: Sequence[Pair], settings: LLMSettings, responses: Path, options: dict[str, Any], quiet: bool) -> Judged:
    from decompose.tools import Tools
    from pipeline.progress import StageProgress
    from rlhf.judge import judge

    tools = Tools(
        settings,
        cache=_cache(responses, options),
        recorded=options["recorded"],
        record=options["record"],
        prices=options["prices"],
        budget_usd=options["budget"],
        called="--judge",
        too_long=TOO_LONG,
    )
    with tools, StageProgress(quiet=quiet) as progress:
        tools.check()
        progress.begin("compare", len(pairs))

        def tell(done: int, total: int, place: str) -> None:
            progress.advance("compare", 1)
            progress.note("compare", f"{done} of {total} pairs")

        return judge(pairs, settings, tools.complete, tell)


def _cache(responses: Path, options: dict[str, Any]) -> Path:
    path: Path = options["cache"] or responses.with_name(f"{responses.stem}.judge.sqlite")
    return path


def _estimate(pairs: Sequence[Pair], settings: LLMSettings, responses: Path, options: dict[str, Any]) -> str:
    from llm_client.cache import ReplyCache
    from llm_client.errors import SetupError
    from llm_client.estimate import estimate
    from llm_client.prices import find_price
    from llm_client.recorded import RecordedReplies
    from rlhf.judge import TOKENS_A_REPLY, requests_for

    asked = [(request, TOKENS_A_REPLY) for pair in pairs for request in requests_for(pair, settings)]
    path = _cache(responses, options)
    try:
        price = find_price(settings.model, options["prices"])
        if options["recorded"] is not None:
            return estimate(settings.model, asked, RecordedReplies(options["recorded"]).find, price).text()
        if not path.exists():
            return estimate(settings.model, asked, lambda request: None, price).text()
        with closing(ReplyCache(path)) as kept:
            return estimate(settings.model, asked, lambda request: kept.get(request.key()), price).text()
    except SetupError as error:
        raise InputError(f"--judge: {error}") from None


def _preview(pairs: Sequence[Pair], settings: LLMSettings, count: int) -> str:
    from pipeline.preview import Preview
    from rlhf.judge import requests_for

    requests = [request for pair in pairs for request in requests_for(pair, settings)]
    return Preview(settings, tuple(requests[:count]), len(requests), 0).text()


def _check_places(out: Path | None, verdicts: Path | None) -> None:
    if out is not None and out.suffix not in (".md", ".json"):
        raise InputError(f"--out {out}: the name must end in .md or .json, which says how it is written.")
    if verdicts is not None and verdicts.suffix != ".jsonl":
        raise InputError(f"--verdicts {verdicts}: the name must end in .jsonl, because that is what is written.")
    for option, path in (("--out", out), ("--verdicts", verdicts)):
        if path is not None:
            check_place(path, option)


def _tell(work: _Work, responses: Path, out: Path | None, verdicts: Path | None, as_json: bool) -> None:
    from rlhf.judge import verdict_rows

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
    for line in work.failed:
        click.echo(f"failed: {line}")
    for path in (out, verdicts):
        if path is not None:
            click.echo(f"wrote {path}")
    click.echo(f"next: read the responses behind the figures in {responses}")


def _write(path: Path | None, option: str, text: str) -> None:
    from pipeline.store import write_atomically

    if path is None:
        return
    try:
        write_atomically(path, text)
    except OSError as error:
        raise unwritable(path, option, error) from None


compare_command = with_options(JUDGE_OPTIONS, compare_command)
