"""Beam search: sentences per core-second and memory."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from benchmarks import model_products
from benchmarks.harness import Contestant, Measure
from benchmarks.settings import Settings
from benchmarks.training import END_OF_SENTENCE, rows_of_ids


def measure(settings: Settings, folder: Path) -> Measure:
    """This project in every dtype, CTranslate2 with the same weights, and the products alone.

    Args:
        settings: sizes.
        folder: where the weights for CTranslate2 are kept during the measurement.
    """
    hp = settings.settings_of_model()
    length = settings.decode_length
    batches, products = {}, {}
    for sentences in settings.decode_batches:
        figure = f"batch {sentences}"
        rows = rows_of_ids(sentences, length, settings.vocab_size, seed=sentences)
        # All as long as each other: random sentences say nothing about real lengths.
        batches[figure] = [
            [number if number > END_OF_SENTENCE else 2 for number in row] for row in rows
        ]
        products[figure] = {
            "units": sentences,
            "products": model_products.of_decoding(
                hp, settings.vocab_size, sentences, settings.beam_size, length
            ),
        }
    # CTranslate2 is one of the development extras, so it lives in this environment.
    has_peer = importlib.util.find_spec("ctranslate2") is not None
    job = {
        "hparams": settings.hparams,
        "vocab_size": settings.vocab_size,
        "beam_size": settings.beam_size,
        "length": length,
        "batches": batches,
    }
    ctranslate2_dir = str(folder / "ctranslate2")
    contestants = [
        Contestant(
            f"keras_transformer {dtype}",
            "decoding.py",
            {
                **job,
                "overrides": f"activation_dtype={dtype}",
                "ctranslate2_dir": ctranslate2_dir if has_peer and number == 0 else None,
            },
            product=model_products.name_of(dtype),
        )
        for number, dtype in enumerate(settings.dtypes)
    ]
    for dtype in settings.dtypes:
        # As kt-decoder does: see `keras_transformer.cli.frozen_weights`.
        frozen = batches if dtype == "bfloat16" else {"batch 1": batches["batch 1"]}
        contestants.append(
            Contestant(
                f"the same, frozen {dtype}",
                "decoding.py",
                {**job, "overrides": f"activation_dtype={dtype}", "batches": frozen},
                product=model_products.name_of(dtype),
                environment={"TF_ONEDNN_ASSUME_FROZEN_WEIGHTS": "1"},
            )
        )
    contestants += [
        Contestant(
            f"CTranslate2 {compute_type}",
            "ctranslate2_decoding.py",
            {**job, "ctranslate2_dir": ctranslate2_dir, "compute_type": compute_type},
            python=sys.executable if has_peer else None,
            product=model_products.name_of("float32"),
            is_peer=True,
        )
        for compute_type in ("float32", "int8")
    ]
    contestants += [model_products.contestant(dtype, products) for dtype in settings.dtypes]
    title = (
        f"beam {settings.beam_size} of {settings.hparams}, vocabulary {settings.vocab_size:,},"
        f" inputs and outputs of {length} subtokens"
    )
    return Measure("decoding", title, "sentences", contestants, settings.parameters())
