"""Keeps TensorFlow's C++ log off the screen, whenever it is imported, and its import short.

Importing TensorFlow 2.21 writes lines about oneDNN and CUDA to the standard error that no
environment variable stops, since its log is not yet set up then. The first import is therefore made
with the file descriptor turned away; what was written is shown if the import fails.

It also takes seconds, of which a third and more is saved. TensorFlow imports Keras, which imports
Matplotlib, where there is one, for a picture of images that no program here draws: meanwhile it is
not to be found. And Python looks for garbage among the modules again and again.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
MATPLOTLIB = "matplotlib"
SILENT = "3"


def quiet_tensorflow() -> None:
    """Silences TensorFlow's start and its C++ warnings.

    A user who sets TF_CPP_MIN_LOG_LEVEL gets what they asked for; 3 asks for silence, which
    TensorFlow alone does not keep, and is what a program started by one of ours finds set.
    """
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    if os.environ.get(LOG_LEVEL, SILENT) != SILENT or "tensorflow" in sys.modules:
        return
    os.environ[LOG_LEVEL] = SILENT
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    sys.meta_path.insert(0, _QuietFinder())


class _QuietFinder(MetaPathFinder):
    """Finds `tensorflow` once, with a loader that keeps quiet."""

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _QuietLoader(spec.loader)
        return spec


class _QuietLoader(Loader):
    def __init__(self, loader: Loader):
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with _standard_error_turned_away(), _without_matplotlib(), _without_garbage_collection():
            self._loader.exec_module(module)


@contextlib.contextmanager
def _without_matplotlib() -> Iterator[None]:
    """Inside, Matplotlib cannot be imported, as if it were not installed; unless it is already."""
    if MATPLOTLIB in sys.modules:
        yield
        return
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    modules[MATPLOTLIB] = None
    try:
        yield
    finally:
        del modules[MATPLOTLIB]


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """No garbage is looked for inside, nor later among what is made inside: modules stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _standard_error_turned_away() -> Iterator[None]:
    with tempfile.TemporaryFile() as kept:
        sys.stderr.flush()
        original = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(original, 2)
            kept.seek(0)
            sys.stderr.write(kept.read().decode("utf-8", "replace"))
            raise
        finally:
            os.dup2(original, 2)
            os.close(original)
