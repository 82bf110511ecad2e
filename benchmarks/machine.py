"""What a measurement ran on."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

# What can change the speed of a product, as Linux names it.
INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16")


def description() -> dict[str, Any]:
    """Hardware, load, time and commit, as far as they can be found out."""
    return {
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "processor": _cpu_info("model name") or platform.processor() or platform.machine(),
        "instruction_sets": [
            name
            for name in INSTRUCTION_SETS
            if name in (_cpu_info("flags") or _cpu_info("Features")).split()
        ],
        "cores": os.cpu_count(),
        "memory_mib": _memory_mib(),
        "load_average": [round(each, 2) for each in os.getloadavg()],
        "commit": _commit(),
    }


def in_words(machine: dict[str, Any]) -> str:
    """One line of it."""
    sets = " ".join(machine["instruction_sets"]) or "no vector instructions known"
    load = machine["load_average"][0]
    return (
        f"{machine['processor']}, {machine['cores']} cores ({sets}), {machine['memory_mib']} MiB,"
        f" load {load} at the start"
    )


def _cpu_info(key: str) -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _memory_mib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()
