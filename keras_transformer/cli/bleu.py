"""`kt-bleu`: the paper's BLEU, T2T's and sacreBLEU of a translation, each with its signature."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.scoring.bleu import Score

_VARIANTS = {
    "uncased": ["t2t_uncased"],
    "cased": ["t2t_cased"],
    "both": ["t2t_uncased", "t2t_cased"],
}

program = Program(
    "kt-bleu",
    "scores a translation against its reference, both as plain detokenised text, one sentence a "
    "line; every score comes with the signature that makes it comparable",
    examples=[
        "kt-bleu --translation=out.de --reference=newstest2014.de",
        "kt-bleu --translation=out.fr --reference=newstest2014.fr --target_language=fr --json",
        "kt-bleu --translation=out.de --reference=newstest2014.de --bleu_variant=both",
    ],
)
program.string("translation", None, "the translated file; .gz is read through gzip")
program.string("reference", None, "the reference, with as many lines")
program.comma_list(
    "measure",
    None,
    "any of paper (tokenised by Moses, German compounds split), moses (the same without splitting),"
    " t2t_uncased, t2t_cased, sacrebleu, chrf; by default paper (moses unless the target language "
    "is de), t2t_cased, t2t_uncased and sacrebleu",
)
program.enum(
    "bleu_variant", None, list(_VARIANTS), "as t2t-bleu has it: T2T's BLEU alone, in this case"
)
program.string("target_language", "de", "language of both files, for the tokenizers")
program.enum(
    "moses_form",
    "2017",
    ["2017", "today"],
    "form of the Moses scripts behind paper and moses: that of the paper's time, or the present "
    "one, which sets every last full stop apart",
)
program.boolean("json", False, "prints one JSON object, a measure's name to its score")


def run(flags: Flags) -> int:
    from keras_transformer.scoring import bleu

    for name in ("translation", "reference"):
        if not getattr(flags, name):
            raise UserError(f"--{name} is missing: give the {name} as a text file")
    if flags.measure and flags.bleu_variant:
        raise UserError("--measure and --bleu_variant both choose what is printed: give one")
    measures = flags.measure or _VARIANTS.get(flags.bleu_variant)
    scores = bleu.score_files(
        flags.translation,
        flags.reference,
        measures or bleu.default_measures(flags.target_language),
        target_language=flags.target_language,
        moses_form=flags.moses_form,
    )
    if flags.json:
        print(json.dumps({score.measure: score.as_dict() for score in scores}, indent=1))
    else:
        print(table(scores))
    return 0


def table(scores: list[Score]) -> str:
    """Figures of every measure, a line each, then the signatures; under 100 columns."""
    lines = [
        f"{'measure':<12}{'score':>7}  {'1/2/3/4-gram precision':<24}{'BP':>6}  "
        f"{'translation':>12}{'reference':>11}"
    ]
    for score in scores:
        line = f"{score.measure:<12}{score.score:>7.2f}"
        if score.precisions:
            precisions = "/".join(f"{precision:.1f}" for precision in score.precisions)
            line += (
                f"  {precisions:<24}{score.brevity_penalty:>6.3f}  "
                f"{score.hypothesis_length:>6} words{score.reference_length:>5} words"
            )
        lines.append(line)
    lines += ["", f"signatures ({scores[0].segments} segments):"]
    lines += [f"  {score.measure:<12}{score.signature}" for score in scores]
    return "\n".join(lines)


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
