"""The subword encoder: lines per core-second of learning a vocabulary, encoding, decoding."""

from __future__ import annotations

from benchmarks import model_products
from benchmarks.harness import Contestant, Measure
from benchmarks.settings import Settings


def measure(settings: Settings) -> Measure:
    """This project and Tensor2Tensor, which must give the same ids.

    The products here are those of training: their rate is that of the lines which a training that
    did nothing else would use up, a source and a target line for each pair.
    """
    job = {
        "text": str(settings.text.resolve()),
        "max_lines": settings.lines,
        "target_size": settings.subword_vocab_size,
        "warm_up_rounds": 0,
    }
    positions = int(0.9 * settings.longest * settings.sentences)
    products = model_products.of_training_step(
        settings.settings_of_model(), settings.vocab_size, positions, positions
    )
    contestants = [
        Contestant(
            "keras_transformer",
            "encoding.py",
            {**job, "library": "keras_transformer"},
            product=model_products.name_of("float32"),
        ),
        Contestant(
            "tensor2tensor",
            "encoding.py",
            {**job, "library": "tensor2tensor"},
            python=settings.peer("tensor2tensor"),
            product=model_products.name_of("float32"),
            is_peer=True,
            # Its protocol buffers are older than the compiled ones it finds.
            environment={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
        ),
        model_products.contestant(
            "float32", {"encode": {"units": 2 * settings.sentences, "products": products}}
        ),
    ]
    title = (
        f"{settings.text.name}, at most {settings.lines:,} lines,"
        f" vocabulary of about {settings.subword_vocab_size:,}"
    )
    return Measure("encoding", title, "lines", contestants)
