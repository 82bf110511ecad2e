"""`kt-evalb`: labelled bracket F1 of parse trees, as EVALB counts it."""

from __future__ import annotations

import dataclasses
import json
import sys

from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

program = Program(
    "kt-evalb",
    "scores bracketed trees, one a line, against gold trees: EVALB's table and figures, then the "
    "figures by label; messages about single lines go to standard error",
    examples=[
        "kt-evalb --gold=wsj23.trees --test=parsed.trees",
        "kt-evalb --gold=wsj23.trees --test=parsed.trees --prm=new --no_skip --json",
    ],
)
program.string("gold", None, "the right trees; .gz is read through gzip")
program.string("test", None, "the trees to score, line n against line n of --gold")
program.string(
    "prm",
    "COLLINS",
    "EVALB's parameters: COLLINS (that of nearly all published figures), new, or a .prm file",
)
program.boolean(
    "no_skip",
    False,
    "counts sentences in error, skipped or missing as not found; EVALB leaves them out, which "
    "flatters a parser whose output does not keep the words",
)
program.integer("cutoff_len", None, "most words of the second block, instead of the .prm's", 0)
program.integer("max_error", None, "MAX_ERROR instead of the .prm's; nothing stops here", 0)
program.boolean("sentences", True, "whether the table has a line for every sentence")
program.boolean("json", False, "prints one JSON object with all figures and nothing else")


def run(flags: Flags) -> int:
    from keras_transformer.scoring import brackets, evalb_parameters, evalb_report

    for name in ("gold", "test"):
        if not getattr(flags, name):
            raise UserError(f"--{name} is missing: give a file of bracketed trees, one a line")
    parameters = evalb_parameters.parameters(flags.prm)
    if flags.cutoff_len is not None:
        parameters = dataclasses.replace(parameters, cutoff_length=flags.cutoff_len)
    if flags.max_error is not None:
        parameters = dataclasses.replace(parameters, max_error=flags.max_error)
    result = brackets.score_tree_files(
        flags.gold, flags.test, parameters, skipping=not flags.no_skip
    )
    for line in [*result.messages, *evalb_report.notes(result)]:
        print(line, file=sys.stderr)
    if flags.json:
        print(json.dumps(evalb_report.as_json(result), indent=1))
    else:
        print(evalb_report.evalb_text(result, flags.sentences))
        print(f"\n-- Labels --\n{evalb_report.label_table(result)}")
    return 0


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
