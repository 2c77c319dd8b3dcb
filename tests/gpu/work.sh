# shellcheck shell=bash
# GPU work other than plain kernels, on a real GPU: sourced by `correctness` and `work`, after lib.sh.
# shellcheck disable=SC2154 # lib.sh sets profile, out, bin

# strict NAME ARGUMENTS...: profiles with --strict; status 0 means that nothing is lost or unmatched and
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

# count NAME WORDS [DEVICE]: operations of a kind in the table of GPU work, over its sub-kinds, and over all
# devices if none is given
count() {
	sed -n "s/^  GPU ${3:-[0-9]*}  $2 \( *[A-Za-z]*\) *\([0-9]\+\) .*/\2/p" "$out/$1.log" |
		awk '{ n += $1 } END { print n + 0 }'
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

# shares NAME: stdin has lines "FUNCTION N", how many node kernels, all alike, ran whose nodes were made there:
# each function's share of the node kernels' time is that of its number
shares() {
	local function number numbers=0 lines ns all
	lines=$(cat)
	numbers=$(awk '{ n += $2 } END { print n + 0 }' <<<"$lines")
	all=$(ns_of "$1" 'graph node captured at.*GPU_Kernel')
	while read -r function number; do
		ns=$(ns_of "$1" "graph node captured at.*;$function;.*GPU_Kernel")
		check_true "$1: $number of $numbers node kernels are $function's" "$ns of $all ns" \
			"$ns > 0.9 * $all * $number / $numbers && $ns < 1.1 * $all * $number / $numbers"
	done <<<"$lines"
}

check_gpu_work() {
	local mode frame count events ours

	strict gpu_work "$bin/gpu_work_gpu" 4 4 10 200 500 fork
	check_counts gpu_work
	shares gpu_work < <(printf 'capture_left 100000\ncapture_right 100000\n')
	for mode in capture explicit clone child update reinstantiate requeue threads families; do
		strict "graphs_$mode" "$bin/graphs_gpu" "$mode"
		check_true "graphs $mode: no node unseen" "" \
			"$(grep -c 'capture not seen' "$out/graphs_$mode.folded") == 0"
		shares "graphs_$mode" < <(cut -d' ' -f2,3 "$out/graphs_$mode.stdout")
	done
	nvcc -O2 -arch=native -o "$bin/launch_cost" tests/gpu/launch_cost.cu
	strict replays "$bin/launch_cost" 0 200 graph
	check "replays: matched, unmatched, dropped" "402000 0 0" "$(correlation "$out/replays.log")"
	LD_LIBRARY_PATH=${libs-} "$profile" -v --graph whole -gpu-only --unit ns -o "$out/whole.folded" \
		"$bin/graphs_gpu" capture >"$out/whole.stdout" 2>"$out/whole.log"
	grep 'GPU 0' "$out/whole.log"
	check_true "--graph whole: graphs as a whole" "$(gpu_sum "$out/whole.folded")" \
		"$(grep -c 'GPU_Graph' "$out/whole.folded") > 0"

	nvcc -std=c++17 -O1 -g -arch=native -o "$bin/copies" tests/gpu/copies.cu
	strict copies --unified-memory "$bin/copies"
	while IFS=$'\t' read -r frame count events; do
		ours=$(awk -v f="$frame" 'index($0, f) { s += $NF } END { printf "%d", s }' "$out/copies.folded")
		check_true "copies: $frame within 2 % of CUDA events" "ours $ours, events $events ns, $count" \
			"$ours > 0.98 * $events && $ours < 1.01 * $events"
	done < <(grep '^\[GPU' "$out/copies.stdout")
	check_true "copies: unified memory moved" "$(grep 'UVM' "$out/copies.log" | tr -s ' ' | tr '\n' '|')" \
		"$(grep -c 'UVM HtoD' "$out/copies.log") == 1 && $(grep -c 'UVM DtoH' "$out/copies.log") == 1"
	LD_LIBRARY_PATH=${libs-} "$profile" -v --waits --unified-memory -gpu-only --unit ns -o "$out/faults.folded" \
		"$bin/copies" >"$out/faults.stdout" 2>"$out/faults.log"
	events=$(awk '/UVM GPU faults/ { for (i = 1; i < NF; i++) if ($(i + 1) == "ms") s += $i * 1e6 }
		END { printf "%d", s }' "$out/faults.log")
	ours=$(awk '/\[waiting for pages\]/ { s += $NF } END { printf "%d", s }' "$out/faults.folded")
	count=$(awk '/GPU_Kernel.*\[waiting for pages\]/ { s += $NF } END { printf "%d", s }' "$out/faults.folded")
	check_true "copies: page faults are below their kernels" "table $events ns, stacks $ours, of kernels $count" \
		"$ours > $events - 1000 && $ours < $events + 1000 && $count > 0.9 * $ours"

	if nvcc -std=c++17 -O1 -arch=native -rdc=true -o "$bin/device_launch" tests/gpu/device_launch.cu -lcudadevrt \
		2>/dev/null; then
		strict device_launch "$bin/device_launch"
		check "device_launch: unreported children are mentioned" 1 \
			"$(grep -c 'launches kernels from kernels' "$out/device_launch.log")"
	else
		skip device_launch "no libcudadevrt here"
	fi
}

# Functions that copy, set or launch, on streams of its own and with per-thread default streams: GPU
# work under each, and none elsewhere.
check_every_call() {
	local streams name
	for streams in legacy per-thread; do
		name=every_call_$streams
		nvcc -std=c++17 -O1 -g -arch=native --default-stream "$streams" -o "$bin/$name" tests/gpu/every_call.cu -lcuda
		strict "$name" "$bin/$name"
		check_true "$name: functions called" "$(grep -c '^did ' "$out/$name.stdout")" \
			"$(grep -c '^did ' "$out/$name.stdout") > 70"
		check "$name: functions without GPU work" "" \
			"$(sed -n 's/^did //p' "$out/$name.stdout" | while read -r call; do
				grep -q ";$call;.*\[GPU_" "$out/$name.folded" || echo "$call"
			done | paste -sd ' ')"
		check "$name: GPU work elsewhere" "" "$(grep -v ';do_cu[A-Za-z0-9_]*;' "$out/$name.folded")"
	done
}

check_torch_work() {
	if ! python3 -c 'import torch' 2>/dev/null; then
		skip "torch graphs and Triton" "no torch here"
		return
	fi
	strict torch_graph python3 tests/gpu/torch_work.py graph
	check_true "torch_graph: node time under capture_step and replay" "$(ns_of torch_graph 'capture_step') ns" \
		"$(ns_of torch_graph 'replay .*graph node captured at.*capture_step') > 0"
	strict torch_triton python3 tests/gpu/torch_work.py triton
	check_true "torch_triton: Triton's kernel under launch_add" "$(ns_of torch_triton 'launch_add.*add_kernel') ns" \
		"$(ns_of torch_triton 'launch_add.*cuLaunchKernel.*add_kernel') > 0"
	LD_LIBRARY_PATH=${libs-} "$profile" --nvtx --strict -gpu-only --unit ns -o "$out/torch_nvtx.folded" \
		python3 tests/gpu/torch_work.py nvtx >"$out/torch_nvtx.stdout" 2>"$out/torch_nvtx.log"
	check "torch_nvtx: --strict" 0 $?
	check_true "torch_nvtx: products and softmax in both ranges" "$(ns_of torch_nvtx 'GPU_Kernel') ns" \
		"$(ns_of torch_nvtx 'in_ranges.*nvtx:training.*nvtx:product.*GPU_Kernel') > 0.9 * $(ns_of torch_nvtx 'GPU_Kernel')"
	strict torch_profiler python3 tests/gpu/torch_work.py profiler
	check "torch_profiler: told that it was refused" 1 \
		"$(grep -c 'CUPTI refused libtorch[a-z_]*.so' "$out/torch_profiler.log")"
}

# What Python programs do stands under the function that did it: kernels by their names, CPU samples by
# the CPU time that the program read in each function.
check_right_work() {
	local mode name module ns side pattern right
	for mode in eager compile triton jax; do
		name=right_$mode
		case $mode in
		jax) module=jax ;;
		*) module=torch ;;
		esac
		if ! python3 -c "import $module" 2>/dev/null; then
			skip "$name" "no $module here"
			continue
		fi
		LD_LIBRARY_PATH=${libs-} "$profile" -v --strict -F 999 --unit ns -o "$out/$name.folded" \
			python3 tests/gpu/right_work.py "$mode" >"$out/$name.stdout" 2>"$out/$name.log"
		echo $? >"$out/$name.status"
		echo "-- $name"
		grep -v '^profile: probe\|^profile: process' "$out/$name.log"
		cat "$out/$name.stdout"
		check "$name: --strict" 0 "$(cat "$out/$name.status")"
		ns=$(ns_of "$name" '[[]GPU_Kernel')
		check_true "$name: GPU time in one of the two functions" "$(ns_of "$name" '(left|right) .right_work.py.*[[]GPU_Kernel') of $ns ns" \
			"$(ns_of "$name" '(left|right) .right_work.py.*[[]GPU_Kernel') >= 0.99 * $ns && $ns > 0"
		for side in left right; do
			pattern='[[]GPU_Kernel[^;]*tanh'
			[ $side = left ] || pattern='[[]GPU_Kernel[^;]*(sigmoid|exponential)'
			ns=$(ns_of "$name" "$pattern")
			right=$(ns_of "$name" ";$side .right_work.py.*$pattern")
			check_true "$name: GPU time of $side's kernels under it" "$right of $ns ns" \
				"$right >= 0.99 * $ns && $ns > 0"
			ns=$(said "$name" "cpu_$side")
			right=$(awk -v p=";$side .right_work.py" '!/\[(GPU_|handed to)/ && $0 ~ p { s += $NF }
				END { printf "%d", s }' "$out/$name.folded")
			check_true "$name: CPU time sampled in $side" "$right of $ns ns" \
				"$right > 0.9 * $ns && $right < 1.1 * $ns"
		done
		for side in launches 'CPU samples'; do
			check_true "$name: at least 99 % of $side whole" "$(whole "$out/$name.log" "$side") %" \
				"$(whole "$out/$name.log" "$side") >= 99"
		done
	done
}

# roots NAME: the distinct first frames of a profile
roots() {
	sed 's/;.*//' "$out/$1.folded" | sort -u | tr '\n' ' ' | sed 's/ $//'
}

# All GPUs of the machine in one process, and one process per GPU.
check_devices() {
	local gpus i
	gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
	if [ "$gpus" -lt 2 ]; then
		skip "several GPUs" "there is one here"
		return
	fi
	check_visible
	strict devices --by device "$bin/gpu_work_gpu" $((2 * gpus)) 4 10 200 50 fork
	check_counts devices
	check "devices: at the roots" "$(seq -f 'GPU %g' -s ' ' 0 $((gpus - 1)))" "$(roots devices)"
	# without and with access to each other's memory, ten in each of two processes
	check "devices: copies between two through the host" "20 20" \
		"$(sed -n 's/^  GPU [01] .* \([0-9]*\) between GPUs, through host memory$/\1/p' "$out/devices.log" | paste -sd ' ')"
	if [ "$(nvidia-smi topo -p2p r | awk '$1 == "GPU0" { print $3 }')" = OK ]; then
		check "devices: copies between two" 20 "$(count devices 'memcpy PtoP')"
	fi
	# two threads a device, four streams, ten rounds, two kernels, two processes; GPU 0 has the graph's too
	for i in $(seq 0 $((gpus - 1))); do
		check "devices: kernels of GPU $i" $((i == 0 ? 20320 : 320)) "$(count devices kernels "$i")"
		check "devices: name and UUID of GPU $i" \
			"$(nvidia-smi --query-gpu=name,uuid --format=csv,noheader -i "$i")" \
			"$(sed -n "s/^profile: GPU $i: //p" "$out/devices.log")"
	done
	"$profile" -gpu-only --save-input "$out/golden_peers" -o /dev/null "$bin/gpu_work_gpu" 2 1 2 4 2 >/dev/null 2>&1
	if python3 -c 'import torch' 2>/dev/null; then
		NCCL_NVLS_ENABLE=0 strict torchrun --by device python3 -m torch.distributed.run --standalone \
			--nproc-per-node "$gpus" tests/gpu/torch_work.py reduce
		check "torchrun: at the roots" "$(seq -f 'GPU %g' -s ' ' 0 $((gpus - 1)))" "$(roots torchrun)"
		for i in $(seq 0 $((gpus - 1))); do
			check_true "torchrun: sums on GPU $i under reduce_step" \
				"$(ns_of torchrun "^GPU $i;.*;reduce_step .*nccl") ns" \
				"$(ns_of torchrun "^GPU $i;.*;reduce_step .*nccl") > 0.9 * $(ns_of torchrun "^GPU $i;.*GPU_Kernel.*nccl")"
		done
	fi
}

# visible NAME GPU...: a process for each of these values of CUDA_VISIBLE_DEVICES; every process has its GPU as number 0,
# and UUIDs tell them apart in every output
visible() {
	local name=$1 uuid file
	# shellcheck disable=SC2016 # for the other shell
	local each='for gpu in "$@"; do CUDA_VISIBLE_DEVICES=$gpu "$0" 1000 & done; wait'

	shift
	strict "$name" --by device -o "$out/$name.json" -o "$out/$name.html" -o "$out/$name.svg" -o "$out/$name.md" \
		-o "$out/$name.perfetto-trace" -o "$out/$name.trace.json" -o "$out/$name.pb.gz" -o "$out/$name.speedscope.json" \
		-o "$out/$name.profile" --prometheus "$out/$name.prom" -- bash -c "$each" "$bin/launches_gpu" "$@"
	check "$name: at the roots" "$(first_two_uuids | cut -c 1-8 | sort | sed 's/.*/GPU 0 (&)/' | paste -sd ' ')" "$(roots "$name")"
	gzip -dkf "$out/$name.pb.gz"
	while read -r uuid; do
		check "$name: kernels of GPU-${uuid%%-*} in JSON" 1000 "$(python3 -c 'import json, sys
print(sum(r["operations"] for r in json.load(open(sys.argv[1]))["gpu_work"] if r["uuid"] == "GPU-" + sys.argv[2]))' "$out/$name.json" "$uuid")"
		check "$name: kernels of GPU-${uuid%%-*} in Prometheus" 1000 \
			"$(awk -v u="uuid=\"GPU-$uuid\"" '/^profile_kernel_duration_seconds_count/ && index($0, u) { n += $NF }
				END { printf "%d", n }' "$out/$name.prom")"
		for file in log svg md perfetto-trace trace.json pb speedscope.json; do
			check_true "$name: GPU-${uuid%%-*} in $file" '' "$(grep -acF "${uuid%%-*}" "$out/$name.$file") > 0"
		done
		check "$name: --device ${uuid%%-*} of the capture" 1 \
			"$("$profile" -q --from "$out/$name.profile" --device "${uuid%%-*}" --by device --unit ns -o - | cut -d ';' -f 1 | sort -u |
				grep -cF "${uuid%%-*}")"
	done < <(first_two_uuids)
}

first_two_uuids() {
	nvidia-smi --query-gpu=uuid --format=csv,noheader | head -2 | sed 's/^GPU-//'
}

check_visible() {
	local gpu uuids
	mapfile -t uuids < <(nvidia-smi --query-gpu=uuid --format=csv,noheader)
	visible visible_numbers 0 1
	visible visible_uuids "${uuids[0]}" "${uuids[1]}"
	# a capture of each, merged
	for gpu in 0 1; do
		RANK=$gpu WORLD_SIZE=2 CUDA_VISIBLE_DEVICES=$gpu strict "visible_$gpu" -o "$out/visible.$gpu.profile" "$bin/launches_gpu" 1000
	done
	"$profile" -q --strict --from "$out"/visible.[01].profile --by device --unit ns -o "$out/visible_merged.folded"
	check "visible: merged, --strict" 0 $?
	check "visible: merged, at the roots" "$(first_two_uuids | cut -c 1-8 | sort | sed 's/.*/GPU 0 (&)/' | paste -sd ' ')" \
		"$(roots visible_merged)"
	# shellcheck disable=SC2016 # for the other shell
	strict visible_counters --counters sm__cycles_elapsed.max -o "$out/visible_counters.json" -- \
		bash -c 'for gpu in 0 1; do CUDA_VISIBLE_DEVICES=$gpu "$0" 20 & done; wait' "$bin/launches_gpu"
	check_true "visible: counters of two processes' GPUs" "$(grep -c '"sm__cycles_elapsed.max"' "$out/visible_counters.json")" \
		"$(grep -o '"measured": *[0-9]*' "$out/visible_counters.json" | awk -F: '{ n += $2 } END { print n + 0 }') > 0"
}

# Under the MPS server a process does not have the GPU to itself: CUPTI says so of its contexts.
check_mps() {
	if ! command -v nvidia-cuda-mps-control >/dev/null; then
		skip mps "no nvidia-cuda-mps-control here"
		return
	fi
	export CUDA_MPS_PIPE_DIRECTORY=$out/mps CUDA_MPS_LOG_DIRECTORY=$out/mps
	mkdir -p "$out/mps"
	if nvidia-cuda-mps-control -d && timeout 20 "$bin/launches_gpu" 10 >/dev/null; then
		strict mps --by device "$bin/launches_gpu" 1000
		check "mps: at the root" "GPU 0 MPS" "$(roots mps)"
	else
		skip mps "the MPS server does not run here"
	fi
	echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null
	rm -rf "$out/mps"
	unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

# A wait takes as long as its work: the durations program synchronises after each of its runs.
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

# check_drops LAUNCHES: a profiler that is stopped for longer than the program waits for it (5 s), while the
# program runs: losses are counted exactly.
check_drops() {
	local pid worker launches=$1
	LD_LIBRARY_PATH=${libs-} "$profile" -v --strict -gpu-only --unit ns -o "$out/drops.folded" \
		"$bin/launches_gpu" "$launches" >"$out/drops.stdout" 2>"$out/drops.log" &
	pid=$!
	sleep 2
	worker=$(worker_of $pid)
	kill -STOP "$worker"
	sleep 6.5
	kill -CONT "$worker"
	wait $pid
	check "drops: --strict" 124 $?
	grep -v '^profile: probe\|^profile: process' "$out/drops.log"
	check_true "drops: matched, unmatched, dropped" "$(correlation "$out/drops.log")" \
		"$(correlation "$out/drops.log" | cut -d' ' -f3) > 0"
	check "drops: what is there, unmatched or dropped is what was launched" "$launches" \
		"$(correlation "$out/drops.log" | awk '{ print $1 + $2 + $3 }')"
}

# Another client of CUPTI, in the program: refused and reported when it comes second; in the place of
# profile's library, calls are timed.
check_clients() {
	strict client_second "$bin/cupti_client_gpu" after 200
	check "client_second: reported" 1 "$(grep -c 'CUPTI refused cupti_client_gpu' "$out/client_second.log")"
	check "client_second: cuptiSubscribe" 39 "$(said client_second subscribe)"
	LD_LIBRARY_PATH=${libs-} "$profile" -gpu-only --unit ns -o "$out/calls.folded" env \
		CUDA_INJECTION64_PATH=/none "$bin/cupti_client_gpu" after 20000 \
		>"$out/calls.stdout" 2>"$out/calls.log"
	cat "$out/calls.log" "$out/calls.stdout"
	check "calls: another tool's injection library is reported" 1 "$(grep -c "another tool's injection library" "$out/calls.log")"
	check_true "calls: launches and the wait, no longer than the program saw" \
		"calls $(ns_of calls ';work;'), wall $(said calls wall_ns) ns" \
		"$(ns_of calls ';work;cudaLaunchKernel') > 0 && $(ns_of calls ';work;cudaDeviceSynchronize') > 0 && $(ns_of calls ';work;') <= $(said calls wall_ns)"
}

# Work in conditional nodes: under the launch, then where each conditional node around it was made, then
# where its own was.
check_conditionals() {
	local function around outer='make_condition;[^[]*[[]graph node captured at[]];[^[]*'
	local inner='make_inner;[^[]*[[]graph node captured at[]];[^[]*'

	if ! nvcc -std=c++17 -O1 -g -arch=native -Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
		-o "$bin/conditionals_gpu" tests/gpu/conditionals.cu >"$out/conditionals.build" 2>&1; then
		skip conditionals "this toolkit has no conditional nodes: $(head -n 1 "$out/conditionals.build")"
		return
	fi
	strict conditionals "$bin/conditionals_gpu" 10
	check "conditionals: kernels" "$(said conditionals kernels)" "$(count conditionals kernels)"
	check "conditionals: places not known" 0 \
		"$(grep -c 'capture not seen\|launch not captured\|launched by a kernel' "$out/conditionals.folded")"
	# unnamed frames, of a library without symbols
	sed -i 's/\[[^];]*+0x[0-9a-f]*\];//g' "$out/conditionals.folded"
	while read -r function; do
		case $function in
		add_set | add_begin | capture_around) around='[^[]*' ;;
		add_inner) around="[^[]*$outer$inner" ;;
		capture_body) around="[^[]*$inner" ;;
		*) around="[^[]*$outer" ;;
		esac
		check "conditionals: ns of $function's kernels that are in their place" \
			"$(ns_of conditionals ";$function;[^[]*[[]GPU_Kernel")" \
			"$(ns_of conditionals ";launch;cudaGraphLaunch[^[]*[[]graph node captured at[]];$around;$function;[^[]*[[]GPU_Kernel")"
		check_true "conditionals: $function's kernels are there" '' \
			"$(ns_of conditionals ";$function;[^[]*[[]GPU_Kernel") > 0"
	done < <(awk '$1 == "made" { print $2 }' "$out/conditionals.stdout" | sort -u)
}

# With a CUPTI that leaves such work out: said by name and version
check_conditionals_of() {
	local name=$1 version

	[ -x "$bin/conditionals_gpu" ] || return 0
	LD_LIBRARY_PATH=${libs-} "$profile" -v -gpu-only --unit ns -o "$out/$name.folded" \
		"$bin/conditionals_gpu" 10 >"$out/$name.stdout" 2>"$out/$name.log"
	version=$(sed -n 's/.*uses CUDA; CUPTI \([0-9]*\):.*/\1/p' "$out/$name.log")
	if [ "$version" -lt 19 ]; then
		skip "$name: says what is left out" "CUPTI API version $version does not report such nodes"
	elif [ "$version" -lt 26 ]; then
		check "$name: says what is left out" 1 "$(grep -c 'kernels within conditional nodes of graphs: CUPTI API version' "$out/$name.log")"
	else
		check "$name: kernels" "$(said "$name" kernels)" "$(count "$name" kernels)"
	fi
}

check_all_work() {
	check_gpu_work
	check_conditionals
	check_every_call
	check_drops 2000000
	check_clients
	check_waits
	check_torch_work
	check_right_work
	check_devices
	check_mps
}
