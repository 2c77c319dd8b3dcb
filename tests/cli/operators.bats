# SPDX-License-Identifier: MIT
# --ops: operators of PyTorch as frames of launch stacks. PyTorch is a stand-in with its names and its calling convention
# (tests/workloads/torch); a real one runs in tests/gpu/operators.

load helpers

setup()
{
	enter_test_folder
	install_torch "__version__ = '2.11.0+cu130'"
}

# install_torch TEXT [_old]: its package, with this in version.py
install_torch()
{
	mkdir -p torch/lib
	cp "$workloads/torch${2-}/lib/libtorch_cpu.so" torch/lib
	echo "$1" >torch/version.py
	export LD_LIBRARY_PATH=$PWD/torch/lib:$LD_LIBRARY_PATH
}

# trace CASES [OPTION...]: the program's work, in ns
trace()
{
	local cases=$1

	shift
	run_profile -gpu-only --unit ns --ops -o out.folded "$@" -- "$workloads/torch_host" "$workloads/libtorch_operators${strings-}.so" \
		"$cases" ${late:+late}
	expect_status 0
	expect_folded out.folded
}

# forward_stacks: those of the case "forward"
forward_stacks()
{
	cat <<-'END'
		<*>;run_forward;cudaLaunchKernel;[GPU_Kernel]plain(unsigned long long) 1000
		<*>;run_forward;linear;op:aten::linear;addmm;op:aten::addmm;cudaLaunchKernel;[GPU_Kernel]gemm(unsigned long long) 1000
	END
}

# bats test_tags=quick
@test "operators are inside the functions that run them" {
	trace 'forward'
	expect_no_line stderr '^profile: '
	expect out.folded < <(forward_stacks)
}

@test "operators are ranges of the thread in timelines" {
	run_profile -gpu-only --ops -o out.json --format chrome -- "$workloads/torch_host" "$workloads/libtorch_operators.so" forward
	expect_status 0
	grep -q '^{"ph":"B","name":"op:aten::linear",' out.json
	grep -q '^{"ph":"E","name":"op:aten::linear",' out.json
}

@test "functions of the backward pass are inside the forward operator that made them" {
	trace 'backward'
	expect_no_line stderr '^profile: '
	expect out.folded < <(
		forward_stacks
		cat <<-'END'
			<*>;run_engine;call_node;op:AddmmBackward0;mm;op:aten::mm;cudaLaunchKernel;[GPU_Kernel]unknown_backward(unsigned long long) 1000
			<*>;run_engine;call_node;op:aten::addmm;op:AddmmBackward0;mm;op:aten::mm;cudaLaunchKernel;[GPU_Kernel]gemm_backward(unsigned long long) 1000
		END
	)
}

@test "the same with the strings before C++11" {
	install_torch "__version__ = '2.4.1+cu121'" _old
	strings=_old trace 'backward'
	expect_no_line stderr '^profile: '
	expect_line out.folded ';call_node;op:aten::addmm;op:AddmmBackward0;mm;op:aten::mm;'
	install_torch "__version__ = '2.8.0'" _old
	strings=_old trace 'backward'
	expect_line stderr 'the operators of PyTorch 2\.8 with strings before C\+\+11 are not shown: known are 2\.2 to 2\.6'
}

@test "objects of one function, of a coroutine, of a small thread and of a child of fork" {
	trace 'frame coroutine small child'
	expect_no_line stderr '^profile: '
	expect out.folded <<-'END'
		<*>;run_coroutine;cudaLaunchKernel;[GPU_Kernel]outside(unsigned long long) 1000
		<*>;run_frame;op:aten::first;op:aten::second;cudaLaunchKernel;[GPU_Kernel]framed(unsigned long long) 1000
		<*>in_coroutine_function;op:aten::suspended;cudaLaunchKernel;[GPU_Kernel]in_coroutine(unsigned long long) 1000
	END
}

@test "scopes that the program names are ranges, on whichever thread they end" {
	trace 'scope elsewhere'
	expect out.folded <<-'END'
		<*>;run_elsewhere;cudaLaunchKernel;[GPU_Kernel]moved(unsigned long long) 1000
		<*>;run_elsewhere;nvtx:future;cudaLaunchKernel;[GPU_Kernel]moved(unsigned long long) 1000
		<*>;run_scope;cudaLaunchKernel;[GPU_Kernel]layered(unsigned long long) 1000
		<*>;run_scope;nvtx:layer 1;cudaLaunchKernel;[GPU_Kernel]layered(unsigned long long) 1000
		<*>;run_scope;nvtx:layer 1;mul;op:aten::mul;cudaLaunchKernel;[GPU_Kernel]scaled(unsigned long long) 1000
	END
}

@test "scopes choose what is recorded" {
	trace 'forward scope elsewhere' --range 'layer 1'
	expect out.folded <<-'END'
		<*>;run_scope;nvtx:layer 1;cudaLaunchKernel;[GPU_Kernel]layered(unsigned long long) 1000
		<*>;run_scope;nvtx:layer 1;mul;op:aten::mul;cudaLaunchKernel;[GPU_Kernel]scaled(unsigned long long) 1000
	END
}

@test "kernels in CUDA graphs have the operators of the capture" {
	trace 'graph'
	expect out.folded <<-'END'
		<*>;run_graph;cudaGraphLaunch;[graph node captured at];<*>;capture;op:aten::relu;cudaLaunchKernel;[GPU_Kernel]captured(unsigned long long) 3000
	END
}

@test "an operator that was left without its end is closed by the next one" {
	trace 'thrown'
	expect out.folded <<-'END'
		<*>;run_thrown;mul;op:aten::mul;cudaLaunchKernel;[GPU_Kernel]scaled(unsigned long long) 1000
	END
}

@test "operators in operators: 64 are shown, and the others counted" {
	trace 'deep' -v
	[ "$(grep -o 'op:aten::nested' out.folded | wc -l)" = 64 ]
	expect_line stderr '^profile: 36 ranges went past a limit'
}

@test "PyTorch that comes after CUDA began" {
	late=1 trace 'thrown'
	expect out.folded <<-'END'
		<*>;main;cudaLaunchKernel;[GPU_Kernel]early(unsigned long long) 1000
		<*>;run_thrown;mul;op:aten::mul;cudaLaunchKernel;[GPU_Kernel]scaled(unsigned long long) 1000
	END
}

@test "they are in captures, and in what is made from these" {
	trace 'backward graph' -o run.profile
	run_profile --from run.profile --unit ns -o again.folded
	expect_status 0
	cmp out.folded again.folded
}

@test "off unless asked for" {
	run_profile -gpu-only --unit ns -o out.folded "$workloads/torch_host" "$workloads/libtorch_operators.so" 'backward scope'
	expect_status 0
	if grep -q 'op:\|nvtx:' out.folded; then false; fi
}

# not_shown MESSAGE: no operators, and why
not_shown()
{
	trace 'scope thrown'
	expect_line stderr "^profile: process [0-9]+: $1\$"
	if grep -q 'op:\|nvtx:' out.folded; then false; fi
}

@test "other versions of PyTorch" {
	install_torch "__version__ = '2.12.0'"
	not_shown 'the operators of PyTorch 2\.12 are not shown: known are 2\.2 to 2\.11'
	install_torch "__version__ = '1.13.1+cu117'"
	not_shown 'the operators of PyTorch 1\.13 are not shown: known are 2\.2 to 2\.11'
	install_torch 'nothing'
	not_shown 'the version of PyTorch is unknown: its operators are not shown'
	rm torch/version.py
	not_shown 'the version of PyTorch is unknown: its operators are not shown'
	mkfifo torch/version.py
	not_shown 'the version of PyTorch is unknown: its operators are not shown'
	rm torch/version.py
	echo 2.11.0+cu130 >torch/build-version
	trace 'thrown'
	grep -q 'op:aten::mul' out.folded
}

@test "operators with another memory layout" {
	export FAKE_TORCH_THREADS=odd
	not_shown "PyTorch's operators have an unexpected memory layout: they are not shown any more"
}

@test "--by operator begins with the innermost operator, and its table adds up" {
	trace 'backward' --by operator -o out.json -o out.profile
	expect out.folded < <(
		cat <<-'END'
			[no operator];<*>;run_forward;cudaLaunchKernel;[GPU_Kernel]plain(unsigned long long) 1000
			op:aten::addmm;<*>;run_forward;linear;op:aten::linear;addmm;op:aten::addmm;cudaLaunchKernel;[GPU_Kernel]gemm(unsigned long long) 1000
			op:aten::mm;<*>;run_engine;call_node;op:AddmmBackward0;mm;op:aten::mm;cudaLaunchKernel;[GPU_Kernel]unknown_backward(unsigned long long) 1000
			op:aten::mm;<*>;run_engine;call_node;op:aten::addmm;op:AddmmBackward0;mm;op:aten::mm;cudaLaunchKernel;[GPU_Kernel]gemm_backward(unsigned long long) 1000
		END
	)
	python3 - out.json >table <<-'END'
		import json, sys

		for row in json.load(open(sys.argv[1]))["operators"]:
		    print(row["operator"], row["ns"], row["total_ns"], row["operations"])
	END
	expect_equal 'operators' "$(sort table)" "$(sort <<-'END'
		op:aten::mm 2000 2000 2
		op:aten::addmm 1000 2000 1
		[no operator] 1000 1000 1
		op:aten::linear 0 1000 0
		op:AddmmBackward0 0 2000 0
	END
	)"
	run_profile -q --from out.profile -gpu-only --unit ns --by operator -o again.folded
	expect_status 0
	expect_equal 'of the capture' "$(cat again.folded)" "$(cat out.folded)"
	run_profile -q --from out.profile -gpu-only --unit ns --under op:aten::addmm --by operator -o part.folded
	expect_equal 'of a part' "$(sort part.folded)" "$(grep ';op:aten::addmm;' out.folded | sort)"
}

@test "classes are scored by operators, as on a GPU" {
	trace 'backward' --by operator,class
	expect_equal 'right, other, wrong, neutral' "$(python3 "$root/tests/gpu/classes.py" score out.folded 2>shown)" '0.5 0.25 0.0 0.25 0.0'
	expect_line shown 'other  aten::mm  other, not GEMM  unknown_backward'
	expect_line shown 'neutral  .no operator.  other  plain'
}
