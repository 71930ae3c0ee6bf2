"""Which dear tests a change reaches."""

from pathlib import Path

import pytest

from tests.affected import MOST, chosen, distances, module_of

FILES = {
    "corpus/__init__.py": "",
    "corpus/rows.py": "",
    "corpus/prompts/ask.txt": "",
    "decompose/__init__.py": "",
    "decompose/methods.py": "LOAD = 'apportion.decompose.llm:judge'",
    "decompose/llm.py": "def judge():\n    from apportion.corpus import rows\n",
    "tests/__init__.py": "",
    "tests/test_rows.py": "from apportion.corpus.rows import x\nimport pytest\npytestmark = pytest.mark.slow\n",
    "tests/test_far.py": "import apportion.decompose.methods\nimport pytest\npytestmark = pytest.mark.slow\n",
    "tests/test_other.py": "import pytest\npytestmark = pytest.mark.slow\n",
    "tests/browser/test_page.py": "import apportion.corpus.rows\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_imports_are_followed_through_functions_and_names_in_strings(tree: Path) -> None:
    near = distances(["corpus/rows.py"], tree)
    assert near["tests/test_rows.py"] == near["decompose/llm.py"] == 1
    assert near["tests/test_far.py"] == 3 and "tests/test_other.py" not in near
    assert chosen("slow", near, 1, tree) == (["tests/test_rows.py", "tests/test_far.py"], 0)
    assert chosen("slow", near, 10, tree)[0][-1] == "tests/test_other.py"
    assert chosen("browser", near, 1, tree) == (["tests/browser/test_page.py"], 0)


def test_a_file_that_is_no_python_counts_as_its_folder_and_documents_reach_nothing(tree: Path) -> None:
    assert distances(["corpus/prompts/ask.txt"], tree)["tests/test_rows.py"] == 1
    assert distances(["README.md", "docs/x.md"], tree) == {}


def test_what_every_test_rests_on_reaches_all_and_a_kind_has_a_limit(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = distances(["pyproject.toml"], tree)
    assert near["tests/test_other.py"] == 0
    monkeypatch.setitem(MOST, "slow", 1)
    assert chosen("slow", near, 1, tree)[1] == 2


def test_links_are_no_files_of_their_own_and_modules_are_named_as_imported(tree: Path) -> None:
    (tree / "apportion").mkdir()
    (tree / "apportion" / "corpus").symlink_to("../corpus")
    assert "apportion/corpus/rows.py" not in distances(["pyproject.toml"], tree)
    assert module_of("corpus/__init__.py") == "apportion.corpus" and module_of("tests/x.py") == "tests.x"
