#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The ranks of a job: names of outputs, and captures that are merged.

load helpers

# All tests read the captures of one job of four ranks, each with work of its own.
setup_file()
{
	load helpers
	if [ "$(id -u)" != 0 ]; then return; fi
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR enter_test_folder
	for rank in 0 1 2 10; do
		run_profile_of "$rank" -q -F 997 --waits --api --unit ns -o 'cap.%r.profile' \
			-o 'one.%r.folded' -o 'one.%r.json' "$workloads/inference" $((2 + rank))
		echo "$status"
	done >statuses
}

setup()
{
	needs_root
	enter_test_folder
	unset RANK WORLD_SIZE LOCAL_RANK OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK SLURM_PROCID FLUX_TASK_RANK JOB_COMPLETION_INDEX
	cp "$BATS_FILE_TMPDIR"/{cap.*,one.*,statuses} .
	expect_equal statuses "$(tr '\n' ' ' <statuses)" '0 0 0 0 '
}

# run_profile_of RANK ARGUMENTS...: as torchrun starts it
run_profile_of()
{
	local rank=$1

	shift
	RANK=$rank WORLD_SIZE=12 LOCAL_RANK=0 run_profile "$@"
}

# the weights of all stacks in the files, by their first words, without numbers
sum_of()
{
	cat "$@" | awk '{ sum += $NF } END { printf "%.0f\n", sum }'
}

@test "%r, %h, %p and %% in names" {
	run_profile_of 7 -q -o 'a-%r-%%.folded' -o '%p.%h.json' true
	expect_status 0
	[ -f 'a-7-%.folded' ]
	[ "$(find . -name "*.$(uname -n).json" | grep -c '^\./[0-9]*\.')" = 1 ]
}

@test "ranks with the same GPU time are all named at once" {
	for rank in 0 1; do
		run_profile_of "$rank" -q -gpu-only -o 'same.%r.profile' "$workloads/launches" 10
	done
	run_profile --from same.0.profile same.1.profile --top -o job.folded
	expect_status 0
	expect_line stderr '^  GPU time outside collectives: 10\.000 us in each rank$'
	run_profile_of 1 -q -gpu-only -o 'same.%r.profile' "$workloads/launches" 20
	run_profile --from same.0.profile same.1.profile --top -o job.folded
	expect_line stderr '^  GPU time outside collectives: most in rank 1, 20\.000 us; least in rank 0, 10\.000 us$'
}

@test "launchers in their order" {
	run_command env SLURM_PROCID=1 PMIX_RANK=2 PMI_RANK=3 OMPI_COMM_WORLD_RANK=4 \
		"$profile" -q -o 'r%r.json' true
	expect_status 0
	[ -f r4.json ]
	run_command env RANK= LOCAL_RANK=9 SLURM_PROCID=1 PMIX_RANK=2 "$profile" -q -o 'r%r.json' true
	expect_status 0
	[ -f r2.json ]
}

@test "names that cannot be made are refused in one line" {
	run_profile -o 'cap.%r.profile' touch has_run
	expect_status 125
	expect_line stderr '^profile: -o: %r is the rank, but none of RANK, .* is set; set RANK and WORLD_SIZE for each rank; '
	for rank in ../x 1/2 -1 x 99999999; do
		run_profile_of "$rank" -o 'cap.%r.profile' touch has_run
		expect_status 125
		expect_line stderr '^profile: -o: %r is the rank, but RANK is not a number'
	done
	run_profile -o '50%.svg' touch has_run
	expect_status 125
	expect_line stderr "not '%[.]' as in '50%.svg'"
	run_profile --prometheus '%q' touch has_run
	expect_status 125
	expect_line stderr "^profile: --prometheus: .* not '%q'"
	[ ! -e has_run ]
}

# bats test_tags=quick
@test "a job has every nanosecond of its ranks once" {
	run_profile --from cap.*.profile --unit ns -o job.folded -o job.json -o job.html -o job.pb.gz
	expect_status 0
	expect_equal 'the sum' "$(sum_of job.folded)" "$(sum_of one.*.folded)"
	# each stack by itself, too
	cat one.*.folded | awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n }
		END { for (s in sum) printf "%s %.0f\n", s, sum[s] }' | LC_ALL=C sort >want
	LC_ALL=C sort job.folded >got
	cmp want got
	expect_line stderr "^$(ranks_of 4 12)\$"
	expect_line stderr 'one machine, one clock'
	expect_line stderr '^profile: no capture of rank 3 to 9, 11$'
	for key in .totals.gpu_ns .totals.cpu_ns .totals.waiting_ns .totals.gpu_kernels \
		'[.gpu_work[].ns]|add' '[.api_calls[].calls]|add' '[.kernels[].ns]|add' \
		.losses.gpu_sums_equal; do
		expect_equal "$key" "$(jq "$key" job.json)" \
			"$(jq "$key" one.*.json | awk '{ sum += $1 } END { printf "%.0f\n", sum }')"
	done
}

@test "ranks that do not agree on the size of their job" {
	for rank in 0 5; do
		RANK=$rank WORLD_SIZE=3 LOCAL_RANK=0 run_profile -gpu-only -o "$rank.profile" "$workloads/launches" 5
		expect_status 0
	done
	run_profile --from 0.profile 5.profile -o out.folded
	expect_status 0
	expect_line stderr "^$(ranks_of 2 6)\$"
	expect_line stderr '^profile: no capture of rank 1 to 4$'
	expect_line stderr '^profile: rank 0 is one of 3, but there is a rank 5: are these captures of one job[?]$'
	RANK=1 WORLD_SIZE=8 LOCAL_RANK=0 run_profile -gpu-only -o 1.profile "$workloads/launches" 5
	run_profile --from 0.profile 1.profile -o out.folded
	expect_status 0
	expect_line stderr "^$(ranks_of 2 8)\$"
	expect_line stderr '^profile: rank 0 is one of 3, but there is a rank 1 of 8: are these captures of one job[?]$'
}

@test "a capture that an earlier job has left" {
	local began='^profile: rank 0 had ended .* before rank 1 began: are these captures of one job[?]$'

	RANK=0 WORLD_SIZE=2 run_profile -gpu-only -o 0.profile "$workloads/launches" 5
	RANK=1 WORLD_SIZE=2 run_profile -gpu-only -o 1.profile "$workloads/launches" 5
	run_profile --from 1.profile 0.profile -o out.folded
	expect_status 0
	expect_line stderr "$began"
	# at the same time it is one job
	mkfifo both
	RANK=0 WORLD_SIZE=2 "$profile" -q -cpu-only -o 0.profile sh -c 'echo >both; read line <both' 3>&- &
	RANK=1 WORLD_SIZE=2 run_profile -cpu-only -o 1.profile sh -c 'read line <both; echo >both'
	wait $!
	run_profile --from 1.profile 0.profile -o out.folded
	expect_status 0
	expect_no_line stderr 'are these captures of one job'
}

@test "--by rank has the capture of each below one frame" {
	run_profile -q --from cap.*.profile --by rank --unit ns -o job.folded
	expect_status 0
	for rank in 0 1 2 10; do
		sed -n "s/^\[rank $rank\];//p" job.folded | LC_ALL=C sort >got
		LC_ALL=C sort "one.$rank.folded" >want
		cmp want got
	done
	expect_equal ranks "$(cut -d';' -f1 job.folded | sort -u | wc -l)" 4
	run_profile -q --from cap.*.profile --process '^rank 10:' --unit ns -o part.folded
	expect_equal 'rank 10' "$(sum_of part.folded)" "$(sum_of one.10.folded)"
	# of one rank, and while it runs
	run_profile -q --from cap.2.profile --by rank -o one.folded
	[ -s one.folded ]
	expect_equal others "$(grep -vc '^\[rank 2\];' one.folded)" 0
	run_profile --by rank -o none.folded true
	expect_status 0
	expect_line stderr '^profile: --by rank: none of RANK, .* was set, so there are no ranks; set RANK and WORLD_SIZE for each rank; under sudo use sudo -E$'
	run_profile_of 5 -q --by rank -o run.folded "$workloads/launches" 10
	expect_equal others "$(grep -vc '^\[rank 5\];' run.folded)" 0
}

@test "the table of ranks adds up" {
	run_profile -q --from cap.10.profile cap.0.profile cap.2.profile -o job.json
	expect_status 0
	expect_equal ranks "$(jq -c '[.ranks[].rank]' job.json)" '[0,2,10]'
	expect_equal 'GPU time' "$(jq '[.ranks[].gpu_ns]|add' job.json)" "$(jq .totals.gpu_ns job.json)"
	expect_equal 'CPU time' "$(jq '[.ranks[].cpu_ns]|add' job.json)" "$(jq .totals.cpu_ns job.json)"
	expect_equal 'of rank 2' "$(jq '.ranks[1].gpu_ns' job.json)" "$(jq .totals.gpu_ns one.2.json)"
}

@test "a job can be kept as a capture, but not merged again" {
	run_profile -q --from cap.0.profile cap.1.profile -o job.profile -o job.speedscope.json \
		-o job.perfetto-trace -o job.json
	expect_status 0
	# a job can be kept, and read like a run
	run_profile -q --from job.profile -o again.json --by rank -o again.folded
	expect_status 0
	cmp job.json again.json
	expect_equal ranks "$(cut -d';' -f1 again.folded | sort -u | tr '\n' ' ')" '[rank 0] [rank 1] '
	run_profile --from job.profile cap.2.profile -o x.json
	expect_status 125
	expect_line stderr '^profile: job.profile has several ranks already'
}

@test "captures that cannot be merged are all named, and nothing is written" {
	run_profile -q -o none.profile true
	cp cap.0.profile same.profile
	head -c 3000 cap.1.profile >cut.profile
	run_profile --from cap.0.profile none.profile same.profile cut.profile one.0.folded \
		missing.profile cap.2.profile -o job.html
	expect_status 125
	expect_line stderr '^profile: none.profile has no rank, .*; set RANK and WORLD_SIZE for each rank; '
	expect_line stderr '^profile: cap.0.profile and same.profile are both of rank 0$'
	expect_line stderr '^profile: cut.profile ends early'
	expect_line stderr '^profile: one.0.folded is neither a capture'
	expect_line stderr '^profile: cannot read missing.profile'
	expect_line stderr "^$(not_merged 5 7)\$"
	expect_equal lines "$(wc -l <stderr)" 6
	[ ! -e job.html ]
}

@test "other options in one rank are said" {
	run_profile_of 3 -q -F 100 -o cap.3.profile true
	run_profile --from cap.0.profile cap.3.profile -o job.folded
	expect_status 0
	expect_line stderr "^profile: rank 3 $other_options"
}

# ---- who waits for whom in collectives: captures of 4 ranks, 100 steps, rank 1 is 5 ms late ----

all_reduce='ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)'

# make_captures KERNEL [MACHINES AHEAD_US DRIFT_PPM [exact]]
make_captures()
{
	rm cap.*
	"$workloads/rank_captures" . 4 "$@"
}

@test "a rank that comes late to collectives is named, and what others waited for it" {
	make_captures "$all_reduce"
	run_profile --from cap.*.profile --top --by rank --unit ns -o job.folded -o job.json \
		-o job.html -o job.profile
	expect_status 0
	expect_line stderr '^  rank 1 came last in 100 of 100 collectives; others waited 1\.500 s for it in all$'
	for rank in 0 2 3; do
		expect_line job.folded "^\[rank $rank\];.*AllReduce.*;\[waiting for rank 1\] 500000000$"
		expect_line job.folded "^\[rank $rank\];.*AllReduce.*>) 200000000$"
	done
	expect_line job.folded '^\[rank 1\];.*AllReduce.*>) 200000000$'
	expect_equal lines "$(grep -c 'waiting for' job.folded)" 3
	expect_equal 'the sum' "$(sum_of job.folded)" 6800000000
	expect_equal ranks "$(jq -c '[.collectives[].rank]' job.json)" '[1,0,2,3]'
	expect_equal others "$(jq -c '[.collectives[].others_waited_ns]' job.json)" '[1500000000,0,0,0]'
	expect_equal own "$(jq -c '[.collectives[].waited_ns]' job.json)" \
		'[0,500000000,500000000,500000000]'
	expect_equal 'came last' "$(jq -c '[.collectives[].came_last]' job.json)" '[100,0,0,0]'
	expect_equal kernels "$(jq -c '[.kernels[]|[.calls,.ns]]' job.json)" \
		'[[400,4500000000],[400,2300000000]]'
	# a job that was kept says the same, and so do stacks that are read
	run_profile --from job.profile --by rank --unit ns -o again.folded -o again.json
	expect_status 0
	expect_line stderr '^  rank 1 came last in 100 of 100 collectives; others waited 1\.500 s for it in all$'
	cmp job.folded again.folded
	cmp job.json again.json
	run_profile -q --from cap.*.profile --unit ns -o plain.folded
	run_profile --diff plain.folded plain.folded -o same.json
	expect_status 0
	expect_equal 'GPU time' "$(jq -c '[.totals.gpu.before, .totals.gpu.after]' same.json)" \
		'[6800000000,6800000000]'
}

@test "waits in a part of a job, without the late rank, and without collectives" {
	make_captures "$all_reduce"
	# from the middle of a step's wait to that of the next one
	run_profile -q --from cap.*.profile --by rank --time 1012ms..1032ms --unit ns -o part.folded
	expect_status 0
	expect_line part.folded '^\[rank 2\];.*;\[waiting for rank 1\] 5000000$'
	expect_equal lines "$(grep -c 'waiting for' part.folded)" 3
	rm cap.1.profile
	run_profile --from cap.*.profile --unit ns -o job.folded
	expect_line stderr '^  rank 0 came last in 100 of 100 collectives; others waited 0 ns for it in all$'
	expect_equal waits "$(grep -c 'waiting for' job.folded)" 0
	run_profile --from cap.0.profile --unit ns --top -o one.folded
	expect_equal lines "$(grep -c 'Collectives:\|came last' stderr)" 0
	make_captures 'ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)'
	run_profile --from cap.*.profile --unit ns --top -o job.folded -o job.json
	expect_status 0
	expect_equal lines "$(grep -c 'Collectives:\|came last' stderr)" 0
	expect_equal waits "$(grep -c 'waiting for' job.folded)" 0
	expect_equal table "$(jq 'has("collectives")' job.json)" false
}

# ---- several machines, each with clocks of its own ----

@test "clocks of machines are aligned by collectives, and waits go across them" {
	make_captures "$all_reduce" 2 3000 20
	run_profile --from cap.*.profile --top --by rank --unit ns -o job.folded -o job.json \
		-o job.html -o job.profile
	expect_status 0
	expect_line stderr '^  clock of node1 aligned with that of node0 by 100 collectives, within [0-9.]* us$'
	expect_line stderr '^  this assumes .* together; certain is: within [0-9.]* ms$'
	expect_line stderr '^  rank 1 [(]node0[)] came last in 100 of 100 collectives'
	expect_line job.folded '^\[rank 0\];.*;\[waiting for rank 1\] 500000000$'
	for rank in 2 3; do
		expect_line job.folded "^\[rank $rank\];.*;\[waiting for rank 1\] 49[0-9]*$"
	done
	expect_equal 'the sum' "$(sum_of job.folded)" 6800000000
	expect_equal clock "$(jq -c '.clocks[]|[.rank,.with_rank,.host,.collectives]' job.json)" \
		'[2,0,"node1",100]'
	# the wall clocks were 3 ms apart, and drift by 20 us in the second to the middle
	jq -e '.clocks[0]|.moved_us + 3020|fabs < 5' job.json
	jq -e '.clocks[0]|.error_ns >= 50000 and .error_ns < 100000 and .bound_ns > .error_ns' job.json
	# a job that was kept says the same, and so does a part of it
	run_profile --from job.profile --by rank --unit ns -o again.folded -o again.json
	expect_line stderr '^  clock of node1 aligned with that of node0 by 100 collectives, within'
	cmp job.folded again.folded
	cmp job.json again.json
	run_profile -q --from job.profile --by rank --time 1012ms..1032ms --unit ns -o part.folded
	expect_line part.folded '^\[rank 3\];.*;\[waiting for rank 1\] [1-9][0-9]*$'
}

@test "captures in any order, and without some ranks, align the same" {
	make_captures "$all_reduce" 2 -70000 -5
	run_profile --from cap.3.profile cap.1.profile cap.0.profile cap.2.profile --by rank \
		--unit ns -o job.folded
	expect_status 0
	expect_line stderr '^  clock of node0 aligned with that of node1 by 100 collectives, within'
	expect_line job.folded '^\[rank 0\];.*;\[waiting for rank 1\] 500000000$'
	expect_line job.folded '^\[rank 3\];.*;\[waiting for rank 1\] 49[0-9]*$'
	# one rank of each machine
	run_profile --from cap.1.profile cap.2.profile --by rank --unit ns -o job.folded
	expect_line stderr '^  clock of node1 aligned with that of node0 by 100 collectives, within'
	expect_line job.folded '^\[rank 2\];.*;\[waiting for rank 1\] 49[0-9]*$'
	# without the late one nobody is known to be last
	run_profile --from cap.0.profile cap.2.profile --by rank --unit ns -o job.folded
	expect_line stderr '^  in 100 of these collectives several ranks came last'
	expect_equal waits "$(grep -c 'waiting for' job.folded)" 0
}

@test "clocks that collectives do not align are the wall clocks, which is said" {
	# other collectives, as the wall clocks are said to be exact
	make_captures "$all_reduce" 2 3000 0 exact
	run_profile --from cap.*.profile --by rank --unit ns -o job.folded -o job.json
	expect_status 0
	expect_line stderr '^  2 machines, by their wall clocks: these are at most 2[.]000 us apart'
	expect_line stderr '^  clock of node1 not aligned by collectives: too few in common, or'
	expect_line stderr '^  ranks of machines whose clocks are not aligned are not compared'
	expect_equal table "$(jq 'has("clocks")' job.json)" false
	expect_equal waits "$(grep -c '^\[rank [23]\].*waiting for rank 1' job.folded)" 0
}

@test "512 ranks of 64 machines: one line names the rank, and the table begins with it" {
	rm cap.*
	"$workloads/rank_captures" . 512 "$all_reduce" 64 300 1
	rm cap.20[0-6].profile
	run_profile --from cap.*.profile --top -o job.json
	expect_status 0
	expect_line stderr "^$(ranks_of 505 512)\$"
	expect_line stderr '^  clocks of 63 of 64 machines aligned by 100 collectives or more, within'
	expect_line stderr '^  rank 1 [(]node0[)] came last in 100 of 100 collectives'
	expect_line stderr '^profile: no capture of rank 200 to 206$'
	expect_equal first "$(jq '.collectives[0].rank' job.json)" 1
	expect_equal clocks "$(jq '.clocks|length' job.json)" 63
}
