# SPDX-License-Identifier: MIT
# The profiler's identity and rights at each moment, and attempts of others to abuse them.
# profiler/run/privilege.h has the table.

load helpers

readonly none=0000000000000000
readonly perfmon_and_bpf=000000c000000000

setup()
{
	enter_test_folder
	needs_root
	cat >show_status <<-'END'
		#!/bin/sh
		# show_status [WORKER]: its status (of who starts us), and that of its supervisor
		worker=${1:-$PPID}
		supervisor=$(sed -n 's/^PPid:\t//p' /proc/$worker/status)
		for id in $worker $supervisor; do
			grep -E '^(Uid|Gid|Groups|CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs):' \
				/proc/$id/status
		done
	END
	chmod 755 show_status
}

# they_are FILE ID GROUPS CAPABILITIES: worker and supervisor, as show_status saw them; the supervisor
# has no capabilities.
they_are()
{
	local capabilities

	for capabilities in "$4" $none; do
		printf '%s\n' "Uid: $2 $2 $2 $2" "Gid: $2 $2 $2 $2" "Groups: $3" \
			"CapInh: $none" "CapPrm: $capabilities" "CapEff: $capabilities" \
			"CapAmb: $none" 'NoNewPrivs: 1'
	done | sed 's/ $//' | diff - <(sed 's/[[:space:]]\+/ /g; s/ $//' "$1")
}

# A program that burns CPU time and whose names come from a debuginfod server: ./stripped.
make_stripped_program()
{
	needs_command strip
	cp "$workloads/cpu_mix" stripped
	strip --strip-all --remove-section=.gnu_debuglink stripped
}

# A debuginfod client that reports who started it during naming; finds nothing.
fake_debuginfod()
{
	mkdir -p bin
	cat >bin/debuginfod-find <<-END
		#!/bin/sh
		[ -s theirs/naming ] || ./show_status \$PPID >theirs/naming
		sed -n 's/^Cap\(Prm\|Eff\):.//p' /proc/\$PPID/task/*/status >>theirs/threads
		exit 1
	END
	chmod 755 bin/debuginfod-find
}

# bats test_tags=quick
@test "under sudo: the user with two capabilities while the command runs, with none afterwards" {
	make_stripped_program
	fake_debuginfod
	as_tester env PATH="$PWD/bin:$PATH" DEBUGINFOD_URLS=http://localhost:1 \
		"$profile" -q --debuginfod -o theirs/out.folded \
		sh -c './show_status $PPID >theirs/start; exec ./stripped'
	expect_status 0
	they_are theirs/start 4242 '4242 4243 4244' $perfmon_and_bpf
	they_are theirs/naming 4242 '4242 4243 4244' $none
	expect_equal 'capabilities of all threads' "$(sort -u theirs/threads)" $none
	expect_equal owner "$(stat -c %u:%g:%a theirs/out.folded)" 4242:4242:644
}

@test "debuginfod servers are asked only with --debuginfod, never as root for somebody else" {
	make_stripped_program
	fake_debuginfod
	export PATH="$PWD/bin:$PATH" DEBUGINFOD_URLS=http://localhost:1
	mkdir -p theirs
	run_profile -cpu-only -o theirs/out.folded ./stripped 100
	expect_status 0
	expect_no_line stderr DEBUGINFOD
	run_profile -cpu-only --debuginfod -o theirs/out.folded ./stripped 100
	expect_status 0
	expect_equal announcements "$(grep -c '^Asking the servers in DEBUGINFOD_URLS' stderr)" 1
	test -s theirs/naming
	rm theirs/naming
	as_tester env "PATH=$PATH" "$profile" --debuginfod --as-root -o theirs/out.folded ./show_status
	expect_status 125
	expect_line stderr 'not for root on behalf of another user'
	unset DEBUGINFOD_URLS
	run_profile --debuginfod -o theirs/out.folded ./stripped 100
	expect_status 125
	expect_line stderr 'DEBUGINFOD_URLS, which is not set'
	test ! -e theirs/naming
}

@test "under sudo of a user without a name" {
	mkdir theirs
	chown 4249:4249 theirs
	run_command env SUDO_UID=4249 SUDO_GID=4249 "$profile" -q -o theirs/out.folded ./show_status
	expect_status 0
	they_are stdout 4249 4249 $perfmon_and_bpf
}

@test "a plain user has no privileges, and gains none" {
	needs_command setpriv
	mkdir -m 777 open
	cp "$profile" .
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -q -o open/out.folded \
		./show_status
	expect_status 0
	they_are stdout 65534 '' $none
	expect_equal owner "$(stat -c %u open/out.folded)" 65534
}

@test "root without sudo, and --as-root: stays root, and says so" {
	run_profile -o out.folded ./show_status
	expect_status 0
	expect_equal 'all of one root' "$(grep -c $'^Uid:\t0\t0\t0\t0$' stdout)" 2
	expect_equal capabilities "$(grep -c "^CapEff:.$(sed -n 's/^CapEff:.//p' /proc/self/status)$" stdout)" 2
	expect_no_line stderr 'as-root'
	as_tester "$profile" --as-root -o out.folded ./show_status
	expect_status 0
	expect_equal 'all of one root' "$(grep -c $'^Uid:\t0\t0\t0\t0$' stdout)" 2
	expect_line stderr '^The command ran as root: --as-root$'
}

# with_file_capabilities CAPABILITIES ARGUMENTS...: as nobody, with a copy that has them.
with_file_capabilities()
{
	needs_command setcap
	needs_command setpriv
	mkdir -p -m 777 open
	cp "$profile" .
	setcap "$1=ep" ./profile 2>/dev/null ||
		skip "this file system keeps no capabilities of files: $(stat -f -c %T .)"
	shift
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups ./profile ${details:+"$details"} "$@"
}

@test "setcap: the same without sudo" {
	with_details
	with_file_capabilities cap_bpf,cap_perfmon -o open/out.folded ./show_status
	expect_status 0
	they_are stdout 65534 '' $perfmon_and_bpf
	expect_no_line stderr 'not permitted'
	expect_line stderr "^$(cpu_samples '[0-9]+')\$"
}

@test "setcap: the command has the variables that the dynamic loader drops, and profile does not" {
	local line

	cat >print_variables <<-'END'
		#!/bin/sh
		echo "$LD_LIBRARY_PATH|$TMPDIR|$ODD|$CUDA_INJECTION64_PATH"
	END
	chmod 755 print_variables
	export ODD='a=b'
	LD_LIBRARY_PATH=/odd/place:/other TMPDIR=$PWD/open \
		with_file_capabilities cap_bpf,cap_perfmon,cap_syslog -v -o open/out.folded ./print_variables
	expect_status 0
	IFS='|' read -ra line <stdout
	[ "${line[0]}" = /odd/place:/other ]
	[ "${line[1]}" = "$PWD/open" ]
	[ "${line[2]}" = a=b ]
	# its own folder is not where the caller says
	[[ ${line[3]} == /* && ${line[3]} != "$PWD/open"/* ]]
	expect_line stderr '^profile: the dynamic loader dropped (LD_LIBRARY_PATH, TMPDIR|TMPDIR, LD_LIBRARY_PATH), for the file of profile has capabilities; the command has them again$'
	# where there is nothing to drop, nothing comes back
	run_profile -q -cpu-only -o open/out.folded env -u ODD sh -c 'echo "${TMPDIR-none}"'
	[ "$(cat stdout)" = "${TMPDIR-none}" ]
}

@test "two capabilities suffice for probes: launch stacks and timed calls" {
	with_details
	as_tester "$profile" -v -gpu-only -launch-stacks uprobe --unit ns -o theirs/out.folded \
		"$workloads/launches" 10
	expect_status 0
	expect_line stderr "^$(correlation 10)\$"
	expect_line theirs/out.folded ';main;.*;cudaLaunchKernel;\[GPU_Kernel\]'
	as_tester env FAKE_CUDA_SUBSCRIBE_ERROR=39 "$profile" -v -gpu-only --unit ns \
		-o theirs/calls.folded "$workloads/inference" 3
	expect_status 0
	expect_line stderr "^$(calls_timed 225 '1 process'), "
	expect_line theirs/calls.folded ';main;server::InferencePipeline::run;cudaStreamSynchronize;'
}

# Where addresses are hidden from everybody, there are no names.
needs_kernel_addresses()
{
	grep -qv '^0* ' <(head -n 1 /proc/kallsyms) || skip 'kernel addresses are hidden from root, too'
}

burn_in_kernel='dd if=/dev/zero of=/dev/null bs=1 count=300000 status=none'

@test "kernel functions have names: under sudo, and with CAP_SYSLOG" {
	needs_kernel_addresses
	# shellcheck disable=SC2086
	as_tester "$profile" -cpu-only -F 997 -o theirs/out.folded $burn_in_kernel
	expect_status 0
	expect_line theirs/out.folded ';do_syscall_64;.*read'
	# shellcheck disable=SC2086
	with_file_capabilities cap_bpf,cap_perfmon,cap_syslog -cpu-only -F 997 -o open/out.folded \
		$burn_in_kernel
	expect_status 0
	expect_line open/out.folded ';do_syscall_64;.*read'
}

@test "a copy with the setuid bit refuses" {
	needs_command setpriv
	cp "$profile" .
	chmod 4755 ./profile
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups ./profile --as-root touch has_run
	if findmnt -n -o OPTIONS -T . | grep -q nosuid; then skip 'mounted with nosuid'; fi
	expect_status 125
	expect stderr <<<'profile: must not be installed setuid or setgid; use sudo or setcap'
	expect_no_file has_run
}

# ---- the command's rights ----

@test "under sudo the command has its user's usual limits, signals and rights" {
	in_order=(env --ignore-signal=CHLD --ignore-signal=HUP --block-signal=USR2
		--default-signal=PIPE ODD=1 HOME=/elsewhere SHELL=/bin/odd USER=me LOGNAME=me)
	ulimit -S -n 300
	ulimit -S -l 48
	as_tester setpriv --reuid=4242 --regid=4242 --init-groups "${in_order[@]}" \
		"$workloads/exits" self
	expect_status 0
	cp stdout expected
	expect_line expected '^limit 7 300 '
	expect_line expected '^signal 17 ignored$'
	expect_line expected '^uid 4242 4242 4242$'
	as_tester "${in_order[@]}" "$profile" -q -cpu-only -o theirs/out.folded "$workloads/exits" self
	expect_status 0
	expect_empty stderr
	diff expected stdout
}

@test "a setuid descendant still gains its privilege" {
	needs_command "${CC:-cc}"
	echo 'int geteuid(void); int puts(const char *); int main(void) { puts(geteuid() ? "user" : "root"); }' |
		"${CC:-cc}" -w -x c -o privileged -
	chmod 4755 privileged
	as_tester setpriv --reuid=4242 --regid=4242 --clear-groups ./privileged
	if [ "$(cat stdout)" != root ]; then skip 'setuid programs gain nothing here'; fi
	as_tester "$profile" -q -o theirs/out.folded sh -c './privileged; exec ./privileged'
	expect_status 0
	expect stdout <<-'END'
		root
		root
	END
}

@test "the command cannot look into the profiler" {
	as_tester "$profile" -q -o theirs/out.folded sh -c '
		supervisor=$(sed -n "s/^PPid:\t//p" /proc/$PPID/status)
		for id in $PPID $supervisor; do
			for file in environ mem maps; do
				if head -c 1 /proc/$id/$file >/dev/null 2>&1; then echo "$id $file"; fi
			done
			ls /proc/$id/fd/* 2>/dev/null
		done'
	expect_empty stdout
}

# ---- obstacles by others ----

# A file of root's that must not change.
make_roots_file()
{
	mkdir -p roots
	echo precious >roots/file
	chmod 644 roots/file
	before=$(stat -c '%i %u %g %a %s %Z' roots/file)
}

roots_file_is_untouched()
{
	expect_equal "root's file" "$(stat -c '%i %u %g %a %s %Z' roots/file)" "$before"
	expect roots/file <<<precious
	expect_equal "root's folder" "$(ls -A roots)" file
}

@test "the default output replaced by a link to root's file" {
	make_roots_file
	as_tester true
	ln -s ../roots/file theirs/merged_trace.folded
	as_tester sh -c 'cd theirs && exec "$@"' sh "$profile" touch has_run
	expect_status 125
	expect stderr <<<'profile: cannot write merged_trace.folded as tester: Permission denied; choose a file that this user may write with -o, or use --as-root'
	roots_file_is_untouched
	expect_no_file theirs/has_run
}

@test "a linked folder on the way to the output" {
	make_roots_file
	as_tester true
	ln -s ../roots theirs/results
	as_tester "$profile" -o theirs/results/new true
	expect_status 125
	as_tester "$profile" -o theirs/results/file true
	expect_status 125
	as_tester "$profile" --save-input theirs/results/recording -o theirs/out.folded true
	expect_status 125
	expect_line stderr '^profile: cannot record to '
	roots_file_is_untouched
}

@test "another user's link in a shared folder" {
	make_roots_file
	mkdir -m 1777 common
	ln -s ../roots/file common/out.folded
	chown -h 4249:4249 common/out.folded
	as_tester "$profile" -o common/out.folded true
	expect_status 125
	ln -s ../roots/new common/new.folded
	as_tester "$profile" -o common/new.folded true
	expect_status 125
	roots_file_is_untouched
}

@test "root follows no link of another user's in a shared folder to a new file" {
	needs_root
	mkdir -m 1777 common
	ln -s ../new.folded common/out.folded
	chown -h 4249:4249 common/out.folded
	run_profile -q -cpu-only -o common/out.folded touch has_run
	expect_status 125
	expect_line stderr '^profile: cannot write .*common/out\.folded: Permission denied'
	expect_no_file has_run
	expect_no_file new.folded
	chown -h 0:0 common/out.folded
	run_profile -q -cpu-only -o common/out.folded true
	expect_status 0
	[ -f new.folded ]
}

@test "a link to a place where the user may write is followed" {
	as_tester true
	ln -s out.folded theirs/link
	as_tester "$profile" -q -gpu-only -o theirs/link true
	expect_status 0
	expect_equal link "$(readlink theirs/link)" out.folded
	expect_equal owner "$(stat -c %u:%g:%F theirs/out.folded | cut -d' ' -f1,2)" '4242:4242:regular empty'
}

# ---- odd places ----

@test "under sudo with a TMPDIR without execution" {
	with_details
	needs_mount_namespace
	mkdir noexec
	as_tester sh -ec 'mount -t tmpfs -o noexec,mode=1777 none noexec
		TMPDIR=$PWD/noexec "$@"; ls -A noexec' sh \
		"$profile" -v -gpu-only -o theirs/out.folded "$workloads/launches" 10
	expect_status 0
	expect stdout <<<'launches 10 kernels 10 threads 1 streams 1 mode kernel'
	expect_line stderr "^$(correlation 10)\$"
}

@test "where processes of others are hidden" {
	with_details
	as_tester sh -ec 'mount -t proc -o hidepid=2 proc /proc
		exec "$@"' sh "$profile" -v -F 997 --by process -o theirs/out.folded "$workloads/inference" 20
	if grep -q '^mount: ' stderr; then skip '/proc cannot be mounted here'; fi
	expect_status 0
	expect_line stderr "^$(correlation 1480)\$"
	expect_line theirs/out.folded \
		'^inference [0-9]+;.*;main;server::InferencePipeline::run;server::Tokenizer::tokenize [0-9]+$'
	expect_line theirs/out.folded ';\[GPU_Kernel\]model::gemm'
}

@test "where /sys is not mounted: says so, and continues" {
	needs_mount_namespace
	run_command unshare -m sh -ec 'mount -t tmpfs none /sys; exec "$@"' sh \
		"$profile" -o out.folded true
	expect_status 0
	expect_line stderr "^profile: /sys is not mounted; .*: mount it, as with 'mount -t sysfs none /sys'\. $going_on "
}

# Its user's events end with its exec, and it does not go on after the command.
@test "a plain user's program that may not be read ends as all do" {
	needs_root
	cp "$workloads/cpu_mix" unreadable
	chmod 711 unreadable
	mkdir -p theirs
	chown 4242:4242 theirs
	run_command setpriv --reuid 4242 --regid 4242 --clear-groups "$profile" -o theirs/out.folded \
		sh -c './unreadable >theirs/printed; exit 4'
	expect_status 4
	expect_no_line stderr " $ran_on"
}
