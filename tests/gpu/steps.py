#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with known steps and a known limit, for tests/gpu/steps.

usage: steps.py CASE FILE: writes when each step began to FILE, in ns of CLOCK_MONOTONIC, a line each.
"""
import functools
import os
import random
import sys
import time

CASE, FILE = sys.argv[1:]
starts = []


def mark():
    starts.append(time.monotonic_ns())


def jax_steps():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(weights, x):
        def loss(w):
            return jnp.mean((jnp.tanh(x @ w[0]) @ w[1]) ** 2)
        return [w - 0.01 * g for w, g in zip(weights, jax.grad(loss)(weights))]

    key = jax.random.PRNGKey(0)
    weights = [jax.random.normal(key, (1024, 1024)) for _ in range(2)]
    x = jax.random.normal(key, (256, 1024))
    for i in range(300):
        mark()
        weights = step(weights, x)
        if i % 50 == 49:
            weights[0].block_until_ready()
    jax.block_until_ready(weights)


def gpt():
    layer = nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    batch = torch.randn(8, 64, 256, device="cuda")

    def step():
        mark()
        optimizer.zero_grad()
        (model(batch) ** 2).mean().backward()
        optimizer.step()

    for count in (20, 40, 40, 40, 40, 40):
        for _ in range(count):
            step()
        torch.cuda.synchronize()


def generate():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=512, n_head=8)).cuda().eval()
    plain = model.forward

    def forward(*args, **more):
        mark()
        return plain(*args, **more)

    model.forward = functools.wraps(plain)(forward)
    ids = torch.randint(0, 50000, (1, 16), device="cuda")
    with torch.no_grad():
        for _ in range(3):
            model.generate(ids, max_new_tokens=64, min_new_tokens=64, do_sample=False, pad_token_id=0)


def compiled():
    model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(6)]).cuda()
    run = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(64, 512, device="cuda")
    with torch.no_grad():
        for _ in range(300):
            mark()
            run(x).sum()


def loader():
    class Slow(Dataset):
        def __len__(self):
            return 800

        def __getitem__(self, i):
            time.sleep(0.004)
            return torch.randn(256)

    model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(20)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for x in DataLoader(Slow(), batch_size=8, num_workers=2):
        mark()
        optimizer.zero_grad()
        model(x.to("cuda")).mean().backward()
        optimizer.step()


def load_batch():
    end = time.monotonic_ns() + 4_000_000
    while time.monotonic_ns() < end:
        pass


def loads_itself():
    a = torch.randn(4096, 4096, device="cuda")
    for _ in range(200):
        mark()
        load_batch()
        for _ in range(4):
            a @ a
        torch.cuda.synchronize()


def eager():
    a = torch.randn(64, device="cuda")
    for _ in range(300):
        mark()
        for _ in range(100):
            a = a * 1.0001
        a = a.clone()


def compute():
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    for i in range(300):
        mark()
        for _ in range(4):
            b = a @ a
        b.relu()
        if i % 20 == 19:
            torch.cuda.synchronize()


def copies():
    host = torch.randn(16 << 20)
    weights = torch.randn(4096, 4096, device="cuda")
    for _ in range(100):
        mark()
        x = host.to("cuda")
        weights @ weights
        x.sum()
        torch.cuda.synchronize()


def requests():
    """Random arrivals have no steps."""
    random.seed(1)
    a = torch.randn(2048, 2048, device="cuda")
    for _ in range(300):
        time.sleep(random.expovariate(100))
        (a @ a).relu().sum()


if CASE == "jax_steps":
    jax_steps()
else:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    torch.manual_seed(0)
    globals()[CASE]()
    torch.cuda.synchronize()
with open(FILE, "w", encoding="ascii") as out:
    out.writelines(f"{ns}\n" for ns in starts)
