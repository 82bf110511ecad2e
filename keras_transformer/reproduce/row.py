"""One row: trains, averages, scores, and writes what it found.

The run directory holds the plan and the text to be scored. Whatever is there already is gone on
from: a checkpoint, half a translation.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.reproduce import scored_text
from keras_transformer.reproduce.plan import RowPlan, read_plan
from keras_transformer.run_dir import RunDir, write_text_atomically

RESULT_FILE = "row_result.json"
FORMAT = 1
AVERAGE_FOLDER = "averaged"
LOG_STEPS = 100
# More checkpoints than are averaged, as one that a signal asked for may lie between.
SPARE_CHECKPOINTS = 5


def do_row(row_dir: Path) -> int:
    """Does what is left of a row.

    Returns:
        The exit status: 0; 143 if a signal came and the training was saved.

    Raises:
        UserError: no plan, or whatever training and decoding refuse.
        DivergedError: the loss is not a number.
    """
    plan = read_plan(row_dir)
    if plan is None:
        raise UserError(f"{row_dir} holds no plan: start it with kt-reproduce")
    if plan.usr_dir:
        registry.import_usr_dir(plan.usr_dir)
    run = _open_or_create(plan, row_dir)
    status = _train(plan, run)
    if status:
        return status
    result = _score(plan, row_dir)
    write_text_atomically(row_dir / RESULT_FILE, json.dumps(result, indent=1) + "\n")
    return 0


def _open_or_create(plan: RowPlan, row_dir: Path) -> RunDir:
    if RunDir.exists(row_dir):
        return RunDir.open(row_dir, usr_dir=plan.usr_dir or None)
    return RunDir.create(
        row_dir,
        plan.settings,
        registry.problem(plan.problem, **plan.problem_options),
        plan.data_dir,
        hparams_set=plan.hparams_set,
        usr_dir=plan.usr_dir or None,
    )


def _train(plan: RowPlan, run: RunDir) -> int:
    from keras_transformer.training import checkpoints

    newest = checkpoints.latest(run.path)
    if newest and checkpoints.step_of(newest) >= plan.steps:
        return 0
    import keras

    from keras_transformer.training.loop import LoopSettings
    from keras_transformer.training.trainer import Trainer, TrainOptions

    loop = LoopSettings(
        train_steps=plan.steps,
        save_steps=plan.save_steps,
        keep=max(plan.averaged, 1) + SPARE_CHECKPOINTS,
        log_steps=max(1, min(LOG_STEPS, plan.steps // 5)),
    )
    options = TrainOptions(
        loop=loop,
        seed=plan.seed,
        deterministic=plan.deterministic,
        precision=plan.precision,
        jit=plan.jit,
        gpus=plan.gpus,
        simulate_replicas=plan.simulate_replicas,
        tmp_dir=plan.tmp_dir,
    )
    trainer = Trainer(run, plan.data_dir, options, evaluates_during_training=False)
    _, status = trainer.train()
    # Optimizer and graphs leave the memory to decoding.
    del trainer
    keras.backend.clear_session()
    gc.collect()
    return status


def _score(plan: RowPlan, row_dir: Path) -> dict[str, Any]:
    from keras_transformer.decoding.loading import load_models
    from keras_transformer.reproduce import measured, scores
    from keras_transformer.reproduce.deviations import deviations
    from keras_transformer.training.cost import flops_of_positions

    loaded = load_models(row_dir, _checkpoint(plan, row_dir), usr_dir=plan.usr_dir or None)
    hp, encoders = loaded.run.hparams, loaded.encoders
    print(f"{plan.row}: perplexity of the development set", file=sys.stderr, flush=True)
    result: dict[str, Any] = {
        "format": FORMAT,
        "plan": plan.as_dict(),
        "vocab_sizes": {side: encoders[side].vocab_size for side in ("inputs", "targets")},
        "vocabularies": loaded.run.vocabularies,
        **scores.perplexity(loaded, plan.data_dir),
        **measured.training(row_dir),
        "devices": measured.device_names(),
    }
    files = scored_text.paths(row_dir)
    print(f"{plan.row}: decoding {plan.scored_lines} sentences", file=sys.stderr, flush=True)
    scores.decode(loaded, plan, files["source"], files["translation"])
    if plan.table == 4:
        result["brackets"] = scores.bracket_scores(files["translation"], files["reference"])
    else:
        result["bleu"] = scores.bleu_scores(
            files["translation"], files["reference"], plan.target_language
        )
    if result["seconds_per_step"]:
        result["flops_per_step"] = flops_of_positions(
            hp,
            result["vocab_sizes"]["targets"],
            result["source_tokens_per_update"],
            result["target_tokens_per_update"],
            result["dev_subwords"] / max(result["dev_sentences"], 1.0),
        )
        result["flops_per_second"] = result["flops_per_step"] / result["seconds_per_step"]
        result["training_flops"] = result["flops_per_step"] * plan.steps
        result["training_seconds"] = result["seconds_per_step"] * plan.steps
    result["deviations"] = deviations(plan, result)
    return result


def _checkpoint(plan: RowPlan, row_dir: Path) -> str:
    """The checkpoint to be scored, made by averaging if need be."""
    from keras_transformer.training import averaging, checkpoints

    if not plan.averaged:
        return checkpoints.path_of(row_dir, plan.steps)
    # Those at the plan's distance and the last one; a signal may have left others between.
    steps = [*range(plan.save_steps, plan.steps, plan.save_steps), plan.steps][-plan.averaged :]
    missing = sorted(set(steps) - set(checkpoints.all_steps(row_dir)))
    if missing:
        raise UserError(
            f"{row_dir} no longer holds the checkpoints of steps {', '.join(map(str, missing))},"
            f" which are to be averaged: delete {row_dir} to do the row again"
        )
    prefixes = [checkpoints.path_of(row_dir, step) for step in steps]
    return averaging.average(prefixes, row_dir / AVERAGE_FOLDER)
