# SPDX-License-Identifier: MIT
"""python_nvtx.py: launches kernels of 1000 ns through libcuda by ctypes, within NVTX ranges pushed
by ctypes as programs do it: from the function itself, by a helper that has returned, by a context
manager. Runs on Python 3.8 and later, without other modules."""
import contextlib
import ctypes
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")
nvtx = ctypes.CDLL("libnvToolsExt.so.1")


def check(error):
    if error:
        sys.exit(f"CUDA error {error}")


def launch(name):
    function = ctypes.c_void_p()
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))


def range_push(text):
    # like torch.cuda.nvtx.range_push
    return nvtx.nvtxRangePushA(text.encode())


def range_pop():
    return nvtx.nvtxRangePop()


@contextlib.contextmanager
def annotate(text):
    range_push(text)
    try:
        yield
    finally:
        range_pop()


def case_direct():
    nvtx.nvtxRangePushA(b"direct")
    launch("direct")
    nvtx.nvtxRangePop()


def layer(name):
    with annotate("layer"):
        launch(name)


def case_nested():
    range_push("step")
    with annotate("forward"):
        layer("nested")
    range_pop()


def open_and_launch(opens):
    if opens:
        range_push("left")
    launch("left")


def case_left():
    open_and_launch(True)
    open_and_launch(False)  # from another line: the call that opened the range has returned
    range_pop()


def case_closed():
    range_push("closed")
    range_pop()
    launch("closed")


def case_sorted():
    def key(value):
        range_push("key")
        launch("sorted")
        range_pop()
        return value
    with annotate("sort"):
        sorted([1], key=key)


def descend(depth):
    if depth == 0:
        launch("recursion")
    else:
        descend(depth - 1)


def case_recursion():
    with annotate("top"):
        descend(20)


def case_thread():
    def work():
        with annotate("worker"):
            launch("thread")
    with annotate("not of the worker"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


cases = {name[5:]: case for name, case in list(globals().items()) if name.startswith("case_")}
context, module = ctypes.c_void_p(), ctypes.c_void_p()


def main():
    table = "FAKE_CUDA_MODULE\n" + "".join(f"{name}=1000\n" for name in cases)
    range_push("before CUDA")
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), table.encode()))
    for case in cases.values():
        case()
    check(cuda.cuCtxSynchronize())


main()
