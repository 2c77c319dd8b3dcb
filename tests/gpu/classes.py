#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models for tests/gpu/classes, and the score of their kernels' classes.

usage: classes.py models              prints the names of the models that can run here
       classes.py run MODEL           runs it: some steps of training, or training and sampling
       classes.py score FILE.folded   scores a profile of `--ops --by operator,class -gpu-only --unit ns`

The class that a kernel should have follows from its innermost operator (EXPECTED), which the rules for
names know nothing of. Operators whose kernels are of several classes are neutral: shown, never right.
The score is one line, in parts of all kernels' time: "right other wrong neutral ms". Wrong kernels and
neutral operators go to stderr, the longest first.
"""
import sys

# ---- what operators do ----

EXPECTED = {
    "GEMM": "mm addmm bmm baddbmm addbmm mv addmv _addmm_activation _scaled_mm _grouped_mm",
    "attention": """_flash_attention_forward _flash_attention_backward _efficient_attention_forward
        _efficient_attention_backward _cudnn_attention_forward _cudnn_attention_backward _scaled_dot_product_flash_attention
        _scaled_dot_product_flash_attention_backward _scaled_dot_product_efficient_attention
        _scaled_dot_product_efficient_attention_backward _scaled_dot_product_cudnn_attention
        _scaled_dot_product_cudnn_attention_backward""",
    "convolution": """cudnn_convolution cudnn_convolution_transpose convolution_backward _slow_conv2d_forward
        _slow_conv2d_backward slow_conv_transpose2d _conv_depthwise2d cudnn_convolution_add_relu
        cudnn_convolution_relu""",
    "normalization": """native_layer_norm native_layer_norm_backward native_batch_norm native_batch_norm_backward
        cudnn_batch_norm cudnn_batch_norm_backward native_group_norm native_group_norm_backward
        _batch_norm_impl_index _fused_rms_norm _fused_rms_norm_backward""",
    "softmax": """_softmax _softmax_backward_data _log_softmax _log_softmax_backward_data _masked_softmax
        _safe_softmax""",
    "reduction": """sum mean max min amax amin argmax argmin norm linalg_vector_norm var var_mean std any all prod
        cumsum cumprod logcumsumexp logsumexp _foreach_norm nll_loss_forward nll_loss_backward dot
        max_pool2d_with_indices max_pool2d_with_indices_backward avg_pool2d avg_pool2d_backward
        _adaptive_avg_pool2d _adaptive_avg_pool2d_backward""",
    "copy and cast": "copy_ cat _to_copy clone contiguous _foreach_copy_ roll",
    "optimizer": "_fused_adamw_ _fused_adam_ _fused_sgd_ _fused_adagrad_",
    "sort and scatter": """sort topk index_select gather scatter scatter_ scatter_add scatter_add_ index _index_put_impl_
        index_add index_add_ embedding_dense_backward nonzero masked_select _unique2 searchsorted
        bincount""",
    "FFT": "_fft_r2c _fft_c2r _fft_c2c",
    "random": "normal_ uniform_ bernoulli_ exponential_ random_ randperm native_dropout",
    "elementwise": """add add_ sub sub_ rsub mul mul_ div div_ neg pow pow_ sqrt sqrt_ rsqrt reciprocal exp log log2 sin cos
        tanh tanh_ tanh_backward sigmoid sigmoid_ sigmoid_backward relu relu_ threshold_backward gelu gelu_backward
        silu silu_ silu_backward leaky_relu abs sgn clamp clamp_ clamp_min clamp_min_ where masked_fill masked_fill_ fill_ zero_
        arange eq ne lt le gt ge logical_and logical_or logical_not bitwise_and bitwise_or bitwise_not maximum
        minimum addcmul addcmul_ addcdiv addcdiv_ lerp lerp_ floor round isnan isinf isfinite triu tril erf
        native_dropout_backward mse_loss mse_loss_backward smooth_l1_loss upsample_nearest2d
        upsample_nearest2d_backward upsample_bilinear2d upsample_bilinear2d_backward _foreach_add_ _foreach_mul_
        _foreach_mul _foreach_div_ _foreach_div _foreach_sqrt _foreach_sqrt_ _foreach_addcmul_ _foreach_addcdiv_
        _foreach_lerp_ _foreach_sub_ _foreach_neg _foreach_zero_ _foreach_reciprocal_
        _foreach_clamp_max_ _amp_foreach_non_finite_check_and_unscale_ complex angle polar _conj_physical view_as_real
        remainder floor_divide bitwise_left_shift""",
}
CLASS_OF = {operator: kind for kind, operators in EXPECTED.items() for operator in operators.split()}

KERNEL = "[GPU_Kernel]"


def rows_of(path):
    """(operator, class, kernel, ns) of the kernels in a folded profile."""
    for line in open(path, errors="replace"):
        stack, _, ns = line.rstrip("\n").rpartition(" ")
        frames = stack.split(";")
        kernel = next((frame for frame in reversed(frames) if frame.startswith(KERNEL)), None)
        if kernel and len(frames) > 2:
            yield frames[0].removeprefix("op:"), frames[1], kernel[len(KERNEL):], int(ns)


def score(path):
    sums = dict.fromkeys(("right", "other", "wrong", "neutral"), 0)
    shown = {}
    for operator, kind, kernel, ns in rows_of(path):
        wanted = CLASS_OF.get(operator.removeprefix("aten::"))
        verdict = ("neutral" if wanted is None else "right" if kind == wanted
                   else "other" if kind == "other" else "wrong")
        sums[verdict] += ns
        if verdict != "right":
            what = (verdict, operator, f"{kind}, not {wanted}" if wanted else kind, kernel[:150])
            shown[what] = shown.get(what, 0) + ns
    whole = sum(sums.values())
    for what, ns in sorted(shown.items(), key=lambda entry: -entry[1])[:20]:
        print(f"{ns / max(whole, 1):7.2%}", *what, sep="  ", file=sys.stderr)
    print(*(round(ns / max(whole, 1), 4) for ns in sums.values()), round(whole / 1e6, 1))


# ---- models ----

STEPS = 12


def train(model, optimizer, loss_of, autocast=True, clip=False):
    import torch

    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = loss_of()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    torch.cuda.synchronize()


def convnet():
    """Residual blocks of convolutions with batch normalization, float32, SGD with momentum."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inner, outer, stride):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(inplace=True),
                nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer))
            self.skip = nn.Conv2d(inner, outer, 1, stride, bias=False)

        def forward(self, x):
            return torch.relu(self.body(x) + self.skip(x))

    model = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        Block(64, 64, 1), Block(64, 128, 2), Block(128, 256, 2), Block(256, 512, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).cuda()
    images = torch.randn(64, 3, 224, 224, device="cuda")
    labels = torch.randint(1000, (64,), device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    train(model, optimizer, lambda: nn.functional.cross_entropy(model(images), labels), autocast=False)


def vit():
    """An encoder of image patches with dropout, bfloat16, AdamW; gradients are clipped."""
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 768, 16, 16)
            self.places = nn.Parameter(torch.randn(1, 196, 768) * 0.02)
            layer = nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.1, activation="gelu", batch_first=True,
                                               norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
            self.head = nn.Linear(768, 1000)

        def forward(self, images):
            x = self.patches(images).flatten(2).transpose(1, 2) + self.places
            return self.head(self.layers(x).mean(1))

    model = Encoder().cuda()
    images = torch.randn(64, 3, 224, 224, device="cuda")
    labels = torch.randint(1000, (64,), device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    train(model, optimizer, lambda: nn.functional.cross_entropy(model(images), labels), clip=True)


def unet():
    """A denoiser: convolutions with group normalization, attention, up and down, a loss of spectra; fused AdamW."""
    import torch
    from torch import nn
    from torch.nn import functional as f

    def block(inner, outer):
        return nn.Sequential(nn.GroupNorm(8, inner), nn.SiLU(), nn.Conv2d(inner, outer, 3, 1, 1),
                             nn.GroupNorm(8, outer), nn.SiLU(), nn.Conv2d(outer, outer, 3, 1, 1))

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(4, 64, 3, 1, 1)
            self.down = nn.ModuleList([block(64, 128), block(128, 256)])
            self.norm = nn.GroupNorm(8, 256)
            self.qkv = nn.Linear(256, 768)
            self.out = nn.Linear(256, 256)
            self.up = nn.ModuleList([block(512, 128), block(256, 64)])
            self.last = nn.Conv2d(64, 4, 3, 1, 1)

        def attend(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x).flatten(2).transpose(1, 2)).chunk(3, -1)
            heads = [t.reshape(b, h * w, 4, c // 4).transpose(1, 2) for t in (q, k, v)]
            y = f.scaled_dot_product_attention(*heads).transpose(1, 2).reshape(b, h * w, c)
            return x + self.out(y).transpose(1, 2).reshape(b, c, h, w)

        def forward(self, x):
            x, skips = self.first(x), []
            for down in self.down:
                x = down(x)
                skips.append(x)
                x = f.avg_pool2d(x, 2)
            x = self.attend(x)
            for up in self.up:
                skip = skips.pop()
                x = up(torch.cat([f.interpolate(x, size=skip.shape[-2:]), skip], 1))
            return self.last(x)

    model = Unet().cuda()
    clean = torch.randn(32, 4, 64, 64, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)

    def loss():
        noise = torch.randn_like(clean)
        found = model(clean + noise).float()
        spectrum = torch.fft.rfft2(found - noise).abs().mean()
        hardest = (found - noise).square().flatten(1).topk(1000).values.mean()
        return f.mse_loss(found, noise) + 1e-3 * spectrum + 1e-3 * hardest

    train(model, optimizer, loss)


def gpt2():
    """GPT-2 of Hugging Face, from its configuration: training in bfloat16, then sampling of tokens."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=6)).cuda()
    tokens = torch.randint(50257, (16, 512), device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, foreach=True)
    train(model, optimizer, lambda: model(tokens, labels=tokens).loss)
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        model.generate(tokens[:, :32], attention_mask=torch.ones_like(tokens[:, :32]), do_sample=True, top_k=50,
                       top_p=0.9, max_new_tokens=16, pad_token_id=0)
    torch.cuda.synchronize()


MODELS = {"convnet": convnet, "vit": vit, "unet": unet, "gpt2": gpt2}


def list_models():
    from importlib.util import find_spec

    for name in MODELS:
        if name != "gpt2" or find_spec("transformers"):
            print(name)


what = sys.argv[1]
if what == "models":
    list_models()
elif what == "run":
    MODELS[sys.argv[2]]()
else:
    score(sys.argv[2])
