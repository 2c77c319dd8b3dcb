# SPDX-License-Identifier: MIT
"""nested_launches.py DEPTH LAUNCHES: the median time of cuLaunchKernel (by ctypes, of the stand-ins) below
DEPTH nested Python functions, every third of which has code of its own, as the modules of a PyTorch model have.
"""
import ctypes
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")
depth, launches = int(sys.argv[1]), int(sys.argv[2])
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
times = []


def launch():
    for i in range(launches):
        begin = time.perf_counter_ns()
        cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
        times.append(time.perf_counter_ns() - begin)
        if i % 500 == 0:
            cuda.cuCtxSynchronize()


class Module:
    def __init__(self, inner):
        self.inner = inner

    def __call__(self):
        return self.call()

    def call(self):
        return self.forward()


def make(number, inner):
    scope = {}
    exec(f"def forward_{number}(self):\n    return self.inner()\n", scope)
    return type(f"Module{number}", (Module,), {"forward": scope[f"forward_{number}"]})(inner)


nested = launch
for number in range(depth // 3):
    nested = make(number, nested)
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(ctypes.byref(module), b"FAKE_CUDA_MODULE\ntiny=500\n")
cuda.cuModuleGetFunction(ctypes.byref(function), module, b"tiny")
nested()
print(f"{sorted(times)[launches // 2] / 1000:.2f} us")
