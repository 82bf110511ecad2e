"""Files in, files out: one output line for each input line, in order, as they are done."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.output_format import OutputFormat
from keras_transformer.decoding.partial_file import PartialFile
from keras_transformer.decoding.translation import Translation
from keras_transformer.decoding.translator import BATCHES_OF_A_WINDOW, Translator
from keras_transformer.decoding.whole_text import WholeText
from keras_transformer.errors import UserError
from keras_transformer.run_dir import sha256_of_file
from keras_transformer.text.lines import count_lines, read_lines

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_REPORTS = 60
TEXT = OutputFormat()


def checkpoint_identity(prefixes: Iterable[str]) -> list[str]:
    """A digest of each checkpoint: its index holds a checksum of every tensor."""
    return [sha256_of_file(Path(f"{prefix}.index")) for prefix in prefixes]


def decode_file(
    translator: Translator,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    options: DecodeOptions,
    output_format: OutputFormat = TEXT,
    origin: Mapping[str, Any] | None = None,
) -> int:
    """Translates a file of sentences, one a line.

    The final name appears when the output is whole. A run that was killed is taken up again by the
    same call: see `PartialFile`. Under the length limit `batch` the whole file is held in memory,
    and what is unfinished stands in the order of `WholeText`.

    Args:
        translator: see `Translator`.
        source: UTF-8, records end at LF; through gzip if the name ends in `.gz`.
        target: the file to be made.
        options: see `DecodeOptions`.
        output_format: see `OutputFormat`.
        origin: what else the output depends on: the identity of model and vocabulary.

    Returns:
        The number of lines written, which is that of the input.

    Raises:
        UserError: a file that cannot be read or written, or a sentence that cannot be decoded.
    """
    total = count_lines(source)
    made_from: dict[str, Any] = {
        "input": sha256_of_file(Path(source)),
        "options": asdict(options),
        "format": asdict(output_format),
        **(origin or {}),
    }
    if options.length_limit == "batch":
        made_from["order"] = "of T2T's batches"
    else:
        # Batches change nothing, so that a smaller one may be tried after a lack of memory.
        made_from["options"].pop("batch_size")
    problem = translator.problem
    indented = problem is not None and problem.output_has_lines and output_format.kind == "text"
    with PartialFile(target, made_from, indented) as partial:
        done = partial.lines
        order: list[int] | None = None
        numbered: Iterator[tuple[int, Translation]]
        if options.length_limit == "batch":
            whole = WholeText(translator, list(read_lines(source)), options)
            order = whole.order
            places = (place + 1 for place in order[done:])
            numbered = zip(places, whole.translations(done), strict=True)
        else:
            rest = itertools.islice(read_lines(source), done, None)
            translations = translator.translate(rest, options, first_number=done)
            numbered = enumerate(translations, start=done + 1)
        started, reported = time.monotonic(), time.monotonic()
        while block := list(itertools.islice(numbered, options.batch_size * BATCHES_OF_A_WINDOW)):
            partial.write(
                output_format.line(translation, number, options.n_best)
                for number, translation in block
            )
            if time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
                reported = time.monotonic()
                rate = (partial.lines - done) / (reported - started)
                logger.info("%d of %d lines, %.1f lines a second", partial.lines, total, rate)
        if partial.lines != total:
            raise UserError(
                f"{target}: {partial.lines} lines were written for {total} lines of {source};"
                " did the input change meanwhile? Start again"
            )
        partial.finish(order)
        return total


def decode_stream(
    translator: Translator,
    lines: Iterable[str],
    output: TextIO,
    options: DecodeOptions,
    output_format: OutputFormat = TEXT,
) -> int:
    """Translates lines to a stream; returns their number.

    Lines are read and written window by window (16 batches). With a batch size of 1 each line is
    answered before the next is read, as a program at the other end of a pipe needs it.
    """
    if options.batch_size == 1:
        translations: Iterator[Translation] = (
            translator.translate([line], options, first_number=number)[0]
            for number, line in enumerate(lines)
        )
        window = 1
    else:
        translations = translator.translate(iter(lines), options)
        window = options.batch_size * BATCHES_OF_A_WINDOW
    number = 0
    for number, translation in enumerate(translations, start=1):
        output.write(output_format.line(translation, number, options.n_best) + "\n")
        if number % window == 0:
            output.flush()
    output.flush()
    return number


def stream_lines(stream: BinaryIO) -> Iterator[str]:
    """Records of a byte stream as `read_lines` reads those of a file: LF ends one, CR is dropped.

    Raises:
        UserError: bytes that are not UTF-8; the message has the number of the line.
    """
    for number, record in enumerate(stream, start=1):
        try:
            yield record.rstrip(b"\n").replace(b"\r", b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"standard input, line {number}: byte {error.start + 1} of the line is not UTF-8:"
                " convert the text (for instance with iconv -f latin1 -t utf-8)"
            ) from None


def score_file(
    translator: Translator, source: str | os.PathLike[str], output: TextIO, batch_size: int = 32
) -> int:
    """T2T's `--score_file`: the loss of each line `input TAB target`, six decimals.

    The mean cross-entropy per target subtoken, end of sentence included; see `Translator.losses`.

    Raises:
        UserError: a line without a tab.
    """

    def pairs() -> Iterator[tuple[str, str]]:
        for number, line in enumerate(read_lines(source), start=1):
            inputs, tab, targets = line.partition("\t")
            if not tab:
                raise UserError(
                    f"{os.fspath(source)}, line {number}: there is no tab; a line to be scored is"
                    " the input, a tab, and the output"
                )
            yield inputs, targets

    count = 0
    for loss in translator.losses(pairs(), batch_size):
        output.write(f"{loss:.6f}\n")
        count += 1
    output.flush()
    return count
