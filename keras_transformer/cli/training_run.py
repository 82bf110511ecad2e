"""From the trainer's flags to a run directory with its data, and to the options of the training."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer import registry
from keras_transformer.cli import mixture_flags
from keras_transformer.cli.output_places import require_folder
from keras_transformer.cli.problem_flags import problem_options
from keras_transformer.cli.program import Flags
from keras_transformer.cli.training_flags import require_seed
from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.run_dir import HPARAMS_FILE, RunDir, write_text_atomically
from keras_transformer.training.cluster import Cluster, from_environment

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem
    from keras_transformer.training.trainer import TrainOptions

logger = logging.getLogger(__name__)

TRAINS = ("continuous_train_and_eval", "train_and_evaluate", "train")


# Seconds in which a network disk may not yet show what the chief has written.
DISK_DELAY = 30.0


def open_or_create(flags: Flags, cluster: Cluster | None = None) -> tuple[RunDir, str]:
    """The run directory and its data, both made if need be.

    Args:
        flags: the trainer's.
        cluster: the processes that train together; only the chief makes anything, the others wait.

    Raises:
        UserError: a flag is missing, or contradicts what the run directory was begun with.
    """
    is_chief = cluster is None or cluster.is_chief
    require_seed(flags)
    if is_chief:
        require_folder(flags.output_dir, "--output_dir")
        if flags.schedule in TRAINS:
            registry.t2t_compat().finish_adoption(Path(flags.output_dir))
    if flags.usr_dir:
        registry.import_usr_dir(flags.usr_dir)
    if cluster is not None and not is_chief:
        cluster.wait_for_chief(flags.worker_timeout)
        _require_what_the_chief_made(flags.output_dir, cluster)
    if RunDir.exists(flags.output_dir):
        run = _existing(flags)
        data_dir = flags.data_dir or (str(run.data_dir) if run.data_dir else None)
        if data_dir is None:
            raise UserError("--data_dir is not given, and the run directory names none")
        _make_data(run.problem, data_dir, flags.tmp_dir, is_chief)
        if flags.schedule in TRAINS:
            run = mixture_flags.settle(run, flags)
            mixture_flags.make_data(run.problem, run.mixture, data_dir, flags.tmp_dir, is_chief)
    elif flags.schedule not in TRAINS:
        raise UserError(f"{flags.output_dir}: there is no such run directory to evaluate")
    else:
        hparams, set_name = _settings(flags, None)
        if not flags.problem:
            raise UserError("--problem is not given: name what to learn (kt-info lists all)")
        problem = registry.problem(flags.problem, **problem_options(flags))
        if not flags.data_dir:
            raise UserError("--data_dir is not given: name the folder for vocabulary and shards")
        data_dir = flags.data_dir
        _make_data(problem, data_dir, flags.tmp_dir, is_chief)
        mixture = mixture_flags.given(flags)
        mixture_flags.make_data(problem, mixture, data_dir, flags.tmp_dir, is_chief)
        run = RunDir.create(
            flags.output_dir,
            hparams,
            problem,
            data_dir,
            hparams_set=set_name,
            usr_dir=flags.usr_dir or None,
            mixture=mixture,
        )
    if flags.schedule in TRAINS and is_chief:
        _write_flags(run.path, flags)
    return run, data_dir


def _existing(flags: Flags) -> RunDir:
    """The run directory that is there, after its settings were compared with the flags."""
    vocabularies = {
        name: getattr(flags, name)
        for name in ("vocab_file", "source_vocab_file", "target_vocab_file")
        if getattr(flags, name)
    }
    # What a run directory of T2T may not say; old releases kept no settings but in flags.txt.
    settings: dict[str, str] = {}
    if not (Path(flags.output_dir) / HPARAMS_FILE).is_file():
        name, overrides = registry.split_set_and_overrides(flags.hparams or "")
        settings = {"hparams_set": flags.hparams_set or name, "overrides": overrides}
    run = RunDir.open(
        flags.output_dir,
        usr_dir=flags.usr_dir or None,
        problem=flags.problem,
        data_dir=flags.data_dir,
        **settings,
        **vocabularies,
    )
    is_named = run.is_t2t and bool(settings)
    if run.is_t2t and flags.schedule in TRAINS:
        run = registry.t2t_compat().adopt(run, data_dir=flags.data_dir, usr_dir=flags.usr_dir)
    if flags.problem:
        given = registry.problem(flags.problem, **problem_options(flags))
        mine, stored = (
            (problem.full_name, problem.options if problem_options(flags) else None)
            for problem in (given, run.problem)
        )
        if problem_options(flags):
            stored = (run.problem.full_name, run.problem.options)
        if mine != stored:
            raise UserError(
                f"--problem is {mine}, but {flags.output_dir} was begun with {stored}: a run"
                " directory has one problem; give another --output_dir"
            )
    # A set that was just used to read T2T's checkpoint is meant as that release meant it.
    if is_named or not (flags.hparams or flags.hparams_set):
        return run
    hparams, set_name = _settings(flags, run.hparams_set)
    differences = run.hparams.differences(hparams)
    if not differences or flags.on_conflict == "run_dir":
        return run
    if flags.on_conflict == "stop":
        raise UserError(
            f"{flags.output_dir} was begun with other settings than the command line gives:\n"
            + "\n".join(
                f"  {name}: {mine!r} in the run directory, {theirs!r} on the command line"
                for name, mine, theirs in differences
            )
            + "\nsay whose count with --on_conflict=run_dir or --on_conflict=command_line, or give"
            " another --output_dir"
        )
    return RunDir.create(
        flags.output_dir,
        hparams,
        run.problem,
        run.path,
        hparams_set=set_name,
        usr_dir=flags.usr_dir or None,
        target_space_id=run.target_space_id,
        mixture=run.mixture,
    )


def _settings(flags: Flags, stored_set: str | None) -> tuple[HParams, str]:
    """The settings of `--hparams` and `--hparams_set`, and the name of the set."""
    name, overrides = registry.split_set_and_overrides(flags.hparams or "")
    if flags.hparams_set and name:
        raise UserError(
            f"--hparams_set={flags.hparams_set} and --hparams={flags.hparams} both name a set:"
            " give one"
        )
    name = flags.hparams_set or name or stored_set or ""
    if not name:
        raise UserError(
            "--hparams names no set: give one, base or tiny for instance (kt-info lists all)"
        )
    hparams = registry.hparams(name, overrides)
    for field, old, new in registry.hparams(name).differences(hparams):
        logger.info("%s: %r in %s, %r on the command line", field, old, name, new)
    return hparams, name


def _require_what_the_chief_made(output_dir: str, cluster: Cluster) -> None:
    until = time.monotonic() + DISK_DELAY
    while not RunDir.exists(output_dir):
        if time.monotonic() > until:
            raise UserError(
                f"{cluster.name}: {cluster.title(0)} has made the run directory, but there is"
                f" none at {output_dir} here: --output_dir must be on a disk that all workers share"
            )
        time.sleep(1.0)


def _make_data(problem: Problem, data_dir: str, tmp_dir: str, is_chief: bool) -> None:
    if problem.is_generated(data_dir):
        return
    if not is_chief:
        raise UserError(
            f"the chief has the data of {problem.name}, but it is not in {data_dir} here: give a"
            " --data_dir that all workers share, or the same copy on each machine"
        )
    require_folder(data_dir, "--data_dir")
    problem.generate_data(data_dir, tmp_dir)


def _write_flags(folder: Path, flags: Flags) -> None:
    lines = [f"--{name}={_as_text(value)}" for name, value in flags.as_dict().items()]
    write_text_atomically(folder / "flags.txt", "\n".join(lines) + "\n")


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def training_cluster(flags: Flags) -> Cluster | None:
    """The processes to train with; None for this one alone.

    Raises:
        UserError: TF_CONFIG and the flags contradict each other, or it is wrong in itself.
    """
    if flags.tpu and flags.strategy not in ("auto", "tpu"):
        raise UserError(f"--tpu={flags.tpu} is for --strategy=tpu, not {flags.strategy}")
    wants_tpu = bool(flags.tpu) or flags.strategy == "tpu"
    if flags.strategy == "mirrored" or wants_tpu or flags.schedule not in TRAINS:
        return None
    found = from_environment()
    if found is None and flags.strategy == "multi_worker":
        raise UserError(
            "--strategy=multi_worker needs the variable TF_CONFIG with more than one worker"
            " (docs/train.md shows it for plain hosts, Kubernetes and SLURM)"
        )
    return found


def train_options(flags: Flags, cluster: Cluster | None = None) -> TrainOptions:
    """The options that the flags give, and the processes that train together."""
    from keras_transformer.training.early_stopping import EarlyStopping
    from keras_transformer.training.loop import LoopSettings
    from keras_transformer.training.trainer import TrainOptions

    loop = LoopSettings(
        train_steps=flags.train_steps,
        train_seconds=flags.train_seconds,
        # As T2T: time takes the place of steps.
        save_steps=0 if flags.save_checkpoints_secs else flags.local_eval_frequency,
        save_seconds=flags.save_checkpoints_secs,
        keep=flags.keep_checkpoint_max,
        log_steps=flags.log_step_count_steps,
        skip_nan=flags.on_nan == "skip",
        profile=flags.profile,
    )
    stopping = EarlyStopping(
        metric=flags.eval_early_stopping_metric,
        patience=flags.eval_early_stopping_steps,
        delta=flags.eval_early_stopping_metric_delta,
        minimize=flags.eval_early_stopping_metric_minimize,
    )
    return TrainOptions(
        loop=loop,
        seed=flags.random_seed,
        deterministic=flags.deterministic,
        precision=flags.precision or "",
        jit=flags.jit,
        logical_cpus=flags.logical_cpus,
        gpus=flags.gpus,
        tpu=flags.tpu or ("local" if flags.strategy == "tpu" else ""),
        cluster=cluster,
        worker_timeout=flags.worker_timeout,
        simulate_replicas=flags.simulate_replicas,
        eval_steps=flags.eval_steps,
        eval_throttle_seconds=flags.eval_throttle_seconds,
        eval_split="test" if flags.eval_use_test_set else "dev",
        eval_decode=flags.eval_decode,
        eval_decode_lines=flags.eval_decode_lines,
        early_stopping=stopping,
        tmp_dir=flags.tmp_dir,
        init_from=flags.init_from,
        check_memory=flags.check_memory,
    )
