#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Names that people can read: --my-code, --my-path, --trim-to, --names.

load helpers

# A program whose layers are called as PyTorch calls them, and which launches three kernels.
make_model()
{
	local torch=env/lib/python3.99/site-packages/torch

	mkdir -p mine/models "$torch/nn/modules"
	cat >"$torch/nn/modules/module.py" <<'END'
class Module:
    def _wrapped_call_impl(self, *args):
        return self._call_impl(*args)

    def _call_impl(self, *args):
        return self.forward(*args)

    __call__ = _wrapped_call_impl
END
	cat >"$torch/__init__.py" <<'END'
import ctypes
import threading

cuda = ctypes.CDLL("libcuda.so.1")
context, module = ctypes.c_void_p(), ctypes.c_void_p()


def prepare():
    table = "FAKE_CUDA_MODULE\nsoftmax=1000\nbackward=2000\nlog=4000\n"
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    cuda.cuModuleLoadData(ctypes.byref(module), table.encode())


def launch(name):
    function = ctypes.c_void_p()
    cuda.cuCtxSetCurrent(context)
    cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
    cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)


def softmax():
    launch("softmax")


def backward():
    thread = threading.Thread(target=launch, args=("backward",))
    thread.start()
    thread.join()


def synchronize():
    cuda.cuCtxSynchronize()
END
	touch "$torch/nn/__init__.py" "$torch/nn/modules/__init__.py"
	cat >mine/models/gpt.py <<'END'
import torch
from torch.nn.modules.module import Module


class Attention(Module):
    def forward(self):
        torch.softmax()


class Block(Module):
    def __init__(self):
        self.attention = Attention()

    def forward(self):
        self.attention()
END
	cat >mine/train.py <<'END'
import functools
import sys

sys.path.append("../env/lib/python3.99/site-packages")

import torch
from models import gpt


class Trainer:
    def step(self):
        gpt.Block()()
        torch.backward()
        functools.reduce(lambda a, b: torch.launch("log"), [1, 2])


def main():
    torch.prepare()
    Trainer().step()
    torch.synchronize()


main()
END
}

setup()
{
	needs_command python3
	enter_test_folder
	make_model
	cd mine || return 1
	run_profile -q -gpu-only -o ../a.profile -o ../full.folded --unit ns python3 train.py
	expect_status 0
	cd ..
}

view()
{
	run_profile -q --from a.profile --unit ns -o - "$@"
	expect_status 0
	expect_equal 'all time' "$(weight_of stdout)" 7000
}

# bats test_tags=quick
@test "own functions, packages and calls are what is left" {
	expect_line full.folded '^_start;.*;<module> \(train.py\);main \(train.py\);.*_call_impl \(module.py\)'
	view --my-code --names short
	expect_equal 'stacks' "$(sort stdout)" "$(
		sort <<'END'
[torch];[ctypes];cuLaunchKernel;[GPU_Kernel]backward 2000
train.py;main;Trainer.step;Trainer.step.<locals>.<lambda>;[torch];[ctypes];cuLaunchKernel;[GPU_Kernel]log 4000
train.py;main;Trainer.step;Block.forward;Attention.forward;[torch];[ctypes];cuLaunchKernel;[GPU_Kernel]softmax 1000
END
	)"
}

@test "the folders of what is own may be given" {
	view --my-path models
	expect_line stdout '^Block.forward \(gpt.py\);Attention.forward \(gpt.py\);\[torch\];.*\[GPU_Kernel\]softmax 1000$'
	expect_line stdout '^\[mine\];\[torch\];.*\[GPU_Kernel\]log 4000$'
	view --my-path . --my-path ../env/lib/python3.99/site-packages/torch
	expect_line stdout ';Attention.forward \(gpt.py\);softmax \(torch/__init__.py\);launch \(torch/__init__.py\);\[ctypes\];'
	expect_no_line stdout '_call_impl'
	expect_empty stderr
}

@test "a folder in which nothing ran is reported" {
	run_profile --from a.profile --my-path /nowhere -o x.folded
	expect_status 0
	expect_line stderr '^profile: --my-path: no code below these folders ran'
	cp "$workloads/launches" mine/
	run_profile -gpu-only --my-code --unit ns -o x.folded mine/launches 100
	expect_no_line stderr 'my-code'
	expect_line x.folded '^main;'
	mkdir empty env/bin
	mv mine/launches env/bin/
	cd empty
	mkdir -p .venv
	mv ../env/bin .venv/
	strip -g .venv/bin/launches # else it is own by its source
	run_profile -gpu-only --my-code --unit ns -o x.folded .venv/bin/launches 100
	expect_status 0
	expect_line stderr "^profile: --my-code: no code below the working directory ran, $PWD; name "
	expect_equal 'all time' "$(weight_of x.folded)" 100000
}

@test "what was started is own, wherever one stands" {
	local here=$PWD

	export PYTHONPATH=$here/env/lib/python3.99/site-packages
	mkdir empty
	cp "$workloads/launches" mine/app
	touch mine/__init__.py
	printf 'import runpy, sys\nsys.argv = sys.argv[1:]\nsys.path.insert(0, sys.argv[0].rsplit("/", 1)[0])\nrunpy.run_path(sys.argv[0], run_name="__main__")\n' >launcher
	for command in "python3 $here/mine/train.py" "python3 $here/empty/../mine/train.py" "bash $here/run.sh" \
		"env PYTHONPATH=$PYTHONPATH:$here:$here/mine python3 -m mine.train" "sh -c 'true; python3 $here/mine/train.py'" \
		"python3 $here/launcher $here/mine/train.py"; do
		printf 'python3 %s/mine/train.py; true\n' "$here" >run.sh
		cd /var
		eval "run_profile -q -gpu-only --my-code --unit ns -o $here/x.folded -o $here/x.profile $command"
		expect_status 0
		cd "$here"
		expect_line x.folded '(^|;)main \(train.py\);Trainer.step \(train.py\);Block.forward \(gpt.py\);'
		expect_no_line x.folded '\[mine\]|\[models\]'
		expect_equal 'all time' "$(weight_of x.folded)" 7000
		# a capture says the same, wherever it is read
		run_profile -q --from x.profile --my-code --unit ns -o -
		cmp stdout x.folded
	done
	for command in "$here/mine/app 100" "env A=1 $here/mine/app 100" "env PATH=$here/mine:$PATH app 100"; do
		cd /var
		eval "run_profile -gpu-only --my-code --unit ns -o $here/x.folded $command"
		cd "$here"
		expect_line x.folded '^main;.*launch_all.*;launch_kernel;cudaLaunchKernel;'
		expect_no_line stderr 'my-code'
	done
	# folders that are named are all
	cd /var
	run_profile -q -gpu-only --my-path "$here/mine/models" --unit ns -o "$here/x.folded" python3 "$here/mine/train.py"
	cd "$here"
	expect_line x.folded '^Block.forward \(gpt.py\);'
	expect_no_line x.folded '\(train.py\)'
}

@test "what was started is own by whatever links it is reached" {
	local here=$PWD
	local packages=$here/env/lib/python3.99/site-packages

	mkdir bin moved
	mv mine/models moved/
	ln -s "$here/mine" link
	ln -s ../moved/models mine/models
	ln -s "$here/mine/train.py" bin/train
	for command in "$here/link/train.py" "$here/bin/train" "$here/bin/../link/train.py"; do
		cd /var
		PYTHONPATH=$packages run_profile -q -gpu-only --my-code --unit ns -o "$here/x.folded" -o "$here/x.profile" \
			python3 "$command"
		expect_status 0
		cd "$here"
		expect_line x.folded '(^|;)main \(train(.py)?\);Trainer.step \(train(.py)?\);Block.forward \(gpt.py\);'
		expect_equal 'all time' "$(weight_of x.folded)" 7000
		# links that are gone are known from the capture
		mv link gone
		run_profile -q --from x.profile --my-code --unit ns -o -
		mv gone link
		cmp stdout x.folded
	done
	# the modules by a link, what was started without
	cd "$here/mine"
	PYTHONSAFEPATH=1 PYTHONPATH=$packages:$here/link run_profile -q -gpu-only --my-code --unit ns -o ../x.folded \
		python3 train.py
	cd "$here"
	expect_line x.folded '(^|;)main \(train.py\);Trainer.step \(train.py\);Block.forward \(gpt.py\);'
	# a program under another name
	cp "$workloads/launches" moved/app-1.2
	ln -s ../moved/app-1.2 bin/app
	cd /var
	for command in "$here/bin/app" app; do
		PATH=$here/bin:$PATH run_profile -gpu-only --my-code --unit ns -o "$here/x.folded" "$command" 100
		expect_line "$here/x.folded" '^main;.*launch_all.*;launch_kernel;cudaLaunchKernel;'
		expect_no_line stderr 'my-code'
	done
}

# where /usr/local/bin can be covered
@test "a program that is installed elsewhere than its sources is own, and headers are not" {
	needs_root
	needs_command g++
	needs_mount_namespace
	mkdir -p installed source/src
	cat >source/src/app.cpp <<-'END'
		#include <algorithm>
		#include <ctime>
		#include <vector>

		__attribute__((noinline)) static void mine(std::vector<int> &v)
		{
			for (auto &i : v)
				i = i * 1103515245 + 12345;
			std::sort(v.begin(), v.end());
		}

		int main()
		{
			std::vector<int> v(10000);
			do
				mine(v);
			while (clock() < CLOCKS_PER_SEC / 2);
		}
	END
	(cd source && g++ -O1 -g -o ../installed/app src/app.cpp)
	(cd source && g++ -O1 -o ../installed/bare src/app.cpp)
	run_command unshare -m sh -ec '
		mount --bind installed /usr/local/bin
		here=$PWD
		cd /var
		"$0" -q -F 499 -cpu-only --my-code --unit ns -o "$here/a.folded" -o "$here/a.profile" /usr/local/bin/app
		"$0" -q -F 499 -cpu-only --my-code --inlines --unit ns -o "$here/i.folded" env PATH=/usr/local/bin:$PATH app
		"$0" -F 499 -cpu-only --my-code --unit ns -o "$here/b.folded" /usr/local/bin/bare' "$profile"
	expect_status 0
	expect_line a.folded '^main;mine'
	expect_no_line a.folded '\[app\]'
	expect_line i.folded '^main;mine;\[std\]'
	expect_no_line b.folded 'mine'
	expect_line stderr '^profile: --my-code: no code below the working directory ran'
	# a capture says the same, wherever it is read
	run_profile -q --from a.profile --my-code --unit ns -o -
	cmp stdout a.folded
}

@test "stacks begin where they are trimmed" {
	view --trim-to 'forward|launch' --names short
	expect_equal 'the forward pass' "$(weight_of stdout '^Block.forward;')" 1000
	expect_equal 'the rest' "$(weight_of stdout '^launch;')" 6000
	view --trim-to '^main|softmax' --names short
	expect_equal 'the main thread' "$(weight_of stdout '^main;')" 5000
	expect_equal 'the other one' "$(weight_of stdout ';Thread.run;launch;')" 2000
	view --trim-to '^no_such$'
	cmp stdout full.folded
	view --trim-to '^step$|Trainer[.]step' --my-code
	expect_line stdout '^Trainer.step \(train.py\);Block.forward \(gpt.py\);'
	run_profile --from a.profile --trim-to '(' -o x.folded
	expect_status 125
	expect_line stderr "^profile: --trim-to '\\(': "
}

@test "names are short or full in every format" {
	run_profile -q --from a.profile --names short --my-code -o x.speedscope.json -o x.svg -o x.html
	expect_status 0
	expect_line x.speedscope.json '"name":"Attention.forward"'
	expect_line x.svg 'Attention.forward \(gpt.py\)'
	cp "$workloads/inference" .
	run_profile -q -gpu-only -o i.profile ./inference 1
	for names in short full; do
		run_profile -q --from i.profile --names $names --unit ns -o $names.folded -o $names.svg
	done
	expect_line full.folded '\[GPU_Kernel\]model::softmax<float>\(unsigned long long\)'
	expect_line short.folded '\[GPU_Kernel\]model::softmax<float> '
	expect_equal 'all time' "$(weight_of short.folded)" "$(weight_of full.folded)"
	run_profile -q --from i.profile --unit ns -o i.folded -o i.svg
	cmp i.folded full.folded
	cmp i.svg short.svg
	run_command cmp -s i.svg full.svg
	expect_status 1
}

@test "a capture keeps all frames" {
	cd mine
	run_profile -q -gpu-only --my-code --trim-to main --names short -o b.profile python3 train.py
	run_profile -q --from b.profile --unit ns -o b.folded
	cmp b.folded ../full.folded
}

@test "CPU samples say whose time it is" {
	needs_root
	cat >mine/burn.py <<'END'
import json
import time


def encode():
    json.dumps([list(range(100))] * 100, indent=1)


def main():
    end = time.process_time() + 1
    while time.process_time() < end:
        encode()


main()
END
	cd mine
	run_profile -q -F 499 -cpu-only --my-code --unit ns -o a.folded -o a.profile python3 burn.py
	expect_status 0
	run_profile -q --from a.profile --unit ns -o b.folded
	expect_equal 'all time' "$(weight_of a.folded)" "$(weight_of b.folded)"
	expect_line a.folded '^<module> \(burn.py\);main \(burn.py\);encode \(burn.py\);\[json\]'
	expect_no_line a.folded '^_start|PyEval|\(encoder.py\)'
}
