# SPDX-License-Identifier: MIT
"""python_burn.py [SECONDS=1]: no CUDA. Uses CPU time in Python functions of known stacks, that long in
each of: nested functions, a generator, a key function of sorted(), two threads, C code without the GIL,
a forked child. Runs on Python 3.8 and later, without other modules."""
import hashlib
import os
import sys
import threading
import time


def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


class Nested:
    def outer(self):
        return self.middle()

    def middle(self):
        return self.inner()

    def inner(self):
        return spin(20000)


def burn_nested():
    Nested().outer()


def produce():
    while True:
        spin(20000)
        yield 1


produced = produce()


def burn_generator():
    next(produced)


def key(value):
    spin(20000)
    return value


def burn_sorted():
    sorted([1, 2], key=key)


data = bytes(1 << 20)


def burn_hash():
    hashlib.sha256(data).digest()  # lets the GIL go


def burn_thread():
    spin(20000)


def burn_child():
    spin(20000)


def repeat(function, seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        function()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    for function in burn_nested, burn_generator, burn_sorted, burn_hash:
        repeat(function, seconds)
    threads = [threading.Thread(target=repeat, args=(burn_thread, seconds)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        repeat(burn_child, seconds)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)


main()
