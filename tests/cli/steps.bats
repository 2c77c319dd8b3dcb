# SPDX-License-Identifier: MIT
# Steps of a run: --steady, --step, --steps, --per-step and --slow-steps.

load helpers

# All tests read the files of these runs.
setup_file()
{
	load helpers
	if [ "$(id -u)" != 0 ]; then return; fi
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR enter_test_folder
	unset NVTX_INJECTION64_PATH
	for mode in outside inside named loops; do
		run_profile -F 997 --waits --api --nvtx --unit ns -o $mode.profile -o $mode.folded \
			"$workloads/nvtx_steps" 40 $mode
		expect_status 0
	done
	run_profile -gpu-only --unit ns -o plain.profile "$workloads/inference" 30
	expect_status 0
}

setup()
{
	needs_root
	enter_test_folder
	cp "$BATS_FILE_TMPDIR"/*.{profile,folded} .
}

# The weight of kernels, or of all stacks, in a part of a run: FILE OPTIONS...
kernels()
{
	run_profile -q --unit ns -o part.folded --from "$@"
	expect_status 0
	weight_of part.folded '\[GPU_Kernel\][^;]*$'
}

all()
{
	kernels "$@" >/dev/null
	weight_of part.folded
}

# bats test_tags=quick
@test "steps are found in the order of launches" {
	expect_equal 'a request' "$(kernels plain.profile --step 7)" 26540000
	expect_equal 'all requests' "$(kernels plain.profile --step 0..)" $((30 * 26540000))
	expect_equal 'some' "$(kernels plain.profile --step 3..9)" $((6 * 26540000))
	run_profile --from plain.profile --step 3..9 -o part.folded
	expect_line stderr '^Steps 3 to 8 of 30 \(0 to 29\), [0-9.]+ ms on average'
}

# bats test_tags=quick
@test "steps that adjoin add up, in all kinds of time" {
	for file in plain.profile 'outside.profile --steps ^step'; do
		# shellcheck disable=SC2086 # the file and its options
		set -- $file
		expect_equal 'two parts' $(($(all "$@" --step ..11) + $(all "$@" --step 11..))) "$(all "$@" --step 0..)"
		expect_equal 'after warm-up' $(($(all "$@" --steady --step ..20) + $(all "$@" --step 20..))) \
			"$(all "$@" --steady)"
	done
}

# Step 5 has a kernel of 80 ms, which runs and is waited for until it ends.
@test "ranges are steps, and have what they launched" {
	for mode in outside inside named loops; do
		note=$([ $mode = outside ] || [ $mode = loops ] && echo 1000 || echo 0)
		set -- $mode.profile --steps '^step( [0-9]+)?$' -gpu-only
		run_profile --from "$@" --step 5 --unit ns -o part.folded
		expect_line stderr '^Step 5 of 40 \(0 to 39\), [0-9.]+ ms'
		expect_equal "$mode: extra" "$(weight_of part.folded '\[GPU_Kernel\]extra')" 80000000
		expect_equal "$mode: forward" "$(weight_of part.folded '\[GPU_Kernel\]forward')" 4000
		expect_equal "$mode: backward" "$(weight_of part.folded '\[GPU_Kernel\]backward')" 5000
		expect_equal "$mode: update" "$(weight_of part.folded '\[GPU_Kernel\]update')" 2000
		expect_equal "$mode: note" "$(weight_of part.folded '\[GPU_Kernel\]note')" "$note"
		expect_equal "$mode: all steps" "$(kernels "$@" --step 0.. --kernel 'forward|backward|update|extra')" \
			$((40 * 11000 + 4 * 80000000))
	done
	run_profile -q --from named.profile --steps 'step 5' --step 0.. -gpu-only --unit ns -o part.folded
	expect_equal 'one name' "$(weight_of part.folded '\[GPU_Kernel\]extra')" 80000000
}

@test "a mean step is the sum by the number of steps" {
	set -- outside.profile --steps ^step --step 10..30
	whole=$(all "$@")
	expect_equal 'kernels' "$(kernels "$@" --per-step)" $(((20 * 12000 + 2 * 80000000) / 20))
	mean=$(weight_of part.folded)
	# each kind is rounded by itself: CPU, GPU, waiting
	[ $((20 * mean - whole)) -le 30 ] && [ $((whole - 20 * mean)) -le 30 ]
	run_profile --from "$@" --per-step -o mean.svg -o mean.html -o mean.json -o whole.profile
	expect_status 0
	expect_line mean.svg '· with --steps \^step --step 10..30 --per-step ·'
	expect_line mean.json '"shown":"--steps \^step --step 10..30 --per-step"'
	cmp whole.profile outside.profile
	run_profile --from "$@" --per-step -o mean.perfetto-trace
	expect_status 125
	expect_line stderr '--per-step is for formats of sums'
	expect_no_file mean.perfetto-trace
}

@test "the slowest steps are compared with typical ones" {
	needs_command node
	run_profile --from outside.profile --steps ^step --step 5.. --slow-steps -o slow.svg -o slow.html -o slow.json \
		-o slow.folded -o whole.profile
	expect_status 0
	expect_line stderr '^Compared: before, 17 steps around the median of [0-9.]+ .s; after, the slowest 3 of 35 steps'
	expect_line slow.svg 'Difference of 3 slow steps \(after\) from 17 typical ones \(before\)'
	expect_line slow.json '"runs":17'
	expect_equal 'the page' "$(page_data slow.html '[p.difference.isOfSteps, p.difference.sides.map(side => side.runs), p.difference.values.length]')" \
		'[true,[17,3],20]'
	# what slow steps launch besides
	expect_line stderr '^ +0 ns +80\.000 ms .* new +extra'
	expect_line stderr '^ +0 ns +80\.000 ms .* new +grow'
	expect_line stderr 'same +forward'
	expect_line slow.folded ';grow;cudaLaunchKernel;\[GPU_Kernel\]extra\(unsigned long long\) 0 80000000$'
	cmp whole.profile outside.profile
	run_profile --from outside.profile --steps ^step --step 5..8 --slow-steps -o few.svg
	expect_status 125
	expect_line stderr '^profile: --slow-steps compares at least 4 steps, and there are 3$'
	expect_no_file few.svg
}

@test "what is of the whole run is called so" {
	run_profile --from outside.profile --steps ^step --step 3..7 --top
	expect_status 0
	expect_line stderr '\(whole run\)'
	expect_line stderr '^Shown with --steps \^step --step 3..7: '
}

@test "of several loops, steps are those of the main one" {
	run_profile --from loops.profile --step 0.. -gpu-only --unit ns -o part.folded
	expect_status 0
	expect_line stderr '^  of 2 loops, those of the main one: of thread [0-9]+ of nvtx_steps [0-9]+$'
	expect_equal 'its work' "$(weight_of part.folded '\[GPU_Kernel\]update')" 80000
}

@test "without steps nothing is written" {
	echo old >part.folded
	run_profile --from outside.profile --steps none_such --steady -o part.folded
	expect_status 125
	expect_line stderr '^profile: --steps none_such: no steps in the run: no launch is in an NVTX range whose name matches$'
	run_profile --from plain.profile --steps step --steady -o part.folded
	expect_status 125
	expect_line stderr '^profile: --steps step: the run has no NVTX ranges; they are recorded with --nvtx or --ops$'
	run_profile --from plain.profile --step 30..40 -o part.folded
	expect_status 125
	expect_line stderr '^profile: --step 30..40: not in the run, which has the steps 0 to 29$'
	expect_equal 'the file' "$(cat part.folded)" old
}

@test "launches that do not repeat are no steps" {
	run_profile -q -o few.profile "$workloads/nvtx_ranges"
	echo old >part.folded
	run_profile --from few.profile --steady -o part.folded
	expect_status 125
	expect_line stderr '^profile: --steady: no steps were found in the run: '
	expect_equal 'the file' "$(cat part.folded)" old
}

@test "a run can be viewed by steps as well" {
	run_profile --unit ns -gpu-only --nvtx --steps ^step --step 5 -o part.folded -o whole.profile \
		"$workloads/nvtx_steps" 12
	expect_status 0
	expect_line stderr '^Step 5 of 12 '
	expect_equal 'the step' "$(weight_of part.folded)" 80012000
	expect_equal 'the capture' "$(kernels whole.profile)" $((3000 + 12 * 12000 + 80000000))
}

@test "steps of two runs are compared, each with its own" {
	run_profile --diff --steps ^step --step 5..15 outside.profile named.profile
	expect_status 0
	expect_line stderr '^ +10\.000 us +0 ns .* gone +note'
	expect_line stderr 'same +forward'
}
