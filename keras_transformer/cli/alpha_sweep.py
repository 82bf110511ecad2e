"""`kt-decoder --sweep_alpha`: BLEU on the development set for each beam size and alpha."""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import TYPE_CHECKING

from keras_transformer.cli.decoding_flags import load_run, parsing_settings
from keras_transformer.cli.program import Flags
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem
    from keras_transformer.decoding.loading import LoadedRun
    from keras_transformer.decoding.options import DecodeOptions

logger = logging.getLogger(__name__)

DEFAULT_ALPHAS = ["0", "0.2", "0.4", "0.6", "0.8", "1"]
MEASURE = "sacrebleu"


def run_sweep(flags: Flags, options: DecodeOptions) -> str:
    """Decodes the development set once per beam size; the table of BLEU (of bracket F1 for
    a parser), or JSON with `--json`.

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
    beam_sizes = sorted({_whole_number("sweep_beam_size", value) for value in beams})
    for alpha in alphas:
        options.replace(alpha=alpha)  # refuses what no decode would take
    for beam_size in beam_sizes:
        options.replace(beam_size=beam_size, n_best=1)
    if options.constrain:
        raise UserError("a sweep searches freely: leave out --constrain_brackets")
    if options.sample:
        raise UserError("a sweep searches: take sample out of decode_hparams")
    if flags.parse_format not in (None, "tree"):
        raise UserError(f"a sweep scores trees: leave out --parse_format={flags.parse_format}")
    if bool(flags.decode_from_file) != bool(flags.reference):
        raise UserError(
            "a sweep needs both --decode_from_file and --reference, or neither of them for the"
            " development set of the run's problem"
        )
    if flags.decode_from_file:
        _require_files(flags.decode_from_file, flags.reference)
    loaded = load_run(flags, flags.checkpoint_path)
    problem = loaded.run.problem
    problem.set_decode_settings(**parsing_settings(flags))
    sources, references = _texts(flags, loaded)
    measure = MEASURE if problem.best_figure == f"bleu_{MEASURE}" else problem.best_figure

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
            if measure == MEASURE:
                found = bleu.score(texts, references, MEASURE)
                scores[beam_size, alpha], signature = found.score, found.signature
            else:
                scores[beam_size, alpha] = _own_figure(problem, measure, texts, references)
    if flags.json:
        rows = [
            {"beam_size": beam, "alpha": alpha, "score": score}
            for (beam, alpha), score in scores.items()
        ]
        best = max(rows, key=lambda row: row["score"])
        return json.dumps(
            {"measure": measure, "signature": signature, "rows": rows, "best": best}, indent=1
        )
    of_what = f"{measure} of {len(sources)} sentences"
    return f"{table(scores)}\n{of_what}{': ' if signature else ''}{signature}"


def _number(flag: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UserError(f"--{flag}: {value!r} is not a number") from None


def _whole_number(flag: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise UserError(f"--{flag}: {value!r} is not a whole number") from None


def _own_figure(problem: Problem, measure: str, outputs: list[str], references: list[str]) -> float:
    figures = problem.score_outputs(outputs, references)
    if measure not in figures:
        raise UserError(
            f"{problem.full_name}: its best_figure is {measure!r}, and its score_outputs gives only"
            f" {', '.join(sorted(figures))}"
        )
    return figures[measure]


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
        pairs = list(problem.scoring_lines(split, data_dir, flags.tmp_dir))
        sources = [source for source, _ in pairs]
        references = [reference for _, reference in pairs]
    if not sources:
        raise UserError("there is no sentence to decode: a sweep compares outputs with references")
    if len(sources) != len(references):
        raise UserError(
            f"{flags.decode_from_file} has {len(sources)} lines, {flags.reference} has"
            f" {len(references)}: line n of one is the translation of line n of the other"
        )
    return sources, references
