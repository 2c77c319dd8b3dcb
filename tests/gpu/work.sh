# shellcheck shell=bash
# All GPU work beside plain kernels, on a real GPU: sourced by `correctness` and `work`, after lib.sh.
# shellcheck disable=SC2154 # lib.sh sets profile, out, bin

# strict NAME ARGUMENTS...: profiles with --strict; status 0 says that nothing is lost or unmatched and
# all sums are CUPTI's.
strict() {
	local name=$1
	shift
	LD_LIBRARY_PATH=${libs-} "$profile" -v --strict -gpu-only --unit ns -o "$out/$name.folded" "$@" \
		>"$out/$name.stdout" 2>"$out/$name.log"
	echo $? >"$out/$name.status"
	echo "-- $name"
	grep -v '^profile: probe\|^profile: process' "$out/$name.log"
	cat "$out/$name.stdout"
	check "$name: --strict" 0 "$(cat "$out/$name.status")"
	check "$name: ns in the file = ns CUPTI reported" "$(reported "$out/$name.log")" \
		"$(gpu_sum "$out/$name.folded")"
}

# count NAME WORD: operations of a kind in the table of GPU work, over all devices and its sub-kinds
count() {
	awk -v word="$2" '$1 == "GPU" && $3 == word { n += $4 ~ /^[0-9]+$/ ? $4 : $5 } END { print n + 0 }' \
		"$out/$1.log"
}

# said NAME WORD: the number after a word that the program printed, summed over its lines
said() {
	awk -v word="$2" '{ for (i = 1; i < NF; i++) if ($i == word) n += $(i + 1) } END { print n + 0 }' \
		"$out/$1.stdout"
}

# ns_of NAME PATTERN: time of the stacks that match
ns_of() {
	awk -v p="$2" '$0 ~ p { s += $NF } END { printf "%d", s }' "$out/$1.folded"
}

check_counts() {
	check "$1: kernels" "$(said "$1" kernels)" "$(count "$1" kernels)"
	check "$1: copies" "$(said "$1" memcpys)" "$(count "$1" memcpy)"
	check "$1: sets" "$(said "$1" memsets)" "$(count "$1" memset)"
	check_true "$1: no graph node unseen" "$(grep -c 'capture not seen' "$out/$1.folded")" \
		"$(grep -c 'capture not seen' "$out/$1.folded") == 0"
}

check_gpu_work() {
	local mode frame count events ours

	strict gpu_work "$bin/gpu_work_gpu" 4 4 10 200 500 fork
	check_counts gpu_work
	check "gpu_work: node kernels half by half" "capture_left capture_right" \
		"$(grep 'cudaGraphLaunch;\[graph node captured at\].*GPU_Kernel' "$out/gpu_work.folded" |
			grep -o 'capture_left\|capture_right' | sort -u | tr '\n' ' ' | sed 's/ $//')"
	for mode in capture explicit clone child update reinstantiate requeue threads; do
		strict "graphs_$mode" "$bin/graphs_gpu" "$mode"
		check_true "graphs $mode: no node unseen" "" \
			"$(grep -c 'capture not seen' "$out/graphs_$mode.folded") == 0"
	done
	LD_LIBRARY_PATH=${libs-} "$profile" --graph graph -gpu-only --unit ns -o "$out/whole.folded" \
		"$bin/graphs_gpu" capture >"$out/whole.stdout" 2>"$out/whole.log"
	grep 'GPU 0' "$out/whole.log"
	check_true "--graph graph: graphs as a whole" "$(gpu_sum "$out/whole.folded")" \
		"$(grep -c 'GPU_Graph' "$out/whole.folded") > 0"

	nvcc -std=c++17 -O1 -g -arch=native -o "$bin/copies" tests/gpu/copies.cu
	strict copies "$bin/copies"
	while IFS=$'\t' read -r frame count events; do
		ours=$(awk -v f="$frame" 'index($0, f) { s += $NF } END { printf "%d", s }' "$out/copies.folded")
		check_true "copies: $frame within 1 % of CUDA events" "ours $ours, events $events ns, $count" \
			"$ours > 0.99 * $events && $ours < 1.01 * $events"
	done < <(grep '^\[GPU' "$out/copies.stdout")
	check_true "copies: unified memory moved" "$(grep 'UVM' "$out/copies.log" | tr -s ' ' | tr '\n' '|')" \
		"$(grep -c 'UVM HtoD' "$out/copies.log") == 1 && $(grep -c 'UVM DtoH' "$out/copies.log") == 1"

	if nvcc -std=c++17 -O1 -arch=native -rdc=true -o "$bin/device_launch" tests/gpu/device_launch.cu -lcudadevrt \
		2>/dev/null; then
		strict device_launch "$bin/device_launch"
		check "device_launch: told that CUPTI says nothing of children" 1 \
			"$(grep -c 'launches kernels from kernels' "$out/device_launch.log")"
	else
		skip device_launch "no libcudadevrt here"
	fi
}

check_torch_work() {
	if ! python3 -c 'import torch' 2>/dev/null; then
		skip "torch graphs and Triton" "no torch here"
		return
	fi
	strict torch_graph python3 tests/gpu/torch_graph.py graph
	check_true "torch_graph: node time under capture_step and replay" "$(ns_of torch_graph 'capture_step') ns" \
		"$(ns_of torch_graph 'replay .*graph node captured at.*capture_step') > 0"
	strict torch_triton python3 tests/gpu/torch_graph.py triton
	check_true "torch_triton: Triton's kernel under launch_add" "$(ns_of torch_triton 'launch_add.*add_kernel') ns" \
		"$(ns_of torch_triton 'launch_add.*cuLaunchKernel.*add_kernel') > 0"
	LD_LIBRARY_PATH=${libs-} "$profile" --nvtx --strict -gpu-only --unit ns -o "$out/torch_nvtx.folded" \
		python3 tests/gpu/torch_graph.py nvtx >"$out/torch_nvtx.stdout" 2>"$out/torch_nvtx.log"
	check "torch_nvtx: --strict" 0 $?
	check_true "torch_nvtx: products and softmax in both ranges" "$(ns_of torch_nvtx 'GPU_Kernel') ns" \
		"$(ns_of torch_nvtx 'in_ranges.*nvtx:training.*nvtx:product.*GPU_Kernel') > 0.9 * $(ns_of torch_nvtx 'GPU_Kernel')"
	strict torch_profiler python3 tests/gpu/torch_graph.py profiler
	check "torch_profiler: told that it was refused" 1 \
		"$(grep -c 'asked for CUPTI too and was refused' "$out/torch_profiler.log")"
}

# Waiting takes as long as what is waited for: the durations program synchronises after each of its runs.
check_waits() {
	LD_LIBRARY_PATH=${libs-} "$profile" -v --waits --strict -gpu-only --unit ns -o "$out/waits.folded" \
		"$bin/durations_gpu" 50 >"$out/waits.stdout" 2>"$out/waits.log"
	check "waits: --strict" 0 $?
	grep '^Waits\|^Wrote\|^  GPU' "$out/waits.log"
	check_true "waits: within 25 % of the kernels' time, none of it lost" \
		"waiting $(ns_of waits 'waiting for GPU'), kernels $(reported "$out/waits.log") ns" \
		"$(ns_of waits 'waiting for GPU') > 0.75 * $(reported "$out/waits.log") && $(ns_of waits 'waiting for GPU') < 1.25 * $(reported "$out/waits.log")"
	check_true "waits: mostly for kernels that are named" "$(ns_of waits 'waiting for GPU];.GPU_Kernel') ns" \
		"$(ns_of waits 'waiting for GPU];.GPU_Kernel') > 0.8 * $(ns_of waits 'waiting for GPU')"
}

# Another client of CUPTI, in the program: refused and told when it comes second; in the place of
# profile's library there is the time of calls.
check_clients() {
	strict client_second "$bin/cupti_client_gpu" after 200
	check "client_second: told" 1 "$(grep -c 'asked for CUPTI too and was refused' "$out/client_second.log")"
	check "client_second: cuptiSubscribe" 39 "$(said client_second subscribe)"
	LD_LIBRARY_PATH=${libs-} "$profile" -gpu-only --unit ns -o "$out/calls.folded" env \
		CUDA_INJECTION64_PATH=/none "$bin/cupti_client_gpu" after 20000 \
		>"$out/calls.stdout" 2>"$out/calls.log"
	cat "$out/calls.log" "$out/calls.stdout"
	check "calls: another tool's library is told" 1 "$(grep -c "another tool's library" "$out/calls.log")"
	check_true "calls: launches and the wait, no longer than the program saw" \
		"calls $(ns_of calls ';work;'), wall $(said calls wall_ns) ns" \
		"$(ns_of calls ';work;cudaLaunchKernel') > 0 && $(ns_of calls ';work;cudaDeviceSynchronize') > 0 && $(ns_of calls ';work;') <= $(said calls wall_ns)"
}
