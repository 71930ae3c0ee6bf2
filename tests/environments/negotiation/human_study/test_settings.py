import pytest

from apportion.environments.negotiation.human_study.settings import read_study
from apportion.foundation.errors import InputError

STUDY = 'title = "Bargaining"\nconsent = "You may stop."\nagents = ["greedy", "fair"]\n'


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_a_study_and_its_contexts(tmp_path):
    plain = read_study(written(tmp_path, STUDY))
    assert (plain.agents, plain.games, plain.given_contexts) == (("greedy", "fair"), 1, ())
    (tmp_path / "some.txt").write_text("1 3 3 1 1 4\n1 3 3 2 1 1\n")
    given = read_study(written(tmp_path, STUDY + 'contexts = "some.txt"\n'))
    assert given.given_contexts[0].counts == (1, 3, 1) and given.digest != plain.digest
    # The file's place is not the study's.
    (tmp_path / "other.txt").write_text("1 3 3 1 1 4\n1 3 3 2 1 1\n")
    assert read_study(written(tmp_path, STUDY + 'contexts = "other.txt"\n')).digest == given.digest


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("title = \n", "not valid TOML"),
        ("", "title: missing"),
        (STUDY + "game = 2\n", "game: unknown key; did you mean 'games'"),
        (STUDY + "games = 0\n", "games = 0: "),
        (STUDY.replace('"fair"', '"greedy"'), "'greedy' is there twice"),
        (STUDY.replace('["greedy", "fair"]', "[]"), "agents"),
        (STUDY + 'contexts = "none.txt"\n', "none.txt: no such file"),
    ],
)
def test_a_wrong_study_file(tmp_path, text, why):
    with pytest.raises(InputError, match=why):
        read_study(written(tmp_path, text or "seed = 1\n"))


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_study(tmp_path / "none.toml")
