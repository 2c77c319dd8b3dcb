# SPDX-License-Identifier: MIT
"""chain.py KIND SECONDS: as chain.c; KIND is how outer is called, or who computes."""
import asyncio
import multiprocessing
import sys
import threading
import time


def inner():
    return sum(range(100000))


def middle(end):
    while time.process_time() < end:
        inner()


def outer(seconds):
    middle(time.process_time() + seconds)


def generated(seconds):
    yield outer(seconds)


async def awaited(seconds):
    await asyncio.sleep(0)
    outer(seconds)


def main():
    kind, seconds = sys.argv[1], float(sys.argv[2])
    if kind == "plain":
        outer(seconds)
    elif kind == "threads":
        # process_time is that of both
        threads = [threading.Thread(target=outer, args=(seconds,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    elif kind == "generator":
        list(generated(seconds))
    elif kind == "async":
        asyncio.run(awaited(seconds))
    elif kind in ("fork", "spawn"):
        context = multiprocessing.get_context(kind)
        processes = [context.Process(target=outer, args=(seconds / 2,)) for _ in range(2)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    elif kind == "numpy":
        multiply(seconds)


def multiply(seconds):
    import numpy
    global inner
    matrix = numpy.random.rand(300, 300)

    def inner():
        return matrix @ matrix

    outer(seconds)


if __name__ == "__main__":
    main()
