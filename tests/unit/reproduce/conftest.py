"""Results as a finished row writes them, with figures of choice."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from keras_transformer.reproduce.deviations import deviations
from keras_transformer.reproduce.recipes import Request, plans
from keras_transformer.reproduce.results import Result


def _made_up_result(request: Request, **figures: Any) -> Result:
    (plan,) = (dataclasses.replace(plan, scored_lines=3000) for plan in plans(request))
    result: Result = {
        "format": 1,
        "plan": plan.as_dict(),
        "vocab_sizes": {"inputs": 37_000, "targets": 37_000},
        "vocabularies": {"inputs": {"file": "vocab", "sha256": "a"}},
        "perplexity": 5.0,
        "perplexity_per_word": 12.5,
        "dev_subwords": 90_000.0,
        "dev_words": 60_000.0,
        "dev_sentences": 3000.0,
        "parameters": 63_062_016,
        "replicas": 8,
        "simulate_replicas": 1,
        "precision": "float32",
        "devices": ["P100"],
        "seconds_per_step": 0.4,
        "source_tokens_per_update": 25_000.0,
        "target_tokens_per_update": 25_000.0,
        "flops_per_step": 1e13,
        "flops_per_second": 2.5e13,
        "training_flops": 1e18,
        "training_seconds": 40_000.0,
        "bleu": {
            "paper": {"score": 25.75, "signature": "p"},
            "sacrebleu": {"score": 25.0, "signature": "s"},
        },
        "brackets": {
            **{"f1": 91.0, "recall": 90.0, "precision": 92.0, "sentences": 2416, "left_out": 1},
            "f1_nothing_left_out": 90.9,
        },
        **figures,
    }
    result["deviations"] = deviations(plan, result)
    return result


@pytest.fixture
def made_up_result():
    return _made_up_result
