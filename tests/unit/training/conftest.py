"""What the tests of training share."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def log_reaches_pytest(monkeypatch):
    """Programs run before in this process may have cut our log off from the root's handlers."""
    monkeypatch.setattr(logging.getLogger("keras_transformer"), "propagate", True)
