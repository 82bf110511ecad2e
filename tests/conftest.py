"""What all tests share: the device they run on and a quiet TensorFlow.

Must run before TensorFlow is imported, so the environment is set when pytest configures itself.
"""

from __future__ import annotations

import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        choices=("cpu", "gpu"),
        default="cpu",
        help="where layers and models run; numbers of Tensor2Tensor are compared on the CPU",
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["KERAS_BACKEND"] = "tensorflow"
    if config.getoption("--device") == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
