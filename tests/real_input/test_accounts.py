"""The accounts of published corpora: they add up, and read what a count of the files themselves gives."""

import json

import pytest

from apportion.corpus.files.textfile import read_text
from apportion.corpus.importers import import_to
from tests.shared import shared


def words(texts):
    return sum(len(text.split()) for text in texts)


def of_lines(text):
    cells = [line.split("\t") for line in text.splitlines() if line.strip()]
    return {"turns": len(cells), "words": words(row[1] for row in cells)}


def of_json(turns_of):
    def count(text):
        items = json.loads(text) if text.lstrip().startswith("[") else list(map(json.loads, text.splitlines()))
        said = [said for item in items for said in turns_of(item)]
        return {"turns": len(said), "words": words(said)}

    return count


def of_rows(text):
    said = [
        piece.partition(": ")[2]
        for line in text.splitlines()
        for piece in line.split("<dialogue> ")[1].split(" </dialogue>")[0].split(" <eos> ")
    ]
    return {"dialogues": len(text.splitlines()), "turns": len(said), "words": words(said)}


ESCONV = of_json(lambda item: [turn["text"] for turn in item["dialog"]])
CONTURE = of_json(lambda item: [turn[who] for turn in item["turns"] for who in ("user", "chatbot")])
CASINO = of_json(lambda item: [entry["text"] for entry in item["chat_logs"]])
KIT = of_json(lambda item: [item["text"]])
ANSWERS = {"score": "dialog_ratings.human (overall)", "rater": "user", "low": "1", "high": "5"}


@pytest.mark.parametrize(
    ("kind", "source", "file", "count", "options"),
    [
        ("uss", "uss/ReDial-action.txt.gz", "", of_lines, {}),
        ("esconv", "esconv/esconv_hf_valid.jsonl.gz", "", ESCONV, {}),
        ("conture", "conture/data.json.gz", "", CONTURE, {}),
        ("casino", "casino/casino_test.json.gz", "", CASINO, {}),
        ("dealornodeal", "dealornodeal/val.txt.gz", "", of_rows, {}),
        ("convokit", "convokit_fixture/conture-fixture", "utterances.jsonl", KIT, ANSWERS),
        ("sotopia", "sotopia_rl/example_episodes_with_scores.jsonl.gz", "", lambda text: {"scores": 16 * 30}, {}),
    ],
)
def test_an_account_reads_what_is_in_the_files(kind, source, file, count, options, tmp_path):
    source = shared(f"data/{source}")
    report = import_to(kind, source, tmp_path / "corpus", options | {"language": "en"})
    assert (
        count(read_text(source / file if file else source)).items()
        <= {line.what: line.read for line in report.account}.items()
    )
