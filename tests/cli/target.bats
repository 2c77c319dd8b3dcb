# SPDX-License-Identifier: MIT
# What the profiled command can notice of the profiler: only four variables. And its identity.

load helpers

setup()
{
	enter_test_folder
	needs_root
}

# in_odd_surroundings COMMAND...: with settings that a careless parent would change.
in_odd_surroundings()
{
	(
		cd "$BATS_TEST_TMPDIR/elsewhere" || exit 1
		umask 027
		ulimit -S -n 300
		nice -n 3 timeout "$patience" env -u _ --ignore-signal=HUP,USR1,INT \
			--block-signal=USR2,TERM,CHLD --default-signal=PIPE \
			ODD=$'a b\tc' EMPTY= "$@" 7</dev/null 3>&-
	)
}

self_as_is()
{
	mkdir -p elsewhere
	in_odd_surroundings "$workloads/exits" self one '' 'two words' >expected
	expect_line expected '^signal 10 ignored$'
	expect_line expected '^signal 12 default blocked$'
	expect_line expected '^limit 7 300 '
	expect_line expected '^descriptor 7$'
	expect_line expected '^umask 027$'
}

@test "-cpu-only: the command sees no difference at all" {
	self_as_is
	in_odd_surroundings "$profile" -q -cpu-only -o ../out.folded \
		"$workloads/exits" self one '' 'two words' >got
	diff expected got
}

# bats test_tags=quick
@test "merged: the command sees three more variables and no other difference" {
	self_as_is
	in_odd_surroundings "$profile" -q -o ../out.folded \
		"$workloads/exits" self one '' 'two words' >got
	expect_equal 'variables of ours' "$(grep -cE \
		'^environment (CUDA_INJECTION64_PATH=/|PROFILE_PIPE=/|PROFILE_TRACE_CONFIG=stacks devices)' got)" 3
	grep -vE '^environment (CUDA_INJECTION64_PATH|PROFILE_PIPE|PROFILE_TRACE_CONFIG)=' got | diff expected -
}

# bats test_tags=quick
@test "stdin, stdout and stderr are the command's own" {
	status=0
	printf 'one\0two\n' | "$profile" -q -o out.folded \
		sh -c 'tee copy; echo three >&2' >stdout 2>stderr 3>&- || status=$?
	expect_status 0
	printf 'one\0two\n' | cmp - stdout
	printf 'one\0two\n' | cmp - copy
	expect stderr <<<three
}

@test "few descriptors: the profiler raises its own limit, the command keeps its limit" {
	with_details
	(
		ulimit -S -n 20
		run_profile -o out.folded sh -c 'ulimit -S -n'
		expect_status 0
		expect_line stderr "^$(cpu_samples '[0-9]+')\$"
		expect_no_line stderr "$going_on"
		expect stdout <<<20
	)
}

@test "a parent that ignores SIGCHLD" {
	run_command env --ignore-signal=CHLD "$profile" -q -o out.folded "$workloads/exits" self
	expect_status 0
	expect_line stdout '^signal 17 ignored$'
	run_command env --ignore-signal=CHLD "$profile" -q -o out.folded "$workloads/exits" 9
	expect_status 9
}

@test "closed stdin, stdout and stderr stay closed" {
	status=0
	"$profile" -q -o out.folded "$workloads/exits" 6 <&- >&- 2>&- 3>&- || status=$?
	echo "status $status"
	[ "$status" = 6 ]
	[ -e out.folded ]
}

@test "a pipeline that ends early ends nothing else" {
	"$profile" -q -o out.folded seq 1 1000000 3>&- | head -n 1 >stdout
	expect stdout <<<1
	[ -e out.folded ]
}

@test "an existing injection library is replaced, with a message" {
	with_details
	export CUDA_INJECTION64_PATH=/no/such/library.so
	run_profile --unit ns -o out.folded "$workloads/launches" 10
	expect_status 0
	expect stderr <<-END
		profile: CUDA_INJECTION64_PATH is set to /no/such/library.so; it is replaced for this run
		Samples: <N> CPU, $(launched 10 10) (0.010 ms)
		$(correlation 10)
		Wrote <N> stack<s> (<N> ns: <N> CPU, 10000 GPU) to out.folded
	END
}

# ---- under sudo ----

@test "under sudo the command runs as the invoking user, with all groups" {
	as_tester "$profile" -q -o theirs/out.folded \
		sh -c 'id -u; id -g; id -G | tr " " "\n" | sort; echo "$HOME $USER $LOGNAME"
			grep -E "^Cap(Prm|Eff|Amb)" /proc/self/status'
	expect_status 0
	printf '%s\n' 4242 4242 4242 4243 4244 '/home/tester tester tester' \
		CapPrm:$'\t'0000000000000000 CapEff:$'\t'0000000000000000 \
		CapAmb:$'\t'0000000000000000 | diff - stdout
	expect_equal owner "$(stat -c %u:%g theirs/out.folded)" 4242:4242
}

@test "under sudo the private folder is the user's, and works" {
	with_details
	as_tester "$profile" -v -gpu-only -o theirs/out.folded sh -c '
		folder=${PROFILE_PIPE%/*}
		stat -c "%A %u:%g" "$folder"
		stat -c "%A %u:%g %n" "$folder"/[gl]*.[ps]* | sed "s|/.*/||"
		exec "$0" 10' "$workloads/launches"
	expect_status 0
	expect stdout <<-'END'
		drwx------ 4242:4242
		prw------- 4242:4242 gpu.pipe
		-r-x------ 4242:4242 libprofile_cupti.so
		launches 10 kernels 10 threads 1 streams 1 mode kernel
	END
	expect_line stderr "^$(correlation 10)\$"
}

@test "under sudo an output folder of root's is refused, with the user who may write" {
	as_tester "$profile" -q -o out.folded touch theirs/has_run
	expect_status 125
	expect stderr <<<'profile: cannot write out.folded as tester: Permission denied; choose a file that this user may write with -o, or use --as-root'
	expect_no_file out.folded
	expect_no_file theirs/has_run
}

@test "under sudo --as-root keeps root" {
	as_tester "$profile" -q --as-root -o theirs/out.folded sh -c 'id -u; echo "$HOME"'
	expect_status 0
	expect stdout <<-'END'
		0
		/root
	END
}

@test "under sudo of a user without a name" {
	mkdir theirs
	chown 4249:4250 theirs
	run_command env SUDO_UID=4249 SUDO_GID=4250 "$profile" -q -o theirs/out.folded \
		sh -c 'id -u; id -G'
	expect_status 0
	expect stdout <<-'END'
		4249
		4250
	END
	expect_equal owner "$(stat -c %u:%g theirs/out.folded)" 4249:4250
}

@test "non-numeric variables of sudo are refused" {
	for ids in 'SUDO_UID=abc SUDO_GID=1' 'SUDO_UID=-1 SUDO_GID=1' 'SUDO_UID=1 SUDO_GID=' \
		'SUDO_UID=4294967295 SUDO_GID=1' 'SUDO_UID=1 X=1' 'SUDO_UID=99999999999 SUDO_GID=1'; do
		# shellcheck disable=SC2086
		run_command env $ids "$profile" -o out.folded touch has_run
		expect_status 125
		expect stderr <<<'profile: SUDO_UID or SUDO_GID is not a number; unset them, or use --as-root'
		expect_no_file has_run
	done
}

# ---- the private folder ----

@test "TMPDIR on a noexec file system: another place is used" {
	with_details
	needs_command unshare
	mkdir noexec
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
	run_command unshare -m sh -ec 'mount -t tmpfs -o noexec none noexec
		TMPDIR=$PWD/noexec "$@"; ls -A noexec' sh \
		"$profile" -v -gpu-only -o out.folded "$workloads/launches" 10
	expect_status 0
	expect stdout <<<'launches 10 kernels 10 threads 1 streams 1 mode kernel'
	expect_line stderr "^$(correlation 10)\$"
}

@test "only noexec file systems: says which were tried, and what to do" {
	needs_command unshare
	mkdir noexec
	cp "$profile" .
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
	run_command unshare -m sh -ec '
		for d in noexec /var/tmp /dev/shm /run; do mount -t tmpfs -o noexec none $d; done
		cd /; work=$OLDPWD; mkdir -p "$1"; mount --rbind "$work" "$1"
		mount -t tmpfs -o noexec none /tmp
		cd "$1"; TMPDIR=$PWD/noexec ./profile -o out.folded touch has_run' sh /mnt
	expect_status 125
	expect stderr <<-'END'
		profile: no folder for the injection library: tried <*>/noexec (<*>), /tmp (no execution or no access), /var/tmp (no execution or no access), /dev/shm (no execution or no access)<*>; set TMPDIR to one on a file system mounted without noexec
	END
	expect_no_file has_run
}

@test "-cpu-only needs no private folder" {
	mkdir private
	TMPDIR=$PWD/private run_profile -q -cpu-only -o out.folded ls private
	expect_status 0
	expect_empty stdout
}
