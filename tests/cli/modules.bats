#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --modules: calls of PyTorch's modules as frames of launch stacks, with every installed interpreter. A stand-in class keeps and
# calls its children as torch.nn.Module does (tests/workloads/python_modules.py); a real one runs in tests/gpu/modules.

load helpers

setup()
{
	enter_test_folder
	mapfile -t pythons < <(find_pythons)
	if [ ${#pythons[@]} = 0 ]; then skip 'no Python from 3.8 to 3.15 is installed'; fi
	script=$workloads/../../../tests/workloads/python_modules.py
	python=${pythons[-1]}
}

# trace CASE...: its layers and kernels, in `layers`; options of the profiler in $options
trace()
{
	# shellcheck disable=SC2086
	run_profile -gpu-only --unit ns ${options---modules} -o out.folded "${with-$python}" "$script" "$@"
	expect_status 0
	expect_no_line stderr '^profile: '
	layers
}

# layers: the frames that are layers, operators or kernels. Stacks that differ in other frames are one.
layers()
{
	awk -F ';' '{
		line = ""
		ns = $NF
		sub(/.* /, "", ns)
		sub(/ [0-9]+$/, "", $NF)
		sub(/\[GPU_Kernel\]/, "", $NF)
		for (i = 1; i <= NF; i++)
			if ($i ~ /^\[.*\]$/ && $i !~ /\+0x/ || $i ~ /^op:/ || i == NF)
				line = line (line == "" ? "" : ";") $i
		sums[line] += ns
	} END { for (line in sums) print line, sums[line] }' out.folded | LC_ALL=C sort >layers
}

# expect_layers: standard input is what there must be
expect_layers()
{
	LC_ALL=C sort >wanted
	diff -u wanted layers
}

# bats test_tags=quick
@test "each call of a module has its path, with every interpreter" {
	for with in "${pythons[@]}"; do
		echo "$with"
		trace model
		expect_layers <<-'END'
			[Model];[head];model_head 3000
			[Model];[layers.0];[layers.0.attn];model0_attn 3000
			[Model];[layers.0];[layers.0.mlp];model0_mlp 3000
			[Model];[layers.0];model0_own 3000
			[Model];[layers.1];[layers.1.attn];model1_attn 3000
			[Model];[layers.1];[layers.1.mlp];model1_mlp 3000
			[Model];[layers.1];model1_own 3000
		END
	done
}

@test "a layer's name as it is shown is no pattern; what matches nothing is said, also of a question" {
	options='--modules -o out.profile'
	trace model
	run_profile -q --from out.profile -o out.md -o out.json
	expect_line out.md '^[|] own time [|] share [|] with inner ones [|] [|]$'
	expect_line out.md '^[|] 6\.000 us [|] 28\.6 % [|] 18\.000 us [|] .{2}layers\..\*.\] [|]$'
	expect_line out.md '^[|] 6\.000 us [|] 28\.6 % [|] attention [|]$'
	run_profile --from out.profile --query kernels --under '[layers.*.mlp]'
	expect_status 125
	expect_line stderr "^profile: --under '\[layers\.\*\.mlp\]' matches any one of these characters; .*'\\\\\[layers\.\*\.mlp\\\\\]'"
	for pattern in '[head]' '[Model]' '[libc.so.6]'; do
		run_profile --from out.profile -o a.folded --not-under "$pattern"
		expect_status 125
	done
	for pattern in '\[layers.*.mlp\]' '[0-9]' '([ab])' '[^ab]' '[a]'; do
		run_profile --from out.profile --query kernels --under "$pattern"
		expect_status 0
		expect_no_line stderr .
	done
	run_profile --from out.profile --query kernels --under '\[layers\.9\]'
	expect_status 0
	expect_line stderr "^profile: --under: no frame in the profile matches "
}

@test "layers are inside the function that calls modules" {
	trace model
	expect_line out.folded 'Module._wrapped_call_impl \(module.py\);\[Model\];Module._call_impl \(module.py\);Model.forward'
}

@test "modules without a path, and with several" {
	trace alone
	expect_layers <<-'END'
		[Leaf];alone_before 1000
		[Model];[head];alone_head 1000
		[Model];[layers.0];[layers.0.attn];alone0_attn 1000
		[Model];[layers.0];[layers.0.mlp];alone0_mlp 1000
		[Model];[layers.0];alone0_own 1000
		[Model];[layers.1];[layers.1.attn];alone1_attn 1000
		[Model];[layers.1];[layers.1.mlp];alone1_mlp 1000
		[Model];[layers.1];alone1_own 1000
		[head];alone_after 1000
	END
	trace list
	expect_layers <<-'END'
		[Caller];[Block];[Block.attn];list_attn 1000
		[Caller];[Block];[Block.mlp];list_mlp 1000
		[Caller];[Block];list_own 1000
	END
	trace shared
	expect_layers <<<'[Caller];[first];shared 1000'
	trace around
	expect_layers <<<'[Caller];[other];[Caller];[other];around 1000'
}

@test "a module that two hold has the path of the one that calls it, and is not looked for again at each launch" {
	local walked

	run_profile -gpu-only -v --modules --unit ns -o out.folded "$python" "$script" two
	expect_status 0
	layers
	expect_layers <<-'END'
		[Caller];[one];[one.embed];[one.embed.attn];two_attn 200000
		[Caller];[one];[one.embed];[one.embed.mlp];two_mlp 200000
		[Caller];[one];[one.embed];two_own 200000
		[Caller];[other];[other.embed];[other.embed.attn];two_attn 200000
		[Caller];[other];[other.embed];[other.embed.mlp];two_mlp 200000
		[Caller];[other];[other.embed];two_own 200000
	END
	walked=$(sed -n 's/.*: [0-9]* launch stacks took [0-9]* ns each; \([0-9]*\) were walked$/\1/p' stderr)
	[ -n "$walked" ]
	[ "$walked" -lt 100 ] # of 1200
}

@test "dictionaries and keys of the program's own: nothing of it is called" {
	for with in "${pythons[@]}"; do
		echo "$with"
		trace liars
		expect_layers <<-'END'
			[Caller];[Leaf];liars2 1000
			[Caller];[Leaf];liars3 1000
			[Caller];[Leaf];liars4 1000
			[Caller];[Leaf];liars5 1000
			[Caller];[leaf];liars0 1000
			[Caller];[leaf];liars1 1000
		END
		trace numbers
		expect_layers < <(
			printf '[Caller];[?];numbers0 1000\n[Caller];[größe Ж?]];numbers2 1000\n'
			printf '[Caller];[%s];numbers1 1000\n' "$(printf 'x%.0s' {1..127})"
		)
		trace strange
		expect_layers <<<'[NoModule];strange 1000'
	done
}

@test "modules that change: the new paths are found" {
	trace reused
	expect_equal launches "$(awk '{sum += $NF} END {print sum / 1000}' layers)" 300
	expect_line layers '^\[Caller\];\[leaf0\];reused '
	trace swapped
	expect_equal launches "$(awk '{sum += $NF} END {print sum / 1000}' layers)" 40
	expect_line layers '^\[Caller\];\[other\];swapped '
	trace renamed
	expect_equal launches "$(awk '{sum += $NF} END {print sum / 1000}' layers)" 41
	expect_line layers '^\[Caller\];\[new\];renamed '
}

@test "threads that change modules while others launch in them" {
	trace changes
	expect_equal launches "$(awk '{sum += $NF} END {print sum / 1000}' layers)" 3000
}

@test "100,000 modules" {
	trace many
	for ((i = 0; i < 100000; i += 5000)); do echo "[Caller];[$i];many 1000"; done | expect_layers
}

@test "functions of the backward pass have the layer of the forward operator, optimizers their own" {
	mkdir -p torch/lib
	cp "$workloads/torch/lib/libtorch_cpu.so" torch/lib
	echo "__version__ = '2.11.0+cu130'" >torch/version.py
	export LD_LIBRARY_PATH=$PWD/torch/lib:$LD_LIBRARY_PATH TORCH_OPERATORS=$workloads/libtorch_operators.so
	trace operators
	expect_layers <<-'END'
		[Caller];[graph];[graph node captured at];[Caller];[graph];captured(unsigned long long) 3000
		[Caller];[layer];gemm(unsigned long long) 1000
		[Caller];[layer];plain(unsigned long long) 1000
		[layer];gemm_backward(unsigned long long) 1000
		[optimizer];updated(unsigned long long) 1000
		unknown_backward(unsigned long long) 1000
	END
	options='--modules --ops' trace operators
	expect_layers <<-'END'
		[Caller];[graph];[graph node captured at];[Caller];[graph];op:aten::relu;captured(unsigned long long) 3000
		[Caller];[layer];op:aten::linear;op:aten::addmm;gemm(unsigned long long) 1000
		[Caller];[layer];plain(unsigned long long) 1000
		[layer];op:aten::addmm;op:AddmmBackward0;op:aten::mm;gemm_backward(unsigned long long) 1000
		[optimizer];updated(unsigned long long) 1000
		op:AddmmBackward0;op:aten::mm;unknown_backward(unsigned long long) 1000
	END
}

@test "they are in captures, and in what is made from these" {
	run_profile -gpu-only --modules -o out.profile "$python" "$script" model
	expect_status 0
	run_profile --from out.profile --under '\[layers\.1\]' --unit ns -o out.folded
	expect_status 0
	layers
	expect_layers <<-'END'
		[Model];[layers.1];[layers.1.attn];model1_attn 3000
		[Model];[layers.1];[layers.1.mlp];model1_mlp 3000
		[Model];[layers.1];model1_own 3000
	END
}

@test "off unless asked for" {
	options='' trace model
	expect_no_line layers '\['
}

@test "--modules needs stacks from the process" {
	run_profile --modules -launch-stacks uprobe -o out.folded true
	expect_status 125
	expect_line stderr '^profile: --modules needs launch stacks taken in the process'
}
