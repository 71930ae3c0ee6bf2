"""How easy the house is to find one's way in: folders, small files, imports inside functions, circles.

    python benchmarks/house.py            # one JSON line a figure, with the aim where there is one

Prints what is read from the source text alone; nothing of the project is imported.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("foundation", "corpus", "llm_client", "environments", "features", "reward_model", "decompose", "evaluation"),
    *("rlhf", "pipeline", "study", "viewer", "apportion", "dags"),
)
ROOMS = ("rlhf", "pipeline", "decompose", "features", "llm_client")
"""The packages whose folders are to stay small."""
SMALL_LINES = 40


def main() -> None:
    """Measure the source and print the figures."""
    files = {path: path.read_text(encoding="utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in files.items()}
    modules = [path for path in files if path.name != "__init__.py"]
    folders = Counter(path.parent for path in modules)
    rooms = {folder: count for folder, count in folders.items() if folder.relative_to(ROOT).parts[0] in ROOMS}
    largest = max(rooms, key=lambda folder: rooms[folder])
    lines = sum(text.count("\n") for text in files.values())
    inside = sum(_imports_inside(tree) for tree in trees.values())
    small = sum(files[path].count("\n") <= SMALL_LINES for path in modules)
    inits = [path for path in files if path.name == "__init__.py"]
    longest = max(modules, key=lambda path: files[path].count("\n"))
    tell("files in the largest folder", rooms[largest], "files", aim=16, where=_name(largest))
    tell("files a folder, median", median(folders.values()), "files", aim=7)
    tell(f"files of {SMALL_LINES} lines or less", round(100 * small / len(modules), 1), "%", aim=16)
    tell("imports inside functions", round(1000 * inside / lines, 2), "per 1,000 lines", aim=6)
    tell("import circles between modules", len(_circles(_graph(trees))), "circles", aim=0)
    tell(
        "packages with a docstring", sum(ast.get_docstring(trees[p]) is not None for p in inits), "files", of=len(inits)
    )
    tell("longest file", files[longest].count("\n"), "lines", aim=400, where=_name(longest))
    tell("modules", len(modules), "files", lines=lines, folders=len(folders))


def tell(figure: str, value: float, unit: str, **more: object) -> None:
    """One JSON line."""
    sys.stdout.write(json.dumps({"benchmark": f"house: {figure}", "figure": value, "unit": unit, **more}) + "\n")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _imports_inside(tree: ast.Module) -> int:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = {
        id(node)
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return len(found)


def _graph(trees: Mapping[Path, ast.Module]) -> dict[str, set[str]]:
    """By module, those that it imports anywhere, but for what only a type checker reads."""
    names = {_module(path): path for path in trees}
    graph: dict[str, set[str]] = defaultdict(set)
    for name, path in names.items():
        for node in _imports(trees[path]):
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            else:
                wanted = [f"{node.module}.{alias.name}" for alias in node.names]
            for full in wanted:
                target = full if full in names else full.rpartition(".")[0]
                if target in names and target != name:
                    graph[name].add(target)
    return graph


def _imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        yield from _imports(child)


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of modules of which each reaches all others (Tarjan's strongly connected components of two or more)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            position = stack.index(name)
            members, stack[position:] = stack[position:], []
            if len(members) > 1:
                circles.append(members)

    sys.setrecursionlimit(10_000)
    for name in sorted(graph):
        if name not in index:
            visit(name)
    return circles


if __name__ == "__main__":
    main()
