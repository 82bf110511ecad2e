"""`kt-query`: asks a model that TensorFlow Serving serves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.export.serving_client import ServingClient

_EOS = 1
_INPUT_OF_SIGNATURE = {"tokens": "ids", "examples": "examples"}

program = Program(
    "kt-query",
    "sends sentences to a model of kt-exporter in TensorFlow Serving and prints what comes back, a"
    " line for each. Reads --inputs_once, or standard input line by line; at a terminal with a"
    " prompt. No vocabulary is needed: the served model has its own.",
    examples=[
        'kt-query --server=localhost:8500 --servable_name=ende --inputs_once="A house."',
        "kt-query --server=http://localhost:8501 --servable_name=ende < test.en > test.de",
        "kt-query --server=localhost:8500 --servable_name=ende --signature=beams < test.en",
    ],
)
program.string(
    "server", None, "host:port for gRPC, http://host:port for REST (8500, 8501 if no port is given)"
)
program.string("servable_name", None, "name the server gives the model")
program.integer(
    "servable_version", None, "version of the model instead of the newest", 1, 2**63 - 1
)
program.string(
    "signature",
    "serving_default",
    "serving_default (best output), beams (all outputs with scores), tokens or examples (ids)",
)
program.enum(
    "input_kind",
    None,
    ["text", "ids", "examples"],
    "what a line is sent as: text; ids (blanks between; the end of sentence, 1, is added where it"
    " is missing); such ids as tf.Example, as T2T's own servables take them. By default as the"
    " signature wants it",
)
program.string("input_name", None, "name of the signature's input: inputs, or input for examples")
program.float("timeout_secs", 10.0, "seconds to wait for an answer", 0.001, 1e6)
program.string("inputs_once", None, "one sentence; the program ends after it")
program.integer("batch_size", 32, "lines of one request; at a terminal always one", 1)
program.boolean("scores", False, "put a tab and the score behind each output")
for name in ("problem", "data_dir", "t2t_usr_dir"):
    program.ignored(name, "the served model has its vocabulary inside")
program.refused("cloud_mlengine_model_name", "put a TensorFlow Serving there and give --server")


def run(flags: Flags) -> int | None:
    if not flags.server:
        raise UserError("--server is not given: name it as in --server=localhost:8500")
    if not flags.servable_name:
        raise UserError("--servable_name is not given: name the model as the server was told to")

    if sys.stdin is None and flags.inputs_once is None:
        raise UserError("standard input is closed: give --inputs_once")

    from keras_transformer.export.serving_client import connect

    client = connect(flags.server, flags.servable_name, flags.timeout_secs, flags.servable_version)
    if flags.inputs_once is not None:
        _answer(client, flags, [flags.inputs_once])
    elif sys.stdin.isatty():
        for line in _prompted():
            try:
                _answer(client, flags, [line])
            except UserError as error:
                print(f"kt-query: {error}", file=sys.stderr)
    else:
        batch: list[str] = []
        for number, record in enumerate(sys.stdin.buffer, start=1):
            batch.append(_decoded(record, number))
            if len(batch) == flags.batch_size:
                _answer(client, flags, batch)
                batch = []
        if batch:
            _answer(client, flags, batch)
    return None


def _prompted() -> Iterator[str]:
    while True:
        try:
            line = input("> ")
        except EOFError:
            print()
            return
        if line.strip() == "q":
            return
        if line.strip():
            yield line


def _decoded(record: bytes, number: int) -> str:
    try:
        return record.rstrip(b"\n").replace(b"\r", b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"standard input, line {number}: byte {error.start + 1} of the line is not UTF-8"
        ) from None


def _answer(client: ServingClient, flags: Flags, lines: Sequence[str]) -> None:
    kind = flags.input_kind or _INPUT_OF_SIGNATURE.get(flags.signature, "text")
    name = flags.input_name or ("input" if kind == "examples" else "inputs")
    reply = client.predict(flags.signature, {name: _payload(lines, kind)})
    if "outputs" not in reply:
        raise UserError(
            f"the signature {flags.signature!r} has no `outputs`, only {', '.join(sorted(reply))}:"
            " is it a model of kt-exporter or t2t-exporter?"
        )
    outputs, scores = reply["outputs"], reply.get("scores")
    for place, output in enumerate(outputs):
        print(_line(output, scores[place] if scores is not None else None, flags), flush=True)


def _payload(lines: Sequence[str], kind: str) -> list[Any]:
    if kind == "text":
        return list(lines)
    rows = [_ids(line) for line in lines]
    if kind == "examples":
        from keras_transformer.data.example_format import encode_example

        return [encode_example({"inputs": row}) for row in rows]
    longest = max(map(len, rows))
    return [row + [0] * (longest - len(row)) for row in rows]


def _ids(line: str) -> list[int]:
    try:
        ids = [int(word) for word in line.split()]
    except ValueError:
        raise UserError(
            f"{line!r} is not a line of ids: whole numbers with blanks between, or choose a"
            " signature that takes text"
        ) from None
    if any(not 0 <= number < 2**31 for number in ids):
        raise UserError(f"{line!r} is not a line of ids: they lie between 0 and {2**31 - 1}")
    return ids if not ids or ids[-1] == _EOS else [*ids, _EOS]


def _line(output: Any, score: Any, flags: Flags) -> str:
    """One sentence's answer: text, or ids up to the end of sentence; beams with tabs between."""
    if isinstance(output, str):
        return f"{output}\t{score:.4f}" if flags.scores and score is not None else output
    if output and isinstance(output[0], (str, list)):
        pairs = zip(output, score, strict=True)
        return "\t".join(f"{_text(each)}\t{s:.4f}" for each, s in pairs if s > -1e6)
    text = _text(output)
    return f"{text}\t{score:.4f}" if flags.scores and score is not None else text


def _text(output: Any) -> str:
    if isinstance(output, str):
        return output
    said = output[: output.index(_EOS)] if _EOS in output else output
    return " ".join(map(str, said))


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
