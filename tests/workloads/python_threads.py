# SPDX-License-Identifier: MIT
"""python_threads.py: six threads launch kernels of 100 ns from generators, recursion, callbacks, handlers
and code objects that come and go, while three daemon threads do the same until the interpreter is gone.
Prints "done". Runs on Python 3.8 and later, without other modules."""
import ctypes
import gc
import random
import sys
import threading

sys.setswitchinterval(1e-4)
cuda = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
for error in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
              cuda.cuCtxSetCurrent(context),
              cuda.cuModuleLoadData(ctypes.byref(module), b"FAKE_CUDA_MODULE\nk=100\n"),
              cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k")):
    if error:
        sys.exit(f"CUDA error {error}")
cuda.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3


def launch():
    cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)


def generate(n):
    for i in range(n):
        launch()
        yield i


def descend(depth):
    if depth:
        descend(depth - 1)
    else:
        launch()


def make(i):
    scope = {"launch": launch}
    exec(f"def made_{i}():\n    launch()\n", scope)
    scope[f"made_{i}"]()


def handle():
    try:
        raise ValueError
    except ValueError:
        launch()


def work(is_daemon, seed):
    chance = random.Random(seed)
    cuda.cuCtxSetCurrent(context)
    rounds = 0
    while is_daemon or rounds < 600:
        rounds += 1
        kind = chance.randrange(5)
        if kind == 0:
            sum(generate(3))
        elif kind == 1:
            descend(chance.randrange(60))
        elif kind == 2:
            make(chance.randrange(300))
        elif kind == 3:
            sorted([3, 1, 2], key=lambda value: launch() or value)
        else:
            handle()
        if rounds % 100 == 0:
            gc.collect()


threads = [threading.Thread(target=work, args=(False, seed)) for seed in range(6)]
daemons = [threading.Thread(target=work, args=(True, seed), daemon=True) for seed in range(3)]
for thread in threads + daemons:
    thread.start()
for thread in threads:
    thread.join()
print("done")
