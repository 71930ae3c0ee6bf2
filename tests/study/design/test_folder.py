import json
import os

import pytest

from apportion.foundation.errors import InputError
from apportion.study.design.folder import CHECKS, CRITERIA, ITEMS, SETTINGS, StudyFolder
from apportion.study.design.unblinding_key import KEY_FILE
from tests.study.studies import POLICIES, study_in


@pytest.fixture
def study(tmp_path):
    return study_in(tmp_path / "study", items_per_annotator=4, checks_every=2)


def edit(path, change):
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def test_the_key_is_never_opened_and_names_of_policies_are_nowhere_else(study):
    key = study.path / KEY_FILE
    named = key.read_text(encoding="utf-8")
    key.unlink()
    os.mkfifo(key)  # Whoever opens it waits for ever.
    assert StudyFolder.open(study.path).digest == study.digest
    assert all(policy in named for policy in POLICIES)
    for path in sorted(set(study.path.iterdir()) - {key}):
        assert not any(policy in path.read_text(encoding="utf-8") for policy in POLICIES), path


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (CRITERIA, lambda text: text.replace("sound human", "sound humane")),
        (SETTINGS, lambda text: text.replace("annotators_per_item = 3", "annotators_per_item = 4")),
        (ITEMS, lambda text: text.replace("Hello number 1", "Hello number one", 1)),
        (CHECKS, lambda text: text.split("\n")[0] + "\n"),
        ("instructions.md", lambda text: text + "More."),
        ("consent.md", lambda text: text + "More."),
    ],
)
def test_whatever_is_asked_otherwise_is_another_study(study, name, change):
    edit(study.path / name, change)
    assert StudyFolder.open(study.path).digest != study.digest


def test_comments_and_what_changes_no_question_may_be_edited(study):
    edit(study.path / CRITERIA, lambda text: f"# Ours.\n{text}")
    edit(study.path / SETTINGS, lambda text: text.replace("public = false", "public = true"))
    again = StudyFolder.open(study.path)
    assert again.digest == study.digest and again.settings.public


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        (SETTINGS, lambda text: text.replace('practice = ["', 'practice = ["i9999", "'), "practice names 'i9999'"),
        (SETTINGS, lambda text: text.replace('practice = ["', 'practice = ["c0001", "'), "practice names 'c0001'"),
        (ITEMS, lambda text: text + text.split("\n")[0] + "\n", "item 'i0001' is there twice"),
        (ITEMS, lambda text: text + '{"item": "i9"}\n', "line 11: 'responses' is missing"),
        (ITEMS, lambda text: text.replace('"turn":3', '"turn":"3"', 1), "line 1: '3' is no whole number"),
        (ITEMS, lambda text: text.replace('"context":"user: ', '"context":"', 1), "line 1: column context"),
        (CRITERIA, lambda text: text.replace("fluency", "fluent"), "check c0001 cannot be told: .* no criterion 'flu"),
        (
            CHECKS,
            lambda text: text.replace("c0001", "c9999"),
            "check c9999 cannot be told: items.jsonl has no such item",
        ),
        (CHECKS, lambda text: text.replace('["r', '["x', 1), "check c0001 cannot be told: 'x.*' is no response"),
        (CHECKS, lambda text: "", "checks_every = 2, and checks.jsonl has no check"),
        (CRITERIA, lambda text: text.replace("select", "pair").replace("reversed = true", ""), "and a pair has two"),
        (CHECKS, lambda text: '{"item": 1, "criterion": 2, "expected": 3}', "line 1: item and criterion have to be"),
    ],
)
def test_what_does_not_belong_together_is_told(study, name, change, told):
    edit(study.path / name, change)
    with pytest.raises(InputError, match=told):
        StudyFolder.open(study.path)


def test_an_item_that_cannot_be_asked_about_is_told(study):
    lines = [json.loads(line) for line in (study.path / ITEMS).read_text(encoding="utf-8").splitlines()]
    lines[0]["responses"] = lines[0]["responses"][:1]
    (study.path / ITEMS).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(InputError, match="item i0001: 1 response, and these criteria need 2"):
        StudyFolder.open(study.path)


def test_turns_without_an_agent_are_told(tmp_path):
    study = study_in(tmp_path / "study", "turns", checks_every=0)
    edit(study.path / ITEMS, lambda text: text.replace("assistant: Hi there.\\n", ""))
    with pytest.raises(InputError, match="the agent has no turn in its context"):
        StudyFolder.open(study.path)


def test_a_study_whose_items_are_all_practice_is_told(study):
    named = ", ".join(f'"{item.item}"' for item in study.counted)
    edit(study.path / SETTINGS, lambda text: text.replace("practice = [", f"practice = [{named}, "))
    with pytest.raises(InputError, match="no item counts"):
        StudyFolder.open(study.path)


def test_a_folder_that_is_no_study_is_told(tmp_path):
    with pytest.raises(InputError, match=r"no study, since study\.toml is not there"):
        StudyFolder.open(tmp_path)
