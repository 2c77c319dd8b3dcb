# SPDX-License-Identifier: MIT
"""python_steps.py MODE [STEPS=80]: training loops in Python whose limit is known.

MODE: dataset (a data set is decoded in the loop) | workers (a thread fills a queue, too slowly)
| eager (Python between launches of short kernels) | busy (nothing is lost) | logging (the script
formats and writes a log after each step)

Prints the truth, as truth.h does, from what the stand-in says of its work (fake_cuda_follow_work).
Runs on Python 3.8 and later, without other modules.
"""
import bisect
import ctypes
import queue
import sys
import threading
import time
import zlib

MS = 1000000
cuda = ctypes.CDLL("libcuda.so.1")


def check(error):
    if error:
        sys.exit(f"CUDA error {error}")


class Activity(ctypes.Structure):
    """The beginning of struct fake_cuda_activity."""
    _fields_ = [("type", ctypes.c_int)] + [
        (name, ctypes.c_uint32) for name in ("device", "context", "stream", "correlation", "graph")
    ] + [("node", ctypes.c_uint64), ("in_body", ctypes.c_bool), ("decompresses", ctypes.c_bool),
         ("start", ctypes.c_uint64), ("end", ctypes.c_uint64)]


class Truth:
    """What the GPU did, and what the main thread did when the GPU was idle."""

    def __init__(self):
        self.works, self.phases, self.steps = [], [], 0
        self.begun = time.monotonic_ns()
        follower = ctypes.CFUNCTYPE(None, ctypes.POINTER(Activity))
        self.told = follower(lambda a: self.works.append((a[0].start, a[0].end)))
        cuda.fake_cuda_follow_work(self.told)

    def phase(self, what):
        if not self.phases or self.phases[-1][1] != what:
            self.phases.append((time.monotonic_ns(), what))

    def gap(self, start, end, shares):
        at = bisect.bisect_right(self.phases, (start, "~")) - 1
        while start < end:
            until = self.phases[at + 1][0] if at + 1 < len(self.phases) else end
            until = min(until, end)
            shares[self.phases[at][1]] = shares.get(self.phases[at][1], 0) + until - start
            start, at = until, at + 1

    def print(self, answers):
        shares, end = {}, None
        for start, until in self.works:
            if end is not None and start > end:
                self.gap(end, start, shares)
            shares["computing"] = shares.get("computing", 0) + until - start
            end = until
        whole = sum(shares.values())
        print(f"truth steps {self.steps}\ntruth warm_up 0")
        for word, ns in shares.items():
            print(f"truth share {word} {ns * 1000 // whole}")
        first = self.works[0][0] - self.begun
        print(f"truth start_up {first * 1000 // (end - self.begun)}")
        print(f"truth working_ns {end - self.works[0][0]}")
        print(f"truth answer {answers}")


class Module:
    """A kernel, launched with its duration."""
    module = ctypes.c_void_p()

    def __init__(self, name):
        self.function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), self.module, name.encode()))

    def __call__(self, ns):
        argument = ctypes.c_uint64(ns)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        check(cuda.cuLaunchKernel(self.function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None))


class Network:
    def __init__(self):
        self.linear, self.relu = Module("linear"), Module("relu")

    def forward(self, ns, layers):
        for _ in range(layers):
            self.linear(ns * 4 // 5 // layers)
            self.relu(ns // 5 // layers)


class TextDataset:
    def __init__(self):
        self.block = zlib.compress(bytes(range(256)) * 3000, 6)

    def __getitem__(self, index):
        until = time.monotonic_ns() + 5 * MS
        while time.monotonic_ns() < until:
            zlib.decompress(self.block)
        return index


class PrefetchQueue:
    """A thread that reads ahead."""

    def __init__(self, steps):
        self.queue = queue.Queue(4)
        threading.Thread(target=self.fill, args=(steps,), daemon=True).start()

    def fill(self, steps):
        for i in range(steps):
            time.sleep(0.009)
            self.queue.put(i)

    def __next__(self):
        return self.queue.get()


def synchronize(truth):
    truth.phase("synchronizing")
    check(cuda.cuCtxSynchronize())


def run_dataset(truth, network, steps):
    dataset = TextDataset()
    for i in range(steps):
        truth.phase("loader")
        dataset[i]
        truth.phase("launching")
        network.forward(5 * MS, 10)
        synchronize(truth)


def run_workers(truth, network, steps):
    batches = PrefetchQueue(steps)
    for _ in range(steps):
        truth.phase("loader")
        next(batches)
        truth.phase("launching")
        network.forward(4 * MS, 10)


def run_eager(truth, network, steps):
    for _ in range(steps):
        truth.phase("launching")
        network.forward(100 * 2000, 100)
        synchronize(truth)


def run_busy(truth, network, steps):
    for i in range(steps):
        truth.phase("launching")
        network.forward(10 * MS, 10)
        while i > 2 and truth.works[-40][1] > time.monotonic_ns():
            time.sleep(0.001)


def run_logging(truth, network, steps):
    with open("/dev/null", "w") as log:
        for i in range(steps):
            truth.phase("launching")
            network.forward(5 * MS, 10)
            synchronize(truth)
            truth.phase("host_code")
            write_log(log, i)


def write_log(log, step):
    until = time.monotonic_ns() + 5 * MS
    while time.monotonic_ns() < until:
        print(step, {f"layer {k}": k / 7 for k in range(50)}, file=log)


MODES = {
    "dataset": (run_dataset, "loader"),
    "workers": (run_workers, "loader host_code"),
    "eager": (run_eager, "launching"),
    "busy": (run_busy, "computing"),
    "logging": (run_logging, "host_code"),
}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in MODES:
        sys.exit("usage: python_steps.py MODE [STEPS]\nMODE: " + " ".join(MODES))
    run, answers = MODES[sys.argv[1]]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    context = ctypes.c_void_p()
    truth = Truth()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(Module.module), b"FAKE_CUDA_MODULE\nlinear=arg\nrelu=arg\n"))
    truth.steps = steps
    run(truth, Network(), steps)
    check(cuda.cuCtxSynchronize())
    truth.print(answers)


main()
