# SPDX-License-Identifier: MIT
"""python_modules.py CASE...: launches kernels of 1000 ns through libcuda by ctypes, in modules like
those of torch.nn: a stand-in for their class keeps children and calls them as PyTorch does. Each case
names its kernels after itself. Runs on Python 3.8 and later, without other modules."""
import collections
import ctypes
import gc
import os
import sys
import threading
import time

# As torch.nn.Module: attributes in __dict__, children in _modules, a call through two functions.
MODULE = """
class Module:
    def __init__(self):
        super().__setattr__("training", True)
        super().__setattr__("_parameters", {})
        super().__setattr__("_buffers", {})
        super().__setattr__("_modules", {})

    def __setattr__(self, name, value):
        modules = self.__dict__.get("_modules")
        if isinstance(value, Module) and modules is not None:
            modules[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        if name in self.__dict__.get("_modules", {}):
            return self.__dict__["_modules"][name]
        raise AttributeError(name)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    __call__ = _wrapped_call_impl
"""
namespace = {"__name__": "torch.nn.modules.module"}
exec(compile(MODULE, "/usr/lib/python3/torch/nn/modules/module.py", "exec"), namespace)
Module = namespace["Module"]

cuda = ctypes.CDLL("libcuda.so.1")


def check(error):
    if error:
        sys.exit(f"CUDA error {error}")


def function_of(name):
    table = f"FAKE_CUDA_MODULE\n{name}=1000\n"
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), table.encode()))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    return function


def launch(name):
    check(cuda.cuCtxSetCurrent(context))
    if name not in functions:
        functions[name] = function_of(name)
    check(cuda.cuLaunchKernel(functions[name], 1, 1, 1, 1, 1, 1, 0, None, None, None))


class ModuleList(Module):
    def __init__(self, modules):
        super().__init__()
        for number, one in enumerate(modules):
            self._modules[str(number)] = one


class Leaf(Module):
    def forward(self, name):
        launch(name)


class Caller(Module):
    """Calls what it is given."""

    def forward(self, called, *args):
        called(*args)


class Block(Module):
    def __init__(self):
        super().__init__()
        self.attn = Leaf()
        self.mlp = Leaf()

    def forward(self, name):
        self.attn(name + "_attn")
        self.mlp(name + "_mlp")
        launch(name + "_own")


class Model(Module):
    def __init__(self):
        super().__init__()
        self.layers = ModuleList([Block(), Block()])
        self.head = Leaf()

    def forward(self, name):
        for number, layer in enumerate(self.layers._modules.values()):
            layer(f"{name}{number}")
        self.head(name + "_head")


def case_model():
    model = Model()
    for _ in range(3):
        model("model")


def case_alone():
    """A module that is called before, and without, the one that holds it."""
    model = Model()
    model.head("alone_before")
    model("alone")
    model.head("alone_after")


def case_list():
    """In a list of its caller's, which no path leads through."""
    hidden = Block()
    Caller()(hidden, "list")


def case_shared():
    """Under two keys: the first one counts."""
    caller = Caller()
    caller.first = caller.second = Leaf()
    caller(caller.second, "shared")


def case_two():
    """A module that two modules hold, which call it in turns."""
    one, other, held = Caller(), Caller(), Block()
    outer = Caller()
    outer.one, outer.other = one, other
    one.embed = other.embed = held
    for _ in range(200):
        outer(one, held, "two")
        outer(other, held, "two")


def case_around():
    """A module that holds itself, and two that hold each other."""
    one, other = Caller(), Caller()
    one.itself = one
    one.other = other
    other.one = one
    one(one, other, one, other, launch, "around")


def case_numbers():
    """Keys that are no texts, and long ones."""
    caller = Caller()
    leaves = [Leaf() for _ in range(3)]
    caller._modules[7] = leaves[0]
    caller._modules["x" * 10_000_000] = leaves[1]
    caller._modules["größe Ж\n]"] = leaves[2]
    for number, leaf in enumerate(leaves):
        caller(leaf, f"numbers{number}")


class Liar(dict):
    def __getitem__(self, key):
        raise SystemExit("a dictionary of the program's was asked")

    __iter__ = __len__ = keys = values = items = __getitem__


def case_liars():
    """Children in other dictionaries, and in none."""
    for number, modules in enumerate([collections.OrderedDict(), Liar(), None, [], 5]):
        caller, leaf = Caller(), Leaf()
        if isinstance(modules, dict):
            dict.__setitem__(modules, "leaf", leaf)
        caller.__dict__["_modules"] = modules
        caller(leaf, f"liars{number}")
    caller = Caller()
    del caller.__dict__["_modules"]
    caller(Leaf(), "liars5")


class NoModule:
    __slots__ = ()

    def _call_impl(self, name):
        launch(name)


def case_strange():
    """Calls with what is no module."""
    Module._wrapped_call_impl(NoModule(), "strange")


def case_swapped():
    """Children that change places: soon each has its new path."""
    caller = Caller()
    one, other = Leaf(), Leaf()
    caller.one, caller.other = one, other
    for _ in range(40):
        caller(one, "swapped")
        caller._modules["one"], caller._modules["other"] = other, one
        time.sleep(0.1)


def case_renamed():
    """A child with a new key, in a new dictionary: the memory of the old one still holds it."""
    caller, leaf = Caller(), Leaf()
    caller.old = leaf
    caller(leaf, "renamed")
    for number in range(60):
        caller._modules[f"other{number}"] = Leaf()
    del caller._modules["old"]
    caller.new = leaf
    for _ in range(40):
        caller(leaf, "renamed")
        time.sleep(0.1)


def case_reused():
    """New modules in the memory of old ones."""
    caller = Caller()
    for number in range(300):
        name = f"leaf{number % 3}"
        setattr(caller, name, Leaf())
        caller(caller._modules[name], "reused")
        del caller._modules[name]


def case_changes():
    """Threads that change modules while others launch in them."""
    caller = Caller()
    done = threading.Event()

    def change():
        number = 0
        while not done.is_set():
            number += 1
            for i in range(50):
                caller._modules[f"child{number}_{i}"] = Block()
            caller._modules["leaf"] = Leaf()
            for key in list(caller._modules)[:-20]:
                caller._modules.pop(key, None)
            if number % 16 == 0:
                gc.collect()

    def work():
        for _ in range(1000):
            leaf = Leaf()
            caller._modules[f"leaf{id(leaf) % 5}"] = leaf
            caller(leaf, "changes")

    threads = [threading.Thread(target=change) for _ in range(2)]
    workers = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads + workers:
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    for thread in threads:
        thread.join()


def case_many():
    """100,000 children, of which some are called."""
    caller = Caller()
    leaves = [Leaf() for _ in range(100_000)]
    for number, leaf in enumerate(leaves):
        caller._modules[str(number)] = leaf
    for number in range(0, 100_000, 5_000):
        caller(leaves[number], "many")


class Operators(Module):
    """Runs operators of the stand-in for PyTorch (torch_operators.cpp)."""

    def forward(self, cases):
        torch.run_operators(cases)


def case_operators():
    model = Caller()
    model.layer = Operators()
    model.graph = Operators()
    model(model.layer, b"forward")
    torch.run_operators(b"engine optimizer")
    model(model.graph, b"graph")


def main():
    check(cuda.cuCtxSetCurrent(context))
    for name in sys.argv[1:]:
        globals()["case_" + name]()
    check(cuda.cuCtxSynchronize())


# as with PyTorch, before CUDA begins
if "TORCH_OPERATORS" in os.environ:
    torch = ctypes.CDLL(os.environ["TORCH_OPERATORS"])
functions = {}
context = ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
main()
