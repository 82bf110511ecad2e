"""`kt-decoder`: text, a file or a data set → translations, n-best lists, scores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from keras_transformer.cli.decoding_flags import (
    add_device_flags,
    add_model_flags,
    add_parsing_flags,
    add_search_flags,
    choose_devices,
    decode_hparams,
    identity,
    load_run,
    parsing_settings,
    require_run_dir,
)
from keras_transformer.cli.log import show_log
from keras_transformer.cli.output_places import make_folder, require_file
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.decoding.loading import LoadedRun
    from keras_transformer.decoding.options import DecodeHparams
    from keras_transformer.decoding.output_format import OutputFormat
    from keras_transformer.decoding.translator import Translator

program = Program(
    "kt-decoder",
    "decodes with a trained model. One output line for each input line, in order. Reads"
    " --decode_from_file, or a split of --data_dir, or standard input. An output file grows under"
    " the name <file>.partial, which the same command continues after a kill, and gets its own name"
    " when it is whole.",
    examples=[
        "kt-decoder --output_dir=runs/ende --decode_from_file=test.en --decode_to_file=test.de",
        "kt-decoder --output_dir=runs/ende < test.en > test.de",
        "kt-decoder --output_dir=runs/ende --decode_from_file=test.en --n_best=4 --json",
        "kt-decoder --output_dir=t2t_train/ende --decode_from_file=test.en"
        ' --decode_hparams="beam_size=4,alpha=0.6,return_beams=True,write_beam_scores=True"',
        "kt-decoder --output_dir=runs/ende --data_dir=data --eval_use_test_set",
        "kt-decoder --output_dir=runs/wsj --raw_input --parse_format=pretty < sentences.txt",
        "kt-decoder --output_dir=runs/ende --sweep_alpha=0,0.3,0.6,1 --sweep_beam_size=4,8"
        " --decode_from_file=dev.en --reference=dev.de",
    ],
)
add_model_flags(program)
program.string(
    "checkpoint_path",
    None,
    "prefix of a checkpoint (…/model.ckpt-250000) instead of the latest; several with commas"
    " between make an ensemble that averages their probabilities",
)
program.string("decode_from_file", None, "text to decode, one sentence a line; .gz is read too")
program.string(
    "decode_to_file",
    None,
    "output file; default <input>.transformer.<set>.<problem>.beam<b>.alpha<a>.decodes",
)
program.boolean("decode_interactive", False, "prompt for sentences")
program.string(
    "score_file", None, "lines `input TAB output`: print the mean loss per subtoken of each output"
)
program.boolean("decode_from_dataset", False, "decode the dev split of --data_dir, as T2T does")
program.boolean("eval_use_test_set", False, "decode the test split of --data_dir instead")
add_search_flags(program)
add_parsing_flags(program)
add_device_flags(program)
program.boolean("json", False, "write a JSON object a line, with all n_best outputs and scores")
program.comma_list("sweep_alpha", None, "alphas to compare by BLEU; prints a table")
program.comma_list("sweep_beam_size", None, "beam sizes to compare in the same table")
program.string("reference", None, "reference of --decode_from_file for the sweep")
program.string("tmp_dir", "", "where the problem's corpora lie (sweep over the dev split)")
for name in ("log_decode_results", "decode_in_memory", "use_last_position_only", "keep_timestamp"):
    program.ignored(name, "it changes no output here")
program.ignored("disable_grappler_optimizations", "it changes no output here")
program.refused("decode_reference", "give --reference with a sweep, or score with kt-bleu")
program.refused("worker_id", "give --decode_hparams=shards=<n>,shard_id=<i>", "0")
program.ignored("worker_gpu", "all GPUs are used")
program.ignored("schedule", "there is one way to decode")
program.refused("use_tpu", "decoding runs on GPUs and CPUs")


def run(flags: Flags) -> int | None:
    show_log()
    require_run_dir(flags)
    hparams = decode_hparams(flags)
    output_format = _output_format(flags, hparams)
    jobs = [
        name
        for name in ("decode_from_file", "decode_interactive", "score_file", "decode_from_dataset")
        if getattr(flags, name)
    ]
    if flags.sweep_alpha or flags.sweep_beam_size:
        others = [name for name in jobs if not name.startswith("decode_from")]
        if others:
            raise UserError(f"a sweep and --{others[0]} are different jobs: give one")
        from keras_transformer.cli import alpha_sweep

        choose_devices(flags)
        print(alpha_sweep.run_sweep(flags, hparams.options))
        return None
    if len(jobs) > 1:
        raise UserError(f"--{jobs[0]} and --{jobs[1]} are different jobs: give one")
    choose_devices(flags)
    job = jobs[0] if jobs else ""
    if not job and (flags.eval_use_test_set or flags.data_dir):
        job = "decode_from_dataset"
    if (not job or job == "decode_interactive") and sys.stdin is None:
        raise UserError("standard input is closed: give --decode_from_file")
    source = _existing_input(flags, hparams)
    if job in ("decode_from_file", "decode_from_dataset"):
        beside = flags.decode_from_file or os.path.join(flags.output_dir, "dev")
        target = flags.decode_to_file or beside
        require_file(target, "--decode_to_file", makes_folders=True)
    loaded = load_run(flags, flags.checkpoint_path)
    loaded.run.problem.set_decode_settings(**parsing_settings(flags))
    hparams = decode_hparams(flags, loaded.run.problem.decode_defaults)

    from keras_transformer.cli.frozen_weights import freeze_weights
    from keras_transformer.decoding import decode_file
    from keras_transformer.decoding.translator import Translator

    if program.owns_process:
        # Who calls `main` from Python may train in the same process afterwards.
        alone = job == "decode_interactive" or (not job and sys.stdin.isatty())
        batch_size = 1 if alone else hparams.options.batch_size
        freeze_weights(loaded.run.hparams.activation_dtype, batch_size)
    translator = Translator.of_loaded(loaded)
    if job == "decode_from_file":
        target = _target(flags, hparams, loaded, flags.decode_from_file)
        _decode(translator, loaded, source, target, hparams, output_format)
    elif job == "decode_from_dataset":
        _decode_dataset(flags, translator, loaded, hparams, output_format)
    elif job == "score_file":
        decode_file.score_file(translator, source, sys.stdout, hparams.options.batch_size)
    else:
        lines = decode_file.stream_lines(sys.stdin.buffer)
        if job == "decode_interactive" or sys.stdin.isatty():
            from keras_transformer.decoding.interactive import interact

            interact(translator, lines, sys.stdout, hparams.options)
        else:
            decode_file.decode_stream(translator, lines, sys.stdout, hparams.options, output_format)
    if report := loaded.run.problem.decode_report():
        print(report, file=sys.stderr)
    return None


def _output_format(flags: Flags, hparams: DecodeHparams) -> OutputFormat:
    from keras_transformer.decoding.output_format import OutputFormat

    return OutputFormat(
        return_beams=hparams.return_beams or (hparams.options.n_best > 1 and not flags.json),
        write_beam_scores=hparams.write_beam_scores,
        identity_output=hparams.identity_output,
        kind="json" if flags.json else "text",
    )


def _shard(path: str, hparams: DecodeHparams) -> str:
    from keras_transformer.decoding.output_names import shard_name

    return shard_name(
        path,
        hparams.shards,
        hparams.shard_id,
        hparams.shards_start_offset,
        hparams.shard_google_format,
    )


def _existing_input(flags: Flags, hparams: DecodeHparams) -> str:
    from pathlib import Path

    path = flags.score_file or flags.decode_from_file
    if not path:
        return ""
    shard = path if flags.score_file else _shard(path, hparams)
    if not Path(shard).exists():
        raise UserError(f"{shard}: no such file")
    if not Path(shard).is_file():
        raise UserError(f"{shard} is no regular file: name one, or give the text on standard input")
    return shard


def _target(flags: Flags, hparams: DecodeHparams, loaded: LoadedRun, base: str) -> str:
    """Where the output goes, and that it can."""
    from pathlib import Path

    from keras_transformer.decoding.output_names import decodes_suffix

    path = flags.decode_to_file
    if not path:
        options = hparams.options
        path = base + decodes_suffix(
            loaded.run.hparams_set,
            loaded.run.problem.full_name,
            options.beam_size,
            options.alpha,
        )
    path = _shard(path, hparams)
    if Path(path).exists() and not Path(path).is_file():
        raise UserError(
            f"--decode_to_file={path} is no regular file: name one, or decode standard input, whose"
            " output goes to standard output"
        )
    if Path(path).exists() and Path(base).exists() and Path(path).samefile(base):
        raise UserError(
            f"--decode_to_file={path} is the input itself, which would be lost: name another file"
        )
    make_folder(Path(path).parent, "--decode_to_file")
    return path


def _decode(
    translator: Translator,
    loaded: LoadedRun,
    source: str,
    target: str,
    hparams: DecodeHparams,
    output_format: OutputFormat,
) -> None:
    from keras_transformer.decoding.decode_file import decode_file

    origin: dict[str, Any] = identity(loaded)
    count = decode_file(translator, source, target, hparams.options, output_format, origin)
    print(f"{target}: {count} lines", file=sys.stderr)


def _decode_dataset(
    flags: Flags,
    translator: Translator,
    loaded: LoadedRun,
    hparams: DecodeHparams,
    output_format: OutputFormat,
) -> None:
    from pathlib import Path

    from keras_transformer.decoding.decode_dataset import write_inputs_and_targets

    data_dir = flags.data_dir or loaded.run.data_dir
    if not data_dir or not Path(data_dir).is_dir():
        raise UserError(f"--data_dir={data_dir}: there is no such data directory")
    split = "test" if flags.eval_use_test_set else "dev"
    target = _target(flags, hparams, loaded, str(Path(flags.output_dir, split)))
    examples = _examples(loaded, str(data_dir), split)
    files = write_inputs_and_targets(translator, examples, target, hparams.num_samples)
    _decode(translator, loaded, files.inputs, files.outputs, hparams, output_format)
    print(f"{files.inputs}\n{files.targets}", file=sys.stderr)


def _examples(loaded: LoadedRun, data_dir: str, split: str) -> Iterator[dict[str, list[int]]]:
    from keras_transformer.data import example_format, tfrecord

    problem = loaded.run.problem
    if problem.packed_length:
        raise UserError(
            f"{problem.full_name} is packed: several sentences in a row cannot be decoded; name the"
            " problem it was packed from"
        )
    for path in problem.shard_paths(data_dir, split):
        for record in tfrecord.read_records(path):
            yield problem.oriented(example_format.decode_example(record))


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
