"""What several processes that train one run agree on.

Every process (worker) goes through the same stream of global batches and makes the same updates;
of each batch it parses, pads and moves to its devices only their own rows. So the position in the
data is one for all: the chief's checkpoint serves every worker, and as many devices in any number
of processes. Only the chief writes files, shows progress and evaluates (each worker saves its own
rows of a batch that went wrong); the run directory must lie on a disk that all share, since all
resume from it.

Whatever depends on a clock or on a signal differs between processes, and one that stops alone
leaves the others waiting. So a worker does not act on such a reason but says it with its next
update; the sums of an update reach all at once, and all act after the same one.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer import __version__
from keras_transformer.errors import UserError
from keras_transformer.run_dir import write_text_atomically
from keras_transformer.training import distribution
from keras_transformer.training.abort_filter import aborts_held_back
from keras_transformer.training.cluster import Cluster
from keras_transformer.training.worker_watch import WorkerWatch

CLUSTER_FILE = ".workers.json"

# Errors of TensorFlow that the death of another process may cause.
_OF_OTHERS = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
    tf.errors.UnknownError,
)


class Alone:
    """One process, which agrees with itself."""

    number = 0
    count = 1
    is_chief = True
    name = "chief"

    def any(self, wish: bool) -> bool:
        """Whether any process wishes it; all must ask at the same place."""
        return wish

    def require_same(self, what: str, value: int) -> None:
        """Compares a value with the chief's."""

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """While it is entered, the loss of another worker is a `WorkerLostError`."""
        yield

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """As `explained`, to the end of the common work: afterwards the others may go."""
        with self.explained():
            yield


class Team(Alone):
    """One of several processes.

    Args:
        cluster: all of them.
        strategy: over their devices.
        watch: already begun.
    """

    def __init__(self, cluster: Cluster, strategy: tf.distribute.Strategy, watch: WorkerWatch):
        self.number = cluster.number
        self.count = len(cluster.names)
        self.is_chief = cluster.is_chief
        self.name = cluster.name
        self._watch = watch
        self._strategy = strategy
        self._local = len(strategy.extended.worker_devices)
        self._total = tf.function(self._sum, autograph=False)

    def any(self, wish: bool) -> bool:
        return self._sum_of_workers(float(wish)) > 0.0

    def require_same(self, what: str, value: int) -> None:
        """Compares a value of less than 2^40 with the chief's.

        Raises:
            UserError: they differ.
        """
        chiefs = round(self._sum_of_workers(float(value) if self.is_chief else 0.0))
        if not self.any(chiefs != value):
            return
        raise UserError(
            f"{self.name}: {what} is {value} here and {chiefs} for the chief, or another worker"
            " differs: --output_dir must be one folder on a disk that all workers share"
        )

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        with _explained_by(self._watch):
            yield

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        with aborts_held_back() as self._watch.on_loss:
            try:
                with self.explained():
                    yield
            finally:
                self._watch.stop()

    def _sum_of_workers(self, value: float) -> float:
        return float(self._total(tf.constant(value, tf.float64))) / self._local

    def _sum(self, value: tf.Tensor) -> tf.Tensor:
        copies = self._strategy.run(tf.identity, args=(value,))
        return self._strategy.reduce(tf.distribute.ReduceOp.SUM, copies, axis=None)


def join(
    cluster: Cluster,
    run_dir: Path,
    settings: Mapping[str, Any],
    gpus: int | None,
    start_timeout: float,
) -> tuple[tf.distribute.Strategy, Team]:
    """Connects this process with the others; comes back when all are there.

    Args:
        cluster: all processes.
        run_dir: on a disk that all share.
        settings: what must be equal everywhere (JSON-able).
        gpus: GPUs to use here; None: all.
        start_timeout: seconds the others have to come up.

    Raises:
        UserError: the folder or the settings are not the chief's.
        WorkerLostError: a worker died meanwhile.
    """
    if not cluster.is_chief:
        cluster.wait_for_chief(start_timeout)
    number = len(tf.config.list_physical_devices("GPU")) if gpus is None else gpus
    versions = {"GPUs": number, "TensorFlow": tf.__version__, "keras_transformer": __version__}
    mark = share_settings(cluster, run_dir, {**settings, **versions})
    watch = WorkerWatch(cluster, run_dir, start_timeout)
    watch.meet()
    with _explained_by(watch):
        with watch.connecting():
            strategy = distribution.strategy(gpus=gpus, cluster=cluster)
        watch.start()
        team = Team(cluster, strategy, watch)
        team.require_same("the mark in --output_dir", mark)
    return strategy, team


@contextlib.contextmanager
def _explained_by(watch: WorkerWatch) -> Iterator[None]:
    """Raises `WorkerLostError` for what TensorFlow says when another worker has gone."""
    try:
        yield
    except _OF_OTHERS as error:
        explained = watch.explain(error)
        if explained is error:
            raise
        raise explained from error


def share_settings(cluster: Cluster, run_dir: Path, settings: Mapping[str, Any]) -> int:
    """The chief writes what all must agree on, the others compare; before they are connected.

    Returns:
        A number drawn by the chief. Equal numbers show that all see one folder.

    Raises:
        UserError: this worker does not see what the chief wrote, or was started otherwise.
    """
    path = run_dir / CLUSTER_FILE
    if cluster.is_chief:
        mark = random.SystemRandom().randrange(2**40)
        write_text_atomically(path, json.dumps({"mark": mark, "settings": settings}) + "\n")
        return mark
    try:
        written = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        raise UserError(
            f"{cluster.name}: the chief has written {CLUSTER_FILE} to --output_dir, but {path}"
            " cannot be read here: --output_dir must be one folder on a disk that all workers share"
        ) from None
    mine, chiefs = json.loads(json.dumps(settings)), written["settings"]
    different = [
        f"  {name}: {chiefs.get(name)!r} for the chief, {mine.get(name)!r} here"
        for name in sorted({*mine, *chiefs})
        if mine.get(name) != chiefs.get(name)
    ]
    if different:
        raise UserError(
            f"{cluster.name} was started otherwise than the chief:\n"
            + "\n".join(different)
            + "\ngive all workers the same command line and the same data"
        )
    return int(written["mark"])


def sizes_of(paths: list[str]) -> dict[str, int]:
    """File name → bytes."""
    return {os.path.basename(path): os.path.getsize(path) for path in paths}
