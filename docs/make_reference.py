"""Write docs/reference/ from the code: commands, settings, presets, tables, faults, ... `make docs` runs it."""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, get_args

import click
from pydantic import BaseModel

from apportion.cli import cli
from apportion.corpus.schema import CORPUS_TABLES, RESPONSE_TABLES, RUN_TABLES, TableSchema
from apportion.environments.sotopia.reports.social_methods import SAVOIR
from apportion.environments.stackelberg import paper_rows
from apportion.pipeline.config import Config
from apportion.pipeline.presets import table
from apportion.pipeline.sections import SECTIONS, section_class
from apportion.pipeline.stages.registry import STAGES

HERE = Path(__file__).parent
TYPES = {"string": "text", "double": "number", "int32": "whole number", "bool": "truth", "list": "list of numbers"}
PACKAGES = ("corpus", "features", "decompose", "reward_model", "evaluation", "rlhf", "llm_client")
PRESETS = {"paper": "`paper` (LLM-GELI)", "savoir": "`savoir` (SAVOIR)", "savoir-sft": "`savoir-sft`"}


def commands(command: click.Command = cli, path: str = "apportion") -> Iterator[tuple[str, click.Command]]:
    """Every command below ``command``, groups and hidden ones among them, by its whole name."""
    yield path, command
    if isinstance(command, click.Group):
        for name, below in sorted(command.commands.items()):
            yield from commands(below, f"{path} {name}")


def command_page() -> str:
    """Every command with its arguments and options."""
    text = "# Command line\n\n`apportion COMMAND --help` says the same.\n"
    for path, command in commands():
        context = click.Context(command, info_name=path)
        usage = " ".join(command.collect_usage_pieces(context))
        text += f"\n## {path}\n\n{'Hidden. ' if command.hidden else ''}{_prose(command.help)}\n\n    {path} {usage}\n"
        for options in (record for p in command.get_params(context) if (record := p.get_help_record(context))):
            text += f"\n- `{options[0]}`" + (f": {_prose(options[1])}" if options[1] else "")
        text += "\n"
    return text


def settings(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Every key of the configuration: dotted name, type, default, meaning."""
    for name, field in model.model_fields.items():
        if name in getattr(model, "SET_BY_THE_RUN", ()):
            continue
        whole = section_class(name) if model is Config and name in SECTIONS else field.annotation
        kinds = (whole, *get_args(whole))
        below = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if below:
            yield from settings(below[0], f"{prefix}{name}.")
        else:
            value = field.get_default(call_default_factory=True)
            default = "needed" if field.is_required() else str(value) if isinstance(value, Path) else repr(value)
            kind = inspect.formatannotation(field.annotation).replace("typing.", "").replace("pathlib.", "")
            yield f"{prefix}{name}", kind, default, field.description or ""


def settings_page() -> str:
    """Every key of the configuration, a table a section."""
    text = "# Settings\n\n`apportion init CORPUS --all` writes every key with its meaning.\n"
    section = None
    for name, kind, default, meaning in settings():
        if (here := name.rpartition(".")[0]) != section:
            section = here
            text += f"\n## {f'[{here}]' if here else 'Top'}\n\n| key | type | default | meaning |\n|---|---|---|---|\n"
        text += f"| `{name.rpartition('.')[2]}` | {_cell(kind)} | {_cell(default)} | {_prose(meaning)} |\n"
    return text


def stages_page() -> str:
    """Every stage with what it needs, as a picture and as a table."""
    text = "# Stages\n\n`apportion run CONFIG --only STAGE` runs one, and what it needs.\n\n```mermaid\nflowchart LR\n"
    text += "".join(f"  {need} --> {stage.name}\n" for stage in STAGES.values() for need in stage.needs)
    text += "```\n\n| stage | needs | what it does |\n|---|---|---|\n"
    for stage in STAGES.values():
        text += f"| `{stage.name}` | {', '.join(f'`{need}`' for need in stage.needs)} | {_prose(stage.help)} |\n"
    return text


def presets_page() -> str:
    """Every value of every preset, with its source."""
    text = "# Presets\n\nHow they are read: [the paper's settings](../explanations/paper-preset.md).\n"
    for name, title in PRESETS.items():
        text += f"\n## {title}\n\n" + "\n".join(table(name)) + "\n"
    return text


def names() -> Iterator[tuple[str, Any]]:
    """Every public name of the Python API: `apportion` itself, then the packages below it."""
    for package in ("apportion", *(f"apportion.{name}" for name in PACKAGES)):
        module = import_module(package)
        yield from ((f"{package}.{name}", getattr(module, name)) for name in sorted(module.__all__))


def api_page() -> str:
    """The signature and docstring of every public name."""
    text = "# Python API\n\nNothing is loaded until a name is used.\n"
    for name, value in names():
        called = isinstance(value, type | FunctionType)
        text += f"\n## {name}\n\n"
        text += f"    {name.rpartition('.')[2]}{_signature(value)}\n\n" if called else ""
        doc = inspect.getdoc(value) if called else None
        text += f"```text\n{doc}\n```\n" if doc else f"A value of the type `{type(value).__name__}`.\n"
    return text


def tables_page() -> str:
    """Every table of a corpus, of a run and of responses, column by column."""
    meanings = tomllib.loads((HERE / "columns.toml").read_text(encoding="utf-8"))
    text = (
        "# Tables\n\nEach table is one file, `NAME.parquet` or `NAME.jsonl` (one JSON object a line). Columns in "
        "**bold** must have a value in every row; others may be empty. Unknown columns are passed over, unless "
        "their name is nearly that of a missing column: then the corpus is refused.\n"
    )
    for title, tables in (("of a corpus", CORPUS_TABLES), ("of a run", RUN_TABLES), ("of responses", RESPONSE_TABLES)):
        text += f"\n## Tables {title}\n" + "".join(_table(schema, meanings) for schema in tables)
    return text


def rows_page() -> str:
    """Every row of the papers' tables, with the commands that fill it."""
    text = "# Rows of the papers' tables\n\n`apportion world tables` says the same of rows that nobody has played.\n"
    tables = [(f"Table 1, {game}", rows) for game, rows in paper_rows.TABLE_1.items()]
    tables += [(f"Table 2, {game}", rows) for game, rows in paper_rows.TABLE_2.items()]
    tables += [("Table 3", paper_rows.TABLE_3), ("Table 4", paper_rows.TABLE_4)]
    told = [*((f"Stackelberg Speaker, {name}", rows) for name, rows in tables), ("SAVOIR, Table 1", SAVOIR)]
    for title, rows in told:
        text += f"\n## {title}\n"
        for row in rows.rows:
            text += f"\n### {row.name}\n\n" + "".join(f"    {command}\n" for command in rows.commands(row))
        text += "\n### All together, once they are made\n\n" + "".join(f"    {command}\n" for command in rows.pool)
    return text


def _table(schema: TableSchema, meanings: dict[str, dict[str, str]]) -> str:
    said = meanings["common"] | meanings[schema.name]
    text = f"\n### {schema.name}\n\n{said['about']} Key: {', '.join(f'`{column}`' for column in schema.key)}.\n"
    text += "\n| column | type | meaning |\n|---|---|---|\n"
    for field in schema.arrow:
        name = f"**{field.name}**" if field.name in schema.required else field.name
        text += f"| {name} | {TYPES[str(field.type).partition('<')[0]]} | {_prose(said[field.name])} |\n"
    return text


def strangers_page() -> str:
    """Every row of the standing corpus of strangers' faults, which tests/corpus/strangers/test_rows.py tries."""
    sys.path.insert(0, str(HERE.parent))
    rows = import_module("tests.corpus.strangers.test_rows").ROWS
    outcomes = Counter(row.outcome for row in rows)
    text = (
        "# What strangers bring in\n\nFaults of files that people have, and what comes of them. Each row is a "
        "test with an input of its own (`python -m pytest tests/corpus/strangers`).\n\n- *Recovered*: read as meant.\n"
        "- *Told*: read, and what is odd or left out is said.\n- *Refused*: exit code 2 with place, cause and next "
        "step.\n\nNone goes wrong in silence: each test looks at the corpus, or for what is said. "
    )
    text += f"{len(rows):,} rows: " + ", ".join(f"{many:,} {name}" for name, many in sorted(outcomes.items()))
    text += ".\n\n| kind | fault | outcome |\n|---|---|---|\n"
    return text + "".join(f"| {_prose(row.kind)} | {_prose(row.fault)} | {row.outcome} |\n" for row in rows)


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):  # a type that takes no arguments of its own
        return ""


def _prose(text: str | None) -> str:
    return " ".join((text or "").replace("\b", "").split()).replace("|", "\\|").replace("<", "&lt;")


def _cell(text: str) -> str:
    return f"`{_prose(text)}`".replace("&lt;", "<")


PAGES = {
    "cli": command_page,
    "settings": settings_page,
    "stages": stages_page,
    "presets": presets_page,
    "api": api_page,
    "tables": tables_page,
    "rows": rows_page,
    "strangers": strangers_page,
}


def main(folder: Path = HERE / "reference") -> None:
    """Write every page into ``folder``."""
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
