"""Training cost by counting."""

from __future__ import annotations

import keras_transformer as kt
from keras_transformer.training.cost import memory_bytes, step_flops


def test_a_step_is_six_operations_for_each_weight_and_position():
    """With length 0 nothing is spent on attending, so every weight is used at each position."""
    hp = kt.hparams("base")
    # Source positions use the encoder and the decoder's cross keys and values.
    attention, feed_forward = 4 * 512 * 512, 2 * 512 * 2048
    source = 6 * (attention + feed_forward) + 6 * 2 * 512 * 512
    target = 6 * (attention + 2 * 512 * 512 + feed_forward) + 37_000 * 512
    assert step_flops(hp, 37_000, mean_length=0) == 6 * 4096 * (source + target)


def test_attention_grows_with_the_length_and_the_step_with_replicas():
    hp = kt.hparams("base")
    grown = step_flops(hp, 37_000, mean_length=60) - step_flops(hp, 37_000, mean_length=30)
    # 18 attentions of 30 more positions each, scores and sum of width 512.
    assert grown == 6 * 4096 * 18 * 30 * 2 * 512
    assert step_flops(hp, 37_000, replicas=8) == 8 * step_flops(hp, 37_000)


def test_restricted_self_attention_costs_r_times_n():
    hp = kt.hparams("base")
    near = hp.replace(self_attention_neighbourhood=10)
    saved = step_flops(hp, 37_000, mean_length=100) - step_flops(near, 37_000, mean_length=100)
    # Of 100 positions the encoder's six layers see 21, the decoder's 11; cross-attention all.
    assert saved == 6 * 4096 * 6 * (79 + 89) * 2 * 512
    memory = [memory_bytes(each, 37_000, None, 100)["activations"] for each in (hp, near)]
    assert memory[0] - memory[1] == 4 * 4096 * 6 * (79 + 89) * 8
    far = hp.replace(self_attention_neighbourhood=99)
    assert step_flops(far, 37_000, mean_length=100) == step_flops(hp, 37_000, mean_length=100)


def test_the_papers_own_estimate_is_an_upper_bound():
    """12 hours on 8 cards at 9.5 TFLOP/s: the cards were not busy with products all the time."""
    counted = 100_000 * step_flops(kt.hparams("base"), 37_000, replicas=8)
    assert 1e18 < counted < 3.3e18


def test_memory_of_weights_and_moments():
    hp = kt.hparams("base")
    memory = memory_bytes(hp, 37_000, None)
    assert memory["weights"] == memory["gradients"] == 4 * 63_062_016
    assert memory["optimizer"] == 8 * 63_062_016
    assert memory["total"] == sum(size for part, size in memory.items() if part != "total")


def test_optimizers_keep_what_they_keep():
    def slots(overrides: str) -> int:
        return memory_bytes(kt.hparams("base", overrides), 37_000, None)["optimizer"] // 4

    assert slots("optimizer=multistep_adam") == 3 * 63_062_016
    assert slots("optimizer=momentum") == 63_062_016
    # Rows and columns of each matrix: embedding, target space, 18 attentions of four, 12
    # feed-forward layers of two; all of each vector: their biases, 30 norms of two.
    matrices = 37_512 + 544 + 72 * 1024 + 24 * 2560
    assert slots("optimizer=adafactor") == matrices + 12 * 2560 + 60 * 512
    assert slots("optimizer=adafactor,optimizer_adafactor_factored=false") == 63_062_016


def test_activations_shrink_in_half_precision_and_grow_with_the_batch():
    def kept(overrides: str) -> int:
        return memory_bytes(kt.hparams("base", overrides), 37_000, None)["activations"]

    assert kept("batch_size=8192") == 2 * kept("")
    assert kept("") / 2 < kept("activation_dtype=bfloat16") < kept("")
