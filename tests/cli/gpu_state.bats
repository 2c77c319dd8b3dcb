#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The state of GPUs, by the stand-in of NVML: where it is shown, and that a run is the same without it.

load helpers

setup()
{
	needs_root
	enter_test_folder
	use_nvml nvml
}

# use_nvml FOLDER: runs find that NVML
use_nvml()
{
	export LD_LIBRARY_PATH=$fake_cuda/$1:$fake_cuda
}

# state FILE EXPRESSION: of the table in a summary as JSON
state()
{
	jq -c "[.gpu_state[]? | $2]" "$1"
}

# bats test_tags=quick
@test "the state of the GPU is in the summary, and in a capture" {
	FAKE_NVML_LIMITED_PERCENT=100 run_profile -o out.json -o out.profile "$workloads/steady" 1200
	expect_status 0
	expect_equal table "$(state out.json '[.gpu, .sm_mhz, .sm_possible_mhz, .power_milliwatts, .celsius_most, .memory_bytes, .power_cap_permille, .thermal_permille, .uuid]')" \
		'[["GPU 0",1410,1980,700000,47,5368709120,1000,0,"GPU-10111213-1415-1617-1819-1a1b1c1d1e00"]]'
	expect_equal readings "$(state out.json '.readings > 3 and .millijoules > 0 and .pcie_sent_bytes > 0 and .nvlink_received_bytes > 0')" '[true]'
	run_profile --from out.profile -o again.json
	expect_status 0
	expect_equal capture "$(state again.json .)" "$(state out.json .)"
	# of a part of the run, its readings
	run_profile --from out.profile --time 0.6..0.9 -o part.json
	expect_equal part "$(state part.json ".readings < $(jq .gpu_state[0].readings out.json)")" '[true]'
}

@test "each GPU that works, and no other" {
	FAKE_CUDA_DEVICES=4 CUDA_VISIBLE_DEVICES=2,1 run_profile -o out.json "$workloads/steady" 800
	expect_status 0
	expect_equal table "$(state out.json '[.gpu, .power_milliwatts, .uuid]')" \
		'[["GPU 0",402000,"GPU-10111213-1415-1617-1819-1a1b1c1d1e02"]]'
}

@test "a MIG instance has memory of its own" {
	FAKE_CUDA_MIG=3/0 run_profile -o out.json "$workloads/steady" 800
	expect_status 0
	expect_equal table "$(state out.json '[.gpu, .sm_mhz, .memory_bytes]')" '[["GPU 0 MIG 3/0",1980,1073741824]]'
}

@test "an old NVML tells less" {
	use_nvml old_nvml
	FAKE_NVML_LIMITED_PERCENT=100 run_profile -v -o out.json "$workloads/steady" 800
	expect_status 0
	expect_no_line stderr 'is not recorded'
	expect_equal table "$(state out.json '[.sm_mhz, .power_cap_permille, .millijoules, .pcie_sent_bytes, .nvlink_sent_bytes]')" \
		'[[1410,1000,0,0,0]]'
}

# expect_none REASON: a run has no readings, says so with -v alone, and is else as any
expect_none()
{
	run_profile -v -o out.json "$workloads/steady" "${run_ms-300}"
	expect_status 0
	expect_line stderr "^profile: the state of GPUs is not recorded: $1\$"
	expect_line ending '^Complete: nothing lost'
	expect_equal table "$(state out.json .)" '[]'
	expect_equal kernels "$(jq '.totals.gpu_kernels > 0' out.json)" true
	run_profile "$workloads/steady" 300
	expect_status 0
	expect_no_line stderr 'GPUs is not'
}

# bats test_tags=quick
@test "without NVML there is one line with -v" {
	if ldconfig -p | grep -q libnvidia-ml.so.1; then skip 'this machine has NVML'; fi
	export LD_LIBRARY_PATH=$fake_cuda
	expect_none 'libnvidia-ml\.so\.1: cannot open shared object file: No such file or directory'
}

@test "NVML that refuses" {
	FAKE_NVML=refuse expect_none 'nvmlInit_v2: Driver Not Loaded'
}

@test "NVML that hangs holds nothing up" {
	FAKE_NVML=hang run_ms=1800 expect_none 'NVML has not answered'
	no_process_with libnvidia-ml
}

@test "NVML that hangs later: the readings until then" {
	FAKE_NVML=hang-later run_profile -v -o out.json "$workloads/steady" 1200
	expect_status 0
	expect_equal readings "$(state out.json '.readings >= 1 and .readings < 8')" '[true]'
	no_process_with libnvidia-ml
}

@test "a GPU that is lost: the readings until then" {
	FAKE_NVML=lost run_profile -v -o out.json "$workloads/steady" 1200
	expect_status 0
	expect_equal readings "$(state out.json '.readings >= 1 and .readings < 8')" '[true]'
}

@test "a program without GPU work loads no NVML, and one without CUDA" {
	FAKE_NVML=refuse run_profile -v -o out.json sleep 0.3
	expect_status 0
	expect_no_line stderr 'GPUs is not'
	FAKE_NVML=refuse run_profile -v -cpu-only -o out.json "$workloads/steady" 300
	expect_status 0
	expect_no_line stderr 'GPUs is not'
}

@test "a run goes on when the helper is killed" {
	start_profile -v -o out.json "$workloads/steady" 2000
	wait_until is_traced_child
	sleep 0.5
	pkill -KILL -x -P "$(worker_of "$pid")" profile-helper
	finish_profile
	expect_status 0
	expect_line stderr '^profile: the state of GPUs is recorded no longer: profile-helper has ended$'
	expect_line ending '^Complete: nothing lost'
	expect_equal readings "$(state out.json '.readings >= 1')" '[true]'
}

is_traced_child()
{
	local child

	child=$(child_of "$pid")
	[ -n "$child" ] && is_traced "$child"
}

@test "--last has the readings of the last seconds" {
	run_profile --last 0.5 -o out.json "$workloads/steady" 2000
	expect_status 0
	expect_equal readings "$(state out.json '.readings >= 1 and .readings <= 6')" '[true]'
}

@test "--every: each reading is in one result" {
	run_profile --every 1 -o 'part-%t.json' -o 'whole-%t.profile' "$workloads/steady" 3200
	expect_status 0
	[ "$(find . -name 'part-*.json' | wc -l)" -ge 3 ]
	# a reading each 100 ms, in 400 W: all results together have the energy of the time of their readings
	expect_equal energy "$(jq -s '[.[].gpu_state[]?] | (map(.millijoules) | add) * 1e9 / (map(.ns) | add) / 400000 | . > 0.95 and . < 1.05' part-*.json)" true
	expect_equal 'time without gaps or overlaps' "$(jq -s '[.[].gpu_state[]?] | map(.ns) | add | . > 2.2e9 and . < 3.4e9' part-*.json)" true
}

@test "-d and --delay have the readings of their part" {
	run_profile --delay 0.5 -d 0.5 -o out.json "$workloads/steady" 1500
	expect_status 0
	expect_equal readings "$(state out.json '.readings >= 1 and .readings <= 6')" '[true]'
}

@test "merged ranks: a GPU that two watched has its energy once" {
	for rank in 0 1; do
		RANK=$rank WORLD_SIZE=2 timeout "$patience" "$profile" -q -o "cap.$rank.profile" \
			"$workloads/steady" 1200 >/dev/null &
	done
	wait
	run_profile --from cap.0.profile cap.1.profile -o job.json
	expect_status 0
	run_profile --from cap.0.profile -o one.json
	expect_equal 'one GPU' "$(state job.json '.power_milliwatts')" '[400000]'
	expect_equal energy "$(jq -n --slurpfile a job.json --slurpfile b one.json \
		'$a[0].gpu_state[0].millijoules <= 1.5 * $b[0].gpu_state[0].millijoules')" true
	expect_equal power "$(state job.json '.millijoules * 1000000000 / .ns / 400000 | . > 0.9 and . < 1.1')" '[true]'
}

# states_of FILE: the counters of GPUs' state in a Perfetto trace, as "GROUP/NAME VALUES"
states_of()
{
	PYTHONPATH=$root/tests/cli python3 - "$1" <<'PYTHON'
import sys
from protobuf_fields import every, fields

tracks, values, last = {}, {}, 0
for packet in every(open(sys.argv[1], "rb").read(), 1):
    found = dict(fields(packet))
    if 60 in found:
        track = dict(fields(found[60]))
        tracks[track[1]] = (track[2].decode(), track.get(5), 8 in track)
    if 11 in found:
        event = dict(fields(found[11]))
        assert found[8] >= last, "events are in order of time"
        last = found[8]
        if event[9] == 4:
            values.setdefault(event[11], []).append(event[30])
for uuid, (name, parent, is_counter) in tracks.items():
    if is_counter and parent in tracks and tracks[parent][0].endswith(": state"):
        print(f"{tracks[parent][0]}/{name}", *sorted(set(values[uuid])))
PYTHON
}

@test "timelines have the state of GPUs as counters" {
	needs_command python3
	FAKE_NVML_LIMITED_PERCENT=40 run_profile -o out.perfetto-trace -o out.trace.json -o out.profile "$workloads/steady" 1500
	expect_status 0
	states_of out.perfetto-trace >perfetto
	expect_line perfetto '^GPU 0: state/SM clock \(MHz\) 1410 1980$'
	expect_line perfetto '^GPU 0: state/memory clock \(MHz\) 3201$'
	expect_line perfetto '^GPU 0: state/power \(W\) 400 700$'
	expect_line perfetto '^GPU 0: state/temperature \(C\) 47$'
	expect_line perfetto '^GPU 0: state/memory in use \(bytes\) 5368709120$'
	expect_line perfetto '^GPU 0: state/clocks limited by power or heat \(%\) 0 100$'
	expect_line perfetto '^GPU 0: state/PCIe sent \(bytes/s\) '
	expect_line perfetto '^GPU 0: state/NVLink received \(bytes/s\) '
	# chrome's has the same
	jq -r '.traceEvents as $e | ($e[] | select(.ph == "M" and .name == "process_name" and (.args.name | endswith(": state")))) as $gpu
		| [$e[] | select(.ph == "C" and .pid == $gpu.pid)] | group_by(.name)[]
		| "\($gpu.args.name)/\(.[0].name) \([.[].args.value] | unique | map(tostring) | join(" "))"' out.trace.json >chrome
	expect_equal 'both formats' "$(sort chrome)" "$(sort perfetto)"
	run_profile --from out.profile -o again.perfetto-trace
	states_of again.perfetto-trace >again
	expect_equal 'a capture' "$(cat again)" "$(cat perfetto)"
	FAKE_NVML=refuse run_profile -o without.perfetto-trace "$workloads/steady" 300
	expect_equal without "$(states_of without.perfetto-trace)" ''
}

# metric SERIES: its value in out.prom
metric()
{
	awk -v series="profile_$1" 'index($0, series " ") == 1 { print $NF }' out.prom
}

# bats test_tags=quick
@test "--prometheus has the state of GPUs" {
	local uuid='uuid="GPU-10111213-1415-1617-1819-1a1b1c1d1e00"'

	FAKE_NVML_LIMITED_PERCENT=100 run_profile --prometheus out.prom -o out.json "$workloads/steady" 1200
	expect_status 0
	if command -v promtool >/dev/null; then promtool check metrics <out.prom; fi
	expect_equal 'series twice' "$(grep -v '^#' out.prom | sed 's/} [^ ]*$/}/' | sort | uniq -d)" ''
	expect_equal clock "$(metric "gpu_sm_clock_hertz{$uuid}")" 1410000000
	expect_equal power "$(metric "gpu_power_watts{$uuid}")" 700
	expect_equal temperature "$(metric "gpu_temperature_celsius{$uuid}")" 47
	expect_equal memory "$(metric "gpu_memory_used_bytes{$uuid}")" 5368709120
	# the sums are those of the summary
	expect_equal energy "$(metric "gpu_energy_joules_total{$uuid}")" "$(jq '.gpu_state[0].millijoules / 1000' out.json)"
	expect_equal limited "$(metric "gpu_clocks_limited_seconds_total{$uuid,reason=\"power\"}")" "$(jq '.gpu_state[0].ns / 1e9' out.json)"
	expect_equal cool "$(metric "gpu_clocks_limited_seconds_total{$uuid,reason=\"heat\"}")" 0
	expect_equal received "$(metric "gpu_nvlink_bytes_total{$uuid,direction=\"received\"}")" \
		"$(jq '.gpu_state[0].nvlink_received_bytes' out.json)"
	FAKE_NVML=refuse run_profile --prometheus out.prom -o out.json "$workloads/steady" 300
	expect_status 0
	expect_no_line out.prom 'profile_gpu_'
}

# bats test_tags=quick
@test "a GPU that is held back is a finding" {
	FAKE_NVML_LIMITED_PERCENT=40 run_profile -o out.json -o out.profile "$workloads/steady" 1600
	expect_status 0
	expect_line ending '^  GPU 0 is held back by its power cap for [2-5][0-9]\.[0-9] % of the run: SM clock 1980 -> 1410 MHz'
	expect_equal finding "$(jq -r '.findings[] | select(.key == "clocks") | .next' out.json)" 'nvidia-smi -q -d POWER: the cap'
	run_profile --from out.profile -o again.json
	expect_equal capture "$(jq -c '.findings[] | select(.key == "clocks")' again.json)" "$(jq -c '.findings[] | select(.key == "clocks")' out.json)"
	FAKE_NVML_LIMITED_PERCENT=100 FAKE_NVML_REASONS=0x40 run_profile -o out.json "$workloads/steady" 1000
	expect_line ending '^  GPU 0 is held back by heat for [0-9.]+ % of the run: SM clock 1980 -> 1410 MHz'
}

@test "an idle GPU, and one at its best, are no findings" {
	for variable in FAKE_NVML_IDLE=1 FAKE_NVML_LIMITED_PERCENT=0; do
		run_command env "$variable" "$profile" -o out.json "$workloads/steady" 1000
		expect_status 0
		expect_equal table "$(state out.json '.readings > 0')" '[true]'
		expect_no_line ending 'held back'
		expect_equal findings "$(jq '[.findings[] | select(.key == "clocks")] | length' out.json)" 0
	done
}

@test "--diff warns of clocks that differ more than the change" {
	run_profile -o before.profile "$workloads/steady" 1000
	FAKE_NVML_LIMITED_PERCENT=100 run_profile -o capped.profile "$workloads/steady" 1000
	FAKE_NVML_SM_MHZ=1900 run_profile -o longer.profile "$workloads/steady" 3000
	run_profile --diff before.profile capped.profile -o diff.json
	expect_status 0
	expect_line stderr '^profile: the SM clock was 1980 MHz before and 1410 MHz after \(-28\.8 %\), while GPUs had work: GPU time, which .*, depends on it; compare at one clock$'
	expect_equal json "$(jq -c '[.before.sm_mhz, .after.sm_mhz]' diff.json)" '[1980,1410]'
	# a change that the clock cannot explain, clocks that are the same, and runs that tell none
	run_profile --diff before.profile longer.profile -o diff.json
	expect_no_line stderr 'the SM clock was'
	run_profile --diff before.profile before.profile -o diff.json
	expect_no_line stderr 'the SM clock was'
	FAKE_NVML=refuse run_profile -o none.profile "$workloads/steady" 300
	run_profile --diff none.profile capped.profile -o diff.json
	expect_no_line stderr 'the SM clock was'
	expect_equal json "$(jq -c '[.before.sm_mhz, .after.sm_mhz]' diff.json)" '[null,1410]'
	# so does a baseline
	FAKE_NVML_LIMITED_PERCENT=100 run_profile --baseline before.profile -o again.profile "$workloads/steady" 1000
	expect_status 0
	expect_line stderr '^profile: the SM clock was 1980 MHz before and 1410 MHz after'
}

@test "the page has the clock and the power of GPUs" {
	needs_command node
	FAKE_NVML_LIMITED_PERCENT=40 run_profile -o out.html "$workloads/steady" 1500
	expect_status 0
	expect_equal counters "$(page_data out.html 'p.states.map(({device, name, value, most}) => [device, name, [...new Set(value)].sort(), most])')" \
		'[["GPU 0","SM clock (MHz)",[1410,1980],1980],["GPU 0","power (W)",[400,700],700]]'
	expect_equal 'a device of the timeline' "$(page_data out.html 'p.devices.label')" '["GPU 0"]'
	FAKE_NVML=refuse run_profile -o out.html "$workloads/steady" 300
	expect_equal without "$(page_data out.html 'p.states')" '[]'
}
