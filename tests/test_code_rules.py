"""Rules over the product's code that no linter of ours knows: no stranger's code is run, no check is an assert."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PRODUCT = sorted({path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"})
LOADERS = {"from_pretrained", "from_config", "pipeline", "load_dataset"}
RUN_NO_CODE = {"RewardModel", "PeftModel", "GenerationConfig"}
"""Ours, weights put on a model that is there, a file of numbers."""
UNPICKLERS = {("torch", "load"), ("pickle", "load"), ("pickle", "loads"), ("joblib", "load"), ("yaml", "load")}


def faults(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, what is wrong)"""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((node.lineno, fault) for fault in call_faults(node))
        elif isinstance(node, ast.Assert) and not is_narrowing(node.test):
            yield node.lineno, f"assert {ast.unparse(node.test)}: python -O leaves it out; raise an error"


def call_faults(call: ast.Call) -> Iterator[str]:
    base, _, name = ast.unparse(call.func).rpartition(".")
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if name in LOADERS and base.rpartition(".")[2] not in RUN_NO_CODE and given.get("trust_remote_code") != "False":
        yield f"{name}() without trust_remote_code=False"
    unpickles = (base, name) in UNPICKLERS and given.get("weights_only") != "True"
    if unpickles or given.get("allow_pickle", "False") != "False":
        yield f"{base}.{name} unpickles"


def is_narrowing(test: ast.expr) -> bool:
    """Whether an assert only tells mypy what is so: ``x is not None``, ``isinstance(x, T)``, ``kind`` of those."""
    if isinstance(test, ast.BoolOp):
        return all(map(is_narrowing, test.values))
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.IsNot) and all(map(is_plain, (test.left, *test.comparators)))
    return isinstance(test, ast.Call) and ast.unparse(test.func) == "isinstance" and is_plain(test.args[0])


def is_plain(value: ast.expr) -> bool:
    """Whether looking at a value does nothing: a name, None, an attribute of a name."""
    return isinstance(value, ast.Name | ast.Constant) or (isinstance(value, ast.Attribute) and is_plain(value.value))


@pytest.mark.parametrize("package", PRODUCT)
def test_the_product_keeps_them(package):
    files = [*(ROOT / package).rglob("*.py")]
    found = [f"{path.relative_to(ROOT)}:{line}: {fault}" for path in files for line, fault in faults(parsed(path))]
    assert files and not found, "\n".join(found)


def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("AutoModel.from_pretrained(name)", True),
        ("transformers.AutoModel.from_pretrained(name, trust_remote_code=True)", True),
        ("AutoModel.from_pretrained(name, trust_remote_code=False)", False),
        ("pipeline('text-classification', model=name)", True),
        ("load_dataset(name)", True),
        ("RewardModel.from_pretrained(folder)", False),
        ("torch.load(path)", True),
        ("torch.load(path, weights_only=True)", False),
        ("np.load(path, allow_pickle=True)", True),
        ("assert score > 0", True),
        ("assert self.casting", True),
        ("assert x is not None and y.z is not None, 'why'", False),
        ("assert isinstance(x, int)", False),
        ("assert isinstance(read(x), int)", True),
    ],
)
def test_the_rules(code, wrong):
    assert bool([*faults(ast.parse(code))]) == wrong
