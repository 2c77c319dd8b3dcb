# SPDX-License-Identifier: MIT
"""What being called at launches costs a training step, within one process (toggled_cupti.c).

usage: train_toggled.py SCRIPT [TURNS = 100]

SCRIPT, run with the arguments "none 1 1", defines train_step. In each turn CUPTI's callbacks are off, on for
the runtime, for the driver, and for both, a step each; which comes first changes. Prints a line for
each: the median of the steps, ms, and how much longer than the step without callbacks of the same turn
one took, as a median with a quarter of them below and above, ms and percent.
"""
import ctypes
import random
import statistics
import sys
import time

MODES = ["none", "runtime", "driver", "both"]


def load(script):
    sys.argv = [script, "none", "1", "1"]
    names = {"__name__": "__main__", "__file__": script}
    with open(script, "rb") as file:
        exec(compile(file.read(), script, "exec"), names)
    return names["train_step"]


def main():
    script, turns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    step = load(script)
    import torch

    toggle = ctypes.CDLL(None).cupti_toggle
    if toggle(0) == 0:
        sys.exit("train_toggled.py: nobody subscribed")

    def timed(mode):
        toggle(mode)
        step()  # what turning it on or off has made cold
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3

    took = [[] for _ in MODES]
    for _ in range(turns):
        for mode in random.sample(range(len(MODES)), len(MODES)):
            took[mode].append(timed(mode))
    for mode, name in enumerate(MODES):
        more = [a - b for a, b in zip(took[mode], took[0])]
        share = [100 * (a / b - 1) for a, b in zip(took[mode], took[0])]
        texts = []
        for values in (more, share):
            low, middle, high = statistics.quantiles(values, n=4)
            texts.append(f"{middle:.3f} ({low:.3f} to {high:.3f})")
        print(f"{name} {statistics.median(took[mode]):.3f} ms more {texts[0]} ms {texts[1]} %")


main()
