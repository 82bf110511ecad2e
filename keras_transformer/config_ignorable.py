"""T2T hyperparameters that change nothing here as long as they keep their usual value.

A run directory of T2T names some 150 hyperparameters. Those below belong to other models and
modes: they are accepted at the values every Transformer set of Tensor2Tensor 1.15.7 gives them,
written to `hparams.json` so that T2T can read the file alone, and refused by name at any other
value, since such a run would not be what its settings say.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

IGNORABLE: MappingProxyType[str, Any] = MappingProxyType(
    {
        "add_relative_to_values": False,
        "area_key_mode": "none",
        "area_value_mode": "none",
        "causal_decoder_self_attention": True,
        "compress_steps": 0,
        "conv_first_kernel": 3,
        "daisy_chain_variables": True,
        "dropout": 0.2,
        "eval_run_autoregressive": False,
        "factored_logits": False,
        "force_full_predict": False,
        "grad_noise_scale": 0.0,
        "gumbel_noise_weight": 0.0,
        "hard_attention_k": 0,
        "heads_share_relative_embedding": False,
        "kernel_height": 3,
        "kernel_width": 1,
        "max_area_height": 1,
        "max_area_width": 1,
        "memory_height": 1,
        "mlperf_mode": False,
        "moe_hidden_sizes": "2048",
        "moe_k": 2,
        "moe_loss_coef": 0.001,
        "moe_num_experts": 16,
        "moe_overhead_eval": 2.0,
        "moe_overhead_train": 1.0,
        "multiproblem_fixed_train_length": -1,
        "multiproblem_label_weight": 0.5,
        "multiproblem_max_input_length": -1,
        "multiproblem_max_target_length": -1,
        "multiproblem_mixing_schedule": "constant",
        "multiproblem_per_task_threshold": "",
        "multiproblem_reweight_label_loss": False,
        "multiproblem_schedule_max_examples": 10000000.0,
        "multiproblem_schedule_threshold": 0.5,
        "multiproblem_target_eval_only": False,
        "multiproblem_vocab_size": -1,
        "nbr_decoder_problems": 1,
        "no_data_parallelism": False,
        "num_area_layers": 0,
        "optimizer_zero_grads": False,
        "overload_eval_metric_name": "",
        "pad_batch": False,
        "parameter_attention_key_channels": 0,
        "parameter_attention_value_channels": 0,
        "position_features": "",
        "pretrained_model_dir": "",
        "proximity_bias": False,
        "scheduled_sampling_gold_mixin_prob": 0.5,
        "scheduled_sampling_method": "parallel",
        "scheduled_sampling_num_passes": 1,
        "scheduled_sampling_prob": 0.0,
        "scheduled_sampling_warmup_schedule": "exp",
        "scheduled_sampling_warmup_steps": 50000,
        "split_targets_chunk_length": 0,
        "split_targets_max_chunks": 100,
        "split_targets_strided_training": False,
        "summarize_grads": False,
        "summarize_vars": False,
        "tpu_enable_host_call": False,
        "unidirectional_encoder": False,
        "use_custom_ops": True,
        "video_num_input_frames": 1,
        "video_num_target_frames": 1,
        "warm_start_from_second": "",
        "weight_noise": 0.0,
    }
)

# The values of basic_params1, which other sets than the Transformer's keep.
ALSO_IGNORABLE: MappingProxyType[str, tuple[Any, ...]] = MappingProxyType(
    {"moe_loss_coef": (0.01,), "moe_num_experts": (64,)}
)

# What a run directory adds about the run it was: paths and counts, not hyperparameters.
# T2T sets `num_sampled_classes` and `shared_source_target_embedding` and never reads them.
RUN_KEYS = frozenset(
    {
        "bottom",
        "data_dir",
        "eval_freq_in_steps",
        "eval_steps",
        "eval_timeout_mins",
        "loss",
        "model_dir",
        "name",
        "num_sampled_classes",
        "schedule",
        "shared_source_target_embedding",
        "std_server_protocol",
        "top",
        "train_steps",
        "warm_start_from",
        "weights_fn",
    }
)


def is_usual(name: str, value: Any) -> bool:
    """Whether the ignorable hyperparameter `name` has a value that changes nothing."""
    usual = (IGNORABLE[name], *ALSO_IGNORABLE.get(name, ()))
    if any(type(value) is type(each) and value == each for each in usual):
        return True
    numbers = (int, float)
    return (
        isinstance(value, numbers)
        and not isinstance(value, bool)
        and any(
            isinstance(each, numbers) and not isinstance(each, bool) and value == each
            for each in usual
        )
    )
