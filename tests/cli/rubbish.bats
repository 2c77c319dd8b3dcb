# SPDX-License-Identifier: MIT
# A command that writes rubbish into the profiler's pipe, between launches of its own: costs counted
# lines and nothing else.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
}

# rubbish MODE [KERNEL]: the run succeeds, with 40 real kernels of 10 us under their stack. KERNEL is
# the name they may have, a pattern: a line that gives a kernel a name is taken for the process that
# wrote last, so rubbish of that form can rename kernels; their time stays what it is.
rubbish()
{
	run_profile -gpu-only --unit ns -o out.folded "$workloads/rubbish" "$1" 20
	expect_status 0
	expect stdout <<<'launches 40'
	expect_folded out.folded
	expect_totals out.folded
	expect_equal 'ns of real kernels' "$(weight_of out.folded \
		";main;honest_launch;cuLaunchKernel;[[]GPU_Kernel[]]${2:-driver_spin}\$")" 400000
	# what is shown of it is harmless on a terminal
	if LC_ALL=C grep -n '[^[:print:][:space:]]' stderr out.folded; then false; fi
}

# counted LINES TOO_LONG: patterns
counted()
{
	expect_line stderr "^profile: $(malformed "$1" 'lines?' pipe) .* ignored \\($2 too long\\); (the first|it) began: "
	expect_line stderr "^$(correlation 40 '[0-9]+' '[0-9]+')\$"
}

# bats test_tags=quick
@test "broken JSON" {
	rubbish json
	counted '3[67][0-9]' 0
}

@test "wrong types" {
	rubbish types
	counted '3[67][0-9]' 0
}

@test "impossible numbers" {
	rubbish numbers
	counted '1[0-9]{3}' 0
}

@test "binary" {
	rubbish binary
	counted '[1-9][0-9]*' '[0-9]+'
}

@test "lines of 1 MB" {
	rubbish long
	counted '(6[0-9]|[7-9][0-9]|1[0-9][0-9])' '(6[0-9]|[7-9][0-9]|1[0-9][0-9])'
}

@test "deep nesting" {
	rubbish deep
	counted '[4-9][0-9]' '[4-9][0-9]'
}

@test "half lines" {
	rubbish half
	counted '[1-9][0-9]*' '[0-9]+'
}

@test "odd keys and bad UTF-8" {
	rubbish names '.*'
	counted '[1-9][0-9]*' 0
}

@test "lines that look real: their claims are kept apart, and are no launches of the command" {
	rubbish forged
	counted '[1-9][0-9]*' 0
	expect_no_line out.folded '^[^[].*forged'
}

@test "a flood" {
	rubbish flood
	counted '8000[0-9]{2}' 0
}

@test "everything in turn" {
	rubbish all '.*'
	counted '[1-9][0-9]*' '[1-9][0-9]*'
}

@test "a command without CUDA that writes rubbish" {
	run_profile -o out.folded sh -c 'echo rubbish >"$PROFILE_PIPE"; exit 4'
	expect_status 4
	expect_line stderr "^profile: $(malformed 1 line pipe) .*; it began: rubbish\$"
	expect_line stderr "^$no_cuda"
}
