"""Full training steps: tokens per core-second and memory."""

from __future__ import annotations

from benchmarks import model_products
from benchmarks.harness import Contestant, Measure
from benchmarks.settings import Settings

END_OF_SENTENCE = 1
FIRST_WORD = 3  # OpenNMT-tf has three reserved ids


def rows_of_ids(sentences: int, longest: int, vocab_size: int, seed: int) -> list[list[int]]:
    """Random sentences like those of a length bucket, from 0.8 of its length to all of it.

    The end of sentence is included; rows are padded with 0 to the longest.
    """
    import numpy as np

    random = np.random.RandomState(seed)
    lengths = random.randint(int(0.8 * longest), longest + 1, sentences)
    ids = random.randint(FIRST_WORD, vocab_size - 1, (sentences, longest))
    positions = np.arange(longest)
    ids = np.where(positions == lengths[:, None] - 1, END_OF_SENTENCE, ids)
    return np.where(positions < lengths[:, None], ids, 0).tolist()


def measure(settings: Settings) -> Measure:
    """This project in every dtype, OpenNMT-tf in float32, and the products alone."""
    hp = settings.settings_of_model()
    batch = {
        side: rows_of_ids(settings.sentences, settings.longest, settings.vocab_size, seed)
        for seed, side in enumerate(("inputs", "targets"))
    }
    source, target = (
        sum(1 for row in batch[side] for number in row if number) for side in ("inputs", "targets")
    )
    products = model_products.of_training_step(hp, settings.vocab_size, source, target)
    job = {
        "hparams": settings.hparams,
        "vocab_size": settings.vocab_size,
        **batch,
    }
    sizes = {
        "hidden_size": hp.hidden_size,
        "filter_size": hp.filter_size,
        "num_heads": hp.num_heads,
        "layers": hp.num_hidden_layers,
    }
    contestants = [
        Contestant(
            f"keras_transformer {dtype}",
            "training.py",
            {**job, "overrides": f"activation_dtype={dtype}"},
            product=model_products.name_of(dtype),
        )
        for dtype in settings.dtypes
    ]
    contestants += [
        Contestant(
            "OpenNMT-tf float32",
            "opennmt_tf_training.py",
            {**job, "sizes": sizes},
            python=settings.peer("opennmt_tf"),
            product=model_products.name_of("float32"),
            is_peer=True,
        )
    ]
    contestants += [
        model_products.contestant(dtype, {"target tokens": {"units": target, "products": products}})
        for dtype in settings.dtypes
    ]
    mega = model_products.operations(products) / target / 1e6
    title = (
        f"full steps of {settings.hparams}, vocabulary {settings.vocab_size:,},"
        f" {source:,} source and {target:,} target tokens ({mega:,.0f} MFLOP a target token)"
    )
    return Measure("training", title, "target tokens", contestants, settings.parameters())
