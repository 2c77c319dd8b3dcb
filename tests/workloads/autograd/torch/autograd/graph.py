# SPDX-License-Identifier: MIT
import ctypes
import os

engine = ctypes.CDLL(os.environ["AUTOGRAD_ENGINE"])
Called = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
functions = {}


@Called
def call(name):
    functions[name.decode()]()


def _engine_run_backward(tasks):
    return engine.run_backward(tasks, call)
