"""How to decode: one frozen dataclass, and T2T's `--decode_hparams` string for it."""

from __future__ import annotations

import dataclasses
import difflib
import math
from dataclasses import dataclass
from typing import Any

from keras_transformer.decoding.lengths import EXTRA_LENGTH, LENGTH_LIMITS
from keras_transformer.errors import UserError

# Which candidates of a step may end an output: T2T takes the best 2K; CTranslate2 the best K, and
# at the limit those too that would go on.
ENDING_RULES = ("tensor2tensor", "ctranslate2")
# Whole numbers become int32 in a graph, and lengths are added up there.
LARGEST = 2**30


@dataclass(frozen=True)
class DecodeOptions:
    """Settings of one decode.

    Names and defaults are those of T2T's decode hyperparameters, except `extra_length` (the
    paper's 50; T2T has 100 from 1.5.5 on) and those marked ours.

    Raises:
        UserError: a value outside its range, or two that contradict each other.
    """

    beam_size: int = 4  # hypotheses kept; 1 is greedy decoding
    alpha: float = 0.6  # exponent of the length penalty; not used by greedy and sampling
    extra_length: int = EXTRA_LENGTH  # subtokens beyond the input's
    length_limit: str = "sentence"  # ours: whose length counts, see `lengths`
    batch_size: int = 32  # sentences of one batch
    n_best: int = 1  # ours: outputs of each sentence
    min_length: int = 0  # ours: least subtokens, the end of sentence not counted
    max_input_size: int = -1  # a longer input is cut to so many subtokens, its end included
    sample: bool = False  # ours: draw at random instead of searching; n_best independent outputs
    temperature: float = 1.0  # T2T sampling_temp; below 1 is nearer to greedy
    top_k: int = 0  # T2T sampling_keep_top_k; 0 draws from the whole vocabulary
    seed: int = 0  # ours: of the random numbers; each sentence has its own from it
    constrain: bool = False  # ours: only outputs that the problem's grammar allows
    ending_rule: str = "tensor2tensor"  # ours: see `ENDING_RULES`

    def __post_init__(self) -> None:
        at_least = {"beam_size": 1, "extra_length": 0, "batch_size": 1, "n_best": 1}
        at_least |= {"min_length": 0, "top_k": 0, "alpha": 0}
        for name, least in at_least.items():
            value = getattr(self, name)
            if not value >= least or not math.isfinite(value):
                raise UserError(f"{name} is {value}: it must be at least {least}")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
                raise UserError(f"{field.name} is {value}: no number may be above {LARGEST}")
        if self.max_input_size != -1 and self.max_input_size < 2:
            raise UserError(
                f"max_input_size is {self.max_input_size}: give at least 2 (a subtoken and the end"
                " of the sentence), or -1 for no limit"
            )
        if not 0 < self.temperature < math.inf:
            raise UserError(f"temperature is {self.temperature}: it must be above 0")
        if self.length_limit not in LENGTH_LIMITS:
            raise UserError(
                f"length_limit is {self.length_limit!r}: give one of {', '.join(LENGTH_LIMITS)}"
            )
        if self.ending_rule not in ENDING_RULES:
            raise UserError(
                f"ending_rule is {self.ending_rule!r}: give one of {', '.join(ENDING_RULES)}"
            )
        if self.min_length > self.extra_length:
            raise UserError(
                f"min_length is {self.min_length}, extra_length is {self.extra_length}: outputs of"
                " short sentences could not become so long; raise extra_length to min_length"
            )
        if self.constrain and self.min_length:
            raise UserError(
                f"min_length is {self.min_length}, and outputs are held to a grammar, which knows"
                " when they end: leave min_length out"
            )
        if not self.sample and self.n_best > self.beam_size:
            raise UserError(
                f"n_best is {self.n_best}, beam_size is {self.beam_size}: a search gives at most"
                " beam_size outputs; raise beam_size, or draw samples"
            )

    @property
    def ends_within(self) -> int | None:
        """What `beam_search` is told."""
        return self.beam_size if self.ending_rule == "ctranslate2" else None

    def replace(self, **changes: Any) -> DecodeOptions:
        """A copy with other values.

        Raises:
            UserError: an unknown name (the nearest one is named), or a value that is refused.
        """
        known = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                raise UserError(f"there is no decoding option {name!r}{_nearest(name, known)}")
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True)
class DecodeHparams:
    """What T2T's `--decode_hparams` says: the options and how a file is written."""

    options: DecodeOptions = DecodeOptions()
    return_beams: bool = False  # all beams of a sentence in its line, tabs between
    write_beam_scores: bool = False  # each followed by a tab and its score
    identity_output: bool = False  # ids instead of text
    num_samples: int = -1  # of a data set: stop after so many
    shards: int = 1
    shard_id: int = 0
    shards_start_offset: int = 0
    shard_google_format: bool = False

    def __post_init__(self) -> None:
        if self.shards < 1 or not 0 <= self.shard_id < self.shards or self.shards_start_offset < 0:
            raise UserError(
                f"decode_hparams: shards={self.shards}, shard_id={self.shard_id},"
                f" shards_start_offset={self.shards_start_offset}: shards are numbered from 0, so"
                " shard_id must be below shards, and the offset not below 0"
            )


_RENAMED = {"sampling_temp": "temperature", "sampling_keep_top_k": "top_k"}

# T2T's names whose default changes nothing. Any other value would change the output in a way that
# this project does not offer.
_ONLY_DEFAULT: dict[str, tuple[Any, str]] = {
    "delimiter": ("\n", "records are lines here"),
    "force_decode_length": (False, "an output ends at its end of sentence"),
    "skip_eos_postprocess": (False, "an output is cut at its end of sentence"),
    "num_decodes": (1, "draw several outputs with n_best"),
    "eos_penalty": (0.0, "T2T's Transformer does not read it either; min_length is there"),
    "min_length_ratio": (0.0, "T2T's Transformer does not read it either; min_length is there"),
    "block_size": (0, "T2T's Transformer does not read it either"),
    "guess_and_check_top_k": (0, "T2T's Transformer does not read it either"),
    "guess_and_check_epsilon": (-1, "T2T's Transformer does not read it either"),
}
# T2T's names that say where and how often something is logged.
_WITHOUT_EFFECT = (
    "log_results",
    "save_images",
    "decode_in_memory",
    "summaries_log_dir",
    "decode_timeout_mins",
    "use_last_position_only",
)


def parse_decode_hparams(text: str, base: DecodeOptions = DecodeOptions()) -> DecodeHparams:
    """Reads `beam_size=4,alpha=0.6,return_beams=True`.

    Args:
        text: T2T's form, `name=value` with commas between.
        base: the options it changes.

    Raises:
        UserError: an unknown name (the nearest one is named), a value of the wrong kind, or one
            that asks for what is not offered.
    """
    options: dict[str, Any] = {}
    written: dict[str, Any] = {}
    option_types = {field.name: type(field.default) for field in dataclasses.fields(DecodeOptions)}
    written_types = {
        field.name: type(field.default)
        for field in dataclasses.fields(DecodeHparams)
        if field.name != "options"
    }
    known = [*option_types, *written_types, *_RENAMED, *_ONLY_DEFAULT, *_WITHOUT_EFFECT]
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in item.partition("="))
        if not equals:
            raise UserError(f"decode_hparams: {item!r} is not of the form name=value")
        name = _RENAMED.get(name, name)
        if name in option_types:
            options[name] = _typed(name, value, option_types[name])
        elif name in written_types:
            written[name] = _typed(name, value, written_types[name])
        elif name in _ONLY_DEFAULT:
            default, reason = _ONLY_DEFAULT[name]
            if _typed(name, value, type(default)) != default:
                raise UserError(f"decode_hparams: {name}={value} is not offered: {reason}")
        elif name not in _WITHOUT_EFFECT:
            raise UserError(f"decode_hparams: there is no {name!r}{_nearest(name, known)}")
    if options.get("batch_size") == 0:  # T2T: the default
        del options["batch_size"]
    if written.get("return_beams"):
        options.setdefault("n_best", options.get("beam_size", base.beam_size))
    return DecodeHparams(options=base.replace(**options), **written)


def _typed(name: str, value: str, kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        return kind(value)
    except (KeyError, ValueError):
        wanted = {bool: "True or False", int: "a whole number", float: "a number"}[kind]
        raise UserError(f"decode_hparams: {name} is {value!r}: it must be {wanted}") from None


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
