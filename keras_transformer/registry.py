"""Names of problems and hparams sets, and the one loader of the leaf folders.

The engine never imports `problems/`, `hparams/` or `t2t_compat/` by itself; it asks here. Names,
the `_rev` and `_copy` endings and the decorators are those of T2T's `utils/registry.py`.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.config import HParams
    from keras_transformer.data.problem import Problem

T = TypeVar("T")

_problems: dict[str, Callable[..., Any]] = {}
_hparams: dict[str, Callable[[], Any]] = {}
_problem_aliases: dict[str, str] = {}
_refused_problems: dict[str, str] = {}
_refused_hparams: dict[str, str] = {}
_loaded: set[str] = set()


def _snake_case(name: str) -> str:
    """`TranslateEndeWmt32k` → `translate_ende_wmt32k`, as T2T forms names."""
    parts = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", parts).lower()


def _decorator(table: dict[str, Any], kind: str, name_or_object: Any) -> Any:
    def add(thing: Any, name: str) -> Any:
        known = table.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (
            thing.__module__,
            thing.__qualname__,
        ):
            raise UserError(
                f"{kind} {name!r} is registered twice: by {known.__module__}.{known.__qualname__}"
                f" and by {thing.__module__}.{thing.__qualname__}; rename one of them"
            )
        if isinstance(thing, type):
            thing.name = name  # type: ignore[attr-defined]
        table[name] = thing
        if isinstance(thing, type):
            thing.name = name  # type: ignore[attr-defined]
        return thing

    if isinstance(name_or_object, str):
        return lambda thing: add(thing, name_or_object)
    if name_or_object is None:
        return lambda thing: add(thing, _snake_case(thing.__name__))
    return add(name_or_object, _snake_case(name_or_object.__name__))


def register_problem(name_or_class: Any = None) -> Any:
    """Class decorator: `@register_problem` or `@register_problem("name")`."""
    return _decorator(_problems, "the problem", name_or_class)


def register_hparams(name_or_function: Any = None) -> Any:
    """Function decorator: `@register_hparams` or `@register_hparams("name")`."""
    return _decorator(_hparams, "the hparams set", name_or_function)


def alias_problem(alias: str, name: str) -> None:
    """A short name for a problem (`wmt14_ende` for `translate_ende_wmt32k`)."""
    _problem_aliases[alias] = name


def refuse_problem(name: str, reason: str) -> None:
    """A name T2T knows and this project does not offer, with the reason and the way out."""
    _refused_problems[name] = reason


def refuse_hparams(name: str, reason: str) -> None:
    """As `refuse_problem`, for a hparams set."""
    _refused_hparams[name] = reason


def _load_leaf(leaf: str) -> ModuleType:
    package = importlib.import_module(f"keras_transformer.{leaf}")
    if leaf not in _loaded:
        _loaded.add(leaf)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    return package


def t2t_compat() -> ModuleType:
    """The package that reads and writes T2T's files."""
    return importlib.import_module("keras_transformer.t2t_compat")


def problem_names() -> list[str]:
    """Every problem's registered name, sorted, aliases included."""
    _load_leaf("problems")
    return sorted({*_problems, *_problem_aliases})


def problem_aliases() -> Mapping[str, str]:
    """Alias → registered name."""
    _load_leaf("problems")
    return dict(_problem_aliases)


def hparams_names() -> list[str]:
    """Every hparams set's name, sorted."""
    _load_leaf("hparams")
    return sorted(_hparams)


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else ""


def problem(name: str, **options: Any) -> Problem:
    """The problem of that name.

    Args:
        name: a registered name or an alias, with T2T's endings `_rev` (source and target change
            places) and `_copy` (inputs are copied to targets).
        **options: what the problem needs besides its name (text2text's files); stored with a run.

    Raises:
        UserError: the name is not known (the nearest one is named) or is refused (with the way
            out), or the options are not the problem's.
    """
    _load_leaf("problems")
    base, reverse, copy = name, False, False
    while base not in _problems and base not in _problem_aliases:
        if base.endswith("_rev") and not reverse:
            base, reverse = base[: -len("_rev")], True
        elif base.endswith("_copy") and not copy:
            base, copy = base[: -len("_copy")], True
        else:
            break
    base = _problem_aliases.get(base, base)
    for refused in (name, base):
        if refused in _refused_problems and base not in _problems:
            raise UserError(f"problem {refused!r} is not offered: {_refused_problems[refused]}")
    if base not in _problems:
        raise UserError(
            f"problem {name!r} is not known{_nearest(name, problem_names())}"
            " (kt-info lists all; --usr_dir adds your own)"
        )
    made = _problems[base]
    try:
        result = made(was_reversed=reverse, was_copy=copy, **options)
    except TypeError as error:
        if options and "unexpected keyword" in str(error):
            raise UserError(f"problem {name!r} has no such option: {error}") from None
        raise
    return result


def hparams(name: str, overrides: str = "") -> HParams:
    """The named set with overrides `a=b,c=d` applied.

    Raises:
        UserError: the name is unknown or refused, or an override is not valid.
    """
    _load_leaf("hparams")
    if name in _refused_hparams and name not in _hparams:
        raise UserError(f"hparams set {name!r} is not offered: {_refused_hparams[name]}")
    if name not in _hparams:
        raise UserError(
            f"hparams set {name!r} is not known{_nearest(name, hparams_names())}"
            " (kt-info lists all; --usr_dir adds your own)"
        )
    values = _hparams[name]()
    from keras_transformer.config import HParams

    if not isinstance(values, HParams):
        raise UserError(
            f"hparams set {name!r}: {_hparams[name].__module__}.{_hparams[name].__qualname__}"
            f" returns {values!r}; it must return HParams"
        )
    return values.override(overrides) if overrides else values


def describe_hparams(name: str) -> str:
    """First line of the docstring of a set's function."""
    _load_leaf("hparams")
    return (_hparams[name].__doc__ or "").strip().split("\n")[0]


def describe_problem(name: str) -> str:
    """First line of the docstring of a problem's class."""
    _load_leaf("problems")
    made = _problems[_problem_aliases.get(name, name)]
    return (made.__doc__ or "").strip().split("\n")[0]


def split_set_and_overrides(text: str) -> tuple[str, str]:
    """`base,batch_size=1024` → (`base`, `batch_size=1024`); the name may be absent."""
    first, _, rest = text.partition(",")
    return ("", text) if "=" in first else (first, rest)


def import_usr_dir(path: str) -> None:
    """Imports a user's folder of problems and hparams sets, as T2T's `--t2t_usr_dir`.

    The folder is a Python package (it holds `__init__.py`) whose modules use the decorators
    `register_problem` and `register_hparams`; it is imported under its own name.

    Raises:
        UserError: no such folder, no `__init__.py`, a name that is already taken by another
            module, or an exception in the user's code (with its file and line).
    """
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise UserError(f"--usr_dir={path}: there is no such folder")
    if not (folder / "__init__.py").is_file():
        raise UserError(
            f"--usr_dir={path}: the folder holds no __init__.py; add one that imports your"
            " modules, for instance `from . import my_problem`"
        )
    known = sys.modules.get(folder.name)
    if known is not None:
        if Path(getattr(known, "__file__", None) or "").parent == folder:
            return
        raise UserError(
            f"--usr_dir={path}: a module named {folder.name!r} is already loaded from"
            f" {getattr(known, '__file__', 'elsewhere')}; rename the folder"
        )
    _load_leaf("problems")
    _load_leaf("hparams")
    sys.path.insert(0, str(folder.parent))
    try:
        importlib.import_module(folder.name)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, SyntaxError):
            file, line, text = error.filename, error.lineno, error.msg
        else:
            where = traceback.extract_tb(error.__traceback__)[-1]
            file, line, text = where.filename, where.lineno, str(error)
        raise UserError(
            f"--usr_dir={path}: {file}, line {line}: {type(error).__name__}: {text}"
        ) from error
    finally:
        sys.path.remove(str(folder.parent))
