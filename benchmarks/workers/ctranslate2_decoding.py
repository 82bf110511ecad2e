"""Beam search of CTranslate2 with the weights that `workers/decoding.py` has written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ctranslate2
import protocol


def prepare(job: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, str]]:
    translator = ctranslate2.Translator(
        job["ctranslate2_dir"],
        device="cpu",
        inter_threads=1,
        intra_threads=job["threads"],
        compute_type=job["compute_type"],
    )

    def search(rows: list[list[int]]) -> None:
        results = translator.translate_batch(
            [[str(number) for number in row] for row in rows],
            beam_size=job["beam_size"],
            length_penalty=0.6,
            max_batch_size=0,
            min_decoding_length=job["length"],
            max_decoding_length=job["length"],
        )
        if any(len(result.hypotheses[0]) != job["length"] for result in results):
            raise SystemExit("an output is shorter than the others")

    def one_round() -> dict[str, tuple[int, float]]:
        return {
            figure: (len(rows), protocol.cpu_seconds(functools.partial(search, rows)))
            for figure, rows in job["batches"].items()
        }

    return one_round, {"ctranslate2": ctranslate2.__version__}


if __name__ == "__main__":
    protocol.serve(prepare)
