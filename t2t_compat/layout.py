"""What a T2T checkpoint's variables tell about the model, from their names and shapes alone.

Eras (seen by running the releases):

| era | releases | attention | prefix |
| --- | --- | --- | --- |
| A | 1.0.x | fused 4-D kernels with biases, bare `layer_norm` names | none |
| B | 1.1.x – 1.2.x | fused 4-D kernels with biases under `multihead_attention` | none |
| C/D | 1.3.0 – 1.15.7 | separate 2-D q, k, v kernels without biases | `transformer/` |

Any other prefix (a user's variable scope) is found from the embedding's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from keras_transformer.errors import UserError

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]

_EMBEDDING = re.compile(
    r"^(?P<prefix>(?:.*/)?)symbol_modality_(?P<vocab>\d+)_(?P<hidden>\d+)/"
    r"(?P<role>shared|input_emb|target_emb|softmax)/weights_(?P<shard>\d+)$"
)
_BOOKKEEPING = re.compile(
    r"(^|/)(global_step|max_nonpadding|beta\d_power|iter)$|/Adam(_\d+)?$|^training/|/training/"
    r"|^train_state$|^data_iterator$|^losses_avg/|/losses_avg/|^train_stats/|/train_stats/"
)


def is_bookkeeping(name: str) -> bool:
    """True for what is no weight: the step, optimizer slots, running statistics."""
    return bool(_BOOKKEEPING.search(name))


@dataclass(frozen=True)
class Layout:
    """The structure found in a checkpoint.

    Attributes:
        era: "A", "B" or "D" (C and D have the same weights).
        prefix: variable scope in front of every weight, "" or ending in "/".
        tables: role (shared, input_emb, target_emb, softmax) → the scope of its shards.
        shard_counts: role → number of shards.
        padded_vocab_sizes: side → rows of its table (after rounding up to vocab_divisor).
        hidden_size, filter_size, key_size, value_size: widths; the last two over all heads.
        encoder_layers, decoder_layers: depths.
        pre_norm: layer norm before each sub-layer and at the end of each stack.
        target_space_rows: rows of the target-space table, 0 if there is none.
        max_length: rows of the learned positions, 0 if there are none.
        feed_forward_at_padding: the release ran the encoder's feed-forward at padding too; None
            where the variables cannot tell.
    """

    era: str
    prefix: str
    tables: dict[str, str]
    shard_counts: dict[str, int]
    padded_vocab_sizes: dict[str, int]
    hidden_size: int
    filter_size: int
    key_size: int
    value_size: int
    encoder_layers: int
    decoder_layers: int
    pre_norm: bool
    target_space_rows: int
    max_length: int
    feed_forward_at_padding: bool | None

    @property
    def attention_bias(self) -> bool:
        """2017's releases up to 1.2.x have biases on the attention projections."""
        return self.era in ("A", "B")

    @property
    def release(self) -> str:
        """The releases that write this layout, for a person."""
        return {"A": "1.0.x", "B": "1.1.x to 1.2.x", "D": "1.3.0 to 1.15.7"}[self.era]

    def body(self, name: str) -> str:
        """Full variable name of something under the body scope."""
        return f"{self.prefix}body/{name}"


def detect_layout(shapes: Shapes, origin: str = "the checkpoint") -> Layout:
    """Reads the structure off the variables.

    Raises:
        UserError: these are not the variables of a T2T Transformer (what is there instead is
            named), or a part that every Transformer has is missing.
    """
    tables: dict[str, str] = {}
    shard_numbers: dict[str, set[int]] = {}
    rows: dict[str, int] = {}
    vocab: dict[str, int] = {}
    prefix, hidden = None, 0
    for name, shape in shapes.items():
        match = _EMBEDDING.match(name)
        if not match or is_bookkeeping(name):
            continue
        prefix, hidden, role = match["prefix"], int(match["hidden"]), match["role"]
        tables[role] = name.rpartition("/weights_")[0]
        shard_numbers.setdefault(role, set()).add(int(match["shard"]))
        rows[role] = rows.get(role, 0) + shape[0]
        vocab[role] = int(match["vocab"])
    if prefix is None:
        raise _foreign(shapes, origin)
    for role, numbers in shard_numbers.items():
        _check_shards(role, tables[role], numbers, rows[role], vocab[role])
    body = f"{prefix}body/"
    weights = {
        name[len(body) :]: shape
        for name, shape in shapes.items()
        if name.startswith(body) and not is_bookkeeping(name)
    }
    era = _era(weights, origin)
    depths = {stack: _depth(weights, stack, origin) for stack in ("encoder", "decoder")}
    key, value = _attention_widths(weights, era, hidden, origin)
    source, target = _table_roles(tables, origin)
    pre_norm = any("/layer_prepostprocess/" in name for name in weights)
    return Layout(
        era=era,
        prefix=prefix,
        tables=tables,
        shard_counts={role: len(numbers) for role, numbers in shard_numbers.items()},
        padded_vocab_sizes={"inputs": vocab[source], "targets": vocab[target]},
        hidden_size=hidden,
        filter_size=_filter_size(weights, origin),
        key_size=key,
        value_size=value,
        encoder_layers=depths["encoder"],
        decoder_layers=depths["decoder"],
        pre_norm=pre_norm,
        target_space_rows=weights.get("target_space_embedding/kernel", (0,))[0],
        max_length=weights.get("inputs_positional_embedding", (0,))[0],
        feed_forward_at_padding=_feed_forward_at_padding(era, pre_norm, shapes),
    )


def _foreign(shapes: Shapes, origin: str) -> UserError:
    sample = ", ".join(sorted(n for n in shapes if not is_bookkeeping(n))[:3])
    return UserError(
        f"{origin} holds no T2T Transformer: there is no symbol_modality_<V>_<d> embedding among"
        f" its {len(shapes)} variables (the first are {sample or 'bookkeeping only'}); give the"
        " checkpoint of a model trained with --model=transformer"
    )


def _check_shards(role: str, scope: str, numbers: set[int], rows: int, vocab: int) -> None:
    missing = sorted(set(range(max(numbers) + 1)) - numbers)
    if missing:
        names = ", ".join(f"{scope}/weights_{number}" for number in missing)
        raise UserError(
            f"the {role} table lacks a shard: {names}"
            f" ({len(numbers)} of {max(numbers) + 1} are there); the checkpoint is not whole"
        )
    if rows != vocab:
        raise UserError(
            f"the {role} table {scope} has {rows} rows in {len(numbers)} shards, but its name says"
            f" {vocab}: the last shards are missing; the checkpoint is not whole"
        )


def _era(weights: Shapes, origin: str) -> str:
    if any("/multihead_attention/q/" in name for name in weights):
        return "D"
    if any("/multihead_attention/qkv_transform_single/" in name for name in weights):
        return "B"
    if any("/encoder_self_attention/qkv_transform_single/" in name for name in weights):
        return "A"
    kinds = sorted({name.split("/")[2] for name in weights if name.count("/") > 2})
    raise UserError(
        f"{origin}: its attention is none of T2T's Transformer layouts (found: {', '.join(kinds)});"
        " relative, local or evolved attention is not offered here"
    )


def _depth(weights: Shapes, stack: str, origin: str) -> int:
    numbers = {
        int(match[1]) for name in weights if (match := re.match(rf"{stack}/layer_(\d+)/", name))
    }
    if not numbers:
        raise UserError(
            f"{origin} has no {stack} layers; only encoder-decoder Transformers are taken over"
            " (language models and encoder-only models are not)"
        )
    missing = sorted(set(range(max(numbers) + 1)) - numbers)
    if missing:
        raise UserError(f"{origin}: {stack}/layer_{missing[0]} is missing; it is not whole")
    return max(numbers) + 1


def _attention_widths(weights: Shapes, era: str, hidden: int, origin: str) -> tuple[int, int]:
    stem = "encoder/layer_0/"
    try:
        if era == "D":
            scope = f"{stem}self_attention/multihead_attention/"
            if len(weights[scope + "q/kernel"]) != 2:
                raise UserError(
                    f"{origin}: attention kernels have three axes (attention_variables_3d); that"
                    " form is not offered here"
                )
            return weights[scope + "q/kernel"][1], weights[scope + "v/kernel"][1]
        name = "self_attention/multihead_attention" if era == "B" else "encoder_self_attention"
        fused = weights[f"{stem}{name}/qkv_transform_single/kernel"][-1]
        value = weights[f"{stem}{name}/output_transform_single/kernel"][-2]
        return (fused - value) // 2, value
    except KeyError as error:
        raise UserError(f"{origin}: the variable body/{error.args[0]} is missing") from None


def _filter_size(weights: Shapes, origin: str) -> int:
    for name, shape in weights.items():
        if re.match(r"encoder/layer_0/.*conv1(_single)?/kernel$", name):
            return shape[-1]
    raise UserError(
        f"{origin}: no feed-forward kernel (conv1) in encoder layer 0; other kinds of feed-forward"
        " layers than dense_relu_dense are not offered here"
    )


def _table_roles(tables: Mapping[str, str], origin: str) -> tuple[str, str]:
    source = "shared" if "shared" in tables else "input_emb"
    target = "softmax" if "softmax" in tables else "shared"
    for role in (source, target):
        if role not in tables:
            raise UserError(
                f"{origin} holds the tables {', '.join(sorted(tables))} but no {role}:"
                " it is not whole"
            )
    return source, target


def _feed_forward_at_padding(era: str, pre_norm: bool, shapes: Shapes) -> bool | None:
    if era == "A":
        return True
    if era == "B":
        # 1.2.4 brought the pad remover and, with it, this scalar; 1.2.5 the first pre-norm set.
        # Where only weights were kept neither may be seen, which then matters at padding alone.
        return not pre_norm and not any(name.endswith("max_nonpadding") for name in shapes)
    return None
