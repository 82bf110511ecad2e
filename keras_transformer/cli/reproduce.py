"""`kt-reproduce`: Tables 2, 3 and 4 of the paper, row by row, beside the paper's numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from keras_transformer.cli.log import show_log
from keras_transformer.cli.output_places import require_file, require_folder
from keras_transformer.cli.problem_flags import add_problem_flags, problem_options
from keras_transformer.cli.program import Flags, Program
from keras_transformer.cli.training_flags import add_training_flags, require_seed
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.reproduce.results import Result

program = Program(
    "kt-reproduce",
    "trains, decodes and scores rows of the paper's Tables 2, 3 and 4, each in a run directory of"
    " its own below --output_dir, and writes one table (Markdown and JSON) beside the paper's"
    " numbers, with every deviation of the run from the paper. Started again it goes on where it"
    " was: finished rows stay, a half-trained row resumes from its checkpoint. Rows made on several"
    " machines are joined with --join. Ctrl-C and SIGTERM save before leaving.",
    examples=[
        "kt-reproduce --table=3 --rows=base,A1,C6 --data_dir=data --tmp_dir=corpora"
        " --output_dir=runs/table3",
        "kt-reproduce --table=3 --base_hparams=tiny --problem=sample_ende --steps=2000"
        " --data_dir=data --output_dir=runs/table3_tiny --rows=base,A1,B1,C1,C6,D1,D3,E",
        "kt-reproduce --table=2 --rows=base_ende --data_dir=data --tmp_dir=corpora"
        " --output_dir=runs/table2 --sustained_tflops=9.5",
        "kt-reproduce --table=4 --rows=wsj --parsing_path=treebank_3 --data_dir=data"
        " --output_dir=runs/table4",
        "kt-reproduce --join=machine1/table3,machine2/table3 --output_dir=joined",
    ],
)
program.enum("table", None, ["2", "3", "4"], "which table of the paper")
program.comma_list(
    "rows",
    None,
    "Table 2: base_ende, big_ende, base_enfr, big_enfr; Table 3: base, A1 … E, big; Table 4: wsj,"
    " semi; default: all that the problem allows",
)
program.string("output_dir", None, "folder of the rows' run directories and of the table")
program.comma_list("join", None, "make the table of the finished rows in these folders, no more")
program.string("problem", None, "what to learn; default: the paper's task of each row")
program.string(
    "base_hparams",
    "",
    "a set in place of the paper's base, small for instance; the rows of Table 3 then change it in"
    " the paper's proportions",
)
program.string("hparams", "", "changed hyperparameters of every row, as in batch_size=1024")
program.string("data_dir", None, "vocabulary and shards (Table 4: a folder in it for each row)")
program.string("tmp_dir", "/tmp/t2t_datagen", "corpora; what is missing is downloaded to it")
program.string("usr_dir", "", "folder of your own problems and sets, a Python package")
program.integer("steps", None, "updates of each row; default: the paper's", 1)
program.integer(
    "save_steps",
    None,
    "updates between checkpoints; default: 1000, and for Tables 2 and 4 ten of the paper's minutes"
    " in proportion",
    1,
)
program.integer("average", None, "newest checkpoints averaged; default: the paper's", 0)
program.string(
    "test_set",
    "",
    "what is decoded: dev, test, a test set of sacreBLEU (wmt14/full), or SOURCE,REFERENCE;"
    " default: dev in Table 3, newstest2014 or the problem's test split else",
)
program.integer("lines", 0, "decode only the first so many sentences (0: all)", 0)
program.string("target_language", "", "for the tokenizers of BLEU; default: the problem's, or de")
program.integer("beam_size", None, "default: the paper's, 4 or for parsing 21", 1)
program.float("alpha", None, "of the length penalty; default: the paper's, 0.6 or 0.3", 0.0)
program.integer("extra_length", None, "subtokens beyond the input; default: 50 or 300", 0)
add_training_flags(program)
program.float(
    "sustained_tflops",
    0.0,
    "TFLOP/s one device sustains, for FLOPs by the paper's method, which took 2.8, 3.7, 6.0 and 9.5"
    " for K80, K40, M40 and P100",
    0.0,
)
program.string("plot", None, "Table 3: image (.png, .svg) of the rows' distances to the base row")
program.boolean("json", False, "print the table as one JSON object")
add_problem_flags(program)
program.alias("train_steps", "steps")
program.alias("local_eval_frequency", "save_steps")


def run(flags: Flags) -> int:
    show_log()
    if flags.join:
        return _join(flags)
    for name in ("table", "output_dir", "data_dir"):
        if not getattr(flags, name):
            raise UserError(f"--{name} is not given (see kt-reproduce --help)")
    require_seed(flags)
    require_folder(flags.output_dir, "--output_dir")
    if not Path(flags.data_dir).is_dir():
        # One that is there may hold all that is needed, and need take no more.
        require_folder(flags.data_dir, "--data_dir")
    if flags.plot:
        require_file(flags.plot, "--plot")
    from keras_transformer import registry

    if flags.usr_dir:
        registry.import_usr_dir(flags.usr_dir)
    if "=" not in flags.hparams.split(",")[0] and flags.hparams:
        raise UserError(
            f"--hparams={flags.hparams} begins with a set's name: here it only changes values, and"
            " --base_hparams takes the place of the paper's base"
        )
    from keras_transformer.reproduce.recipes import Request, plans
    from keras_transformer.reproduce.runner import Runner

    request = Request(
        table=int(flags.table),
        rows=tuple(flags.rows or ()),
        base_hparams=flags.base_hparams,
        overrides=flags.hparams,
        problem=flags.problem or "",
        problem_options=problem_options(flags),
        data_dir=flags.data_dir,
        tmp_dir=flags.tmp_dir,
        usr_dir=flags.usr_dir,
        steps=flags.steps,
        save_steps=flags.save_steps,
        averaged=flags.average,
        test_set=flags.test_set,
        max_lines=flags.lines,
        target_language=flags.target_language,
        beam_size=flags.beam_size,
        alpha=flags.alpha,
        extra_length=flags.extra_length,
        seed=flags.random_seed,
        precision=flags.precision or "",
        deterministic=flags.deterministic,
        simulate_replicas=flags.simulate_replicas,
        gpus=flags.gpus,
        jit=flags.jit,
        sustained_tflops=flags.sustained_tflops,
    )
    rows = plans(request)
    if flags.plot:
        _require_plot(flags, {plan.row for plan in rows})
    runner = Runner(flags.output_dir, rows)
    status = runner.run()
    if status == 0:
        _show(flags, Path(flags.output_dir))
    return status


def _require_plot(flags: Flags, rows: set[str]) -> None:
    """Refuses before the rows are made what could not be drawn after it."""
    from keras_transformer.plots.figure import require_image_path
    from keras_transformer.reproduce.plot import require_base_and_others
    from keras_transformer.reproduce.row import RESULT_FILE

    if flags.table != "3":
        raise UserError("--plot draws Table 3: leave it out")
    require_image_path(flags.plot, "--plot")
    done = {path.parent.name for path in Path(flags.output_dir).glob(f"*/{RESULT_FILE}")}
    require_base_and_others(rows | done)


_FLAGS_OF_JOIN = ("join", "output_dir", "table", "plot", "json")


def _join(flags: Flags) -> int:
    from keras_transformer.reproduce.results import collect
    from keras_transformer.reproduce.runner import write_table

    idle = [name for name in flags.as_dict() if name not in _FLAGS_OF_JOIN]
    if idle:
        raise UserError(
            f"--{idle[0]} has no effect on rows that are done: with --join give only"
            f" {', '.join(f'--{name}' for name in _FLAGS_OF_JOIN if name != 'join')}"
        )
    if flags.output_dir:
        require_folder(flags.output_dir, "--output_dir")
    if flags.plot:
        require_file(flags.plot, "--plot")
    folders = [Path(folder) for folder in flags.join if folder]
    if not folders:
        raise UserError(f"--join={','.join(flags.join)} names no folder")
    results = collect(folders)
    table = results[0]["plan"]["table"]
    if flags.table and int(flags.table) != table:
        raise UserError(f"--table={flags.table}, but the rows of --join are of table {table}")
    if flags.output_dir:
        write_table(results, Path(flags.output_dir))
    _print(flags, results)
    return 0


def _show(flags: Flags, folder: Path) -> None:
    from keras_transformer.reproduce.results import collect

    _print(flags, collect([folder]))
    print(f"{folder}/table{flags.table}.md and .json", file=sys.stderr)


def _print(flags: Flags, results: list[Result]) -> None:
    from keras_transformer.reproduce import tables

    if flags.plot:
        from keras_transformer.reproduce.plot import plot

        plot(results, flags.plot)
    print(json.dumps(tables.as_json(results)) if flags.json else tables.markdown(results), end="")
    if flags.json:
        print()


main = program.main(run)

if __name__ == "__main__":
    sys.exit(main())
