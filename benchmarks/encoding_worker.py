"""Learns a vocabulary, encodes and decodes one text with one library; prints times as JSON.

Started by `encoding.py`, one fresh process a measurement. Runs under Python 3.7 too, where
Tensor2Tensor lives, and so reads the text itself and imports nothing else of the project.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
import zlib

MAX_SUBTOKEN_LENGTH = 200  # Tensor2Tensor's for its translation problems


def read_text(path: str, max_lines: int) -> list[str]:
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as stream:  # type: ignore[operator]
        records = stream.read().replace(b"\r", b"").decode("utf-8").rstrip("\n").split("\n")
    return records[:max_lines]


def learner(library: str):
    """Function of lines and a target size that gives an encoder."""
    if library == "tensor2tensor":
        from tensor2tensor.data_generators.text_encoder import SubwordTextEncoder

        return lambda lines, size: SubwordTextEncoder.build_from_generator(
            lines, size, max_subtoken_length=MAX_SUBTOKEN_LENGTH
        )
    from keras_transformer.text.subword_encoder import SubwordTextEncoder

    return lambda lines, size: SubwordTextEncoder.learn(
        lines, size, max_subtoken_length=MAX_SUBTOKEN_LENGTH
    )


def main() -> None:
    job = json.loads(sys.argv[1])
    lines = read_text(job["text"], job["max_lines"])
    learn = learner(job["library"])

    def seconds_of(function) -> tuple:
        start = time.process_time()
        result = function()
        return result, time.process_time() - start

    encoder, learning = seconds_of(lambda: learn(lines, job["target_size"]))
    encode = encoder.encode
    ids, encoding = seconds_of(lambda: [encode(line) for line in lines])
    ids, again = seconds_of(lambda: [encode(line) for line in lines])
    texts, decoding = seconds_of(lambda: [encoder.decode(row) for row in ids])
    print(
        json.dumps(
            {
                "lines": len(lines),
                "characters": sum(map(len, lines)),
                "ids": sum(map(len, ids)),
                "vocab_size": encoder.vocab_size,
                "checksum": zlib.crc32(json.dumps(ids).encode("ascii")),
                "round_trip": texts == lines,
                "learn_seconds": learning,
                "encode_lines_per_second": len(lines) / encoding,
                "encode_again_lines_per_second": len(lines) / again,
                "decode_lines_per_second": len(lines) / decoding,
            }
        )
    )


if __name__ == "__main__":
    main()
