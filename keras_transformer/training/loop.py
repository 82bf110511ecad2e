"""The training loop: steps, time, checkpoints, reports. It has never heard of words."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.training import nan_watch, progress, schedule
from keras_transformer.training.interruption import Interruption
from keras_transformer.training.nan_watch import Describe, DivergedError
from keras_transformer.training.train_log import TrainLog
from keras_transformer.training.train_state import TrainState
from keras_transformer.training.workers import Alone

# A pipe or log gets a progress line at least this often, however slow the steps are; in seconds.
LINE_EVERY = 60.0
# Updates after the start that a profile shows; the first ones are not like the others.
PROFILED = range(10, 15)
# A terminal's line is rewritten at most this often; in seconds.
REWRITE_EVERY = 1.0


class Ending(Enum):
    """Why the loop came back."""

    FINISHED = "all steps were made"
    TIME = "the time was up"
    DATA = "the data came to its end"
    INTERRUPTED = "interrupted"
    EARLY = "the evaluation did not improve"


class Wish(Enum):
    """What a process may wish by its own clock and signals; sent with each update."""

    SIGINT = 0
    SIGTERM = 1
    TIME = 2
    SAVE = 3


@dataclass(frozen=True)
class LoopSettings:
    """When to do what.

    Attributes:
        train_steps: total of updates, those of earlier runs included.
        train_seconds: stop and save after so many seconds; 0: no limit.
        save_steps: updates between checkpoints; 0: by time only.
        save_seconds: seconds between checkpoints; 0: by steps only.
        keep: newest checkpoints to keep.
        log_steps: updates between reports.
        skip_nan: leave out updates that are not finite instead of stopping.
        profile: write a TensorBoard profile of a few updates soon after the start.
    """

    train_steps: int
    train_seconds: float = 0.0
    save_steps: int = 1000
    save_seconds: float = 0.0
    keep: int = 20
    log_steps: int = 100
    skip_nan: bool = False
    profile: bool = False


class Loop:
    """Trains until there is a reason to stop.

    Args:
        state: model, optimizer, step and data.
        run_dir: where checkpoints go.
        settings: when to do what.
        log: where figures go.
        screen: where lines go.
        after_checkpoint: called with the prefix of each new checkpoint, and whether training has
            come to its end; returns True to stop. Not called when a signal came.
        describe: gives the text of a batch, for a batch that went wrong.
        workers: the processes that make the same updates. Only the chief writes; whatever hangs
            on a clock or a signal goes through the updates, so that all do the same.
    """

    def __init__(
        self,
        state: TrainState,
        run_dir: Path,
        settings: LoopSettings,
        log: TrainLog,
        screen: progress.Screen,
        after_checkpoint: Callable[[str, bool], bool] = lambda prefix, is_last: False,
        describe: Describe | None = None,
        workers: Alone | None = None,
    ):
        self._state = state
        self._run_dir = run_dir
        self._settings = settings
        self._log = log
        self._screen = screen
        self._after_checkpoint = after_checkpoint
        self._describe = describe
        self._workers = workers or Alone()
        # What this process wishes, and what all know that some process wished.
        self._wished: frozenset[Wish] = frozenset()
        self._agreed: frozenset[Wish] = frozenset()
        self._has_wished_to_save = False
        self._meter = progress.Meter()
        self._pending: tuple[int, Any, Any] | None = None
        self._compilations = 0
        self._is_first = True
        self._first_step = state.step
        self._saved_step = state.step
        self._saved_at = self._shown_at = self._began = time.monotonic()

    def run(self, interruption: Interruption) -> Ending:
        """Makes updates until all are made, time is up, or a signal comes; then saves.

        Raises:
            DivergedError: an update was not finite, and such ones are not to be skipped.
        """
        self._state.start()
        ending = None
        while ending is None:
            ending = self._reason_to_stop(interruption)
            if ending is None:
                ending = self._update()
                self._profile()
            is_last = self._state.step >= self._settings.train_steps
            if ending is None and (is_last or self._is_save_due()) and self._save(is_last):
                ending = Ending.EARLY
        self._check_pending()
        if self._state.step > self._saved_step:
            self._save(is_last=True, is_hurried=ending is Ending.INTERRUPTED)
        self._screen.close()
        return ending

    def _reason_to_stop(self, interruption: Interruption) -> Ending | None:
        settings = self._settings
        if self._state.step >= settings.train_steps:
            return Ending.FINISHED
        self._wished = self._wishes(interruption)
        wishes = self._agreed if self._workers.count > 1 else self._wished
        for wish in (Wish.SIGINT, Wish.SIGTERM):
            if wish in wishes:
                interruption.signal_number = getattr(signal, wish.name)
                return Ending.INTERRUPTED
        return Ending.TIME if Wish.TIME in wishes else None

    def _wishes(self, interruption: Interruption) -> frozenset[Wish]:
        """What this process would do by its own clock and signals."""
        settings, now = self._settings, time.monotonic()
        conditions = {
            Wish.SIGINT: interruption.signal_number == signal.SIGINT,
            Wish.SIGTERM: interruption.signal_number == signal.SIGTERM,
            Wish.TIME: 0 < settings.train_seconds <= now - self._began,
            Wish.SAVE: self._workers.is_chief
            and not self._has_wished_to_save
            and 0 < settings.save_seconds <= now - self._saved_at,
        }
        return frozenset(wish for wish, holds in conditions.items() if holds)

    def _update(self) -> Ending | None:
        state = self._state
        try:
            batches = state.next_batches()
        except StopIteration:
            return Ending.DATA
        hparams = state.train_step.hparams
        rate = schedule.learning_rate(hparams, state.step, self._settings.train_steps)
        began = time.monotonic()
        self._has_wished_to_save |= Wish.SAVE in self._wished
        wishes = [float(wish in self._wished) for wish in Wish]
        result = state.train_step(batches, state.step, rate, wishes)
        self._report_compilations(time.monotonic() - began)
        # The figures of the update before are read only now, while a GPU works on this one.
        self._check_pending()
        self._pending = (state.step, batches, result)
        state.step += 1
        if self._is_first:
            self._after_first_update()
        self._report(rate)
        return None

    def _report_compilations(self, seconds: float) -> None:
        """Says that XLA compiled for new shapes of batch, which holds one update up."""
        step = self._state.train_step
        new = step.compiled_shapes[self._compilations :]
        if not new:
            return
        most = len(step.jit_lengths)
        for shape in new:
            self._compilations += 1
            number, text = self._compilations, " x ".join(map(str, shape))
            self._log.event("compile", self._state.step, shape=shape, number=number, most=most)
            self._screen.note(f"XLA compiled for batches of {text}: shape {number} of {most}")
        self._meter.leave_out(seconds)

    def _after_first_update(self) -> None:
        """A sign of life; the time of building graphs and filling buffers counts as no speed."""
        self._is_first = False
        self._check_pending()
        figures = self._meter.report()
        if figures:
            waited = progress.in_words(time.monotonic() - self._began)
            self._screen.note(
                f"step {self._state.step}: loss {figures['loss']:.4f}, {waited} after the start"
            )

    def _profile(self) -> None:
        if not self._settings.profile:
            return
        made = self._state.step - self._first_step
        if made == PROFILED.start and self._workers.is_chief:
            tf.profiler.experimental.start(str(self._run_dir))
        elif made == PROFILED.stop:
            self._check_pending()
            if not self._workers.is_chief:
                return
            tf.profiler.experimental.stop()
            self._screen.note(f"a profile is in {self._run_dir}/plugins: tensorboard shows it")

    def _check_pending(self) -> None:
        if self._pending is None:
            return
        step, batches, result = self._pending
        self._pending = None
        if self._workers.count > 1:
            totals = zip(Wish, result.wishes.numpy(), strict=True)
            self._agreed |= {wish for wish, total in totals if total}
        loss, norm = float(result.loss), float(result.gradient_norm)
        if bool(result.finite):
            self._meter.add(loss, float(result.source_tokens), float(result.target_tokens), norm)
            return
        if self._state.train_step.loss_scale is not None and math.isfinite(loss):
            return  # float16 ran over; the loss scale was lowered
        skipped = self._state.info["skipped_updates"] = (
            self._state.info.get("skipped_updates", 0) + 1
        )
        # Which worker's rows they come from is not known: each saves its own.
        workers = self._workers
        name = workers.name if workers.count > 1 else ""
        path = nan_watch.save_batch(self._run_dir, step, batches, self._describe, name)
        self._log.event("nan", step, loss=repr(loss), gradient_norm=repr(norm), batch=path)
        text = nan_watch.message(step, loss, norm, path, workers.count)
        if not self._settings.skip_nan:
            self._screen.close()
            raise DivergedError(text)
        self._screen.note(f"{text}; skipped, {skipped} so far")

    def _report(self, rate: float) -> None:
        step, now = self._state.step, time.monotonic()
        if step % self._settings.log_steps == 0 or now - self._shown_at >= LINE_EVERY:
            if step % self._settings.log_steps == 0 or self._workers.count == 1:
                # Not by the clock where all workers must read the same figures at the same place.
                self._check_pending()
            figures = self._meter.report()
            if figures:
                self._log.train(step, rate, figures)
                self._show(rate, figures)
        elif self._screen.is_terminal and now - self._shown_at >= REWRITE_EVERY:
            figures = self._meter.so_far()
            if figures:
                self._show(rate, figures)

    def _show(self, rate: float, figures: dict[str, float]) -> None:
        text = progress.line(self._state.step, self._settings.train_steps, rate, figures)
        self._screen.progress(text)
        self._shown_at = time.monotonic()

    def _is_save_due(self) -> bool:
        settings = self._settings
        if settings.save_steps and self._state.step % settings.save_steps == 0:
            return True
        if self._workers.count > 1:
            return Wish.SAVE in self._agreed
        return 0 < settings.save_seconds <= time.monotonic() - self._saved_at

    def _save(self, is_last: bool, is_hurried: bool = False) -> bool:
        """Saves and, unless hurried, evaluates; True if training is to stop."""
        began = time.monotonic()
        self._check_pending()
        self._saved_step = self._state.step
        stop = False
        if self._workers.is_chief:
            prefix = self._state.save(self._run_dir, self._settings.keep)
            self._log.event("checkpoint", self._state.step, path=prefix)
            stop = not is_hurried and self._after_checkpoint(prefix, is_last)
        # The others wait here for the chief.
        stop = self._workers.any(stop)
        self._has_wished_to_save = False
        self._agreed -= {Wish.SAVE}
        self._saved_at = time.monotonic()
        self._meter.leave_out(self._saved_at - began)
        return stop
