#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiled PyTorch for tests/gpu/compiled.

usage: compiled.py run FOLDER           trains train.py's model under torch.compile, and runs a kernel of Triton's with
                                        @triton.autotune; FOLDER gets TorchInductor's cache and `trials`: how many
                                        launches were trials, by kernel, as the autotuners' own calls were counted
       compiled.py compare FOLDER JSON TRIALS
                                        compares FOLDER with a summary of the run and with one of its trials alone

The witness of definitions is the generated modules, read by Python's own parsers. Prints, a line each:
  kernels of Triton's that ran, those right, the share of their GPU time that these have, right definitions of all
  the user's kernel: where it is defined, as shown and as it is
  trials counted, and shown; kernels of which both are equal, and all; GPU ns of trials
"""
import ast
import collections
import glob
import io
import json
import os
import re
import sys
import tokenize

PREFIX = "[GPU_Kernel]"
STEPS = 6


# ---- the program ----

trials = collections.Counter()


class Counted:
    """A launcher of TorchInductor's whose calls are counted."""

    def __init__(self, launcher, name):
        self.__dict__.update(launcher=launcher, kernel_name=name)

    def __getattr__(self, key):
        return getattr(self.launcher, key)

    def __call__(self, *args, **kwargs):
        trials[self.kernel_name] += 1
        return self.launcher(*args, **kwargs)


def count_trials():
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    bench, trial, run = CachingAutotuner.bench, Autotuner._bench, JITFunction.run
    in_trial = [0]

    def counted_bench(self, launcher, *args, **kwargs):
        return bench(self, Counted(launcher, self.fn.__name__), *args, **kwargs)

    def counted_trial(self, *args, **kwargs):
        in_trial[0] += 1
        try:
            return trial(self, *args, **kwargs)
        finally:
            in_trial[0] -= 1

    def counted_run(self, *args, **kwargs):
        if in_trial[0] and not kwargs.get("warmup"):
            trials[self.fn.__name__] += 1
        return run(self, *args, **kwargs)

    CachingAutotuner.bench, Autotuner._bench, JITFunction.run = counted_bench, counted_trial, counted_run


try:
    import triton
    import triton.language as tl
except ImportError:  # comparing needs neither
    pass
else:
    @triton.autotune(
        configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block in (256, 1024) for warps in (2, 4)],
        key=["count"],
    )
    @triton.jit
    def scale_by_user(x, y, count, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, 2 * tl.load(x + at, mask=at < count), mask=at < count)


def run(folder):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "cache")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    import torch
    import train

    count_trials()
    torch.manual_seed(1)
    model = train.Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    compiled, source = torch.compile(model), train.batches(0)
    for _ in range(STEPS):
        train.train_step(compiled, optimizer, next(source))
    x = torch.randn(1 << 20, device="cuda")
    y = torch.empty_like(x)
    for _ in range(STEPS):
        scale_by_user[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    torch.cuda.synchronize()
    json.dump(trials, open(os.path.join(folder, "trials"), "w"))


# ---- the witness ----


def function_line(source, name):
    """The line of a function in a module's source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node.lineno
    return None


def operators_above(comments, line):
    """The operators in the comment that ends above a line."""
    while line - 1 in comments:
        line -= 1
        found = re.search(r"Original ATen: \[([^\]]*)\]", comments[line])
        if found:
            return found[1].strip()
    return ""


def definitions_in(path):
    """{kernel: (line, operators)} of a generated module."""
    source = open(path, encoding="utf-8").read()
    if "async_compile.triton(" not in source:
        return {}
    comments = {t.start[0]: t.string for t in tokenize.generate_tokens(io.StringIO(source).readline)
                if t.type == tokenize.COMMENT and t.start[1] == 0}
    found = {}
    for node in ast.parse(source).body:
        call = getattr(node, "value", None)
        if not (isinstance(node, ast.Assign) and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
                and call.func.attr == "triton"):
            continue
        text = call.args[1]
        # the text begins on the line of its quotes
        for inner in ast.walk(ast.parse(text.value)):
            if isinstance(inner, ast.FunctionDef) and any("jit" in ast.dump(d) for d in inner.decorator_list):
                found[inner.name] = (text.lineno + inner.lineno - 1, operators_above(comments, node.lineno))
    return found


def compare(folder, summary, shown_trials):
    modules = {os.path.realpath(path): definitions_in(path)
               for path in glob.glob(os.path.join(folder, "cache", "**", "*.py"), recursive=True)}
    known = collections.defaultdict(set)
    for path, kernels in modules.items():
        for name, (line, operators) in kernels.items():
            known[name].add((path, line, operators))
    data = json.load(open(summary))
    count = right = all_ns = right_ns = 0
    for kernel in data["kernels"]:
        name = kernel["name"][len(PREFIX):]
        if name not in known:
            continue
        path, _, line = kernel.get("defined", ":0").rpartition(":")
        shown = (os.path.realpath(path), int(line), kernel.get("operators", ""))
        count += 1
        all_ns += kernel["ns"]
        if shown in known[name]:
            right += 1
            right_ns += kernel["ns"]
        else:
            print(name, shown, kernel.get("definition_unknown"), sorted(known[name]), file=sys.stderr)
    rows = [row for row in data.get("kernel_definitions", []) if row["kernel"][len(PREFIX):] in known]
    right_rows = sum(modules.get(os.path.realpath(row["file"]), {}).get(row["kernel"][len(PREFIX):]) ==
                     (row["line"], row["operators"]) for row in rows)
    print(count, right, round(right_ns / max(all_ns, 1), 4), right_rows, len(rows))

    here = os.path.realpath(__file__)
    own = next((k for k in data["kernels"] if k["name"] == PREFIX + "scale_by_user"), {})
    print(own.get("defined", "-"), f"{here}:{function_line(open(here).read(), 'scale_by_user')}")

    counted = collections.Counter(json.load(open(os.path.join(folder, "trials"))))
    kernels = json.load(open(shown_trials))["kernels"]
    shown = {k["name"][len(PREFIX):]: k["calls"] for k in kernels}
    equal = sum(shown.get(name) == calls for name, calls in counted.items())
    for name, calls in counted.items():
        if shown.get(name) != calls:
            print("trials of", name, "counted", calls, "shown", shown.get(name), file=sys.stderr)
    print(sum(counted.values()), sum(shown.get(name, 0) for name in counted), equal, len(counted), sum(k["ns"] for k in kernels))


if __name__ == "__main__":
    {"run": run, "compare": compare}[sys.argv[1]](*sys.argv[2:])
