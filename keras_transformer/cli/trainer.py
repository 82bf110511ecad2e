"""`kt-trainer`: trains a model, from raw text if need be, and evaluates it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from keras_transformer.cli import mixture_flags
from keras_transformer.cli.log import show_log
from keras_transformer.cli.problem_flags import add_problem_flags
from keras_transformer.cli.program import Flags, Program
from keras_transformer.cli.training_flags import add_training_flags
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.training.cluster import Cluster

SCHEDULES = ("continuous_train_and_eval", "train_and_evaluate", "train", "evaluate")
DIVERGED_STATUS = 1

program = Program(
    "kt-trainer",
    "trains a Transformer; makes missing data first; goes on from the newest checkpoint of"
    " --output_dir; evaluates after checkpoints. Ctrl-C and SIGTERM save before leaving (exit"
    " status 130 and 143); a loss that is not a number ends it with status 1,"
    " the loss of another worker with 3.",
    examples=[
        "kt-trainer --problem=wmt14_ende --hparams=base --data_dir=data --tmp_dir=corpora"
        " --output_dir=runs/ende",
        "kt-trainer --problem=text2text --train_source=a.en --train_target=a.de --dev_source=b.en"
        " --dev_target=b.de --vocab_size=8000 --hparams=small --data_dir=data --output_dir=run",
        "kt-trainer --output_dir=runs/ende --schedule=evaluate --eval_use_test_set --eval_decode",
    ],
)
program.string("problem", None, "what to learn (kt-info lists all); default: the run directory's")
program.string(
    "hparams", None, "a set and overrides, base,batch_size=1024; default: the run directory's"
)
program.string("hparams_set", None, "a set alone, as T2T has it; --hparams holds overrides then")
program.enum("model", "transformer", ["transformer"], "T2T's flag; there is one model")
program.string("output_dir", None, "run directory: settings, vocabularies, checkpoints, logs")
program.string("data_dir", None, "vocabulary and shards; default: the run directory's")
program.string("tmp_dir", "/tmp/t2t_datagen", "corpora; what is missing is downloaded to it")
program.string("usr_dir", "", "folder of your own problems and sets, a Python package")
program.enum(
    "on_conflict",
    "stop",
    ["stop", "run_dir", "command_line"],
    "whose settings count if --hparams and the run directory differ",
)
program.enum(
    "schedule",
    SCHEDULES[0],
    [*SCHEDULES, "continuous_eval"],
    "train with or without evaluation, evaluate one checkpoint, or each new one",
)
program.integer("train_steps", 250000, "updates in total, those of earlier runs included", 0)
program.float("train_seconds", 0.0, "stop and save after so many seconds (0: no limit)", 0)
program.integer("local_eval_frequency", 1000, "updates between checkpoints", 1)
program.alias("save_checkpoints_steps", "local_eval_frequency")
program.float("save_checkpoints_secs", 0.0, "seconds between checkpoints, instead of updates", 0)
program.integer("keep_checkpoint_max", 20, "newest checkpoints kept (0: all)", 0)
program.integer("log_step_count_steps", 100, "updates between reports", 1)
add_training_flags(program)
program.enum(
    "strategy",
    "auto",
    ["auto", "mirrored", "multi_worker", "tpu"],
    "devices: mirrored, all GPUs of this machine; multi_worker, those of all processes that the"
    " variable TF_CONFIG names; tpu, untested; auto, multi_worker if TF_CONFIG names several",
)
program.float("worker_timeout", 600.0, "seconds that the other workers have to come up", 0)
program.string("tpu", "", "name or address of a TPU to use (untested)")
program.integer("logical_cpus", 0, "cut the CPU into so many devices, to try several out", 0, 64)
program.enum("on_nan", "stop", ["stop", "skip"], "an update that is not finite ends it, or is left")
program.boolean("check_memory", None, "try the largest batches first; default: on GPUs")
program.boolean("profile", False, "write a TensorBoard profile of a few early updates")
program.string("init_from", "", "checkpoint or run directory whose weights a new run begins with")
program.integer("eval_steps", 100, "batches of an evaluation (0: all)", 0)
program.float("eval_throttle_seconds", 600.0, "least seconds between evaluations in training", 0)
program.boolean("eval_use_test_set", False, "evaluate on the test split")
program.boolean(
    "eval_decode",
    False,
    "decode with beam search in evaluations and score the outputs (BLEU; bracket F1 of trees);"
    " keeps the best",
)
program.integer("eval_decode_lines", 0, "decode only the first so many lines (0: all)", 0)
program.integer("eval_early_stopping_steps", 0, "stop so many steps after the best (0: never)", 0)
program.string("eval_early_stopping_metric", "loss", "figure of the evaluation that counts")
program.float("eval_early_stopping_metric_delta", 0.1, "least change that counts", 0)
program.boolean("eval_early_stopping_metric_minimize", True, "smaller is better")
program.string("checkpoint_path", "", "--schedule=evaluate: this one instead of the newest")
program.boolean("json", False, "--schedule=evaluate: print the figures as one JSON object")
add_problem_flags(program)
mixture_flags.add_flags(program)
program.alias("eval_bleu", "eval_decode")
program.alias("eval_bleu_lines", "eval_decode_lines")
program.alias("t2t_usr_dir", "usr_dir")
program.alias("warm_start_from", "init_from")
program.alias("worker_gpu", "gpus")
program.ignored("generate_data", "missing data is always made first")
program.ignored("worker_gpu_memory_fraction", "memory is taken as it is needed")
program.ignored("worker_id", "there is one worker")
program.ignored("tfdbg", "use --on_nan")
program.ignored("registry_help", "see kt-info")
for name in (
    *("master", "sync", "ps_gpu", "ps_job", "worker_job", "gpu_order", "iterations_per_loop"),
    *("daisy_chain_variables", "locally_shard_to_cpu", "log_device_placement", "dbgprofile"),
    *("intra_op_parallelism_threads", "inter_op_parallelism_threads", "enable_graph_rewriter"),
    *("tpu_num_shards", "tpu_infeed_sleep_secs", "use_tpu_estimator", "disable_ffmpeg"),
):
    program.ignored(name, "it changes no result here")
program.refused("worker_replicas", "several machines train by the variable TF_CONFIG", "1")
program.refused("ps_replicas", "there are no parameter servers; all devices hold the weights", "0")
program.refused("use_tpu", "see --tpu, which is untested")
program.refused("keep_checkpoint_every_n_hours", "see --keep_checkpoint_max")
program.refused("xla_compile", "use --jit")
program.refused("hparams_range", "settings are searched by starting one run for each")
program.refused("autotune", "settings are searched by starting one run for each")
program.refused("cloud_mlengine", "start it on the machine that is to train")
program.refused("export_saved_model", "use kt-exporter")
program.refused("eval_run_autoregressive", "use --eval_decode")
program.refused("gpu_automatic_mixed_precision", "use --precision=float16 or bfloat16")


def run(flags: Flags) -> int | None:
    show_log()
    if not flags.output_dir:
        raise UserError("--output_dir is not given: name the run directory")
    if flags.json and flags.schedule != "evaluate":
        raise UserError("--json is for --schedule=evaluate; training writes train_log.jsonl")
    from keras_transformer.cli.training_run import training_cluster
    from keras_transformer.training.worker_watch import LOST_STATUS, WorkerLostError

    cluster = training_cluster(flags)
    try:
        return _run(flags, cluster)
    except WorkerLostError as error:
        print(f"kt-trainer: {error}", file=sys.stderr, flush=True)
        os._exit(LOST_STATUS)


def _run(flags: Flags, cluster: Cluster | None) -> int | None:
    from keras_transformer.cli.training_run import open_or_create, train_options

    run_dir, data_dir = open_or_create(flags, cluster)
    from keras_transformer.training.nan_watch import DivergedError
    from keras_transformer.training.trainer import Trainer

    trainer = Trainer(
        run_dir,
        data_dir,
        train_options(flags, cluster),
        evaluates_during_training=flags.schedule != "train",
    )
    if flags.schedule == "evaluate":
        figures = trainer.evaluate(flags.checkpoint_path or None)
        if flags.json:
            print(json.dumps(figures))
        return None
    if flags.schedule == "continuous_eval":
        return trainer.evaluate_continuously()
    try:
        return trainer.train()[1]
    except DivergedError as error:
        print(f"kt-trainer: {error}", file=sys.stderr, flush=True)
        return DIVERGED_STATUS


main = program.main(run)

if __name__ == "__main__":
    sys.exit(main())
