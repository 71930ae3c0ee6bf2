import pytest

from apportion.foundation.errors import InputError
from apportion.study.design.create import StudyPlan, make_study, next_version
from apportion.study.design.criteria import SETS, shipped
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import KEY_FILE, read_key
from tests.study.studies import POLICIES, responses, study_in


@pytest.mark.parametrize("name", SETS)
def test_a_study_of_each_set_is_made_and_read_again(tmp_path, name):
    study = study_in(tmp_path / "study", name, contexts=6)
    assert study.criteria == shipped(name) and study == StudyFolder.open(study.path)
    assert len(study.settings.practice) == 1 and study.checks
    key = read_key(study.path)
    assert all(key.policy_of[item.item, one.id] in POLICIES for item in study.counted for one in item.responses)


def test_the_same_seed_makes_the_same_study_but_for_its_code(tmp_path):
    one, other, drawn = (study_in(tmp_path / str(n), seed=seed) for n, seed in enumerate((7, 7, None)))
    assert one.digest == other.digest != drawn.digest
    assert one.settings.completion != other.settings.completion


def test_a_set_of_ones_own_brings_its_instructions_if_it_has_some(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        'title = "Mine"\n[[criteria]]\nname = "good"\nquestion = "Which?"\nkind = "select"\n', encoding="utf-8"
    )
    without = study_in(tmp_path / "without", str(own))
    assert without.settings.title == "Mine" and "there is no right answer" in without.instructions
    own.with_suffix(".md").write_text("Read.\n", encoding="utf-8")
    assert study_in(tmp_path / "with", str(own)).instructions == "Read.\n"


def test_what_is_there_is_not_written_over(tmp_path):
    study = study_in(tmp_path / "study")
    with pytest.raises(InputError, match=r"is there\. Name a folder that is not"):
        study_in(tmp_path / "study", "pairs")
    assert StudyFolder.open(study.path) == study


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"practice": 8}, "practice: 8 of 8 items"),
        ({"title": "x" * 201}, "title = "),
        ({"criteria": "none.toml"}, "none.toml: no such file"),
    ],
)
def test_what_cannot_be_made_leaves_nothing(tmp_path, wanted, told):
    with pytest.raises(InputError, match=told):
        make_study(responses(), tmp_path / "out" / "study", StudyPlan(**{"criteria": "geli", "seed": 7, **wanted}))
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="the folder cannot be made"):
        study_in(tmp_path / "file" / "study")


def test_no_check_is_asked_for_where_none_could_be_told(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        'title = "T"\n[[criteria]]\nname = "good"\nquestion = "?"\nkind = "select"\nrequired = false\n',
        encoding="utf-8",
    )
    assert study_in(tmp_path / "study", str(own)).settings.checks_every == 0
    with pytest.raises(InputError, match="cannot be told"):
        study_in(tmp_path / "other", str(own), checks_every=2)


def test_the_next_version_asks_what_is_asked_now_and_has_no_answers(tmp_path):
    study = study_in(tmp_path / "study")
    (study.path / "answers.sqlite").write_bytes(b"answers")
    instructions = study.path / "instructions.md"
    instructions.write_text("Otherwise.\n", encoding="utf-8")
    after = next_version(study.path, tmp_path / "next")
    assert (after.settings.version, after.instructions) == (2, "Otherwise.\n")
    assert after.settings.made_from == StudyFolder.open(study.path).digest != after.digest
    assert read_key(after.path) == read_key(study.path) and not (after.path / "answers.sqlite").exists()


def test_no_version_is_made_without_a_key(tmp_path):
    study = study_in(tmp_path / "study")
    (study.path / KEY_FILE).unlink()
    with pytest.raises(InputError, match=r"key.jsonl: no such file"):
        next_version(study.path, tmp_path / "next")
