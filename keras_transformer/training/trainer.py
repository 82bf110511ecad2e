"""A run from its directory: model, data, loop and evaluation put together.

    trainer = Trainer(RunDir.open("runs/ende"), data_dir, TrainOptions(train_steps=100_000))
    trainer.train()

Everything `kt-trainer` can do is here; the program only reads flags.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from dataclasses import asdict

import keras
import tensorflow as tf

from keras_transformer import registry
from keras_transformer.data import mixing, pipeline
from keras_transformer.errors import UserError
from keras_transformer.layers.ready_weights import FROZEN_WEIGHTS
from keras_transformer.model.transformer import Transformer
from keras_transformer.run_dir import RunDir
from keras_transformer.training import (
    bucket_shapes,
    checkpoints,
    distribution,
    warm_start,
)
from keras_transformer.training.interruption import Interruption
from keras_transformer.training.loop import Ending, Loop
from keras_transformer.training.progress import Screen
from keras_transformer.training.run_evaluation import RunEvaluation
from keras_transformer.training.run_lock import run_lock
from keras_transformer.training.train_log import SilentLog, TrainLog
from keras_transformer.training.train_options import (
    OF_ALL_WORKERS,
    TrainOptions,
    recipe_warning,
)
from keras_transformer.training.train_state import TrainState
from keras_transformer.training.train_step import TrainStep
from keras_transformer.training.workers import Alone, join, sizes_of

__all__ = ["TrainOptions", "Trainer"]

# Smaller models are nobody's recipe.
RECIPE_WIDTH = 512
# Seconds between two looks for a new checkpoint.
POLL_EVERY = 5.0


class Trainer:
    """One run, ready to be trained or evaluated.

    Args:
        run: the opened run directory.
        data_dir: where shards and vocabularies lie.
        options: see `TrainOptions`.
        evaluates_during_training: evaluate after checkpoints.

    Raises:
        UserError: devices that are not there, settings that contradict each other.
    """

    def __init__(
        self,
        run: RunDir,
        data_dir: str | os.PathLike[str],
        options: TrainOptions,
        evaluates_during_training: bool = True,
    ):
        if os.environ.get(FROZEN_WEIGHTS) == "1":
            raise UserError(
                f"{FROZEN_WEIGHTS}=1 lets TensorFlow go on with the first weights it sees, which"
                " training changes: unset it, and train in a process that has not decoded under it"
            )
        self.run = run
        self.options = options
        self.hparams = run.hparams
        if options.precision:
            self.hparams = run.hparams.replace(activation_dtype=options.precision)
        self._data_dir = os.fspath(data_dir)
        self.mixture = mixing.from_records(run.problem, run.mixture, registry.problem)
        self._evaluates = evaluates_during_training
        self.strategy, self.workers = self._devices()
        keras.utils.set_random_seed(options.seed)
        if options.deterministic:
            tf.config.experimental.enable_op_determinism()
        self.encoders = run.encoders(data_dir=self._data_dir)
        with self.workers.explained(), self.strategy.scope():
            self.model = Transformer.from_hparams(
                self.hparams,
                self.encoders["inputs"].vocab_size,
                self.encoders["targets"].vocab_size,
                target_space_id=run.target_space_id,
            )
        self._screen = Screen(None if self.workers.is_chief else io.StringIO())
        # The chief evaluates alone, on its first device.
        alone = self.workers.count == 1
        self._evaluation = RunEvaluation(
            self.model,
            self.encoders,
            run.problem,
            self._data_dir,
            self.hparams,
            options,
            self.strategy if alone else tf.distribute.get_strategy(),
            self._screen,
        )

    def _devices(self) -> tuple[tf.distribute.Strategy, Alone]:
        options, cluster = self.options, self.options.cluster
        if options.tpu:
            return distribution.tpu_strategy(options.tpu), Alone()
        if cluster is None:
            return distribution.strategy(options.logical_cpus, options.gpus), Alone()
        if options.logical_cpus > 1:
            raise UserError(
                f"--logical_cpus={options.logical_cpus} tries out several devices in one process,"
                " and TF_CONFIG names several processes: leave one of them out"
            )
        shards = self.run.problem.shard_paths(self._data_dir, "train")
        agreed = {
            "problem": self.run.problem.full_name,
            "the training data": sizes_of(shards),
            "mixture": self.mixture.records(),
            **asdict(options.loop),
            **{name: getattr(options, name) for name in OF_ALL_WORKERS},
        }
        return join(cluster, self.run.path, agreed, options.gpus, options.worker_timeout)

    @property
    def replicas(self) -> int:
        """Devices that share each batch."""
        return self.strategy.num_replicas_in_sync

    def train(self) -> tuple[Ending, int]:
        """Trains up to `train_steps`, from the newest checkpoint if there is one.

        Returns:
            Why it ended, and the exit status: 0, or 130 (Ctrl-C) and 143 (SIGTERM) after saving.

        Raises:
            UserError: the newest checkpoint is an average, does not fit, or all are damaged, or
                another trainer is at work here.
            DivergedError: loss or gradient is not finite and training is to stop.
            WorkerLostError: another process of the cluster has died.
        """
        run_dir, goal = self.run.path, self.options.loop.train_steps
        is_chief = self.workers.is_chief
        lock = run_lock(run_dir) if is_chief else contextlib.nullcontext()
        with Interruption() as interruption, self.workers.together(), lock:
            state = self._state()
            restored = state.restore(run_dir)
            self.workers.require_same("the step to go on at", state.step)
            log = TrainLog(run_dir, self.run.problem.name) if is_chief else SilentLog()
            if restored is None:
                self._begin(state, log)
            else:
                self._screen.note(f"resuming at step {state.step} of {goal} from {restored}")
                log.resume(state.step, restored)
                if is_chief:
                    self._evaluation.take_up(run_dir, state.step)
            self._announce_mixture(state.step, log)
            if state.step >= goal:
                self._screen.note(
                    f"--train_steps={goal} is a total, and this run is at step {state.step}:"
                    " nothing to do; give a larger number to go on"
                )
                return Ending.FINISHED, 0
            if is_chief:
                checkpoints.remove_temporary(run_dir)
            self._check_memory(state)
            loop = Loop(
                state,
                run_dir,
                self.options.loop,
                log,
                self._screen,
                after_checkpoint=lambda prefix, is_last: (
                    self._evaluates
                    and self._evaluation.after_checkpoint(prefix, is_last, state.step, log)
                ),
                describe=self._evaluation.describe,
                workers=self.workers,
            )
            ending = loop.run(interruption)
            log.event("end", state.step, reason=ending.name.lower())
            log.close()
            self._screen.note(f"step {state.step}: {ending.value}; saved in {run_dir}")
            # All leave together, so that none takes another for lost.
            self.workers.any(False)
            if not is_chief:
                Screen().note(f"{self.workers.name}: step {state.step}: {ending.value}")
            return ending, interruption.exit_status if ending is Ending.INTERRUPTED else 0

    def evaluate(self, checkpoint: str | None = None) -> dict[str, float]:
        """Evaluates one checkpoint; None for the newest of the run.

        Raises:
            UserError: there is none, or it does not fit.
        """
        prefix = checkpoint or checkpoints.latest(self.run.path)
        if prefix is None:
            raise UserError(f"{self.run.path} holds no checkpoint to evaluate: train first")
        step = checkpoints.load_weights(self.model, prefix).global_step
        log = TrainLog(self.run.path, self.run.problem.name)
        figures = self._evaluation.evaluate(step, log)
        log.close()
        return figures

    def evaluate_continuously(self) -> int:
        """Evaluates each new checkpoint of a run that another process trains.

        Returns:
            The exit status; ends when the checkpoint of `train_steps` was evaluated or at a signal.
        """
        log = TrainLog(self.run.path, self.run.problem.name, eval_folder="eval_continuous")
        seen = -1
        with Interruption() as interruption:
            while not interruption.requested and seen < self.options.loop.train_steps:
                prefix = checkpoints.latest(self.run.path)
                if prefix is None or checkpoints.step_of(prefix) <= seen:
                    time.sleep(POLL_EVERY)
                    continue
                try:
                    seen = checkpoints.load_weights(self.model, prefix).global_step
                except checkpoints.DamagedCheckpointError:
                    time.sleep(POLL_EVERY)  # deleted by the trainer while it was read
                    continue
                self._evaluation.evaluate(seen, log)
            log.close()
            return interruption.exit_status if interruption.requested else 0

    def _state(self) -> TrainState:
        options, problem = self.options, self.run.problem
        dataset = pipeline.training_dataset(
            problem,
            self._data_dir,
            self.hparams,
            self.replicas,
            seed=options.seed,
            mixed_in=self.mixture.weighted(self._data_dir),
            worker=self.workers.number,
            workers=self.workers.count,
        )
        shards = [os.path.basename(path) for path in problem.shard_paths(self._data_dir, "train")]
        fingerprint = {
            "problem": problem.full_name,
            "number of shards": len(shards),
            "number of replicas": self.replicas,
            "random_seed": options.seed,
            "the form of a position": pipeline.POSITION_FORM,
        }
        if self.mixture.parts:
            fingerprint["mixture"] = self.mixture.records()
        for name in _DATA_SETTINGS:
            fingerprint[name] = getattr(self.hparams, name)
        with self.strategy.scope():
            step = TrainStep(
                self.model,
                self.hparams,
                self.strategy,
                accumulate=options.simulate_replicas,
                workers=self.workers.count,
                loss_multiplier=getattr(problem, "loss_multiplier", 1.0),
                seed=options.seed,
                jit=options.jit,
                jit_lengths=[length for _, length in self._shapes()],
            )
        return TrainState(step, dataset, fingerprint)

    def _begin(self, state: TrainState, log: TrainLog) -> None:
        if self.options.init_from:
            origin = self.options.init_from
            for note in warm_start.begin_with(self.model, self.encoders, origin, self._data_dir):
                self._screen.note(note)
        parameters = sum(int(tf.size(v)) for v in self.model.named_weights().values())
        log.event(
            "start",
            state.step,
            parameters=parameters,
            replicas=self.replicas,
            simulate_replicas=self.options.simulate_replicas,
            precision=self.hparams.activation_dtype,
        )
        positions = self.hparams.batch_size * self.replicas * self.options.simulate_replicas
        self._screen.note(
            f"{parameters:,} parameters; {self.replicas} device(s); an update takes up to"
            f" {positions:,} positions a side"
        )
        name = self.run.hparams_set
        if not name or self.hparams.hidden_size < RECIPE_WIDTH:
            return
        made_for = registry.hparams(name).batch_size
        batch_size = self.hparams.batch_size * self.replicas
        warning = recipe_warning(name, made_for, batch_size, self.options.simulate_replicas)
        if warning:
            self._screen.note(warning)

    def _announce_mixture(self, step: int, log: TrainLog) -> None:
        shares = self.mixture.shares(self._data_dir)
        if shares:
            log.event("mixture", step, parts=[asdict(share) for share in shares])
        for share in shares:
            self._screen.note(share.as_text())

    def _shapes(self) -> list[tuple[int, int]]:
        multiplier = self.run.problem.batch_size_multiplier
        return bucket_shapes.bucket_shapes(self.hparams, self.replicas, multiplier)

    def _check_memory(self, state: TrainState) -> None:
        """Tries the largest batches there can be, so that memory fails now and not in the night."""
        wanted = self.options.check_memory
        if wanted is None:
            wanted = bool(tf.config.list_logical_devices("GPU"))
        if not wanted:
            return
        problem = self.run.problem
        state.start()
        for rows, length in bucket_shapes.largest(self._shapes()):
            names = pipeline.feature_names(problem)
            here = rows // self.workers.count
            batch = {name: tf.ones([here, length], tf.int32) for name in names}
            try:
                state.train_step.try_out(batch)
            except tf.errors.ResourceExhaustedError:
                raise UserError(
                    f"a batch of {rows} sentences of {length} subtokens, which training may meet,"
                    f" does not fit into memory: lower batch_size (now {self.hparams.batch_size})"
                    f" or max_length (now {self.hparams.max_length}), or try --precision=bfloat16;"
                    " --simulate_replicas makes up for smaller batches"
                ) from None


# What the order of the batches depends on besides seed and files.
_DATA_SETTINGS = (
    "batch_size",
    "batch_shuffle_size",
    "length_bucket_step",
    "max_input_seq_length",
    "max_length",
    "max_target_seq_length",
    "min_length",
    "min_length_bucket",
    "use_fixed_batch_size",
)
