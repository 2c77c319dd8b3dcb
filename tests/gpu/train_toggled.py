# SPDX-License-Identifier: MIT
"""What being called at launches costs a training step, within one process (toggled_cupti.c).

usage: train_toggled.py SCRIPT [TURNS = 100 [MODE...]]

SCRIPT, run with the arguments "none 1 1", defines train_step. In each turn CUPTI's callbacks are set to
each MODE for a few steps; which mode comes first changes. MODE: none (always among them), runtime,
driver, both, and empty: both, but nothing comes of the calls; without any, none and both. Prints a line for each: the median of the steps, ms, and how
much longer than those without callbacks of the same turn they took, ms and percent.

Steps differ by much more than what is measured. So this is the Hodges-Lehmann estimate, the median of the means of
all pairs of turns, with the interval that holds the true value in 95 of 100 runs (of Wilcoxon's
signed-rank test), then the quarters of the turns.
"""
import ctypes
import gc
import itertools
import math
import random
import statistics
import sys
import time

MODES = {"none": 0, "runtime": 1, "driver": 2, "both": 3, "empty": 7}  # for cupti_toggle
STEPS = 3  # of a mode in a turn


def load(script):
    sys.argv = [script, "none", "1", "1"]
    names = {"__name__": "__main__", "__file__": script}
    with open(script, "rb") as file:
        exec(compile(file.read(), script, "exec"), names)
    return names["train_step"]


def estimate(values):
    """The estimate and its interval, and the quarters."""
    count = len(values)
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
    pairs = len(means)
    outside = pairs / 2 - 1.96 * math.sqrt(pairs * (2 * count + 1) / 12)
    least = means[max(int(outside), 0)]
    most = means[min(pairs - 1 - int(outside), pairs - 1)]
    low, _, high = statistics.quantiles(values, n=4)
    return f"{statistics.median(means):.3f} ({least:.3f} to {most:.3f}; quarters {low:.3f} to {high:.3f})"


def main():
    script, turns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    modes = [m for m in MODES if m == "none" or m in (sys.argv[3:] or ["both"])]
    step = load(script)
    import torch

    toggle = ctypes.CDLL(None).cupti_toggle
    if toggle(0) == 0:
        sys.exit("train_toggled.py: nobody subscribed")

    def timed(mode):
        toggle(MODES[mode])
        step()  # what turning it on or off has made cold
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
            torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3 / STEPS

    gc.collect()
    gc.freeze()
    took = {mode: [] for mode in modes}
    for _ in range(turns):
        for mode in random.sample(modes, len(modes)):
            took[mode].append(timed(mode))
    for mode in modes:
        more = [a - b for a, b in zip(took[mode], took["none"])]
        share = [100 * (a / b - 1) for a, b in zip(took[mode], took["none"])]
        print(f"{mode} {statistics.median(took[mode]):.3f} ms more {estimate(more)} ms {estimate(share)} %")


main()
