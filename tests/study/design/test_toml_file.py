import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.study.design.settings import StudySettings, read_settings, settings_text


@given(
    st.text(min_size=1, max_size=200).filter(lambda text: text < "\ud800" or text.isprintable()),
    st.integers(0, 2**63 - 1),
)
def test_settings_are_the_same_after_their_file(title, seed):
    import tomllib

    wanted = StudySettings(title=title, seed=seed, practice=("i0001",), public=True)
    assert StudySettings.model_validate(tomllib.loads(settings_text(wanted))) == wanted


def test_each_setting_is_told_what_it_means():
    text = settings_text(StudySettings(title="T", seed=1))
    assert all(f"\n{name} = " in text for name in StudySettings.model_fields)
    assert "# (*) The code that is shown at the end.\n" in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title = ", "not valid TOML"),
        ('title = "T"', "seed: missing"),
        ('title = "T"\nseed = -1', "seed = -1"),
        ('title = "T"\nseed = 1\nsead = 2', "sead: unknown key; did you mean 'seed'"),
        ('title = "T"\nseed = 1\nitems_per_annotator = 5\nchecks_every = 6', "nobody would meet a check"),
        ('title = "T"\nseed = 1\npractice = ["i0001", "i0001"]', "practice: an item is named twice"),
        ('title = "T"\nseed = 1\ncompletion = "<b>"', "completion = '<b>'"),
    ],
)
def test_what_is_no_study_is_told(tmp_path, text, told):
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_settings(tmp_path / "study.toml")
