# SPDX-License-Identifier: MIT
"""python_launches.py [CASE...]: each case launches one kernel of its own name, 1000 ns long, through
libcuda by ctypes, from a stack that is known. Runs on Python 3.8 and later, without other modules."""
import ctypes
import functools
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")


def check(error):
    if error:
        sys.exit(f"CUDA error {error}")


def launch(name):
    function = ctypes.c_void_p()
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))


def case_plain():
    def inner():
        launch("plain")
    inner()


class Model:
    def __init__(self, name):
        self.name = name

    def forward(self):
        self.layer()

    def layer(self):
        launch(self.name)

    @classmethod
    def build(cls):
        launch("classmethod")

    def __call__(self):
        launch(self.name)

    @property
    def width(self):
        launch("property")
        return 1


def case_method():
    Model("method").forward()


def case_classmethod():
    Model.build()


def case_call():
    Model("call")()


def case_property():
    return Model("").width


def steps(name):
    launch(name)
    yield 1


def delegate(name):
    yield from steps(name)


def case_generator():
    for _ in steps("generator"):
        pass


def case_delegate():
    list(delegate("delegate"))


def case_comprehension():
    return [launch("comprehension") for _ in range(1)]


async def awaited():
    launch("coroutine")


async def awaiting():
    await awaited()


def case_coroutine():
    try:
        awaiting().send(None)
    except StopIteration:
        pass


def descend(depth):
    if depth == 0:
        launch("recursion")
    else:
        descend(depth - 1)


def case_recursion():
    descend(30)


def case_deep():
    def down(depth):
        if depth == 0:
            launch("deep")
        else:
            down(depth - 1)
    down(400)


def case_thread():
    def work():
        launch("thread")
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def case_reduce():
    def add(a, b):
        launch("reduce")
        return a + b
    functools.reduce(add, [1, 2])


def case_sorted():
    def key(value):
        launch("sorted")
        return value
    sorted([1], key=key)


def case_map():
    def twice(value):
        launch("map")
        return 2 * value
    return list(map(twice, [1]))


def case_callback():
    def called():
        launch("callback")
        return 0
    ctypes.CFUNCTYPE(ctypes.c_int)(called)()


def case_exec():
    exec(compile("launch('exec')\n", "<generated>", "exec"), {"launch": launch})


def case_unicode():
    def größe_Ж(): launch("unicode")
    größe_Ж()


def case_exception():
    try:
        raise ValueError
    except ValueError:
        launch("exception")


def case_init():
    class Made:
        def __init__(self, name):
            if name:
                launch(name)

    # from 3.13 on, a call that is made often enough has a frame of the interpreter's own
    for _ in range(100):
        Made(None)
    for i in range(10):
        Made("init" if i == 9 else None)


def case_with():
    class Context:
        def __enter__(self):
            launch("with")

        def __exit__(self, *_):
            pass
    with Context():
        pass


def case_spread():
    def spread(*args, **kwargs):
        launch("spread")
    spread(*[1], **{"a": 2})


def case_decorated():
    def wrap(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(*args, **kwargs)
        return wrapper

    @wrap
    def work():
        launch("decorated")
    work()


def case_reused():
    # code objects come and go, at the same addresses
    for i in range(50):
        name = f"made_{i}"
        scope = {"launch": launch}
        exec(f"def {name}():\n    launch('reused')\n", scope)
        scope[name]()


cases = {name[5:]: case for name, case in list(globals().items()) if name.startswith("case_")}
context, module = ctypes.c_void_p(), ctypes.c_void_p()


def main():
    table = "FAKE_CUDA_MODULE\n" + "".join(f"{name}=1000\n" for name in cases)
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), table.encode()))
    for name in sys.argv[1:] or cases:
        cases[name]()
    check(cuda.cuCtxSynchronize())


main()
