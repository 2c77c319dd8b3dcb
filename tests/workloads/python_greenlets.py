# SPDX-License-Identifier: MIT
"""python_greenlets.py [SECONDS=1]: no CUDA. Uses CPU time in two greenlets, which switch to each other and to
main from different depths, and in main between them. Needs the module greenlet."""
import sys
import time

import greenlet


def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def burn_first():
    spin(20000)


def burn_second():
    sorted([1, 2], key=lambda value: spin(10000))


def burn_main():
    spin(20000)


def switch_from(depth, to):
    if depth:
        switch_from(depth - 1, to)
    else:
        to.switch()


def run_first():
    depth = 0
    while True:
        burn_first()
        depth = (depth + 1) % 5
        switch_from(depth, second)


def run_second():
    depth = 0
    while True:
        burn_second()
        depth = (depth + 3) % 7
        # through sorted: a C function and another evaluation
        sorted([1], key=lambda value: switch_from(depth, main))


def descend(depth, seconds):
    """Greenlets are started, and switched to, at other depths of the same stack."""
    end = time.thread_time() + seconds / 3
    while time.thread_time() < end:
        burn_main()
        sorted([depth], key=lambda value: first.switch())
    if depth:
        descend(depth - 1, seconds)


main = greenlet.getcurrent()
first = greenlet.greenlet(run_first)
second = greenlet.greenlet(run_second)
descend(2, float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
