# SPDX-License-Identifier: MIT
"""python_workers METHOD KIND: three workers that launch ten kernels of 1 ms each and wait for them.

METHOD: fork, spawn or forkserver. KIND: process, daemon, pool or futures. Prints how many kernels were launched. Uses the
stand-in for the driver (tests/fake_cuda), which takes a module as text.
"""

import concurrent.futures
import ctypes
import multiprocessing
import sys

KERNELS = 10
WORKERS = 3


def check(result):
    if result:
        raise SystemExit(f"CUDA error {result}")


def work(count):
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), b"FAKE_CUDA_MODULE\nworker=1000000\n"))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"worker"))
    for _ in range(count):
        check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))
    check(cuda.cuCtxSynchronize())
    return count


def put(queue, count):
    queue.put(work(count))


def run_processes(context, daemon):
    queue = context.Queue()
    processes = [context.Process(target=put, args=(queue, KERNELS), daemon=daemon) for _ in range(WORKERS)]
    for process in processes:
        process.start()
    total = sum(queue.get() for _ in processes)
    for process in processes:
        if not daemon:
            process.join()
    return total


def main():
    context = multiprocessing.get_context(sys.argv[1])
    kind = sys.argv[2]
    if kind in ("process", "daemon"):
        print(run_processes(context, kind == "daemon"))
    elif kind == "pool":
        with context.Pool(WORKERS) as pool:
            print(sum(pool.map(work, [KERNELS] * WORKERS, chunksize=1)))
    else:
        with concurrent.futures.ProcessPoolExecutor(WORKERS, mp_context=context) as executor:
            print(sum(executor.map(work, [KERNELS] * WORKERS)))


if __name__ == "__main__":
    main()
