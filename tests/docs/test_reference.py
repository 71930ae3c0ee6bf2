import re

import pytest

from apportion.cli import cli
from apportion.corpus.importers.registry import KINDS
from apportion.corpus.schema import CORPUS_TABLES, RESPONSE_TABLES, RUN_TABLES
from apportion.pipeline.presets import table
from apportion.pipeline.stages.registry import STAGES
from docs.make_reference import PAGES, PRESETS, commands, main, names, settings
from tests.docs.pages import read


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    main(folder := tmp_path_factory.mktemp("docs") / "reference")
    return {page.stem: page.read_text(encoding="utf-8") for page in folder.iterdir()}


def test_every_page_is_made(reference):
    assert set(reference) == set(PAGES)


def test_every_command_is_there_with_every_option(reference):
    paths = [path for path, _ in commands()]
    assert len(paths) > 40 and set(cli.commands) <= {path.split()[1] for path in paths[1:]}
    for path, command in commands():
        section = reference["cli"].split(f"\n## {path}\n")[1].split("\n## ")[0]
        options = [parameter.opts[0] for parameter in command.params if parameter.param_type_name == "option"]
        assert [option for option in options if option not in section] == []


def test_every_key_is_there(reference):
    keys = [key for key, *_ in settings()]
    assert len(keys) > 200 and {"corpus", "align.steps", "decompose.llm.model"} <= set(keys)
    for key in keys:
        section, _, last = key.rpartition(".")
        table = reference["settings"].split(f"\n## {f'[{section}]' if section else 'Top'}\n")[1].split("\n## ")[0]
        assert f"\n| `{last}` |" in table


@pytest.mark.parametrize("preset", PRESETS)
def test_every_value_of_a_preset_is_there(reference, preset):
    assert "\n".join(table(preset)) in reference["presets"]


def test_every_stage_is_there_and_in_the_picture(reference):
    drawn = set(re.findall(r"^  (\S+) --> (\S+)$", reference["stages"], re.MULTILINE))
    assert drawn == {(need, stage.name) for stage in STAGES.values() for need in stage.needs}
    assert all(f"\n| `{stage.name}` | " in reference["stages"] for stage in STAGES.values())


def test_every_row_of_a_papers_table_has_its_commands(reference):
    page = reference["rows"]
    assert page.count("\n## ") == 9 and page.count("\n### ") == 3 * 6 + 3 * 4 + 8 + 7 + 7 + 9
    assert "### sla\n\n    apportion train player sla werewolf sla.json\n    apportion world tournament wer" in page
    assert "CORPUS --agents react,recon,react+sla@sla.json,react+lspo@lspo.json,react+refiner@refiner-wer" in page


def test_every_fault_of_strangers_is_there(reference):
    rows = reference["strangers"].split("|---|---|---|\n")[1].splitlines()
    assert len(rows) >= 120 and all(re.search(r" (recovered|told|refused) \|$", row) for row in rows)


def test_every_public_name_is_there(reference):
    assert all(f"\n## {name}\n" in reference["api"] for name, _ in names())


@pytest.mark.parametrize("schema", (*CORPUS_TABLES, *RUN_TABLES, *RESPONSE_TABLES), ids=lambda schema: schema.name)
def test_every_column_has_a_meaning(reference, schema):
    section = reference["tables"].split(f"\n### {schema.name}\n")[1].split("\n##")[0]
    rows = re.findall(r"^\| (\*\*)?(\w+)(?:\*\*)? \| ([\w ]+?) \| (.+) \|$", section, flags=re.MULTILINE)
    described = [(column, bool(bold)) for bold, column, *_ in rows if column != "column"]
    assert described == [(column, column in schema.required) for column in schema.arrow.names]


@pytest.mark.parametrize("kind", KINDS)
def test_every_importer_is_told(kind):
    assert f"`{kind}`" in read("docs/guides/chats.md")
