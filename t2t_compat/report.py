"""The account of an import: every variable of the checkpoint, every weight of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keras_transformer.errors import UserError
from keras_transformer.t2t_compat.layout import Layout, Shapes, is_bookkeeping
from keras_transformer.t2t_compat.weights import Source

Shape = tuple[int, ...]


@dataclass
class ImportReport:
    """Where everything went and came from.

    Attributes:
        checkpoint: its prefix.
        layout: release and structure, for a person.
        taken: checkpoint variable → weights made from it.
        left: checkpoint variable → why it was left.
        weights: model weight → its source.
        notes: settings found or overruled, keys not known, the target space and how it was chosen.
    """

    checkpoint: str
    layout: dict[str, Any]
    taken: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, written as `import_report.json`."""
        return {
            "checkpoint": self.checkpoint,
            "layout": self.layout,
            "notes": self.notes,
            "weights": self.weights,
            "variables_taken": self.taken,
            "variables_left": self.left,
        }

    def lines(self) -> list[str]:
        """For the screen: structure, notes, every weight with its source, what was left and why."""
        text = [f"checkpoint {self.checkpoint}"]
        text += [f"  {key.replace('_', ' ')}: {value}" for key, value in self.layout.items()]
        text.append("weights of the model and where they come from")
        text += [f"  {weight} ← {source}" for weight, source in self.weights.items()]
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.left.items():
            by_reason.setdefault(reason, []).append(name)
        text.append("variables that are no weights")
        for reason, names in sorted(by_reason.items()):
            shown = ", ".join(sorted(names)[:3]) + (" …" if len(names) > 3 else "")
            text.append(f"  {len(names)}, {reason}: {shown}")
        text.append(
            f"{len(self.weights)} weights filled from {len(self.taken)} variables,"
            f" {len(self.left)} variables left"
        )
        return text + [f"note: {note}" for note in self.notes]


def why_left(name: str) -> str:
    """Reason why a variable of the checkpoint is no weight of the model."""
    if name.endswith("global_step"):
        return "the step; kept in the checkpoint's name and state"
    if "/Adam" in name or "beta1_power" in name or "beta2_power" in name:
        return "optimizer state"
    if name.endswith("training/iter"):
        return "counter of the multistep optimizer"
    if name in ("train_state", "data_iterator"):
        return "written by kt-avg or kt-trainer"
    return "running statistics"


def account(
    checkpoint: str,
    layout: Layout,
    shapes: Shapes,
    sources: Mapping[str, Source],
    weight_shapes: Mapping[str, Shape],
) -> ImportReport:
    """Matches the checkpoint's variables with the model's weights.

    Raises:
        UserError: a weight without source, a variable without use, or a shape that differs; every
            one is listed, with a guess of the reason.
    """
    report = ImportReport(
        checkpoint=checkpoint,
        layout={
            "releases": layout.release,
            "norm": "before each sub-layer" if layout.pre_norm else "after each sub-layer",
            "layers": f"{layout.encoder_layers} + {layout.decoder_layers}",
            "widths": f"hidden {layout.hidden_size}, filter {layout.filter_size},"
            f" keys {layout.key_size}, values {layout.value_size}",
            "tables": ", ".join(sorted(layout.tables)),
            "vocabulary": f"{layout.padded_vocab_sizes['inputs']} source,"
            f" {layout.padded_vocab_sizes['targets']} target rows",
        },
    )
    missing, misshapen = [], []
    for weight in weight_shapes:
        source = sources.get(weight)
        absent = [n for n in source.names if n not in shapes] if source else []
        if source is None or absent:
            missing.append(weight + (f" (from {absent[0]})" if absent else ""))
            continue
        found = shape_of(source, shapes)
        if found != tuple(weight_shapes[weight]):
            misshapen.append(f"{weight}: {list(found)}, wanted {list(weight_shapes[weight])}")
        report.weights[weight] = source.describe()
        for name in source.names:
            report.taken.setdefault(name, []).append(weight)
    unused = []
    for name in shapes:
        if name in report.taken:
            continue
        if is_bookkeeping(name):
            report.left[name] = why_left(name)
        else:
            unused.append(name)
    if missing or misshapen or unused:
        raise UserError(_gaps(checkpoint, layout, missing, misshapen, unused))
    return report


def shape_of(source: Source, shapes: Shapes) -> Shape:
    """Shape of the weight that a source gives, from the variables' shapes alone."""
    shape = list(shapes[source.names[0]])
    if len(source.names) > 1:
        shape[0] = sum(shapes[name][0] for name in source.names)
    while len(shape) > 2 and shape[0] == 1:
        shape = shape[1:]
    if source.columns is not None:
        shape[-1] = min(source.columns[1], shape[-1]) - source.columns[0]
    return tuple(shape)


def _gaps(
    checkpoint: str,
    layout: Layout,
    missing: list[str],
    misshapen: list[str],
    unused: list[str],
) -> str:
    lines = [f"{checkpoint} does not fill the model its settings describe:"]
    for title, rows in (
        ("weights of the model without a variable", missing),
        ("weights whose variable has another shape", misshapen),
        ("variables of the checkpoint without a place", unused),
    ):
        if rows:
            lines.append(f"  {title} ({len(rows)}):")
            lines += [f"    {row}" for row in sorted(rows)[:12]]
            if len(rows) > 12:
                lines.append(f"    … and {len(rows) - 12} more")
    lines.append(f"  probable reason: {_guess(layout, missing, misshapen, unused)}")
    return "\n".join(lines)


def _guess(layout: Layout, missing: list[str], misshapen: list[str], unused: list[str]) -> str:
    rows = missing + misshapen + unused
    if any("embedding" in row or "softmax" in row for row in misshapen):
        return (
            "another vocabulary than the one it was trained with (its tables have"
            f" {layout.padded_vocab_sizes['inputs']} source and"
            f" {layout.padded_vocab_sizes['targets']} target rows); give --vocab_file"
        )
    if any("layer_norm" in row for row in missing):
        return "the settings' norm place is not the checkpoint's (post-norm or pre-norm); other set"
    if any("embedding" in row or "softmax" in row for row in rows):
        return "embeddings shared in one and separate in the other; another hparams set"
    if misshapen:
        return "the settings belong to another hparams set (other widths)"
    if unused:
        return (
            "the checkpoint is of a model with parts that this Transformer has not, or an averaging"
            " tool added variables of its own"
        )
    return "a part of the checkpoint is missing; take another checkpoint of the run"
