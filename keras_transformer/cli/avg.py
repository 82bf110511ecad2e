"""`kt-avg`: averages checkpoints, for decoding."""

from __future__ import annotations

import os
import sys

from keras_transformer.cli.log import show_log
from keras_transformer.cli.output_places import require_folder
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

program = Program(
    "kt-avg",
    "writes the mean of several checkpoints of a run, as Tensor2Tensor's avg_checkpoints and"
    " t2t-avg-all do. The result keeps the step of its newest checkpoint, serves decoding only,"
    " and its folder can be decoded from like a run directory.",
    examples=[
        "kt-avg --output_dir=runs/ende/avg --model_dir=runs/ende --last=5",
        "kt-avg --model_dir=runs/ende --n=8",
        "kt-avg --checkpoints=runs/ende/model.ckpt-9000,runs/ende/model.ckpt-10000"
        " --output_dir=avg",
    ],
)
program.string("model_dir", None, "run directory whose checkpoints are averaged")
program.integer("last", None, "average the newest so many (the paper: 5 for base, 20 for big)", 1)
program.integer("n", None, "for each checkpoint from the n-th on, average the last n up to it", 1)
program.string("checkpoints", None, "average these, prefixes with commas between")
program.string("output_dir", None, "folder of the averages; default: avg in --model_dir")
program.alias("num_last_checkpoints", "last")
program.refused("prefix", "give a folder with --model_dir, or full prefixes with --checkpoints")
program.refused("output_path", "give a folder with --output_dir")
program.refused("min_steps", "name what to average with --checkpoints")
program.ignored("wait_minutes", "the checkpoints that are there are averaged")


def run(flags: Flags) -> int | None:
    show_log()
    ways = [name for name in ("last", "n", "checkpoints") if flags.given(name)]
    if len(ways) != 1:
        raise UserError(
            "say what to average with one of --last, --n and --checkpoints"
            + (f", not with {' and '.join('--' + way for way in ways)}" if ways else "")
        )
    if ways != ["checkpoints"] and not flags.model_dir:
        raise UserError("--model_dir is not given: name the run directory")
    output_dir = flags.output_dir or (flags.model_dir and os.path.join(flags.model_dir, "avg"))
    if not output_dir:
        raise UserError("--output_dir is not given: name the folder for the average")
    if flags.model_dir and not os.path.isdir(flags.model_dir):
        raise UserError(f"--model_dir={flags.model_dir}: there is no such folder")
    require_folder(output_dir, "--output_dir")
    from keras_transformer.training import averaging

    if flags.given("n"):
        written = averaging.running(flags.model_dir, flags.n, output_dir)
    elif flags.given("last"):
        prefixes = averaging.last(flags.model_dir, flags.last)
        written = [averaging.average(prefixes, output_dir)]
    else:
        prefixes = [
            prefix.removesuffix(".index") for prefix in flags.checkpoints.split(",") if prefix
        ]
        written = [averaging.average(prefixes, output_dir)]
    for prefix in written:
        print(prefix)
    return None


main = program.main(run)

if __name__ == "__main__":
    sys.exit(main())
