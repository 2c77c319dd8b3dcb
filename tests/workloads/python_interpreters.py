# SPDX-License-Identifier: MIT
"""python_interpreters.py [SECONDS=1]: no CUDA. Uses CPU time in the main interpreter and, on the same thread, in
another one that it calls, in turns. Runs on Python 3.8 and later."""
import sys
import time

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

THERE = """
def spin_there(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def burn_there():
    sorted([1, 2], key=lambda value: spin_there(50000))


burn_there()
"""


def spin_here(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def burn_here():
    sorted([1, 2], key=lambda value: spin_here(50000))


def call_there():
    (interpreters.run_string if hasattr(interpreters, "run_string") else interpreters.exec)(other, THERE)


other = interpreters.create()
end = time.thread_time() + (float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
while time.thread_time() < end:
    burn_here()
    call_there()
