# SPDX-License-Identifier: MIT
# No process of which a thread has a capability opens a library that it was not linked with: what each
# command opens, and what it may do by then, with capabilities of the file, under sudo and as root.

load helpers

setup()
{
	enter_test_folder
	needs_root
	needs_command gcc
	needs_command setcap
	needs_command setpriv
	needs_command python3
	needs_mount_namespace
	unset http_proxy https_proxy all_proxy no_proxy SSL_CERT_FILE DEBUGINFOD_URLS PROFILE_PUSH_HEADERS
	while read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(OTEL_|TRACE)')
	cp "$profile" .
	mkdir -m 777 open
	watch_libraries
}

teardown()
{
	if [ -n "${keeper-}" ]; then exec {keeper}>&-; fi
	if [ -n "${server-}" ]; then wait "$server" || true; fi
	if [ -n "${sleeper-}" ]; then
		kill "$sleeper" 2>/dev/null || true
		wait "$sleeper" 2>/dev/null || true
	fi
}

# Makes ./etc, to be mounted as /etc: with a library that notes what is opened, in the file `opened`, and
# with a module of NSS that notes when it is loaded.
watch_libraries()
{
	local source=$root/tests/cli/opened_libraries.c

	module=$(ldconfig -p | sed -n 's/^\tlibnss_hesiod\.so\.2 (libc6,x86-64.*) => //p' | head -n 1)
	if [ -z "$module" ]; then skip 'this C library has no module of NSS that nobody uses'; fi
	: >opened
	chmod 666 opened
	gcc -shared -fPIC -O1 -DLOG="\"$PWD/opened\"" -o watcher.so "$source" -ldl
	gcc -shared -fPIC -O1 -DMARKER -DLOG="\"$PWD/opened\"" -o marker.so "$source"
	cp -a /etc etc
	rm -f etc/shadow* etc/gshadow*
	echo "$PWD/watcher.so" >etc/ld.so.preload
	printf '%s: hesiod files\n' passwd group initgroups >etc/nsswitch.conf
	echo 'hosts: hesiod files dns' >>etc/nsswitch.conf
	echo '127.0.0.1 collector.test' >>etc/hosts
	echo 'tester:x:4242:4242::/home/tester:/bin/sh' >>etc/passwd
	printf '%s\n' tester:x:4242: first:x:4243:tester second:x:4244:tester >>etc/group
}

# within COMMAND...: with that /etc, and that module
within()
{
	# shellcheck disable=SC2016
	run_command unshare -m sh -ec '
		mount --bind etc /etc
		mount --bind marker.so "$0"
		exec "$@"' "$module" "$@"
}

# as WHO ARGUMENTS...: profile with file capabilities, by sudo or as root
as()
{
	local who=$1

	shift
	setcap -r ./profile 2>/dev/null || true
	case $who in
	setcap)
		setcap cap_bpf,cap_perfmon,cap_syslog=ep ./profile 2>/dev/null ||
			skip "this file system keeps no capabilities of files: $(stat -f -c %T .)"
		within setpriv --reuid=4242 --regid=4242 --clear-groups ./profile "$@"
		;;
	sudo)
		within env SUDO_UID=4242 SUDO_GID=4242 SUDO_USER=tester HOME=/root USER=root LOGNAME=root \
			./profile "$@"
		;;
	root)
		within ./profile "$@"
		;;
	esac
}

# has_opened LIBRARY...: these were opened, among others, and all without a capability
has_opened()
{
	local library

	sort -u opened
	for library in "$@"; do grep -q "$library" opened; done
	expect_equal 'opened with capabilities' "$(grep -cv ' 0000000000000000$' opened)" 0
	: >opened
}

# What takes profiles, and refuses spans, at $port.
serve()
{
	mkdir server
	mkfifo held
	python3 "$root/tests/cli/push_server.py" server <held >served 2>&1 3>&- &
	server=$!
	exec {keeper}>held
	wait_until test -e server/port
	port=$(cat server/port)
}

needs_libcurl()
{
	ldconfig -p | grep -q 'libcurl[-a-z]*\.so\.4 ' || skip 'libcurl is not installed'
}

@test "the watch itself: a library that root opens is noted with root's capabilities" {
	cat >opens.c <<-'END'
		#include <dlfcn.h>
		#include <pwd.h>
		int main(void) { getpwuid(4242); return !dlopen("libm.so.6", RTLD_NOW); }
	END
	mkdir other
	gcc -o other/profile opens.c -ldl
	within other/profile
	expect_status 0
	grep -q '^dlopen libm.so.6 0 0*[1-9a-f]' opened
	grep -q '^module nss 0 0*[1-9a-f]' opened
}

@test "a run" {
	local who

	for who in setcap sudo root; do
		as $who -q -o open/$who.folded env LD_LIBRARY_PATH="$fake_cuda" "$workloads/launches" 10
		expect_status 0
		has_opened
	done
}

@test "NVML, where a program works on a GPU" {
	local who

	export LD_LIBRARY_PATH=$fake_cuda/nvml:$fake_cuda
	for who in setcap sudo root; do
		as $who -q -o open/$who.json env LD_LIBRARY_PATH="$LD_LIBRARY_PATH" "$workloads/steady" 700
		expect_status 0
		has_opened 'dlopen libnvidia-ml'
	done
	expect_equal 'what root sees' "$(jq '.gpu_state | length' open/root.json)" 1
}

@test "under sudo the user's groups are looked up without a capability, and are all there" {
	as sudo -q -o open/out.folded id -G
	expect_status 0
	expect_equal groups "$(cat stdout)" '4242 4243 4244'
	# by a process that the user can neither trace nor signal
	expect_equal 'who looked up' "$(sed -n 's/^module nss //p' opened | sort -u)" '0 0000000000000000'
	has_opened 'module nss'
}

@test "a lookup that hangs, or dies, costs the groups and is said" {
	local what

	for what in HANGS DIES; do
		gcc -shared -fPIC -O1 -DMARKER -D$what -DLOG="\"$PWD/opened\"" -o marker.so \
			"$root/tests/cli/opened_libraries.c"
		as sudo -o open/out.folded id -G
		expect_status 0
		expect_equal groups "$(cat stdout)" 4242
		expect_line stderr '^profile: looking up user 4242 failed: .*; the command runs with group 4242 alone$'
		has_opened 'module nss'
	done
}

@test "spans that are sent while the run goes on, and a push" {
	local who

	needs_libcurl
	serve
	for who in setcap sudo root; do
		as $who -q -o open/$who.folded --otlp "http://collector.test:$port" \
			--push "pyroscope+http://collector.test:$port" \
			env LD_LIBRARY_PATH="$fake_cuda" "$workloads/launches" 10
		expect_status 0
		has_opened libcurl 'module nss'
	done
	expect_equal profiles "$(find server -name 'profile.*' | wc -l)" 3
}

@test "a capture that is sent" {
	local who

	needs_libcurl
	serve
	run_profile -q -gpu-only -o open/run.profile "$workloads/launches" 10
	chmod 644 open/run.profile
	for who in setcap sudo root; do
		as $who -q --from open/run.profile -o open/$who.folded --otlp "http://collector.test:$port" \
			--push "pyroscope+http://collector.test:$port"
		expect_status 0
		has_opened libcurl 'module nss'
	done
}

@test "debuginfod-find has no capability either" {
	local who

	needs_command strip
	cp "$workloads/cpu_mix" stripped
	strip --strip-all --remove-section=.gnu_debuglink stripped
	mkdir bin
	: >asked
	chmod 666 asked
	cat >bin/debuginfod-find <<-'END'
		#!/bin/sh
		grep -E '^Cap(Prm|Eff|Amb):' /proc/self/status >>asked
		exit 1
	END
	chmod 755 bin/debuginfod-find
	for who in setcap sudo root; do
		: >asked
		PATH="$PWD/bin:$PATH" DEBUGINFOD_URLS=http://localhost:1 \
			as $who -q -cpu-only --debuginfod -o open/$who.folded ./stripped 100
		expect_status 0
		test -s asked
		expect_equal capabilities "$(sed 's/.*\t//' asked | sort -u)" 0000000000000000
		has_opened
	done
}

@test "attached to a process, and to one that cannot be inspected" {
	local who

	for who in setcap sudo root; do
		setpriv --reuid=4242 --regid=4242 --clear-groups sleep 1000 3>&- &
		sleeper=$!
		as $who -q -d 0.2 -p $sleeper -o open/$who.folded
		expect_status 0
		has_opened
		kill $sleeper
		wait $sleeper || true
	done
	sleep 1000 3>&- &
	sleeper=$!
	for who in setcap sudo; do
		as $who -q -d 0.2 -p $sleeper -o open/$who.folded
		expect_status 125
		expect_line stderr "process $sleeper belongs to root, or has more privileges than this user"
		has_opened
	done
}

@test "metrics are listed by the user's CUPTI, without a capability" {
	local who

	for who in setcap sudo root; do
		mkdir -p cuda/lib64
		cp "$fake_cuda/libcupti.so.13" cuda/lib64/
		CUDA_HOME=$PWD/cuda as $who --list-counters --chip GH100
		expect_status 0
		has_opened libcupti
	done
}

@test "what opens nothing: help, completion, the library's place, comparisons" {
	local who

	run_profile -q -gpu-only -o open/run.profile "$workloads/launches" 10
	chmod 644 open/run.profile
	for who in setcap sudo root; do
		DEBUGINFOD_URLS=http://localhost:1 as $who --help
		as $who --version
		as $who --completion bash
		HOME=$PWD/open as $who --print-injection-path
		as $who -q --from open/run.profile -o open/$who.folded
		expect_status 0
		as $who --diff open/run.profile open/run.profile
		expect_status 0
		as $who -q --baseline open/run.profile -gpu-only -o open/$who.folded true
		expect_status 0
		has_opened
	done
}

# A library of the user's, under all names and in all places that are looked in: it says what it may do.
make_evil()
{
	local folder name

	cat >evil.c <<-'END'
		#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		__attribute__((constructor)) static void tell(void)
		{
			char line[256];
			FILE *status = fopen("/proc/self/status", "r"), *out = fopen("open/evil", "a");
			while (status && out && fgets(line, sizeof(line), status))
				if (!strncmp(line, "CapEff", 6) || !strncmp(line, "CapPrm", 6))
					fprintf(out, "%s", line);
			if (out)
				fclose(out);
			_exit(7);
		}
	END
	gcc -shared -fPIC -o evil.so evil.c
	for folder in .. . lib lib64 extras/CUPTI/lib64 targets/x86_64-linux/lib; do
		mkdir -p "evil/$folder"
		for name in libcupti.so libcupti.so.{11.8,12,13} libcuda.so.1 libcudart.so libcudart.so.13 \
			libcurl.so.4 libnvperf_host.so libnvidia-ml.so.1; do
			cp evil.so "evil/$folder/$name"
		done
	done
}

@test "a library of the user's gets nothing by file capabilities: --list-counters, and runs" {
	local variable

	make_evil
	serve
	for variable in CUDA_HOME CUDA_PATH CUDA_ROOT LD_LIBRARY_PATH HOME; do
		for value in "$PWD/evil" evil .; do
				within_environment "$variable=$value" --list-counters
			within_environment "$variable=$value" --list-counters --chip GH100
			within_environment "$variable=$value" -q -o open/out.folded true
			within_environment "$variable=$value" -q -o open/out.folded --otlp "http://collector.test:$port" true
		done
	done
	# it was loaded, or nothing is shown
	test -s open/evil
	expect_equal capabilities "$(sed 's/.*\t//' open/evil | sort -u)" 0000000000000000
	has_opened
}

# within_environment NAME=VALUE ARGUMENTS...: in the folder with the library
within_environment()
{
	local variable=$1

	shift
	setcap cap_bpf,cap_perfmon,cap_syslog=ep ./profile
	within env -u LD_LIBRARY_PATH "$variable" setpriv --reuid=4242 --regid=4242 --clear-groups \
		./profile "$@"
}
