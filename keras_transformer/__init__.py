"""The Transformer of "Attention Is All You Need", faithful to Tensor2Tensor, on TensorFlow 2.

    import keras_transformer as kt
    hp      = kt.hparams("base")
    problem = kt.problem("wmt14_ende")
    model   = kt.Transformer.from_hparams(hp, source_vocab_size=V1, target_vocab_size=V2)
    translator = kt.Translator.load(run_dir)

Names are loaded when first used, so that importing the package costs milliseconds.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

# In a checkout the leaf folders stand at the top of the repository; installed, inside the package.
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "setup.py").is_file() and (_checkout / "t2t_compat").is_dir():
    __path__.append(str(_checkout))

# Keras chooses its backend when first imported; these layers are written for TensorFlow.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

__version__ = "0.1.0"

if TYPE_CHECKING:
    from keras_transformer import t2t_compat as t2t_compat
    from keras_transformer.config import HParams as HParams
    from keras_transformer.data.problem import Problem as Problem
    from keras_transformer.data.text_problem import Text2TextProblem as Text2TextProblem
    from keras_transformer.decoding.translator import Translation as Translation
    from keras_transformer.decoding.translator import Translator as Translator
    from keras_transformer.errors import UserError as UserError
    from keras_transformer.model.transformer import Transformer as Transformer
    from keras_transformer.registry import hparams as hparams
    from keras_transformer.registry import problem as problem
    from keras_transformer.registry import register_hparams as register_hparams
    from keras_transformer.registry import register_problem as register_problem
    from keras_transformer.text.subword_encoder import SubwordTextEncoder as SubwordTextEncoder

_HOME = {
    "HParams": "config",
    "Problem": "data.problem",
    "SubwordTextEncoder": "text.subword_encoder",
    "Text2TextProblem": "data.text_problem",
    "Transformer": "model.transformer",
    "Translation": "decoding.translator",
    "Translator": "decoding.translator",
    "UserError": "errors",
    "VocabType": "data.text_problem",
    "problem": "registry",
    "register_hparams": "registry",
    "register_problem": "registry",
}
# `keras_transformer.hparams` is a package that can be called: kt.hparams("base").
_PACKAGES = ("hparams", "t2t_compat")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])
