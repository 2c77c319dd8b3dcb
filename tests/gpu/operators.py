#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch programs for tests/gpu/operators.

usage: operators.py run CASE            runs it
       operators.py witness CASE FILE   runs it under torch.profiler, with hooks that name its modules; writes the
                                        kernels of its last steps to FILE, in the order of launches: name, operator,
                                        forward operator, layer
       operators.py compare FILE TRACE  compares these with a trace of `profile --ops --modules`, prints "kernels
                                        right_operators backward right_forwards GPU_share layered right_layers"
       operators.py share TRACE         prints the share of GPU time that has a layer
       operators.py price               prints the ns that a small operator on the CPU takes

A capture of CUDA graphs has the operators of its eager run, so that is their witness.
"""
import json
import multiprocessing
import sys
import time

SKIPPED = "autograd::engine::evaluate_function: "
LAYER = "layer of the witness: "
STEPS = 5


def decoder(torch, nn):
    """A model that decodes one token, with its keys and values in buffers."""
    width, heads, length = 256, 4, 32

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)
            self.register_buffer("keys", torch.zeros(1, heads, length, width // heads))
            self.register_buffer("values", torch.zeros(1, heads, length, width // heads))

        def forward(self, x, position):
            q, k, v = self.qkv(x).view(1, 1, 3, heads, -1).permute(2, 0, 3, 1, 4)
            self.keys.index_copy_(2, position, k)
            self.values.index_copy_(2, position, v)
            y = nn.functional.scaled_dot_product_attention(q, self.keys, self.values)
            return self.out(y.transpose(1, 2).reshape(1, 1, width))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.attn = Attention()
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x, position):
            x = x + self.attn(self.norms[0](x), position)
            return x + self.mlp(self.norms[1](x))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(1000, width)
            self.layers = nn.ModuleList([Block() for _ in range(6)])
            self.head = nn.Linear(width, 1000)

        def forward(self, token, position):
            x = self.embed(token)
            for layer in self.layers:
                x = layer(x, position)
            return self.head(x).argmax(-1)

    return Decoder()


def setup(case):
    import torch
    from torch import nn

    torch.manual_seed(0)
    if case == "train":
        layer = nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, dropout=0.1)
        model = nn.TransformerEncoder(layer, 4).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
        batch = torch.randn(8, 64, 256, device="cuda")

        def step():
            optimizer.zero_grad()
            with torch.profiler.record_function("loss"):
                loss = (model(batch) ** 2).mean()
            loss.backward()
            optimizer.step()
        return step, step, [model]

    if case == "gpt2":
        from transformers import GPT2Config, GPT2LMHeadModel

        model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=1000)).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        ids = torch.randint(0, 1000, (4, 64), device="cuda")

        def step():
            optimizer.zero_grad()
            model(ids, labels=ids).loss.backward()
            optimizer.step()
        return step, step, [model]

    if case == "generate":
        from transformers import GPT2Config, GPT2LMHeadModel

        model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=1000)).cuda().eval()
        ids = torch.randint(0, 1000, (1, 16), device="cuda")

        def step():
            with torch.no_grad():
                model.generate(ids, max_new_tokens=8, min_new_tokens=8, do_sample=False, pad_token_id=0)
        return step, step, [model]

    if case == "checkpointed":
        from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

        blocks = nn.ModuleList([nn.Sequential(nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU()) for _ in range(6)]).cuda()
        x = torch.randn(64, 256, device="cuda", requires_grad=True)

        def step():
            y = x
            # an early stop is an exception, which hooks at the end of a module do not see
            with set_checkpoint_early_stop(False):
                for block in blocks:
                    y = checkpoint(block, y, use_reentrant=False)
            y.square().sum().backward()
        return step, step, list(blocks)

    if case == "compiled":
        model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(6)]).cuda()
        compiled = torch.compile(model)
        x = torch.randn(64, 512, device="cuda")

        def step():
            compiled(x).square().sum().backward()
        return step, step, [model]

    if case == "decode":
        model = decoder(torch, nn).cuda()
        token, position = torch.zeros(1, 1, dtype=torch.long, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")

        def forward():
            with torch.no_grad():
                return model(token, position)
        return capture(torch, forward), forward, [model]

    model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU()) for _ in range(6)]).cuda()
    x = torch.randn(64, 512, device="cuda")

    def forward():
        with torch.no_grad():
            return model(x).softmax(-1)

    return capture(torch, forward), forward, [model]


def capture(torch, forward):
    graph = torch.cuda.CUDAGraph()
    for _ in range(3):
        forward()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        forward()
    return graph.replay


def name_layers(torch, roots):
    """Opens a scope of PyTorch's around each call of a module; a root has the name of its class."""
    open_scopes = []

    def leave(module, inputs, output):
        open_scopes.pop().__exit__(None, None, None)

    for root in roots:
        for path, module in root.named_modules():
            def enter(module, inputs, name=path or type(root).__name__):
                open_scopes.append(torch.profiler.record_function(LAYER + name))
                open_scopes[-1].__enter__()
            module.register_forward_pre_hook(enter)
            module.register_forward_hook(leave)


def run(case, is_witness=False):
    import torch

    replay, eager, roots = setup(case)
    step = eager if is_witness else replay
    if is_witness:
        name_layers(torch, roots)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    return step, torch


def run_steps(step, torch):
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()


def is_kernel(event):
    return event.get("ph") == "X" and event.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")


def witness(case, file):
    step, torch = run(case, True)
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        run_steps(step, torch)
    p.export_chrome_trace(file + ".json")
    events = json.load(open(file + ".json"))["traceEvents"]
    operators, forwards, heads = {}, {}, {}
    at = {}
    for e in events:
        if e.get("cat") == "cpu_op":
            operators[e["args"]["External id"]] = e
            at[e["tid"], e["ts"]] = e
        elif e.get("cat") == "fwdbwd":
            heads.setdefault(e["id"], {})[e["ph"]] = (e["tid"], e["ts"])
    for ends in heads.values():
        if "s" in ends and "f" in ends and ends["s"] in at:
            forwards[ends["f"]] = at[ends["s"]]
    by_thread, scopes = {}, {}
    for e in operators.values():
        by_thread.setdefault(e["tid"], []).append(e)
    for e in events:
        if e.get("cat") == "user_annotation":
            scopes.setdefault(e["tid"], []).append(e)

    def around(inner, spans):
        """Those that are open during the whole of `inner`, the innermost first."""
        return sorted((e for e in spans.get(inner["tid"], [])
                       if e["ts"] <= inner["ts"] and e["ts"] + e["dur"] >= inner["ts"] + inner["dur"]), key=lambda e: e["dur"])

    def forward_of(inner):
        """The forward operator of the function of the backward pass that `inner` is in."""
        for e in around(inner, by_thread):
            if (e["tid"], e["ts"]) in forwards and not e["name"].startswith(SKIPPED):
                return forwards[e["tid"], e["ts"]]
        return None

    def scope_of(operator):
        for e in around(operator, scopes):
            if e["name"].startswith(LAYER):
                return e["name"][len(LAYER):]
            if e["name"].startswith("Optimizer."):
                return "optimizer"
        return None

    def layer_of(operator):
        forward = forward_of(operator)
        return scope_of(operator) or (forward and scope_of(forward))

    kernels = sorted((e for e in events if is_kernel(e)), key=lambda e: e["ts"])
    rows = []
    for e in kernels:
        operator = operators.get(e["args"].get("External id"))
        forward = operator and forward_of(operator)
        rows.append([e["name"], operator and operator["name"], forward and forward["name"], operator and layer_of(operator)])
    json.dump(rows, open(file, "w"))


def names_of(frames, event):
    """The frames of a kernel's stack, the innermost first."""
    names, at = [], event.get("sf")
    while at is not None:
        names.append(frames[str(at)]["name"])
        at = frames[str(at)].get("parent")
    return names


def read_kernels(trace):
    data = json.load(open(trace))
    kernels = sorted((e for e in data["traceEvents"] if is_kernel(e)), key=lambda e: e["ts"])
    return [(e["dur"], names_of(data["stackFrames"], e)) for e in kernels]


def compare(file, trace):
    rows = json.load(open(file))
    layers = {f"[{row[3]}]" for row in rows if row[3]}
    kernels = read_kernels(trace)
    all_ns = sum(ns for ns, _ in kernels)
    known_ns = sum(ns for ns, names in kernels if any(name.startswith("op:") for name in names))
    counts = dict.fromkeys(("right", "backward", "forwards", "layered", "layers"), 0)
    wrong = {}

    def expect(what, count, expected, found, kernel):
        counts[count] += expected == found
        if expected != found:
            wrong[what, expected, found, kernel[:60]] = wrong.get((what, expected, found, kernel[:60]), 0) + 1

    for (kernel, operator, forward, layer), (_, names) in zip(rows, kernels[-len(rows):]):
        ours = [name[3:] for name in names if name.startswith("op:")]
        expect("operator", "right", operator, ours[0] if ours else None, kernel)
        if forward:
            counts["backward"] += 1
            made = [ours[i + 1] for i in range(len(ours) - 1) if "Backward" in ours[i]]
            expect("forward operator", "forwards", forward, made[0] if made else None, kernel)
        if layer:
            counts["layered"] += 1
            inside = [name for name in names if name in layers]
            expect("layer", "layers", f"[{layer}]", inside[0] if inside else None, kernel)
    for what, count in sorted(wrong.items(), key=lambda w: -w[1])[:12]:
        print(count, *what, file=sys.stderr)
    print(len(rows), counts["right"], counts["backward"], counts["forwards"], round(known_ns / max(all_ns, 1e-9), 4),
          counts["layered"], counts["layers"])


def share(trace):
    """Layers are all frames in brackets that no other frame of GPU work is."""
    kernels = read_kernels(trace)
    named = sum(ns for ns, names in kernels if any(name in ("[OptimizedModule]", "[Sequential]") for name in names))
    print(round(named / max(sum(ns for ns, _ in kernels), 1e-9), 4))


def price():
    import torch

    torch.cuda.synchronize()
    torch.ones(1, device="cuda")
    x = torch.ones(1)
    best = 1e18
    for _ in range(7):
        begin = time.perf_counter_ns()
        for _ in range(50000):
            x.add_(1)
        best = min(best, (time.perf_counter_ns() - begin) / 50000)
    print(round(best))


def run_case(case):
    run_steps(*run(case))


def main():
    what = sys.argv[1]
    if what == "run" and sys.argv[2] == "decode":
        # as in an inference server: a spawned process captures graphs and replays them
        engine = multiprocessing.get_context("spawn").Process(target=run_case, args=("decode",))
        engine.start()
        engine.join()
    elif what == "run":
        run_case(sys.argv[2])
    elif what == "witness":
        witness(*sys.argv[2:])
    elif what == "compare":
        compare(*sys.argv[2:])
    elif what == "share":
        share(sys.argv[2])
    else:
        price()


if __name__ == "__main__":
    main()
