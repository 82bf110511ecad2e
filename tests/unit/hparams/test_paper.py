"""The paper's recipes against the paper's text."""

from __future__ import annotations

import keras_transformer as kt


def test_base_is_the_papers():
    hp = kt.hparams("base")
    # Section 3: N, d_model, d_ff, h; section 5.3: Adam and warm-up; 5.4: dropout, smoothing.
    assert (hp.num_hidden_layers, hp.hidden_size, hp.filter_size, hp.num_heads) == (6, 512, 2048, 8)
    assert (hp.optimizer_adam_beta1, hp.optimizer_adam_beta2) == (0.9, 0.98)
    assert (hp.optimizer_adam_epsilon, hp.learning_rate_warmup_steps) == (1e-9, 4000)
    assert (hp.layer_prepostprocess_dropout, hp.label_smoothing) == (0.1, 0.1)
    assert (hp.attention_dropout, hp.relu_dropout) == (0.0, 0.0)
    # Post-norm: LayerNorm(x + dropout(sublayer(x))).
    assert (hp.layer_preprocess_sequence, hp.layer_postprocess_sequence) == ("none", "dan")
    assert hp == kt.hparams("transformer_base_v1")


def test_big_and_big_enfr_state_what_differs():
    base, big = kt.hparams("base"), kt.hparams("big")
    assert base.differences(big) == [
        ("filter_size", 2048, 4096),
        ("hidden_size", 512, 1024),
        ("layer_prepostprocess_dropout", 0.1, 0.3),
        ("num_heads", 8, 16),
    ]
    assert big.differences(kt.hparams("big_enfr")) == [("layer_prepostprocess_dropout", 0.3, 0.1)]
    assert big.source_of("hidden_size") == "paper Table 3, big"


def test_the_package_can_be_called_after_it_was_imported():
    import keras_transformer.hparams

    assert kt.hparams is keras_transformer.hparams
    assert kt.hparams("base", "batch_size=7").batch_size == 7
