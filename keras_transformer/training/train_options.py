"""How a run is trained, and what of it all workers must have alike."""

from __future__ import annotations

from dataclasses import dataclass, field

from keras_transformer.training.cluster import Cluster
from keras_transformer.training.early_stopping import EarlyStopping
from keras_transformer.training.loop import LoopSettings

# The paper's models were trained on eight GPUs.
RECIPE_DEVICES = 8

# Options that must be the same for all workers.
OF_ALL_WORKERS = (
    "seed",
    "deterministic",
    "precision",
    "jit",
    "simulate_replicas",
    "init_from",
    "check_memory",
)


@dataclass(frozen=True)
class TrainOptions:
    """How a run is trained, evaluated and watched; what does not change the model.

    Attributes:
        loop: steps, checkpoints, reports.
        seed: of the first weights, the order of the data and the noise of dropout.
        deterministic: TensorFlow's deterministic kernels; two equal runs give equal weights.
        precision: type of activations in training; "" leaves it to the settings.
        jit: compile with XLA.
        logical_cpus: cut the CPU into several devices; 0: don't.
        gpus: GPUs to use; None: all.
        tpu: name or address of a TPU to use; "": none.
        cluster: the processes that train together; None: this one alone.
        worker_timeout: seconds the others have to come up.
        simulate_replicas: batches of one replica whose gradients make one update.
        eval_steps: batches of an evaluation; 0: all.
        eval_throttle_seconds: least time between two evaluations in training.
        eval_split: `dev` or `test`.
        eval_decode: translate (or parse …) with beam search, too, and score the outputs.
        eval_decode_lines: only so many lines; 0: all.
        early_stopping: when to stop for want of improvement.
        tmp_dir: where the corpora are, for text to translate.
        init_from: checkpoint or run directory whose weights a new run begins with.
        check_memory: try the largest batches first; None: only on GPUs.
    """

    loop: LoopSettings
    seed: int = 0
    deterministic: bool = False
    precision: str = ""
    jit: bool = False
    logical_cpus: int = 0
    gpus: int | None = None
    tpu: str = ""
    cluster: Cluster | None = None
    worker_timeout: float = 600.0
    simulate_replicas: int = 1
    eval_steps: int = 100
    eval_throttle_seconds: float = 600.0
    eval_split: str = "dev"
    eval_decode: bool = False
    eval_decode_lines: int = 0
    early_stopping: EarlyStopping = field(default_factory=EarlyStopping)
    tmp_dir: str = ""
    init_from: str = ""
    check_memory: bool | None = None


def recipe_warning(name: str, made_for: int, batch_size: int, accumulated: int) -> str:
    """What to say when an update is much smaller than the settings were made for, else nothing.

    Args:
        name: the set of settings.
        made_for: its batch of one device in positions.
        batch_size: positions in a batch of all devices here.
        accumulated: batches of one update, as `--simulate_replicas` gives them.
    """
    recipe, ours = RECIPE_DEVICES * made_for, batch_size * accumulated
    if 2 * ours > recipe or "single_gpu" in name:
        return ""
    return (
        f"{name} was made for {RECIPE_DEVICES} devices and {recipe:,} positions an update, here"
        f" are {ours:,}: expect a worse model, or one that diverges;"
        f" --simulate_replicas={-(-recipe // batch_size)} takes the same steps on fewer devices"
    )
