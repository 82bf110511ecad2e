"""Learns a vocabulary, encodes and decodes one text with one library.

Runs under Python 3.7 too, where Tensor2Tensor lives, and so reads the text itself and imports
nothing of the project that it does not measure. "encode" meets each text for the first time,
"again" has its words in the cache.
"""

from __future__ import annotations

import gzip
import json
import zlib

import protocol

MAX_SUBTOKEN_LENGTH = 200  # Tensor2Tensor's for its translation problems


def read_text(path: str, max_lines: int) -> list[str]:
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as stream:  # type: ignore[operator]
        records = stream.read().replace(b"\r", b"").decode("utf-8").rstrip("\n").split("\n")
    return records[:max_lines]


def learner(library: str):
    """Function of lines and a target size that gives an encoder; and the library's version."""
    if library == "tensor2tensor":
        import pkg_resources
        from tensor2tensor.data_generators.text_encoder import SubwordTextEncoder

        version = pkg_resources.get_distribution("tensor2tensor").version
        return (
            lambda lines, size: SubwordTextEncoder.build_from_generator(
                lines, size, max_subtoken_length=MAX_SUBTOKEN_LENGTH
            ),
            {library: version},
        )
    from keras_transformer.text.subword_encoder import SubwordTextEncoder

    return (
        lambda lines, size: SubwordTextEncoder.learn(
            lines, size, max_subtoken_length=MAX_SUBTOKEN_LENGTH
        ),
        {},
    )


def prepare(job: dict) -> tuple:
    lines = read_text(job["text"], job["max_lines"])
    learn, versions = learner(job["library"])

    def one_round() -> tuple:
        results = {}
        figures = {}

        def measure(figure: str, work) -> None:
            def keep() -> None:
                results[figure] = work()

            figures[figure] = (len(lines), protocol.cpu_seconds(keep))

        measure("learn", lambda: learn(lines, job["target_size"]))
        encoder = results["learn"]
        measure("encode", lambda: [encoder.encode(line) for line in lines])
        ids = results["encode"]
        measure("encode again", lambda: [encoder.encode(line) for line in lines])
        measure("decode", lambda: [encoder.decode(row) for row in ids])
        if results["decode"] != lines:
            raise SystemExit("the decoded text is not the text")
        checked = {
            "lines": len(lines),
            "subtokens": sum(map(len, ids)),
            "vocab_size": encoder.vocab_size,
            "checksum": zlib.crc32(json.dumps(ids).encode("ascii")),
        }
        return figures, checked

    return one_round, versions


if __name__ == "__main__":
    protocol.serve(prepare)
