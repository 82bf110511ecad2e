"""`kt-translate-all`: one file decoded with every checkpoint of a run, for BLEU against steps."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from keras_transformer.cli.decoding_flags import (
    add_model_flags,
    add_parsing_flags,
    add_search_flags,
    decode_hparams,
    identity,
    load_run,
    parsing_settings,
    require_run_dir,
)
from keras_transformer.cli.log import show_log
from keras_transformer.cli.output_places import make_folder
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.decoding.options import DecodeOptions

program = Program(
    "kt-translate-all",
    "decodes a text with every checkpoint of a run directory, one output file each, in one process."
    " What is translated already is left alone, so it can run again while training goes on."
    " kt-bleu --translations_dir scores them all.",
    examples=[
        "kt-translate-all --output_dir=runs/ende --source=dev.en --translations_dir=runs/ende/dev",
        "kt-translate-all --output_dir=runs/ende --source=dev.en --translations_dir=dev"
        " --min_steps=100000 --wait_minutes=60",
    ],
)
add_model_flags(program)
program.string("source", None, "text to decode, one sentence a line")
program.string("source_text", None, "another name of --source")
program.string(
    "translations_dir",
    None,
    "folder of the outputs, named <problem>-<step> as t2t-translate-all names them; made if needed",
)
program.integer("min_steps", 0, "checkpoints of fewer steps are left out", 0)
program.integer(
    "wait_minutes", 0, "wait so long for a new checkpoint before ending; 0: decode what is there", 0
)
add_search_flags(program)
add_parsing_flags(program)
program.ignored("decoder_command", "decoding happens in this process")

SECONDS_BETWEEN_LOOKS = 10


def run(flags: Flags) -> int | None:
    from pathlib import Path

    show_log()
    require_run_dir(flags)
    source = flags.source or flags.source_text
    if not source or not Path(source).is_file():
        raise UserError(f"--source={source}: give a text file to decode")
    if not flags.translations_dir:
        raise UserError("--translations_dir is not given: name a folder for the outputs")
    options = decode_hparams(flags).options.replace(n_best=1)
    make_folder(Path(flags.translations_dir), "--translations_dir")

    from keras_transformer.training import checkpoints

    last_new = time.monotonic()
    done: set[int] = set()
    while True:
        steps = [s for s in checkpoints.all_steps(flags.output_dir) if s >= flags.min_steps]
        new = [step for step in steps if step not in done]
        for step in new:
            prefix = checkpoints.path_of(flags.output_dir, step)
            if Path(f"{prefix}.index").is_file():  # the trainer may have dropped it meanwhile
                _translate(flags, source, prefix, step, options)
            done.add(step)
            last_new = time.monotonic()
        if time.monotonic() - last_new >= 60 * flags.wait_minutes:
            break
        if not new:
            time.sleep(SECONDS_BETWEEN_LOOKS)
    if not done:
        raise UserError(
            f"{flags.output_dir} holds no checkpoint of at least {flags.min_steps} steps"
        )
    return None


def _translate(flags: Flags, source: str, prefix: str, step: int, options: DecodeOptions) -> None:
    from pathlib import Path

    from keras_transformer.decoding.decode_file import decode_file
    from keras_transformer.decoding.translator import Translator

    existing = list(Path(flags.translations_dir).glob(f"*-{step}"))
    if existing:
        print(f"{existing[0]} is there already", file=sys.stderr)
        return
    loaded = load_run(flags, prefix)
    loaded.run.problem.set_decode_settings(**parsing_settings(flags))
    target = Path(flags.translations_dir, f"{loaded.run.problem.full_name}-{step}")
    count = decode_file(
        Translator.of_loaded(loaded), source, target, options, origin=identity(loaded)
    )
    print(f"{target}: {count} lines", file=sys.stderr)
    if report := loaded.run.problem.decode_report():
        print(report, file=sys.stderr)


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
