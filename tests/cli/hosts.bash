# shellcheck shell=bash
# shellcheck disable=SC2154 # helpers.bash sets what is not set here
# SPDX-License-Identifier: MIT
# Shared by the tests of the programs of tests/hosts/. None notices the library in it, and nothing is
# lost that is not counted. Each checks itself; the tests say what the profile of each must be like.

load helpers

hosts=$root/build/tests/hosts

setup()
{
	enter_test_folder
	with_details
	needs_root
}

# profile_host [OPTIONS OF PROFILE...] PROGRAM [ARGUMENTS...]
profile_host()
{
	run_profile --strict -gpu-only --unit ns -o out.folded "$@"
}

# expect_launches [N]: the program said so, all have their kernels, and nothing was lost. Without N:
# as many as the program said.
expect_launches()
{
	local launches=${1-}

	expect_status 0
	if [ -z "$launches" ]; then launches=$(sed -n 's/^launches //p' stdout); fi
	expect_line stdout "^launches $launches\$"
	expect_line stderr "^Samples: $(launched "$launches" "$launches") "
	expect_line stderr "^$(correlation "$launches")\$"
	expect_line work "$all_sums_match"
}

# host NAME LAUNCHES [OPTIONS OF PROFILE...]: ends well and says nothing else, nor does profile.
host()
{
	local name=$1 launches=$2

	shift 2
	profile_host "$@" "$hosts/$name"
	expect_launches "$launches"
	expect stdout <<<"launches $launches"
	expect_no_line stderr '^profile: '
}
