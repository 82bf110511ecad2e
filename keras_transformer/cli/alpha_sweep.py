"""`kt-decoder --sweep_alpha`: BLEU on the development set for each beam size and alpha."""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import TYPE_CHECKING

from keras_transformer.cli.decoding_flags import load_run
from keras_transformer.cli.program import Flags
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.decoding.loading import LoadedRun
    from keras_transformer.decoding.options import DecodeOptions

logger = logging.getLogger(__name__)

DEFAULT_ALPHAS = ["0", "0.2", "0.4", "0.6", "0.8", "1"]
MEASURE = "sacrebleu"


def run_sweep(flags: Flags, options: DecodeOptions) -> str:
    """Decodes the development set once per beam size; the table of BLEU, or JSON with `--json`.

    Args:
        flags: the decoder's.
        options: how to decode; beam size and alpha are those of the sweep.

    Raises:
        UserError: values that are no numbers, or no text with a reference.
    """
    alphas = sorted(
        {_number("sweep_alpha", value) for value in flags.sweep_alpha or DEFAULT_ALPHAS}
    )
    beams = flags.sweep_beam_size or [str(options.beam_size)]
    beam_sizes = sorted({int(_number("sweep_beam_size", value)) for value in beams})
    for alpha in alphas:
        options.replace(alpha=alpha)  # refuses what no decode would take
    if options.constrain:
        raise UserError("a sweep searches freely: leave out --constrain_brackets")
    if bool(flags.decode_from_file) != bool(flags.reference):
        raise UserError(
            "a sweep needs both --decode_from_file and --reference, or neither of them for the"
            " development set of the run's problem"
        )
    if flags.decode_from_file:
        _require_files(flags.decode_from_file, flags.reference)
    loaded = load_run(flags, flags.checkpoint_path)
    sources, references = _texts(flags, loaded)

    from keras_transformer.decoding.alpha_sweep import table, translate_for_alphas
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.scoring import bleu

    translator = Translator.of_loaded(loaded)
    scores, signature = {}, ""
    for beam_size in beam_sizes:
        logger.info("decoding %d sentences with a beam of %d", len(sources), beam_size)
        own = dataclasses.replace(options, beam_size=beam_size, n_best=1)
        outputs = translate_for_alphas(translator, sources, alphas, own)
        for alpha, texts in outputs.items():
            found = bleu.score(texts, references, MEASURE)
            scores[beam_size, alpha] = found.score
            signature = found.signature
    if flags.json:
        rows = [
            {"beam_size": beam, "alpha": alpha, "score": score}
            for (beam, alpha), score in scores.items()
        ]
        best = max(rows, key=lambda row: row["score"])
        return json.dumps(
            {"measure": MEASURE, "signature": signature, "rows": rows, "best": best}, indent=1
        )
    return f"{table(scores)}\n{MEASURE} of {len(sources)} sentences: {signature}"


def _number(flag: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UserError(f"--{flag}: {value!r} is not a number") from None


def _require_files(*paths: str) -> None:
    from pathlib import Path

    for path in paths:
        if not Path(path).is_file():
            raise UserError(f"{path}: no such file")


def _texts(flags: Flags, loaded: LoadedRun) -> tuple[list[str], list[str]]:
    from keras_transformer.text.lines import read_lines

    if flags.decode_from_file:
        sources = list(read_lines(flags.decode_from_file))
        references = list(read_lines(flags.reference))
    else:
        split = "test" if flags.eval_use_test_set else "dev"
        data_dir = str(flags.data_dir or loaded.run.data_dir or "")
        problem = loaded.run.problem
        sources = list(problem.source_lines(split, data_dir, flags.tmp_dir))
        references = list(problem.reference_lines(split, data_dir, flags.tmp_dir))
    if len(sources) != len(references):
        raise UserError(
            f"{flags.decode_from_file} has {len(sources)} lines, {flags.reference} has"
            f" {len(references)}: line n of one is the translation of line n of the other"
        )
    return sources, references
