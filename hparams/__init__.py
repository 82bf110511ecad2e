"""How to learn: the named settings, one module a family.

A set is a function without arguments that returns `HParams`; a derived set states only what differs
from its parent, with the source of the change. The package itself can be called, as T2T's registry
is: `keras_transformer.hparams("base", "batch_size=1024")`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from keras_transformer import registry

if TYPE_CHECKING:
    from keras_transformer.config import HParams


class _CallablePackage(ModuleType):
    def __call__(self, name: str, overrides: str = "") -> HParams:
        """The named set with `overrides` applied; see `registry.hparams`."""
        return registry.hparams(name, overrides)


sys.modules[__name__].__class__ = _CallablePackage
