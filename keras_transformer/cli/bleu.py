"""`kt-bleu`: the paper's BLEU, T2T's and sacreBLEU of a translation, each with its signature."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from keras_transformer.cli.output_places import require_file
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
        "kt-bleu --translations_dir=runs/ende/dev --reference=dev.de --plot=bleu.png",
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
program.string(
    "translations_dir",
    None,
    "score every <name>-<step> of this folder instead, as kt-translate-all writes them",
)
program.integer("min_steps", 0, "with --translations_dir: leave earlier steps out", lower_bound=0)
program.string("plot", None, "with --translations_dir: draw scores over steps into this image")
program.boolean("json", False, "prints one JSON object: each measure, or the steps of a folder")


def run(flags: Flags) -> int:
    from keras_transformer.scoring import bleu

    if flags.translation and flags.translations_dir:
        raise UserError("--translation and --translations_dir are both given: give one")
    for name in ("translation", "reference"):
        if not getattr(flags, name) and not (name == "translation" and flags.translations_dir):
            raise UserError(f"--{name} is missing: give the {name} as a text file")
    if flags.plot and not flags.translations_dir:
        raise UserError("--plot draws scores over steps: give --translations_dir")
    if flags.plot:
        require_file(flags.plot, "--plot")
    if flags.measure and flags.bleu_variant:
        raise UserError("--measure and --bleu_variant both choose what is printed: give one")
    measures = flags.measure or _VARIANTS.get(flags.bleu_variant)
    measures = measures or bleu.default_measures(flags.target_language)
    if flags.translations_dir:
        return _score_checkpoints(flags, measures)
    scores = bleu.score_files(
        flags.translation,
        flags.reference,
        measures,
        target_language=flags.target_language,
        moses_form=flags.moses_form,
    )
    if flags.json:
        print(json.dumps({score.measure: score.as_dict() for score in scores}, indent=1))
    else:
        print(table(scores))
    return 0


def _score_checkpoints(flags: Flags, measures: list[str]) -> int:
    from keras_transformer.scoring.checkpoint_scores import score_checkpoints

    rows = score_checkpoints(
        flags.translations_dir,
        flags.reference,
        measures,
        target_language=flags.target_language,
        moses_form=flags.moses_form,
        min_steps=flags.min_steps,
    )
    if flags.plot:
        from keras_transformer.plots.score_curve import plot_scores

        by_measure = {
            name: [scores[place].score for _, scores in rows] for place, name in enumerate(measures)
        }
        plot_scores([step for step, _ in rows], by_measure, flags.plot)
    if flags.json:
        steps = [
            {"step": step, **{score.measure: score.as_dict() for score in scores}}
            for step, scores in rows
        ]
        print(json.dumps({"steps": steps}, indent=1))
    else:
        print(checkpoint_table(rows))
    return 0


def checkpoint_table(rows: list[tuple[int, list[Score]]]) -> str:
    """A line for each step, the best of each measure starred, then the signatures."""
    first = rows[0][1]
    best = [max(scores[place].score for _, scores in rows) for place in range(len(first))]
    lines = [f"{'step':>9}" + "".join(f"{score.measure:>14}" for score in first)]
    for step, scores in rows:
        cells = (
            f"{score.score:>13.2f}{'*' if score.score == top else ' '}"
            for score, top in zip(scores, best, strict=True)
        )
        lines.append((f"{step:>9}" + "".join(cells)).rstrip())
    lines += ["", f"signatures ({first[0].segments} segments):"]
    lines += [f"  {score.measure:<12}{score.signature}" for score in first]
    return "\n".join(lines)


def table(scores: list[Score]) -> str:
    """Figures of every measure, a line each, then the signatures; under 100 columns."""
    lines = [
        f"{'measure':<12}{'score':>7}  {'1/2/3/4-gram precision':<24}{'BP':>6}  "
        f"{'translation':>14}{'reference':>14}"
    ]
    for score in scores:
        line = f"{score.measure:<12}{score.score:>7.2f}"
        if score.precisions:
            precisions = "/".join(f"{precision:.1f}" for precision in score.precisions)
            line += (
                f"  {precisions:<24}{score.brevity_penalty:>6.3f}  "
                f"{score.hypothesis_length:>8} words{score.reference_length:>8} words"
            )
        lines.append(line)
    lines += ["", f"signatures ({scores[0].segments} segments):"]
    lines += [f"  {score.measure:<12}{score.signature}" for score in scores]
    return "\n".join(lines)


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
