"""`apportion world tables savoir`: policies with themselves and with partners, as SAVOIR reports them."""

from __future__ import annotations

from pathlib import Path

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option, option_names, with_options
from apportion.commands.world.tables import RATED_OPTIONS, by_agent, hard_tasks_in, tell_tables, whole


@click.command("savoir")
@click.argument("corpora", metavar="CORPUS...", nargs=-1, type=CORPUS)
@click.option("--hard", type=PATH, metavar="FILE", help="Tasks that are hard.")
@click.option("--partner", metavar="AGENT", help="The fixed partner.  [default: whom most agents met]")
@click.option(
    "--size", "sizes", multiple=True, metavar="AGENT=N", help="Annotations of an agent's reward model; repeat."
)
@click.option("--out", "-o", type=PATH, metavar="FOLDER", help="Write text, Markdown and JSON.")
@click.option("--bootstrap", type=click.IntRange(100, 100_000), default=2000, show_default=True, help="Resamples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@json_option("the tables")
def tables_savoir_command(
    corpora: tuple[Path, ...],
    hard: Path | None,
    partner: str | None,
    sizes: tuple[str, ...],
    out: Path | None,
    bootstrap: int,
    seed: int,
    as_json: bool,
    judge: str | None,
    humans: tuple[str, ...],
) -> None:
    """Agents with themselves and with a fixed partner, on all and on hard tasks (Table 1), by partner (Figures 6, 7)
    and by the size of what a reward model learned from (Figure 8).

    Every CORPUS is simulated episodes with ratings; rows without any say which commands fill them.
    """
    from apportion.environments.sotopia.reports.policies import PolicyComparison, trained_report
    from apportion.environments.sotopia.reports.raters import RatedEpisodes, ReportChoice, read_rated
    from apportion.foundation.intervals.resampling import Sampling

    chosen = ReportChoice(corpora, judge, (), humans, option_names())
    rated = RatedEpisodes.none() if chosen.is_empty else read_rated(chosen)
    compared = PolicyComparison(None if hard is None else hard_tasks_in(hard), partner, by_agent("size", sizes, whole))
    made = trained_report(rated, compared, Sampling(bootstrap, seed))
    tell_tables(made, out, as_json)


with_options(RATED_OPTIONS, tables_savoir_command)


@click.command("savoir-people")
@click.argument("corpus", type=CORPUS)
@click.option("--rewards", "table", type=PATH, required=True, help="rewards.parquet of a run.")
@click.option("--method", "methods", multiple=True, metavar="NAME", help="A way of credit; two are compared.")
@click.option("--export", type=PATH, metavar="FOLDER", help="Write the form and what is read.")
@click.option("--answers", multiple=True, metavar="NAME=FILE", help="A filled form of a person; may be repeated.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which credit is called A.")
@json_option("the tables")
def tables_people_command(
    corpus: Path,
    table: Path,
    methods: tuple[str, ...],
    export: Path | None,
    answers: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Ask people how strategic agents are and whose credit is fairer, and make Figure 9 of what they answered.

    First --export, then --answers with the same --method and --seed.
    """
    from apportion.corpus.corpus import Corpus
    from apportion.environments.report_tables.report import Report
    from apportion.environments.sotopia.evaluation.human_ratings.credit_form import CreditStudy, rewards_in
    from apportion.environments.sotopia.reports.episode_scores import read_scored
    from apportion.environments.sotopia.reports.preference import figure_9
    from apportion.foundation.errors import InputError
    from apportion.foundation.files import write_atomically
    from apportion.foundation.intervals.resampling import Sampling

    opened = Corpus.open(corpus)
    study = CreditStudy(tuple(opened.iter_sessions()), rewards_in(table, methods), seed)
    if (export is None) == (not answers):
        raise InputError("give --export FOLDER for the form, or --answers NAME=FILE for what people filled in")
    if export is not None:
        write_atomically(export / "credit.csv", study.form())
        write_atomically(export / "credit.txt", study.reading())
        click.echo(f"wrote {export}/credit.csv, to be filled in, and {export}/credit.txt, to be read with it")
        return
    given = [one for name, path in map(_person, answers) for one in study.read(path, name)]
    agents = {(seat.session, seat.name): seat.agent for seat in read_scored([opened]) if seat.agent is not None}
    facts = (f"{len(given):,} answers of {len(answers):,} people",)
    made = Report(facts, figure_9(given, agents, sorted(methods), Sampling()), "Credit, as people see it")
    tell_tables(made, None, as_json)


def _person(given: str) -> tuple[str, Path]:
    from apportion.foundation.errors import InputError

    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise InputError(f"--answers {given!r}: give a name and a file, as --answers ann=ann.csv")
    return name, Path(path)
