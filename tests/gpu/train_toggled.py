# SPDX-License-Identifier: MIT
"""What being called at launches costs a training step, within one process (toggled_cupti.c).

usage: train_toggled.py SCRIPT [TURNS = 200 [MODE...]]

SCRIPT, run with the arguments "none 1 1", defines train_step. Each step is cut into blocks of 128 launches, and CUPTI's
callbacks are set anew for each block. A turn has as many steps as there are MODEs, and in it the blocks of one place in
the step have each mode once; which comes first is drawn for each place. MODE: none (always among them), runtime, driver,
both, and empty: both, but nothing comes of the calls; without any, none and both. Prints a line for each: the median of
the steps, ms, put together from the blocks with this mode of a turn, and how much longer than those without callbacks of
the same turn they took, ms and percent.

Turns differ by much more than what is measured. So this is the Hodges-Lehmann estimate, the median of the means of
all pairs of turns, with the interval that holds the true value in 95 of 100 runs (of Wilcoxon's
signed-rank test), then the quarters of the turns.
"""
import collections
import ctypes
import gc
import itertools
import math
import statistics
import sys

MODES = {"none": 0, "runtime": 1, "driver": 2, "both": 3, "empty": 7}  # for cupti_toggle
WARM = 20  # steps before the first turn
BLOCKS = 500  # of a step, at most


class Block(ctypes.Structure):
    _fields_ = [("place", ctypes.c_uint32), ("mode", ctypes.c_uint32), ("ns", ctypes.c_uint64)]


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


def measure(lib, step, steps, modes):
    """The blocks of each step, as (mode, ms)."""
    import torch

    wanted = (ctypes.c_uint * len(modes))(*(MODES[mode] for mode in modes))
    blocks = (Block * (steps * BLOCKS))()
    lib.cupti_blocks_step.restype = ctypes.c_size_t
    for i in range(WARM + steps):
        if i == WARM:
            gc.collect()
            gc.freeze()
            lib.cupti_blocks(wanted, len(modes), blocks, ctypes.c_size_t(len(blocks)))
        lib.cupti_blocks_step()
        step()
        torch.cuda.synchronize()
    count = lib.cupti_blocks_step()
    lib.cupti_blocks(None, 0, None, ctypes.c_size_t(0))
    by_step = []
    for block in blocks[:count]:
        if block.place == 0:
            by_step.append([])
        by_step[-1].append((block.mode, block.ns / 1e6))
    return by_step


def main():
    script, turns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    modes = [m for m in MODES if m == "none" or m in (sys.argv[3:] or ["both"])]
    lib = ctypes.CDLL(None)
    if "empty" in modes:
        lib.cupti_toggle_empty()
    step = load(script)
    if lib.cupti_toggle(0) == 0:
        sys.exit("train_toggled.py: nobody subscribed")
    steps = measure(lib, step, turns * len(modes), modes)
    places = collections.Counter(len(s) for s in steps).most_common(1)[0][0]
    took = [[] for _ in modes]
    for turn in zip(*[iter(steps)] * len(modes)):
        if any(len(s) != places for s in turn):
            continue
        for number, times in enumerate(took):
            times.append(sum(ms for s in turn for mode, ms in s if mode == number))
    print(f"{len(took[0])} turns of {turns} with {places} blocks a step")
    for mode, times in zip(modes, took):
        more = [a - b for a, b in zip(times, took[0])]
        share = [100 * (a / b - 1) for a, b in zip(times, took[0])]
        print(f"{mode} {statistics.median(times):.3f} ms more {estimate(more)} ms {estimate(share)} %")


main()
