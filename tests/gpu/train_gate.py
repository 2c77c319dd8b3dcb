# SPDX-License-Identifier: MIT
"""Imports what a script needs, waits, then runs the script.

usage: train_gate.py GATE MODULE[,MODULE...] SCRIPT [ARGUMENT...]

GATE is a FIFO: a line in it opens the gate (gate.sh). At its end nobody is left to open it. The
script finds itself as if it had been started alone, with one Python function more on its stack. A
module that cannot be imported is left to the script.
"""
import importlib
import os
import sys
import time


def prepare():
    """Returns the script, compiled."""
    gate, modules, script = sys.argv[1:4]
    start = time.monotonic()
    for module in modules.split(","):
        try:
            importlib.import_module(module)
        except ImportError:
            pass
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    ready = time.monotonic()
    with open(gate, encoding="ascii") as file:
        if not file.readline():
            sys.exit("train_gate.py: the gate went away")
    print(f"train_gate: ready after {ready - start:.1f} s, waited {time.monotonic() - ready:.1f} s",
          file=sys.stderr, flush=True)
    sys.argv = sys.argv[3:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    return code


__code = prepare()
__file__ = sys.argv[0]
exec(__code)
