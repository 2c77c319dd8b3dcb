# SPDX-License-Identifier: MIT
from .graph import _engine_run_backward


def backward(tasks):
    _engine_run_backward(tasks.encode())
