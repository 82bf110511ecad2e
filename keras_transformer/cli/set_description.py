"""What `kt-info` says about a hparams set: one dict, for JSON and for the text made from it."""

from __future__ import annotations

import textwrap
from typing import Any

from keras_transformer import registry
from keras_transformer.config import FIELDS, HParams
from keras_transformer.hparams.table3 import PREFIX, ROWS, Row
from keras_transformer.model.parameter_count import count_parameters
from keras_transformer.reproduce.paper import (
    DEVICES,
    SUSTAINED_FLOPS,
    TRAINING_SECONDS,
    estimated_flops,
)
from keras_transformer.training.cost import memory_bytes, positions_of_a_batch, step_flops

DEFAULT_STEPS = 100_000
_COLUMNS = 100


def describe_set(
    name: str,
    hp: HParams,
    source_vocab_size: int,
    target_vocab_size: int | None,
    train_steps: int | None,
    replicas: int,
    mean_length: int,
) -> dict[str, Any]:
    """Values with sources, parameters, operations and memory; see `kt-info --help`."""
    row = ROWS.get(name.removeprefix(PREFIX))
    if row and hp != registry.hparams(name):
        row = None  # an override made it another model than the table's
    steps = train_steps or (row.steps if row else DEFAULT_STEPS)
    target = target_vocab_size or source_vocab_size
    flops = step_flops(hp, target, mean_length, replicas)
    positions = positions_of_a_batch(hp, mean_length) * replicas
    description: dict[str, Any] = {
        "hparams_set": name,
        "hparams": {
            field: {
                "value": getattr(hp, field),
                "source": hp.source_of(field),
                "meaning": FIELDS[field].metadata["meaning"],
            }
            for field in sorted(FIELDS)
        },
        "vocab_size": {"inputs": source_vocab_size, "targets": target},
        "parameters": count_parameters(hp, source_vocab_size, target_vocab_size),
        "training": {
            "steps": steps,
            "replicas": replicas,
            "mean_length": mean_length,
            "positions_per_step": positions,
            "flops_per_step": flops,
            "flops": flops * steps,
        },
        "memory_bytes": memory_bytes(hp, source_vocab_size, target_vocab_size, mean_length),
    }
    if row and row.name in TRAINING_SECONDS:
        description["training"]["flops_by_the_papers_method"] = estimated_flops(
            TRAINING_SECONDS[row.name], DEVICES, SUSTAINED_FLOPS["P100"]
        )
    if row:
        description["table3"] = _table3(row, hp, source_vocab_size, target_vocab_size)
    return description


def _table3(row: Row, hp: HParams, source: int, target: int | None) -> dict[str, Any]:
    printed = {
        "perplexity": row.perplexity,
        "bleu": row.bleu,
        "parameters_millions": row.parameters,
        "steps": row.steps,
    }
    total = count_parameters(hp, source, target)["total"] / 1e6
    return {"printed": printed, "difference": _difference(row, hp, total)}


def _difference(row: Row, hp: HParams, millions: float) -> str:
    """Why the count here is not the printed one."""
    if row.parameters is None:
        return f"the table prints no number of parameters for this row; here {millions:.2f} million"
    own = _fitting_vocabulary(hp, row.parameters)
    ranges = [
        _fitting_vocabulary(registry.hparams(f"{PREFIX}{other.name}"), other.parameters)
        for other in ROWS.values()
        if other.parameters is not None and other.name != "big"
    ]
    shared = range(max(r.start for r in ranges), min(r.stop for r in ranges))
    big = _fitting_vocabulary(registry.hparams(f"{PREFIX}big"), ROWS["big"].parameters or 0)
    return (
        f"{millions - row.parameters:+.2f} million against the printed {row.parameters}. The text"
        f" says a vocabulary of about 37,000; the printed number would need {_from_to(own)}."
        f" {_from_to(shared)} explains every row but big, which needs {_from_to(big)}, so no single"
        " vocabulary explains the table. The count here is that of the model as built, its"
        " target-space table included."
    )


def _fitting_vocabulary(hp: HParams, millions: int) -> range:
    """Sizes of one shared vocabulary at which the parameters round to the printed millions."""
    # The paper's text has no target-space table.
    rest = count_parameters(hp.replace(use_target_space_embedding=False), 0)["total"]
    low, high = (int(edge * 1e6) - rest for edge in (millions - 0.5, millions + 0.5))
    return range(-(-low // hp.hidden_size), -(-high // hp.hidden_size))


def _from_to(sizes: range) -> str:
    return f"{sizes.start:,} to {sizes.stop - 1:,}"


def as_text(description: dict[str, Any], summary: str) -> str:
    """The description for a reader."""
    hparams, parameters = description["hparams"], description["parameters"]
    lines = [f"{description['hparams_set']}: {summary}", ""]
    shown = {name: str(entry["value"]) or '""' for name, entry in hparams.items()}
    name_width, value_width = max(map(len, shown)), min(28, max(map(len, shown.values())))
    for name, value in shown.items():
        lines.append(
            f"  {name:<{name_width}}  {value:<{value_width}}  {hparams[name]['source']}".rstrip()
        )
    sizes = description["vocab_size"]
    lines += ["", f"parameters, vocabulary {sizes['inputs']:,} and {sizes['targets']:,}:"]
    for part, count in parameters.items():
        if count:
            share = f"{count / parameters['total']:7.1%}" if part != "total" else ""
            lines.append(f"  {part:<12} {count:>13,}{share}")
    lines += ["", *_training_lines(description["training"])]
    lines += ["", "memory of one replica, activations estimated:"]
    for part, size in description["memory_bytes"].items():
        lines.append(f"  {part:<12} {size / 2**20:>9,.0f} MiB")
    if "table3" in description:
        lines += ["", *_table3_lines(description["table3"])]
    return "\n".join(lines) + "\n"


def _training_lines(training: dict[str, Any]) -> list[str]:
    lines = [
        f"training, {training['steps']:,} steps on {training['replicas']} replicas with sentences"
        f" of {training['mean_length']} subtokens:",
        f"  positions of one side in a step  {training['positions_per_step']:,}",
        f"  operations of a step, counted    {training['flops_per_step']:.3g} FLOPs",
        f"  operations of the run, counted   {training['flops']:.3g} FLOPs",
    ]
    if "flops_by_the_papers_method" in training:
        lines.append(
            f"  the paper's estimate             {training['flops_by_the_papers_method']:.3g} FLOPs"
            " (hours times cards times sustained FLOP/s)"
        )
    return lines


def _table3_lines(table3: dict[str, Any]) -> list[str]:
    printed = table3["printed"]
    millions = printed["parameters_millions"]
    return [
        "Table 3 prints (newstest2013, beam 4, alpha 0.6, no averaging):",
        f"  perplexity per subword {printed['perplexity']}, BLEU {printed['bleu']}, parameters "
        + (f"{millions} million" if millions else "not given")
        + f", {printed['steps']:,} steps",
        *textwrap.wrap(
            f"parameters: {table3['difference']}",
            width=_COLUMNS,
            initial_indent="  ",
            subsequent_indent="    ",
        ),
    ]
