"""`kt-info`: lists problems and hparams sets, and describes one of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from keras_transformer.cli.output_places import require_file
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.config import HParams

program = Program(
    "kt-info",
    "lists every problem and hparams set; with --hparams describes a set: each value and its "
    "source, parameters by part, training operations, memory; with --problem a problem, and with "
    "--data_dir how its data fills the length buckets",
    examples=[
        "kt-info",
        "kt-info --hparams=table3_C5 --vocab_size=37000",
        "kt-info --hparams=base,batch_size=1024 --plot_schedule=rate.png",
        "kt-info --problem=wmt14_ende --data_dir=data --hparams=base --plot_lengths=lengths.png",
    ],
)
program.string("hparams", None, "a set's name, overrides may follow: base,batch_size=1024")
program.string("hparams_set", None, "a set alone, as T2T has it; --hparams holds overrides then")
program.string("overrides", "", "changed hyperparameters, as in batch_size=1024,num_heads=4")
program.string("problem", None, "a problem's name")
program.integer(
    "vocab_size", 37000, "entries of the vocabulary, of both sides unless given apart", 1
)
program.integer("source_vocab_size", None, "entries of the source vocabulary", 1)
program.integer("target_vocab_size", None, "entries of the target vocabulary", 1)
program.integer(
    "train_steps", None, "updates of the run; by default 100,000, or those of Table 3's row", 1
)
program.integer("replicas", 8, "devices, each with a batch of its own; the paper's run had 8", 1)
program.integer("mean_length", 30, "subtokens of a sentence in the count of operations", 1)
program.string("plot_schedule", None, "image file (.png, .svg) for the learning rate over the run")
program.string("data_dir", None, "with --problem: folder of its shards, for bucket fill")
program.string(
    "plot_lengths",
    None,
    "with --data_dir: image file (.png, .svg) for the lengths and the padding in each bucket",
)
program.enum("split", "train", ["train", "dev", "test"], "with --data_dir: which shards")
program.integer("max_examples", 200000, "with --data_dir: examples read at most", 1)
program.string("usr_dir", None, "folder of your own problems and sets (a Python package)")
program.boolean("json", False, "prints one JSON object")


def run(flags: Flags) -> int:
    from keras_transformer import registry

    if flags.usr_dir:
        registry.import_usr_dir(flags.usr_dir)
    if flags.data_dir and not flags.problem:
        raise UserError("--data_dir is given without --problem: name the problem of its shards")
    if flags.plot_lengths and not flags.data_dir:
        raise UserError("--plot_lengths is given without --data_dir: name the folder of the shards")
    if flags.plot_schedule and not (flags.hparams or flags.hparams_set):
        raise UserError("--plot_schedule is given without --hparams: name the set to be drawn")
    for name in ("plot_schedule", "plot_lengths"):
        if path := getattr(flags, name):
            require_file(path, f"--{name}")
    if flags.problem:
        return _show(flags, *_problem(flags))
    if flags.hparams or flags.hparams_set:
        return _show(flags, *_hparams_set(flags))
    names = {
        "problems": {name: registry.describe_problem(name) for name in registry.problem_names()},
        "hparams_sets": {
            name: registry.describe_hparams(name) for name in registry.hparams_names()
        },
    }
    return _show(flags, names, _list_text(names))


def _show(flags: Flags, content: dict[str, Any], text: str) -> int:
    print(json.dumps(content, indent=2) if flags.json else text.rstrip("\n"))
    return 0


def _settings(flags: Flags) -> tuple[str, HParams]:
    from keras_transformer import registry

    default = "" if flags.hparams_set else "base"
    name, overrides = registry.split_set_and_overrides(flags.hparams or default)
    if flags.hparams_set and name:
        raise UserError(
            f"--hparams_set={flags.hparams_set} and --hparams={flags.hparams} both name a set:"
            " give one"
        )
    name = flags.hparams_set or name
    if not name:
        raise UserError(f"--hparams={flags.hparams} names no set: write NAME or NAME,a=b")
    hp = registry.hparams(name, overrides)
    return name, hp.override(flags.overrides) if flags.overrides else hp


def _hparams_set(flags: Flags) -> tuple[dict[str, Any], str]:
    from keras_transformer import registry
    from keras_transformer.cli import set_description

    name, hp = _settings(flags)
    description = set_description.describe_set(
        name,
        hp,
        source_vocab_size=flags.source_vocab_size or flags.vocab_size,
        target_vocab_size=flags.target_vocab_size or flags.vocab_size,
        train_steps=flags.train_steps,
        replicas=flags.replicas,
        mean_length=flags.mean_length,
    )
    if flags.plot_schedule:
        from keras_transformer.plots.learning_rate import plot_learning_rates

        curve = _schedule(hp, description["training"]["steps"])
        plot_learning_rates({name: curve}, flags.plot_schedule)
    return description, set_description.as_text(description, registry.describe_hparams(name))


def _schedule(hp: HParams, train_steps: int) -> tuple[list[int], list[float]]:
    """Up to 500 evenly spaced steps and their learning rates."""
    from keras_transformer.training.schedule import learning_rate

    steps = sorted({round(train_steps * part / 499) for part in range(500)})
    return steps, [learning_rate(hp, step, train_steps) for step in steps]


def _problem(flags: Flags) -> tuple[dict[str, Any], str]:
    from keras_transformer import registry

    problem = registry.problem(flags.problem)
    content: dict[str, Any] = {
        "problem": problem.full_name,
        "description": registry.describe_problem(flags.problem),
        "aliases": [a for a, n in registry.problem_aliases().items() if n == problem.name],
        "vocabulary_files": problem.vocab_files(),
        "splits": problem.dataset_splits,
        "target_space_id": problem.target_space_id,
        "packed_length": problem.packed_length,
    }
    lines = [f"{key}: {value}" for key, value in content.items()]
    if flags.data_dir:
        from keras_transformer.cli import data_description
        from keras_transformer.data.padding import padding_report

        _, hp = _settings(flags)
        content["buckets"] = data_description.describe_data(
            problem, flags.data_dir, hp, flags.split, flags.max_examples, plot=flags.plot_lengths
        )
        lines += ["", *data_description.as_lines(content["buckets"])]
        padding = padding_report(problem, flags.data_dir, hp, flags.split, flags.max_examples)
        content["padding"] = padding.as_json()
        lines += ["", padding.as_text()]
    return content, "\n".join(lines)


def _list_text(names: dict[str, dict[str, str]]) -> str:
    lines = []
    for title, entries in names.items():
        width = max(map(len, entries), default=0)
        lines.append(f"{title.replace('_', ' ')}:")
        lines += [f"  {name:<{width}}  {summary}" for name, summary in entries.items()]
        lines.append("")
    return "\n".join(lines)


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
