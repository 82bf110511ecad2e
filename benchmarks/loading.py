"""Time and memory of loading a Tensor2Tensor checkpoint.

    python benchmarks/loading.py --hparams=big --vocab_size=33708

Makes a checkpoint of that size under T2T's names (kept in --work_dir for the next time), loads it
in a process of its own. Memory is that process's highest resident size: in all, and above what it
had when TensorFlow was ready. `cpu_seconds` are the process's own and hold up on a busy machine;
`seconds` are wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def make(folder: Path, hparams: str, vocab_size: int) -> None:
    """Writes a checkpoint with random weights under T2T's names."""
    import keras_transformer as kt
    from keras_transformer.t2t_compat.writer import write_t2t_checkpoint
    from keras_transformer.training import checkpoints

    hp = kt.hparams(hparams)
    model = kt.Transformer.from_hparams(hp, vocab_size, vocab_size)
    with tempfile.TemporaryDirectory(dir=folder.parent) as ours:
        prefix = checkpoints.save(ours, 1, model.named_weights())
        write_t2t_checkpoint(prefix, hp, folder)


def highest_memory() -> int:
    """Highest resident size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def load(folder: Path) -> dict[str, float]:
    """Loads it here and measures."""
    import tensorflow as tf

    from keras_transformer.t2t_compat.loader import load_model

    tf.constant(1.0) + 1.0
    before, start, cpu = highest_memory(), time.perf_counter(), time.process_time()
    model = load_model(folder)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    parameters = sum(int(tf.size(weight)) for weight in model.named_weights().values())
    weights = 4 * parameters
    highest = highest_memory()
    return {
        "parameters": parameters,
        "weights_mib": round(weights / 2**20),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "highest_memory_mib": round(highest / 2**20),
        "memory_per_weights": round(highest / weights, 2),
        "memory_above_start_per_weights": round((highest - before) / weights, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hparams", default="big")
    parser.add_argument("--vocab_size", type=int, default=33708)
    parser.add_argument("--work_dir", default=os.path.join(tempfile.gettempdir(), "kt_loading"))
    parser.add_argument("--job", choices=["all", "make", "load"], default="all")
    options = parser.parse_args()
    folder = Path(options.work_dir) / f"{options.hparams}.{options.vocab_size}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    if options.job == "make":
        make(folder, options.hparams, options.vocab_size)
    elif options.job == "load":
        print(json.dumps(load(folder)))
    else:
        # Each job has a process of its own, so that the memory of one is not counted for another.
        for job in ["make"] * (not (folder / "hparams.json").is_file()) + ["load"]:
            subprocess.run([sys.executable, __file__, *sys.argv[1:], f"--job={job}"], check=True)


if __name__ == "__main__":
    main()
