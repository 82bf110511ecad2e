"""Which variable of a T2T checkpoint each weight of the model comes from, for every era.

The table works in both directions: reading (join shards by rows, cut fused kernels by columns, drop
leading unit axes) and writing T2T 1.15's layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.t2t_compat.layout import Layout

# Sub-layer of the model → T2T's scope inside a layer, eras B to D.
_SUBLAYERS = {
    "encoder": (("self_attention", "self_attention"), ("feed_forward", "ffn")),
    "decoder": (
        ("self_attention", "self_attention"),
        ("cross_attention", "encdec_attention"),
        ("feed_forward", "ffn"),
    ),
}
_NORM = (("scale", "layer_norm_scale"), ("bias", "layer_norm_bias"))


@dataclass(frozen=True)
class Source:
    """Where one weight comes from.

    Attributes:
        names: the checkpoint's variables; several are joined by rows in this order.
        columns: (first, behind the last) part of the last axis; None for all of it.
    """

    names: tuple[str, ...]
    columns: tuple[int, int] | None = None

    def read(self, tensor: Callable[[str], np.ndarray], suffix: str = "") -> np.ndarray:
        """The weight's value.

        Args:
            tensor: name → value of a checkpoint variable.
            suffix: "" for the weight itself; see `slot_names` for an optimizer's slots.
        """
        parts = [tensor(name) for name in self.slot_names(suffix)]
        value = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=0)
        # Width-1 convolutions of 2017: [1, 1, in, out].
        while value.ndim > 2 and value.shape[0] == 1:
            value = value[0]
        if self.columns is not None:
            value = value[..., self.columns[0] : self.columns[1]]
        return value

    def slot_names(self, suffix: str) -> tuple[str, ...]:
        """Names of the variables, or of an optimizer's slots on them (`Adam`, `Adam_1`)."""
        if not suffix:
            return self.names
        return tuple(f"training/{name}/{suffix}" for name in self.names)

    def describe(self) -> str:
        """One line for the report."""
        text = self.names[0]
        if len(self.names) > 1:
            text += f" … {self.names[-1].rpartition('/')[2]} ({len(self.names)} shards by rows)"
        if self.columns is not None:
            text += f"[…, {self.columns[0]}:{self.columns[1]}]"
        return text


def weight_sources(layout: Layout) -> dict[str, Source]:
    """Model weight name → its source, for everything the layout holds."""
    return {**dict(_tables(layout)), **dict(_stacks(layout))}


def _tables(layout: Layout) -> Iterator[tuple[str, Source]]:
    names = {
        "shared": "shared_embedding",
        "input_emb": "inputs_embedding",
        "target_emb": "targets_embedding",
        "softmax": "softmax",
    }
    for role, scope in layout.tables.items():
        shards = tuple(f"{scope}/weights_{i}" for i in range(layout.shard_counts[role]))
        yield f"{names[role]}/weights", Source(shards)
    if layout.target_space_rows:
        yield (
            "target_space_embedding/weights",
            Source((layout.body("target_space_embedding/kernel"),)),
        )
    if layout.max_length:
        for name in ("inputs_positional_embedding", "targets_positional_embedding"):
            yield f"{name}/weights", Source((layout.body(name),))


def _stacks(layout: Layout) -> Iterator[tuple[str, Source]]:
    for stack, depth in (("encoder", layout.encoder_layers), ("decoder", layout.decoder_layers)):
        for number in range(depth):
            layer = f"{stack}/layer_{number}"
            for position, (sublayer, scope) in enumerate(_SUBLAYERS[stack]):
                ours = f"{layer}/{sublayer}"
                if sublayer == "feed_forward":
                    parts = _feed_forward(layout, layer, scope)
                else:
                    parts = _attention(layout, stack, layer, sublayer, scope)
                for part, source in parts:
                    yield f"{ours}/{part}", source
                norm = _norm_scope(layout, layer, scope, position)
                for part, name in _NORM:
                    yield f"{ours}/layer_norm/{part}", Source((f"{norm}/{name}",))
        if layout.pre_norm:
            norm = layout.body(f"{stack}/layer_prepostprocess/layer_norm")
            for part, name in _NORM:
                yield f"{stack}/final_layer_norm/{part}", Source((f"{norm}/{name}",))


def _norm_scope(layout: Layout, layer: str, scope: str, position: int) -> str:
    if layout.era == "A":
        return layout.body(f"{layer}/layer_norm" + (f"_{position}" if position else ""))
    place = "layer_prepostprocess" if layout.pre_norm else "layer_postprocess"
    return layout.body(f"{layer}/{scope}/{place}/layer_norm")


def _feed_forward(layout: Layout, layer: str, scope: str) -> Iterator[tuple[str, Source]]:
    stem = {
        "A": f"{layer}/conv_hidden_relu",
        "B": f"{layer}/{scope}/conv_hidden_relu",
        "D": f"{layer}/{scope}",
    }[layout.era]
    single = "" if layout.era == "D" else "_single"
    for ours, theirs in (("hidden", "conv1"), ("output", "conv2")):
        for part in ("kernel", "bias"):
            yield f"{ours}/{part}", Source((layout.body(f"{stem}/{theirs}{single}/{part}"),))


def _attention(
    layout: Layout, stack: str, layer: str, sublayer: str, scope: str
) -> Iterator[tuple[str, Source]]:
    if layout.era == "D":
        stem = layout.body(f"{layer}/{scope}/multihead_attention")
        for ours, theirs in (
            ("query", "q"), ("key", "k"), ("value", "v"), ("output", "output_transform"),
        ):  # fmt: skip
            yield f"{ours}/kernel", Source((f"{stem}/{theirs}/kernel",))
        return
    key, value = layout.key_size, layout.value_size
    if layout.era == "B":
        stem = layout.body(f"{layer}/{scope}/multihead_attention")
    else:
        own = scope if sublayer == "cross_attention" else f"{stack}_self_attention"
        stem = layout.body(f"{layer}/{own}")
    for part in ("kernel", "bias"):
        if sublayer == "self_attention":
            fused = f"{stem}/qkv_transform_single/{part}"
            yield f"query/{part}", Source((fused,), (0, key))
            yield f"key/{part}", Source((fused,), (key, 2 * key))
            yield f"value/{part}", Source((fused,), (2 * key, 2 * key + value))
        else:
            yield f"query/{part}", Source((f"{stem}/q_transform_single/{part}",))
            fused = f"{stem}/kv_transform_single/{part}"
            yield f"key/{part}", Source((fused,), (0, key))
            yield f"value/{part}", Source((fused,), (key, key + value))
        yield f"output/{part}", Source((f"{stem}/output_transform_single/{part}",))


def shard_rows(rows: int, shards: int) -> list[int]:
    """Rows of each shard of a table: rows // shards, the first rows mod shards one more."""
    if shards < 1:
        raise UserError(f"symbol_modality_num_shards is {shards}: it must be at least 1")
    return [rows // shards + (number < rows % shards) for number in range(shards)]
