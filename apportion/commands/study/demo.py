"""`apportion study demo`: a whole study of demo responses with simulated annotators."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.commands.shared.options import PATH, option_names
from apportion.commands.shared.progress import shown_progress
from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import imports_of

if TYPE_CHECKING:
    import pyarrow as pa

    from apportion.study.demo import DemoStudy
    from apportion.study.design.folder import StudyFolder


@click.command("demo")
@click.argument("out", type=PATH, default=Path("runs/demo-study"))
@click.option(
    "--run",
    "finished",
    type=PATH,
    default=Path("runs/demo"),
    show_default=True,
    help="The folder that `apportion demo` wrote.",
)
@click.option("--criteria", type=click.Choice(["geli", "pairs", "savoir"]), default="geli", show_default=True)
@click.option("--contexts", type=click.IntRange(4, 1_000), default=30, show_default=True, help="Most dialogues.")
@click.option("--serve", is_flag=True, help="Then let yourself take part; the report is written again at the end.")
@click.option("--port", type=click.IntRange(0, 65535), help="With --serve.  [default: the first free one from 8617 on]")
def demo_command(out: Path, finished: Path, criteria: str, contexts: int, serve: bool, port: int | None) -> None:
    """Show a study from responses to its report, with simulated annotators, into the folder OUT.

    The responses are those of the demo's policy before and after PPO. Its pages are served to this machine, and who
    answers on them is SIMULATED, and finds the policy after PPO better by an effect that is planted: what the report
    says is not what people think.
    """
    if port is not None and not serve:
        raise InputError("--port: it is that of the pages with --serve. Give both, or neither.")
    with imports_of("study", "`apportion study demo`"):
        from apportion.viewer.study.simulated_browser import visited
    from apportion.study.demo import make_demo, planted, report_demo, simulated_names
    from apportion.study.design.create import check_free

    policy = finished / "policy"
    if not (policy / "base").is_dir():
        raise InputError(
            f"--run {finished}: no finished demo, since {policy / 'base'} is not there. Run `apportion demo`."
        )
    check_free(out)
    study = make_demo(_responses(policy, out, contexts), out, criteria, own_place=serve)
    with shown_progress("answer", "simulated annotators", False, where=True) as progress:
        answers = visited(planted(study), simulated_names(study), progress)
    click.echo(f"{answers:,} answers of simulated annotators, over HTTP on the study's own pages")
    _tell(report_demo(study))
    place = shlex.quote(str(out))
    if serve:
        _serve(study, port)
        made = report_demo(study)
        _tell(made)
        click.echo(f"next: open {made.files[0]}")
    else:
        click.echo(f"next: open {out / 'report' / 'report.html'}; to answer on the pages yourself, add --serve and")
        click.echo(f"another folder: apportion study demo {place}-with-me --run {shlex.quote(str(finished))} --serve")


def _responses(policy: Path, out: Path, contexts: int) -> pa.Table:
    from apportion.rlhf.compare.choice import GenerationRequest, choose
    from apportion.study.demo import AFTER, BEFORE

    corpus = Path(__file__).parents[2] / "demo" / "corpus"
    wanted = GenerationRequest(contexts=contexts, split="all")
    generation = choose([f"{AFTER}={policy}", f"{BEFORE}={policy / 'base'}"], corpus, wanted, option_names())
    with shown_progress("generate", "responses", False, where=True) as progress:
        return generation.write(out.with_name(f"{out.name}-responses.parquet"), progress, 1)


def _serve(study: StudyFolder, port: int | None) -> None:
    from apportion.study.store.store import Store
    from apportion.viewer.study.serve import Listening, serve_study

    with closing(Store.open(None, study)) as store:
        serve_study(store, Listening("127.0.0.1", port), click.echo, store.add_links(1))


def _tell(made: DemoStudy) -> None:
    for note in made.report.notes:
        click.echo(f"note: {note}")
    for line in made.lines():
        click.echo(line)
    for path in made.files:
        click.echo(f"wrote {path}")
