"""`apportion world evaluate`: simulated social episodes scored by language models, and by people."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.looks import LOOK_OPTIONS
from apportion.commands.shared.options import CORPUS, PATH, json_option, model_options, option_names, with_options
from apportion.commands.shared.places import beside
from apportion.commands.shared.progress import shown_progress
from apportion.commands.world.judge_people import PEOPLE_OPTIONS, PeopleOptions, by_people

if TYPE_CHECKING:
    from apportion.environments.sotopia.evaluation.judging import EvaluationResult, JudgingChoice

MODEL_OPTIONS = (
    *model_options("--model", "episodes, with goals and secrets,", 6000, "replies.sqlite in the new corpus"),
    *LOOK_OPTIONS,
)


@click.command("evaluate")
@click.argument("corpus", type=CORPUS)
@click.option("--out", "-o", type=PATH, metavar="CORPUS", help="[default: CORPUS-judged]")
@click.option("--judges", default="paper", show_default=True, help="Who judges, by prompt, with commas between.")
@click.option(
    "--calls",
    type=click.Choice(["episode", "agent"]),
    default="episode",
    show_default=True,
    help="Ask about everybody in an episode at once, or about each person alone.",
)
@click.option("--without", multiple=True, metavar="NAME", help="Leave out the ratings by NAME, such as rules.")
@click.option("--overwrite", is_flag=True, help="Replace another corpus in --out; replies that it has kept stay.")
@json_option()
def evaluate_command(
    corpus: Path,
    out: Path | None,
    judges: str,
    calls: Any,
    without: tuple[str, ...],
    overwrite: bool,
    as_json: bool,
    preview: int | None,
    dry_run: bool,
    sheet: Path | None,
    ratings: tuple[str, ...],
    rate: str | None,
    **model: Any,
) -> None:
    """Score the social episodes of CORPUS in seven dimensions (SOTOPIA-EVAL), each person by each judge.

    --judges are prompts: `paper` (Appendix D), `fine-grained` (G.2), or a .txt of your own; the language model --model
    is asked at temperature 0, paper@OTHER asks another one of the same server. The new corpus has all that CORPUS has
    and the ratings, reasoning in verdicts.jsonl. A score that a judge fails to give is missing, and so is the overall.
    Replies are kept: the same command goes on, and pays for none twice.

    People rate on a form (--export-sheet, then --ratings) or in the terminal (--rate), into CORPUS-rated.
    """
    people = PeopleOptions(sheet, ratings, rate, without, overwrite)
    if people.given:
        by_people(people, corpus, out, model["model"], as_json)
        return
    from apportion.corpus.corpus import Corpus
    from apportion.environments.sotopia.evaluation import judging
    from apportion.environments.sotopia.evaluation.judging import JudgingChoice
    from apportion.llm_client.model_spec import ModelSpec

    names = tuple(name.strip() for name in judges.split(",") if name.strip())
    opened, chosen = Corpus.open(corpus), ModelSpec(**model)
    choice = JudgingChoice(opened, names, calls, chosen, without, option_names())
    out = out or beside(corpus, "judged")
    if preview is not None:
        shown = [one.preview(preview) for one in judging.planned(choice, out)]
        text = "\n\n".join(one.text() for one in shown)
        click.echo(json.dumps([one.to_json() for one in shown], indent=1, ensure_ascii=False) if as_json else text)
    elif dry_run:
        prices = [one.price() for one in judging.planned(choice, out)]
        text = "\n".join([*(one.text() for one in prices), "nothing was sent (--dry-run)"])
        click.echo(json.dumps([one.to_json() for one in prices], indent=1) if as_json else text)
    else:
        _tell(_judged(choice, out, overwrite, as_json), out, as_json)


def _judged(choice: JudgingChoice, out: Path, overwrite: bool, quiet: bool) -> EvaluationResult:
    from apportion.environments.sotopia.evaluation.judging import judge_corpus

    with shown_progress("judge", "questions", quiet) as progress:
        return judge_corpus(choice, out, overwrite=overwrite, progress=progress)


def _tell(judged: EvaluationResult, out: Path, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(judged.to_json(), indent=1, sort_keys=True))
    else:
        click.echo(judged.text("--json tells all"))
        click.echo(f"next: apportion world tables sotopia {out}")
    if judged.failed or judged.report.left_out or judged.report.problems:
        sys.exit(1)


evaluate_command = with_options((*PEOPLE_OPTIONS, *MODEL_OPTIONS), evaluate_command)
