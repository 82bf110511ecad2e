"""`kt-datagen`: raw corpora → vocabulary and TFRecord shards."""

from __future__ import annotations

import fnmatch
import sys
from typing import Any

from keras_transformer.cli.log import show_log
from keras_transformer.cli.output_places import require_folder
from keras_transformer.cli.problem_flags import add_problem_flags, problem_options
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

program = Program(
    "kt-datagen",
    "makes the vocabulary and the TFRecord shards of a problem, with T2T's names and format."
    " What is there already is kept; an interrupted run is taken up again.",
    examples=[
        "kt-datagen --problem=wmt14_ende --data_dir=data --tmp_dir=corpora",
        "kt-datagen --problem=text2text --data_dir=data --train_source=train.en"
        " --train_target=train.de --dev_source=dev.en --dev_target=dev.de --vocab_size=8000",
    ],
)
program.string(
    "problem", None, "name, several separated by commas, or a pattern with * (kt-info lists all)"
)
program.string("exclude_problems", "", "names left out of a pattern, separated by commas")
program.string("data_dir", None, "folder of vocabulary and shards; made if needed")
program.string(
    "tmp_dir", "/tmp/t2t_datagen", "folder of the corpora; what is missing is downloaded to it"
)
program.integer(
    "num_shards", 0, "training shards instead of the problem's own number (0: its own)", 0, 10000
)
program.integer("max_cases", 0, "use only the first so many pairs of each split (0: all)", 0)
program.integer("random_seed", 429459, "seed of the shuffle of each shard")
program.integer("num_workers", 0, "processes that encode text (0: one for each core)", 0)
program.boolean("only_list", False, "print the names that would be generated, and end")
program.string("usr_dir", "", "folder of your own problems, a Python package")
program.alias("t2t_usr_dir", "usr_dir")
add_problem_flags(program)
program.refused("task_id", "generation uses all cores by itself; see --num_workers")
program.refused("task_id_start", "generation uses all cores by itself; see --num_workers")
program.refused("task_id_end", "generation uses all cores by itself; see --num_workers")
program.ignored("num_concurrent_processes", "all cores are used; see --num_workers")


def run(flags: Flags) -> int | None:
    show_log()
    from keras_transformer import registry
    from keras_transformer.data import generation, shards
    from keras_transformer.data.padding import padding_report
    from keras_transformer.data.text_problem import Text2TextProblem

    if flags.usr_dir:
        registry.import_usr_dir(flags.usr_dir)
    if not flags.problem:
        raise UserError("--problem is not given: name one (kt-info lists all)")
    names = _names(flags.problem, flags.exclude_problems, registry.problem_names())
    if flags.only_list:
        print("\n".join(names))
        return None
    if not flags.data_dir:
        raise UserError("--data_dir is not given: name the folder for vocabulary and shards")
    for name in names:
        problem = registry.problem(name, **problem_options(flags))
        if problem.was_reversed or problem.was_copy:
            raise UserError(
                f"--problem={name}: a name that ends in _rev or _copy uses the data of the plain"
                f" problem; make that of {problem.name}"
            )
        if not problem.is_generated(flags.data_dir):
            require_folder(flags.data_dir, "--data_dir")
        if isinstance(problem, Text2TextProblem) and _is_ours(problem):
            generation.generate(
                problem,
                flags.data_dir,
                flags.tmp_dir,
                num_shards=flags.num_shards or None,
                seed=flags.random_seed,
                max_cases=flags.max_cases or None,
                num_workers=flags.num_workers or None,
            )
        else:
            problem.generate_data(flags.data_dir, flags.tmp_dir)
        for split in [str(row["split"]) for row in problem.dataset_splits]:
            count = len(shards.find(flags.data_dir, problem.dataset_filename(), split))
            print(f"{problem.name} {split}: {count} shards in {flags.data_dir}")
        if problem.packed_length:
            base = registry.hparams("base").replace(max_length=problem.packed_length)
            print(f"{problem.name}: {padding_report(problem, flags.data_dir, base).as_text()}")
    return None


def _is_ours(problem: Any) -> bool:
    from keras_transformer.data.text_problem import Text2TextProblem

    return type(problem).generate_data is Text2TextProblem.generate_data


def _names(wanted: str, excluded: str, known: list[str]) -> list[str]:
    left_out = {name for name in excluded.split(",") if name}
    names: list[str] = []
    for part in wanted.split(","):
        if "*" in part:
            matching = fnmatch.filter(known, part)
            if not matching:
                raise UserError(f"--problem={part}: no problem's name has that form")
            names += [name for name in matching if name not in left_out]
        elif part and part not in left_out:
            names.append(part)
    return list(dict.fromkeys(names))


main = program.main(run)

if __name__ == "__main__":
    sys.exit(main())
