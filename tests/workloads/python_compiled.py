# SPDX-License-Identifier: MIT
"""python_compiled.py FOLDER: writes files that are laid out as those of Triton and of modules that TorchInductor generates,
runs them, and launches their kernels through libcuda by ctypes: 1000 ns each.

  triton_poi_fused_add_0  3 times by ab/cab.py, once by cd/ccd.py, which defines another kernel of that name; before, 5
                          trials of it. Then FOLDER/left/kernels.py, with
  scale                   twice, after 4 trials, and a compilation that takes CPU_MS of CPU time
  plain                   once, without Triton
  lost                    once: no file defines it

In this file decorators have another sign, so that it defines no kernel.
"""
import ctypes
import os
import sys
import time
import types

CPU_MS = 400
FILES = {
    "torch/_inductor/runtime/triton_heuristics.py": '''
class CachingAutotuner:
    def __init__(self, name):
        self.name, self.is_tuned = name, False

    def run(self, stream=None):
        if not self.is_tuned:
            self.is_tuned = True
            self.benchmark_all_configs()
        launch(self.name)

    def benchmark_all_configs(self):
        for _ in range(TRIALS.get(self.name, 0)):
            self.bench()

    def bench(self):
        launch(self.name)
''',
    "triton/runtime/jit.py": '''
class JITFunction:
    def __init__(self, fn):
        self.name, self.is_compiled = fn.__name__, False

    def run(self):
        if not self.is_compiled:
            self.is_compiled = True
            compile()
        launch(self.name)
''',
    "triton/runtime/autotuner.py": '''
class Autotuner:
    def __init__(self, fn):
        self.fn, self.is_tuned = fn, False

    def run(self):
        if not self.is_tuned:
            self.is_tuned = True
            for _ in range(TRIALS[self.fn.name]):
                self._bench()
        self.fn.run()

    def _bench(self):
        self.fn.run()
''',
    "triton/compiler/compiler.py": '''
def make_code(until):
    while time.thread_time() < until:
        sum(range(1000))

def compile():
    make_code(time.thread_time() + CPU_MS / 1000)
''',
    "left/kernels.py": '''
§triton.autotune(
    configs=[1, 2],
)
§triton.jit
def scale(x, BLOCK):
    pass


§triton.jit
def lost_before(x):
    pass


lost = type(scale.fn)(lambda: None)
lost.name, lost.is_compiled = "lost", True


def forward():
    scale.run()
    scale.run()
    lost.run()
    launch("plain")
'''}
GENERATED = '''# AOT ID: ['0_inference']
async_compile = AsyncCompile()

# kernel path: %(folder)s/ef/cef.py
# Topologically Sorted Source Nodes: [%(nodes)s], Original ATen: [%(operators)s]
# Source node to ATen node mapping:
#   %(nodes)s => add
# Graph fragment:
#   %%add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%%arg0_1, 1), kwargs = {})
triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', \'\'\'
import triton

§triton_heuristics.pointwise(
    size_hints={'x': 16},
    filename=__file__,
)
§triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
\'\'\', device_str='cuda')


async_compile.wait(globals())


class Runner:
    def call(self, args):
        # Topologically Sorted Source Nodes: [%(nodes)s], Original ATen: [%(operators)s]
        triton_poi_fused_add_0.run(stream=0)


call = Runner().call
'''

cuda = ctypes.CDLL("libcuda.so.1")
context, module = ctypes.c_void_p(), ctypes.c_void_p()
TRIALS = {"triton_poi_fused_add_0": 5, "scale": 4}


def check(error):
    if error:
        sys.exit(f"CUDA error {error}")


def launch(name):
    function = ctypes.c_void_p()
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))


def load(folder, path, text, names):
    path, text = os.path.join(folder, path), text.replace("§", "@")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    exec(compile(text, path, "exec"), names)
    return names


def main(folder):
    table = "FAKE_CUDA_MODULE\n" + "".join(f"{name}=1000\n" for name in ("triton_poi_fused_add_0", "scale", "plain", "lost"))
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), table.encode()))
    names = {"launch": launch, "TRIALS": TRIALS, "CPU_MS": CPU_MS, "time": time}
    for path in list(FILES)[:4]:
        load(folder, path, FILES[path], names)
    tuner = names["CachingAutotuner"]("triton_poi_fused_add_0")
    compiler = types.SimpleNamespace(triton=lambda name, text, device_str: tuner, wait=lambda scope: None)
    generated = {"AsyncCompile": lambda: compiler}
    cab = load(folder, "ab/cab.py", GENERATED % {"folder": folder, "nodes": "linear, gelu", "operators": "aten.add, aten.gelu"},
               dict(generated))
    ccd = load(folder, "cd/ccd.py", GENERATED % {"folder": folder, "nodes": "y", "operators": "aten.add"}, dict(generated))
    for _ in range(3):
        cab["call"]([])
    ccd["call"]([])
    triton = types.SimpleNamespace(jit=names["JITFunction"], autotune=lambda configs: names["Autotuner"])
    load(folder, "left/kernels.py", FILES["left/kernels.py"], {"triton": triton, "launch": launch})["forward"]()
    check(cuda.cuCtxSynchronize())


main(sys.argv[1])
