"""A prompt: a sentence in, its outputs with scores out; T2T's commands `ns=`, `dl=`, `q`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError

PROMPT = "ns={outputs} dl={extra} | sentence, ns=<outputs>, dl=<extra length> or q > "


def interact(
    translator: Translator, lines: Iterable[str], output: TextIO, options: DecodeOptions
) -> None:
    """Answers sentence by sentence until `q` or the end of `lines`.

    Args:
        translator: see `Translator`.
        lines: what is typed.
        output: where prompts and answers go.
        options: to begin with.
    """

    def prompt() -> None:
        text = PROMPT.format(outputs=options.n_best, extra=options.extra_length)
        output.write(text)
        output.flush()

    prompt()
    for line in lines:
        typed = line.strip()
        if typed == "q":
            break
        try:
            if typed.startswith("ns="):
                wanted = _number(typed)
                options = options.replace(n_best=wanted, beam_size=max(options.beam_size, wanted))
            elif typed.startswith("dl="):
                options = options.replace(extra_length=_number(typed))
            elif typed:
                (translation,) = translator.translate([typed], options)
                for hypothesis in translation.n_best:
                    output.write(f"{hypothesis.score:9.4f}  {hypothesis.text}\n")
        except UserError as error:
            output.write(f"{error}\n")
        prompt()
    output.write("\n")
    output.flush()


def _number(command: str) -> int:
    value = command.partition("=")[2]
    try:
        return int(value)
    except ValueError:
        raise UserError(f"{command!r}: give a whole number behind the =") from None
