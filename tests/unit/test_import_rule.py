"""Who may import whom: the rule of ARCHITECTURE.md, read from the source's syntax trees.

Imports inside functions count; imports for type checking alone do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "keras_transformer"
LEAVES = ("problems", "hparams", "t2t_compat")
ENGINE = {
    *("config", "registry", "run_dir", "text", "data", "layers", "model", "training"),
    *("decoding", "scoring", "export", "plots"),
}

# part → the parts it may import, besides itself and errors.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "text": set(),
    "layers": set(),
    "config": set(),
    "registry": {"config"},
    "scoring": {"text"},
    "data": {"text", "scoring"},
    "model": {"layers", "config"},
    "run_dir": {"config", "registry"},
    "training": {"model", "layers", "data", "config", "run_dir"},
    "decoding": {"model", "text", "run_dir", "registry", "scoring"},
    "export": {"decoding", "model", "layers", "text", "config", "run_dir"},
    "plots": {"decoding", "model", "text", "run_dir"},
    # Experiments over the whole engine, and the paper's rows, which stand among the settings.
    "reproduce": {*ENGINE, "hparams"},
    "cli": {*ENGINE, "reproduce", *LEAVES},
    **{leaf: ENGINE for leaf in LEAVES},
}

# The files that the training loop writes are read through one module by all who need weights.
FREE_MODULES = {"keras_transformer.training.checkpoints": {"decoding", "export"}}
# `Transformer.decode` is a convenience: it hands the model over to the search when it is called.
# `Translator.load` opens T2T's checkpoints too; nothing else of decoding knows of them.
EXCEPTIONS = {
    ("keras_transformer.model.incremental_decoding", "decoding"),
    ("keras_transformer.decoding.loading", "registry"),
    # A run put together: --eval_decode translates with the model in training, and a run directory
    # of T2T is taken up where it stopped.
    ("keras_transformer.training.run_evaluation", "decoding"),
    ("keras_transformer.training.trainer", "registry"),
    # --init_from takes weights of ours or of T2T.
    ("keras_transformer.training.warm_start", "registry"),
}


def _part(module: str) -> str | None:
    """`keras_transformer.data.shards` → `data`; None outside the package, for its root and for what
    the root says of itself (`__version__`)."""
    names = module.split(".")
    if names[0] != PACKAGE or len(names) == 1 or names[1].startswith("__"):
        return None
    # config_parsing and its like are parts of config that stand in files of their own.
    return "config" if names[1].startswith("config") else names[1]


def _runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from _runtime_nodes(other)
            continue
        yield child
        yield from _runtime_nodes(child)


def imported_modules(source: str, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, absolute module) of every runtime import; a.b for `from a import b` of a module."""
    for node in _runtime_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                names = module.split(".")
                above = names[: len(names) - node.level + is_package]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if base == PACKAGE or _is_module(inner) else base


def _is_module(name: str) -> bool:
    if not name.startswith(f"{PACKAGE}."):
        return False
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def _sources() -> Iterator[tuple[Path, str]]:
    for top in (PACKAGE, *LEAVES):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if top != PACKAGE:
                parts = (PACKAGE, *parts)
            if parts[-1] == "__init__":
                parts = parts[:-1]
            yield path, ".".join(parts)


@pytest.mark.parametrize(
    ("path", "module"), [pytest.param(p, m, id=m) for p, m in _sources() if m != PACKAGE]
)
def test_imports_go_one_way(path, module):
    part = _part(module)
    assert part in ALLOWED, f"{path} is in no part that ARCHITECTURE.md names"
    source = path.read_text(encoding="utf-8")
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {part} must not import {imported}"
        for line, imported in imported_modules(source, module, path.name == "__init__.py")
        if _part(imported) not in (None, part, "errors", *ALLOWED[part])
        and (module, _part(imported)) not in EXCEPTIONS
        and part not in FREE_MODULES.get(imported, ())
    ]
    assert not wrong, "\n".join(wrong)


def test_the_package_itself_imports_nothing_heavy():
    """`import keras_transformer` stays in milliseconds: names are loaded when first used."""
    source = (ROOT / PACKAGE / "__init__.py").read_text(encoding="utf-8")
    tops = {name.split(".")[0] for _, name in imported_modules(source, PACKAGE, True)}
    assert not tops & {"tensorflow", "keras", "numpy", PACKAGE}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import keras_transformer.data.shards", ["keras_transformer.data.shards"]),
        ("from keras_transformer import registry", ["keras_transformer.registry"]),
        ("from . import lines", ["keras_transformer.text.lines"]),
        ("from .lines import read", ["keras_transformer.text.lines"]),
        ("from ..data import shards", ["keras_transformer.data.shards"]),
        ("def f():\n    from keras_transformer.text import x", ["keras_transformer.text"]),
        ("if TYPE_CHECKING:\n    import keras_transformer.model", []),
        ("if TYPE_CHECKING:\n    import a\nelse:\n    import b", []),
    ],
)
def test_how_imports_are_read(source, expected):
    found = [name for _, name in imported_modules(source, "keras_transformer.text.trees", False)]
    assert [name for name in found if name.startswith(PACKAGE)] == expected
