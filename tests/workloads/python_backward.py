# SPDX-License-Identifier: MIT
"""python_backward.py CASE...: hands launches to threads named pt_autograd_N and waits for them, as
PyTorch's backward pass does: with libautograd_engine.so (its path is in AUTOGRAD_ENGINE), and a
package that has the names of PyTorch's files. Each kernel takes 1000 ns and has a name of its own.
Runs on Python 3.8 and later, without other modules. REFUSED: numbers of system calls for which
the kernel ends the program, from the start."""
import ctypes
import os
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "autograd"))
from torch.autograd import backward  # noqa: E402
from torch.autograd import graph  # noqa: E402

NAMES = ("single again other first second thread outer inner recomputed own_python alone late nvtx "
         "nested_range burnt forward left right after many reused_0 reused_1 reused_2 reused_3").split()
PROCESS_VM_READV, PROCESS_VM_WRITEV = 310, 311  # x86-64
cuda = ctypes.CDLL("libcuda.so.1")
module, context = ctypes.c_void_p(), ctypes.c_void_p()


def check(error):
    if error:
        sys.exit(f"CUDA error {error}")


def launch(name, where=None):
    function = ctypes.c_void_p()
    check(cuda.cuCtxSetCurrent(where or context))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))


def refuse(*calls):
    """From now on the kernel ends the program for these system calls, by any thread."""
    PR_SET_NO_NEW_PRIVS, SYS_seccomp, SET_MODE_FILTER, TSYNC = 38, 317, 1, 1  # x86-64
    LOAD, JUMP_IF_EQUAL, RETURN, ALLOW, KILL_PROCESS = 0x20, 0x15, 0x06, 0x7fff0000, 0x80000000
    steps = [(LOAD, 0, 0, 0)]
    for i, call in enumerate(calls):
        steps.append((JUMP_IF_EQUAL, len(calls) - i, 0, call))
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, KILL_PROCESS)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(SYS_seccomp, SET_MODE_FILTER, TSYNC, program):
        sys.exit("no filter")


def case_single():
    backward("k:single@0 k:single@0")


def case_shut_in():
    def inside():
        launch("late")
        backward("k:alone@0")
    refuse(PROCESS_VM_READV, PROCESS_VM_WRITEV)
    inside()


def case_other():
    # the same depth and the same functions inside, from another one
    backward("k:other@0")


def case_forward():
    launch("forward")
    backward("k:after@0")


def case_devices():
    backward("k:first@0 k:second@1 k:first@0")


def case_thread():
    def work():
        backward("k:thread@0")
    time.sleep(0.05)  # threads that have launched nothing are looked for now and then
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def case_checkpoint():
    # the worker runs Python, launches from it, and waits for a backward pass within its own
    def recompute():
        launch("recomputed")
        backward("k:inner@0")
    graph.functions["recompute"] = recompute
    backward("k:outer@0 call:recompute@0 k:outer@0")


def case_across():
    # the inner pass runs on another worker
    def recompute():
        backward("k:inner@1")
    graph.functions["across"] = recompute
    backward("call:across@0 k:outer@0")


def case_own_python():
    def function():
        launch("own_python")
    graph.functions["function"] = function
    backward("call:function@0")


def case_both():
    # two threads at once: nobody can tell
    def work(name):
        backward(f"call:meet@{0 if name == 'left' else 1} k:{name}@{0 if name == 'left' else 1}"
                 f" call:meet@{0 if name == 'left' else 1}")
    barrier = threading.Barrier(2)
    graph.functions["meet"] = barrier.wait
    threads = [threading.Thread(target=work, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def case_devices_at_once():
    # two threads at once, each with the device that it has launched on
    def work(device, name):
        own = ctypes.c_void_p()
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(own), device))
        launch("forward", own)
        backward(f"call:meet@{device} k:{name}@{device} call:meet@{device}")
    barrier = threading.Barrier(2)
    graph.functions["meet"] = barrier.wait
    threads = [threading.Thread(target=work, args=(i, name))
               for i, name in enumerate(("left", "right"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def case_gone():
    # the thread that waits is cancelled: what the worker does then is for nobody
    def cancel():
        ctypes.CDLL(None).pthread_cancel(ctypes.c_ulong(thread.ident))
        while os.path.exists(f"/proc/self/task/{thread.native_id}"):
            time.sleep(0.001)
    is_over = threading.Event()
    graph.functions["cancel"] = cancel
    graph.functions["is_over"] = is_over.set
    thread = threading.Thread(daemon=True, target=lambda: backward(
        "k:thread@0 call:cancel@0 k:alone@0 k:alone@0 call:is_over@0"))
    thread.start()
    is_over.wait()


def case_nvtx():
    nvtx = ctypes.CDLL("libnvToolsExt.so.1")
    nvtx.nvtxRangePushA(b"step")
    backward("k:nvtx@0")
    nvtx.nvtxRangePushA(b"second")
    backward("k:nested_range@0")
    nvtx.nvtxRangePop()
    nvtx.nvtxRangePop()


def case_burn():
    for _ in range(20):
        backward("k:burnt@0 burn:25@0 k:burnt@0 burn:25@0 k:burnt@0")


def case_many():
    for _ in range(int(os.environ.get("COUNT", "1000"))):
        backward("k:many@0 k:many@0 k:many@0")


def case_reused():
    # the code objects of callers come and go at the same addresses
    for i in range(400):
        scope = {"backward": backward}
        exec(f"def made_{i % 4}():\n    backward('k:reused_{i % 4}@0')\n", scope)
        scope[f"made_{i % 4}"]()


def from_left():
    backward("k:left@0 k:left@0")


def from_right():
    backward("k:right@0 k:right@0")


def case_turns():
    # the same depth, in turn, as fast as it goes
    for _ in range(int(os.environ.get("COUNT", "1000"))):
        from_left()
        from_right()


def case_short_threads():
    # each in a thread of its own, one after the other; another thread launches all the time
    def beside():
        while not is_over:
            launch("other")
    is_over = []
    busy = threading.Thread(target=beside)
    busy.start()
    for i in range(int(os.environ.get("COUNT", "1000"))):
        thread = threading.Thread(target=from_right if i % 2 else from_left)
        thread.start()
        thread.join()
    is_over.append(True)
    busy.join()


def case_fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    backward("k:again@0")


def main(cases):
    for name in cases:
        globals()["case_" + name]()
    time.sleep(float(os.environ.get("LINGER", "0")))


if __name__ == "__main__":
    if os.environ.get("REFUSED"):
        refuse(*map(int, os.environ["REFUSED"].split()))
    kernels = "\n".join(f"{name}=1000" for name in NAMES)
    check(graph.engine.start_engine(kernels.encode()))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), ("FAKE_CUDA_MODULE\n" + kernels).encode()))
    main(sys.argv[1:])
