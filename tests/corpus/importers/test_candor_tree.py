"""The made-up CANDOR has the columns, types and scales that ../shared's schema has."""

import json
import re

from apportion.corpus.importers.candor import survey as candor_survey
from apportion.features.precomputed import EMOTION_COLUMNS
from tests.corpus.importers.candor_tree import (
    BEHAVIOUR,
    METADATA,
    SCALES,
    SPEAKER,
    SURVEY,
    TRANSCRIPTS,
    talk,
    write_package,
    write_tree,
)
from tests.shared import shared


def schema():
    return json.loads(shared("reference/candor_schema.json").read_text())


def test_columns_in_the_order_of_the_schema():
    known = schema()
    for kind, columns in TRANSCRIPTS.items():
        assert list(columns) == [column["name"] for column in known[f"transcript_{kind}.csv"]]
    assert list(BEHAVIOUR) == [column["name"] for column in known["audio_video_features.csv"]]
    named = [entry["name"] for entry in known["metadata.json"]]
    assert [name for name in named if "." not in name] == list(METADATA)
    assert [f"speakers[].{name}" for name in SPEAKER] == [name for name in named if name.startswith("speakers[].")]
    assert set(SURVEY) <= {column["name"] for column in known["survey.csv"]}


def test_scales_of_the_generator_and_of_the_importer_are_those_of_the_schema():
    found = {}
    for column in schema()["survey.csv"]:
        ends = re.match(r"(\d+)-(\d+)\b", column["scale"] or "")
        if ends:
            found[column["name"]] = (int(ends[1]), int(ends[2]))
    assert found == SCALES
    assert {name: (float(a), float(b)) for name, (a, b) in found.items()} == candor_survey.SCALES


def test_the_reader_of_the_features_knows_the_columns_of_the_schema():
    assert {*EMOTION_COLUMNS.values(), "gaze_on"} <= {column["name"] for column in schema()["audio_video_features.csv"]}


def test_layout(tmp_path):
    one = talk(1)
    root = write_tree(tmp_path / "a", [one])
    found = {str(path.relative_to(root)).replace(one.id, "<uuid>") for path in root.rglob("*") if path.is_file()}
    for person in one.people:
        found = {name.replace(person, "<user_id>") for name in found}
    listed = {line.split(" ")[0] for line in schema()["layout"]["conversation_dir"]} - {"raw/"}
    assert {name.removeprefix("<uuid>/") for name in found} == listed
    package = write_package(tmp_path / "b", [one])
    assert {path.name for path in package.iterdir()} == {
        "survey.tsv",
        "transcript_backbiter.tsv",
        "transcript_cliffhanger.tsv",
        "raw",
    }
