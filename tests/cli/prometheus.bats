# SPDX-License-Identifier: MIT
# --prometheus: the file is exact, whole at any time, bounded, and what promtool accepts.

load helpers

setup()
{
	enter_test_folder
}

# expect_metrics FILE: promtool has nothing to say, and no series is there twice.
expect_metrics()
{
	[ "$(tail -c 1 "$1" | od -An -c | tr -d ' ')" = '\n' ]
	expect_equal 'series twice' "$(grep -v '^#' "$1" | sed 's/} [^ ]*$/}/' | sort | uniq -d)" ''
	if command -v promtool >/dev/null; then
		promtool check metrics <"$1" >said 2>&1 || {
			cat said
			return 1
		}
		expect_empty said
	fi
}

# value SERIES: the sum of the values of series that begin so
value()
{
	awk -v begins="profile_$1" 'index($0, begins) == 1 { sum += $NF } END { printf "%.10g\n", sum }' out.prom
}

measure()
{
	run_profile -gpu-only --unit ns -o out.folded --prometheus out.prom "$@"
}

# bats test_tags=quick
@test "all work is in the file, once" {
	FAKE_CUDA_TOTALS=$PWD/totals measure "$workloads/gpu_work"
	expect_status 0
	expect_metrics out.prom
	expect_equal kernels "$(value 'kernel_duration_seconds_count{')" \
		"$(awk '$2 == "kernel" { n += $4 } END { print n }' totals)"
	expect_equal seconds "$(value 'kernel_duration_seconds_sum{')" \
		"$(awk '$2 == "kernel" { n += $5 } END { printf "%.10g\n", n / 1e9 }' totals)"
	expect_equal grids "$(value 'kernel_grid_blocks_count{')" "$(value 'kernel_duration_seconds_count{')"
	expect_equal copies "$(value 'copy_bytes_count{')" \
		"$(awk '$2 == "memcpy" { n += $4 } END { print n }' totals)"
	expect_equal bytes "$(value 'copy_bytes_sum{')" \
		"$(awk '$2 == "memcpy" { n += $6 } END { print n }' totals)"
	expect_equal 'other seconds' "$(value 'operation_seconds_total{')" \
		"$(awk '$2 ~ /memcpy|memset/ { n += $5 } END { printf "%.10g\n", n / 1e9 }' totals)"
	expect_line out.prom '^profile_kernel_duration_seconds_count\{pid="[0-9]+",process="gpu_work",device="0",uuid="GPU-[0-9a-f-]+",kernel="node_kernel\(unsigned long long\)"\} 10000$'
	expect_line out.prom '^profile_kernel_duration_seconds_bucket\{.*kernel="driver_spin",le="5e-06"\} 160$'
	expect_line out.prom '^profile_kernel_block_threads_bucket\{.*kernel="driver_spin",le="32"\} 160$'
	expect_line out.prom '^profile_operations_total\{.*,operation="allocations"\} 51$'
	expect_equal losses "$(value 'losses{')" 0
	# readable by those that collect it
	expect_equal mode "$(stat -c %a out.prom)" "$(stat -c %a out.folded)"
}

@test "errors by function and code, and kernels that did not run are none" {
	with_details
	measure "$workloads/launches" 20 4 2 refused
	expect_status 0
	expect_metrics out.prom
	expect_line out.prom '^profile_cuda_errors_total\{pid="[0-9]+",process="launches",function="cudaLaunchKernel",code="1"\} 20$'
	expect_equal errors "$(value 'cuda_errors_total{')" 20
	expect_equal kernels "$(value 'kernel_duration_seconds_count{')" 20
	expect_line stderr "^$(correlation 20)\$"
}

@test "several processes, and one that executes itself" {
	FAKE_CUDA_TOTALS=$PWD/totals measure sh -c '"$0" 20; "$0" 20 & "$0" 20 & wait; exec "$0" 20' "$workloads/launches"
	expect_status 0
	expect_metrics out.prom
	expect_equal processes "$(grep -c '^profile_launches_total{' out.prom)" 4
	expect_equal kernels "$(value 'kernel_duration_seconds_count{')" 80
}

@test "records without times are counted apart" {
	FAKE_CUDA_ZERO_TIMESTAMP_EVERY=4 measure "$workloads/launches" 100
	expect_status 0
	expect_metrics out.prom
	expect_equal all "$(($(value 'kernel_duration_seconds_count{') + $(value 'kernels_untimed_total{')))" 100
	expect_equal untimed "$(value 'kernels_untimed_total{')" 25
}

@test "while the program runs the file is replaced, and whole" {
	mkdir metrics
	start_profile -gpu-only -o out.folded --prometheus metrics/a.prom "$workloads/launches" 3 1 1 endless
	wait_until test -s metrics/a.prom
	first=$(stat -c %i metrics/a.prom)
	expect_metrics metrics/a.prom
	changed()
	{
		[ "$(stat -c %i metrics/a.prom)" != "$first" ]
	}
	wait_until changed
	expect_metrics metrics/a.prom
	expect_line metrics/a.prom '^profile_launches_total\{.*\} [34]$'
	expect_equal files "$(find metrics -type f)" metrics/a.prom
	kill -INT "$pid"
	finish_profile
	expect_metrics metrics/a.prom
	expect_equal files "$(find metrics -type f)" metrics/a.prom
}

@test "names of every kind, more than there is room for" {
	needs_command python3
	cp "$BATS_TEST_DIRNAME/../workloads/attack.py" .
	measure python3 attack.py labels
	expect_status 0
	expect_metrics out.prom
	expect_equal kernels "$(value 'kernel_duration_seconds_count{')" 1000
	expect_equal limit "$(value 'kernel_series ')" 200
	[ "$(grep -c '^profile_kernel_duration_seconds_count{' out.prom)" -le 265 ]
	[ "$(stat -c %s out.prom)" -lt 3000000 ]
	expect_line out.prom 'kernel="a\\"b"'
	expect_line out.prom 'kernel="c\\\\"'
	# two that are long and differ in their last letter only; one that was cut, too long for the pipe
	expect_equal long "$(grep -cE '^profile_kernel_duration_seconds_count\{.*kernel="x+\.\.\.#[0-9a-f]{16}"\} 1$' out.prom)" 3
	expect_equal errors "$(value 'cuda_errors_total{')" 3000
	expect_equal copies "$(value 'copy_bytes_count{')" 3000
	expect_line out.prom '^profile_cuda_errors_total\{pid="0",process="\[other\]",function="\[other\]",code="0"\} 2900$'
}

@test "lies through the pipe" {
	needs_command python3
	cp "$BATS_TEST_DIRNAME/../workloads/attack.py" .
	for mode in names ids order totals; do
		measure python3 attack.py $mode
		expect_status 0
		expect_metrics out.prom
	done
}

@test "a folder that is not there or not writable, no file, not without GPU time" {
	run_profile --prometheus no/such/file.prom touch has_run
	expect_status 125
	expect stderr <<<'profile: cannot write no/such/file.prom: No such file or directory; choose another file with --prometheus'
	run_profile --prometheus /proc/x.prom touch has_run
	expect_status 125
	for file in - ''; do
		run_profile --prometheus "$file" touch has_run
		expect_status 125
		expect_line stderr '^profile: --prometheus needs a file$'
	done
	run_profile -cpu-only --prometheus out.prom touch has_run
	expect_status 125
	expect_line stderr "^profile: $(needs_gpu_time --prometheus -cpu-only)\$"
	expect_no_file has_run
	expect_no_file out.prom
}

@test "a full disk: said once, the rest of the run is whole, and 125" {
	needs_mount_namespace
	mkdir small
	run_command unshare -m sh -c 'mount -t tmpfs -o size=4k tmpfs small && echo old >small/a.prom || exit 9
		"$@"; status=$?; cp small/a.prom kept; exit $status' sh \
		"$profile" -gpu-only -o out.folded --prometheus small/a.prom "$workloads/gpu_work"
	expect_status 125
	expect_line stderr '^profile: writing small/a\.prom: No space left on device$'
	expect_equal warnings "$(grep -c 'small/a.prom' stderr)" 1
	expect kept <<<old
	[ -s out.folded ]
}

@test "under sudo the file is the user's, and a link leads nowhere else" {
	needs_root
	as_tester "$profile" -gpu-only -o theirs/out.folded --prometheus theirs/a.prom "$workloads/launches" 20
	expect_status 0
	expect_equal owner "$(stat -c %u theirs/a.prom)" 4242
	echo precious >ours
	chmod 600 ours
	ln -sf "$PWD/ours" theirs/b.prom
	as_tester "$profile" -gpu-only -o theirs/out.folded --prometheus theirs/b.prom touch theirs/has_run
	expect_status 125
	expect_line stderr '^profile: cannot write theirs/b\.prom: Permission denied; '
	expect_no_file theirs/has_run
	expect ours <<<precious
}
