"""`kt-attention`: where a model looks, as a picture and as a page to explore."""

from __future__ import annotations

from keras_transformer.cli.decoding_flags import add_model_flags, load_run, require_run_dir
from keras_transformer.cli.log import show_log
from keras_transformer.cli.output_places import require_file
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

program = Program(
    "kt-attention",
    "shows where a trained model looks while it translates one sentence: a page for the browser"
    " with all layers and heads, and a picture of one layer. The page is one file and needs no"
    " network. Run directories of kt-trainer and of t2t-trainer, parsing models too.",
    examples=[
        'kt-attention --output_dir=runs/ende --source="Choose the file that you want to open."',
        'kt-attention --output_dir=runs/ende --source="A house." --target="Ein Haus." --png=',
        'kt-attention --output_dir=runs/ende --source="A house." --attention=encoder --layer=5'
        " --heads=1,2 --png=figure.pdf",
    ],
)
add_model_flags(program)
program.string("checkpoint_path", None, "prefix of a checkpoint instead of the latest")
program.string("source", None, "the sentence to translate")
program.string(
    "target",
    None,
    "the translation the model is made to write (a parsing model: its symbols, `S NP DT /NP …`)."
    " Without it the best translation is decoded",
)
program.boolean(
    "raw_input",
    None,
    "parsing: the source is raw text, to be tokenised as the Penn Treebank is; default: words with"
    " blanks between",
)
program.integer("beam_size", None, "hypotheses kept while decoding, 1 is greedy (default 4)", 1)
program.float("alpha", None, "exponent of the length penalty (default 0.6)", 0.0)
program.integer(
    "extra_length", None, "subtokens an output may have beyond its input (default 50)", 0
)
program.string("html", "attention.html", "the page; empty for none")
program.string("png", "attention.png", "the picture; .pdf and .svg work too; empty for none")
program.enum(
    "attention",
    "cross",
    ["encoder", "cross", "decoder"],
    "what the picture shows: self-attention of the encoder or the decoder, or the decoder's"
    " attention to the source",
)
program.integer("layer", None, "the layer in the picture, from 1 (default: the last)", 1)
program.comma_list("heads", None, "heads in the picture, from 1 (default: all)")
program.boolean("words", True, "join subtokens to words in the picture; the page has a switch")


def run(flags: Flags) -> int | None:
    show_log()
    require_run_dir(flags)
    if flags.source is None or not flags.source.strip():
        raise UserError('--source is not given or blank: give a sentence, --source="A house."')
    if flags.target is not None and not flags.target.strip():
        raise UserError("--target is blank: leave it out to have a translation decoded")
    for name in ("source", "target"):
        _require_text(name, getattr(flags, name) or "")
    heads = _heads(flags.heads)
    outputs = [path for path in (flags.html, flags.png) if path]
    if not outputs:
        raise UserError("--html and --png are both empty: there is nothing to write")
    for name in ("html", "png"):
        if path := getattr(flags, name):
            require_file(path, f"--{name}")
    if flags.png:
        from keras_transformer.plots.attention_picture import require_matplotlib
        from keras_transformer.plots.figure import require_image_path

        require_matplotlib()
        require_image_path(flags.png, "--png")
    loaded = load_run(flags, flags.checkpoint_path)
    if flags.raw_input is not None:
        loaded.run.problem.set_decode_settings(raw_input=flags.raw_input)

    from keras_transformer.data.parsing_problem import ParsingProblem
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.plots.attention import attention_maps
    from keras_transformer.plots.attention_page import write_page
    from keras_transformer.plots.attention_picture import write_picture

    translator = Translator.of_loaded(loaded)
    given = {name: getattr(flags, name) for name in ("beam_size", "alpha", "extra_length")}
    changes = {name: value for name, value in given.items() if value is not None}
    maps = attention_maps(
        translator,
        flags.source,
        flags.target,
        translator.default_options.replace(**changes),
        words_at_blanks=isinstance(loaded.run.problem, ParsingProblem),
    )
    if flags.png:
        layer = None if flags.layer is None else flags.layer - 1
        write_picture(maps, flags.png, flags.attention, layer, heads, flags.words)
    if flags.html:
        write_page(maps, flags.html, model=loaded.checkpoints[0])
    print(maps.target_text)
    for path in outputs:
        print(path)
    return None


def _heads(given: list[str] | None) -> list[int] | None:
    if not given:
        return None
    numbers = [int(part) for part in given if part.strip().isdigit()]
    if len(numbers) != len(given) or not all(numbers):
        raise UserError(f"--heads={','.join(given)}: give numbers from 1 on, commas between")
    return [number - 1 for number in dict.fromkeys(numbers)]


def _require_text(name: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # Python's stand-ins for bytes of the command line
        raise UserError(
            f"--{name}={text!r} is not UTF-8: set the terminal to UTF-8 and type it again"
        ) from None


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
