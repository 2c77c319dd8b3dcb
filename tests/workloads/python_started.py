# SPDX-License-Identifier: MIT
"""python_started.py: threads that other threads start, each of which computes for 100 ms and, if libcuda
is there, launches a kernel of 1000 ns: by threading, by an executor, and three levels deep. Runs on
Python 3.8 and later, without other modules."""
import ctypes
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

cuda = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
for error in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
              cuda.cuCtxSetCurrent(context),
              cuda.cuModuleLoadData(ctypes.byref(module), b"FAKE_CUDA_MODULE\nk=1000\n"),
              cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k")):
    if error:
        sys.exit(f"CUDA error {error}")


def work(*_):
    cuda.cuCtxSetCurrent(context)
    cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        pass


def run(target, *args):
    thread = threading.Thread(target=target, args=args)
    thread.start()
    thread.join()


def plainly():
    run(work)


def third():
    run(work)


def second():
    run(third)


def deeply():
    run(second)


def by_executor():
    with ThreadPoolExecutor(2) as executor:
        list(executor.map(work, range(2)))


time.sleep(0.5)  # on a busy machine it takes a moment until the interpreter is known to be one
plainly()
deeply()
by_executor()
work()
