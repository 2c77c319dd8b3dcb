# SPDX-License-Identifier: MIT
"""A small language model, trained as users do it: work for captures.

train.py eager | compile | loader | graph | graph_compile [STEPS]
  eager          one process, PyTorch's eager mode
  compile        the same with torch.compile: Triton kernels
  loader         the same fed by two processes that prepare batches
  graph          whole steps are launches of a CUDA graph
  graph_compile  the same, each block compiled by itself
"""
import sys

import torch
from torch.nn import functional

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 4096, 256, 384, 6, 4, 16


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project_in = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.project_out = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, -1).transpose(1, 2)
            for part in self.project_in(x).chunk(3, dim=-1)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.project_out(y.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 4 * WIDTH),
            torch.nn.GELU(),
            torch.nn.Linear(4 * WIDTH, WIDTH),
        )

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.positions = torch.nn.Embedding(CONTEXT, WIDTH)
        self.blocks = torch.nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.positions(positions))))


class Texts(torch.utils.data.Dataset):
    """Made up, with some work on the CPU for each."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, number):
        return torch.tensor(tokenize(number))


def tokenize(number):
    tokens, state = [], number
    for _ in range(CONTEXT + 1):
        state = (state * 1103515245 + 12345) % (1 << 31)
        tokens.append(state % VOCABULARY)
    return tokens


def batches(workers):
    return iter(
        torch.utils.data.DataLoader(
            Texts(), batch_size=BATCH, num_workers=workers, pin_memory=True
        )
    )


def train_step(model, optimizer, batch):
    logits = model(batch[:, :-1])
    loss = functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def in_graph(step, batch):
    """Returns a function that copies its argument to `batch`, and launches a graph of step(batch)."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # before a capture, all is compiled and allocated
        for _ in range(3):
            step(batch)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(batch)

    def launch(source):
        batch.copy_(source)
        graph.replay()
        return loss
    return launch


def main():
    mode = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    torch.manual_seed(1)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, capturable=mode.startswith("graph"))
    if mode == "graph_compile":
        for block in model.blocks:
            block.compile()
    step_model = torch.compile(model) if mode == "compile" else model
    source = batches(2 if mode == "loader" else 0)

    def step(batch):
        return train_step(step_model, optimizer, batch)

    if mode.startswith("graph"):
        step = in_graph(step, next(source).cuda())
    loss = None
    for _ in range(steps):
        loss = step(next(source).cuda(non_blocking=True))
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
