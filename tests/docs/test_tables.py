"""docs/tables.md says what corpus/schema.py declares."""

import re
from pathlib import Path

import pytest

from apportion.corpus.importers.registry import KINDS
from apportion.corpus.schema import CORPUS_TABLES, RESPONSE_TABLES, RUN_TABLES

DOCS = Path(__file__).resolve().parents[2] / "docs"
TYPES = {"string": "text", "double": "number", "int32": "whole number", "bool": "truth"}


@pytest.mark.parametrize("schema", CORPUS_TABLES, ids=lambda schema: schema.name)
def test_every_column_of_a_corpus_table_is_described(schema):
    section = (DOCS / "tables.md").read_text(encoding="utf-8").split(f"\n## {schema.name} ")[1].split("\n## ")[0]
    described = re.findall(r"^\| (\*\*)?(\w+)(?:\*\*)? \| ([\w ]+?) \|", section, flags=re.MULTILINE)
    rows = [(name, kind, bool(bold)) for bold, name, kind in described if name != "column"]
    assert rows == [(f.name, TYPES[str(f.type)], f.name in schema.required) for f in schema.arrow]
    key = re.search(r"Key:\s([^.]*)\.", section)
    assert key is not None and tuple(re.findall(r"`(\w+)`", key[1])) == schema.key


@pytest.mark.parametrize("schema", (*RUN_TABLES, *RESPONSE_TABLES), ids=lambda schema: schema.name)
def test_every_column_of_a_table_that_is_written_is_named(schema):
    row = next(
        line
        for line in (DOCS / "tables.md").read_text(encoding="utf-8").split("\n")
        if line.startswith(f"| {schema.name} |")
    )
    assert all(re.search(rf"\b{name}\b", row) for name in schema.arrow.names)
    assert tuple(row.split("|")[2].strip().split(", ")) == schema.key


def test_every_table_on_the_page_is_declared():
    page = (DOCS / "tables.md").read_text(encoding="utf-8").split("\n## What a run writes\n")[1]
    rows = re.findall(r"^\| (\w+) \| ", page, flags=re.MULTILINE)
    assert [name for name in rows if name != "table"] == [schema.name for schema in (*RUN_TABLES, *RESPONSE_TABLES)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_importer_has_a_section(kind):
    assert f"\n## {kind}\n" in (DOCS / "corpus.md").read_text(encoding="utf-8")
