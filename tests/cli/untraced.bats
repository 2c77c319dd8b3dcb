# SPDX-License-Identifier: MIT
# Processes that use the GPU and are not traced: each cause is found out. Those that only load the driver are not mentioned.
#
# The GPU's device is /dev/fuse here, under the number of WSL's in /proc/misc: the stand-in of the driver opens it in cuInit.

load helpers

setup()
{
	enter_test_folder
	needs_root
	# one that other users can run, too
	python=$(PATH=/usr/bin:/bin command -v python3 || command -v python3) || skip 'python3 is not installed'
	export python
	needs_mount_namespace
	local number
	number=$(sed -n 's/^ *\([0-9]*\) fuse$/\1/p' /proc/misc)
	if [ -z "$number" ]; then skip 'no /dev/fuse in this kernel, to stand for a GPU'; fi
	mknod gpu c 10 "$number"
	chmod 666 gpu
	if ! (: <>gpu) 2>/dev/null; then skip 'devices cannot be opened in the folder for temporary files'; fi
	echo "$number dxg" >misc
	mkdir -m 1777 tmp
	: >stderr
	write_program
	write_many
}

# What a process does, step by step. `look`: waits until the profiler has looked at it.
write_program()
{
	cat >does.py <<-'END'
		import ctypes, fcntl, mmap, os, resource, struct, sys, time

		here = os.path.dirname(os.path.abspath(__file__))

		def map_code(name):
		    with open(os.path.join(here, name), "w+b") as file:
		        file.truncate(4096)
		        return mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)

		def filter_calls():
		    class Program(ctypes.Structure):
		        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]
		    libc = ctypes.CDLL(None, use_errno=True)
		    # x86-64's mprotect, which the dynamic loader needs, fails
		    code = (struct.pack("HBBI", 0x20, 0, 0, 0) + struct.pack("HBBI", 0x15, 0, 1, 10)
		            + struct.pack("HBBI", 6, 0, 0, 0x50001) + struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
		    assert libc.prctl(38, 1, 0, 0, 0) == 0
		    assert libc.prctl(22, 2, ctypes.byref(Program(4, code)), 0, 0) == 0

		kept = []
		for step in sys.argv[1:]:
		    if step == "load":
		        driver = ctypes.CDLL("libcuda.so.1")
		    elif step == "look":
		        while "process %d loaded" % os.getpid() not in open(os.path.join(here, "stderr")).read():
		            time.sleep(0.01)
		    elif step == "init":
		        assert driver.cuInit(0) == 0
		    elif step == "open":
		        os.open(os.path.join(here, "gpu"), os.O_RDWR)
		    elif step == "behind":
		        resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
		        device = os.open(os.path.join(here, "gpu"), os.O_RDWR)
		        fcntl.fcntl(device, fcntl.F_DUPFD, 17000)
		        os.close(device)
		    elif step == "filter":
		        filter_calls()
		    elif step == "fork":
		        child = os.fork()
		        if child:
		            os.waitpid(child, 0)
		            break
		    elif step == "rest":
		        time.sleep(0.5)
		    else:
		        kept.append(map_code(step))
	END
}

# A hundred processes with all the descriptors that they may have, to 5,000.
write_many()
{
	cat >many.py <<-'END'
		import os, resource, signal

		most = min(5000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
		resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
		os.setpgid(0, 0)
		signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
		null = os.open("/dev/null", os.O_RDONLY)
		for _ in range(most - 100):
		    os.dup(null)
		for _ in range(100):
		    if os.fork() == 0:
		        signal.pause()
		open("begun", "w").close()
		signal.pause()
	END
}

# with_gpu COMMAND...: the profiler and its command see the device.
with_gpu()
{
	FAKE_CUDA_DEVICE=$PWD/gpu TMPDIR=$PWD/tmp run_command unshare -m sh -ec '
		mount --bind misc /proc/misc
		exec "$@"' sh "$@"
}

does()
{
	with_gpu "$profile" -v --strict -gpu-only -o out.folded "$@"
}

# expect_cause WORDS [COUNT]
expect_cause()
{
	local count=${2:-1} are='process used the GPU and was'

	[ "$count" = 1 ] || are='processes used the GPU and were'
	expect_line stderr "^profile: $count $are not traced: $1\. [A-Z]"
	expect_equal 'lines of causes' "$(grep -c 'used the GPU' stderr)" 1
	expect_line stderr "^$(strict_says 'processes without GPU time' "$count")$"
	expect_no_line stderr 'did not use CUDA|tracing never started'
	expect_status 124
}

expect_nothing()
{
	expect_no_line stderr 'used the GPU|tracing never started|--strict'
	expect_status 0
}

@test "a driver that is only loaded, whatever is in the way" {
	does env -u CUDA_INJECTION64_PATH "$python" does.py load look rest
	expect_nothing
	expect_line stderr '^profile: process [0-9]+ loaded the CUDA driver, and cannot be traced: no CUDA_INJECTION64_PATH in the environment$'
	expect_line stderr "^$no_cuda: the profile is empty\$"
}

@test "workers that load the driver, of a program that is traced" {
	with_details
	does "$python" does.py load init fork rest
	expect_nothing
	with_gpu "$profile" -v --strict -gpu-only -o out.folded sh -c '
		for i in 1 2 3; do "$python" does.py load rest & done; "$0" 10; wait' "$workloads/launches"
	expect_nothing
	expect_line stderr "^$(correlation 10)\$"
}

@test "a cleared environment" {
	does env -i "LD_LIBRARY_PATH=$LD_LIBRARY_PATH" "FAKE_CUDA_DEVICE=$PWD/gpu" "$python" does.py load look init
	expect_cause 'no CUDA_INJECTION64_PATH in the environment'
}

@test "an empty environment" {
	does env -i "$python" does.py libcuda.so.1 look open
	expect_cause 'no CUDA_INJECTION64_PATH in the environment'
}

@test "a device behind more descriptors than are looked at" {
	if [ "$(ulimit -Hn)" != unlimited ] && [ "$(ulimit -Hn)" -lt 20000 ]; then skip 'processes may not open 20000 files here'; fi
	does env -u CUDA_INJECTION64_PATH "$python" does.py load look behind
	expect_line stderr '^profile: 1 process loaded the CUDA driver and was not traced; whether it used the GPU is not known: '
	expect_status 0
}

@test "several processes with one cause, and others that do not use the GPU" {
	does env -u CUDA_INJECTION64_PATH sh -c 'for i in 1 2 3; do "$python" does.py load look init & done
		"$python" does.py load look; wait'
	expect_cause 'no CUDA_INJECTION64_PATH in the environment' 3
}

@test "another tool's library" {
	does env CUDA_INJECTION64_PATH=/opt/tool.so "$python" does.py load look init
	expect_cause "another tool's injection library in CUDA_INJECTION64_PATH"
	expect_line stderr '^profile: process [0-9]+ has CUDA_INJECTION64_PATH=/opt/tool\.so$'
}

@test "a private folder for temporary files" {
	does unshare -m sh -ec 'mount -t tmpfs none tmp; exec "$python" does.py load look init'
	expect_cause "other files than profile's under /tmp or /"
}

@test "calls are timed where the library cannot be loaded" {
	with_gpu "$profile" -gpu-only --unit ns -o out.folded unshare -m sh -ec '
		mount -t tmpfs none tmp; exec "$0" 20' "$workloads/inference"
	expect_status 0
	expect_line stderr "^profile: 1 $used_untraced: other files than profile's under /tmp or /\. "
	expect_line stderr "^$(calls_timed '[0-9]+' '1 process'), "
	expect_line out.folded ';cudaStreamSynchronize;\[CUDA call, wall time\] '
}

@test "a folder for temporary files that is mounted noexec" {
	does unshare -m sh -ec 'mount --bind tmp tmp; mount -o remount,bind,noexec tmp; exec "$python" does.py load look init'
	expect_cause "profile's files on a file system mounted noexec"
}

@test "another user" {
	needs_command setpriv
	does setpriv --reuid=4242 --regid=4242 --clear-groups "$python" does.py load look init
	if grep -q 'Permission denied' stderr stdout; then skip 'other users cannot run python3 here'; fi
	expect_cause "another user, who may not read profile's files"
}

@test "a filter of system calls" {
	does "$python" does.py load filter rest init rest
	expect_cause 'a filter of system calls \(seccomp\)'
}

@test "a C library that is not glibc" {
	needs_command musl-gcc
	cp "$fake_cuda"/libcuda.so.1 libcuda.so.1
	cat >musl.c <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>

		/* As a driver does that is loaded by a dynamic loader of its own. */
		int main(void)
		{
			static char text[65536];
			int file = open("libcuda.so.1", O_RDONLY);

			if (mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED || open("gpu", O_RDWR) < 0)
				return 1;
			do {
				int log = open("stderr", O_RDONLY);
				usleep(10000);
				text[read(log, text, sizeof(text) - 1)] = 0;
				close(log);
			} while (!strstr(text, " loaded the CUDA driver"));
			return 0;
		}
	END
	musl-gcc -o musl musl.c
	does ./musl
	expect_cause 'a C library other than glibc'
}

@test "a glibc that is too old" {
	does "$python" does.py libc-2.12.so load look open
	expect_cause 'a glibc older than the one that profile was built with'
}

@test "a program that has more rights than its user" {
	needs_command setcap
	needs_command setpriv
	cp "$(readlink -f "$python")" has_rights
	setcap cap_net_raw=ep has_rights || skip 'files cannot have capabilities here'
	does setpriv --reuid=4242 --regid=4242 --clear-groups ./has_rights -c "
import ctypes, time
driver = ctypes.CDLL('$fake_cuda/libcuda.so.1')
while ' loaded the CUDA driver' not in open('stderr').read(): time.sleep(0.01)
import os; os.open('gpu', os.O_RDWR)"
	if grep -q 'Error\|cannot open shared' stderr; then skip 'this Python cannot run from another folder'; fi
	expect_cause 'a program with more privileges than its user \(setuid or setcap\)'
}

@test "a 32-bit program has no rights that its user has not" {
	cat >short.s <<-'END'
		.globl _start
		_start: # open, mmap2 (executable, private), open, nanosleep, exit
		mov $5,%eax; mov $driver,%ebx; xor %ecx,%ecx; int $0x80
		mov %eax,%edi; mov $192,%eax; xor %ebx,%ebx; mov $4096,%ecx; mov $5,%edx; mov $2,%esi; xor %ebp,%ebp; int $0x80
		mov $5,%eax; mov $gpu,%ebx; mov $2,%ecx; int $0x80
		mov $162,%eax; mov $time,%ebx; xor %ecx,%ecx; int $0x80
		mov $1,%eax; xor %ebx,%ebx; int $0x80
		.data
		driver: .asciz "libcuda.so.1"
		gpu: .asciz "gpu"
		time: .long 0,500000000
	END
	as --32 -o short.o short.s && ld -m elf_i386 -o short short.o || skip 'no 32-bit programs can be built here'
	truncate -s 4096 libcuda.so.1
	./short || skip 'no 32-bit programs can be run here'
	does ./short
	expect_cause 'no cause was found'
}

@test "the pipe is not named, gone, or closed" {
	does env -u PROFILE_PIPE "$python" does.py load look init
	expect_cause 'another PROFILE_PIPE in the environment, or none'
	does sh -c 'rm "$PROFILE_PIPE"; exec "$python" does.py load look init'
	expect_cause 'the file that PROFILE_PIPE names is gone'
}

@test "a pipe that may not be written to" {
	cp "$profile" profile
	chmod 777 .
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -v --strict -o out.folded \
		sh -c 'chmod 0 "$PROFILE_PIPE"; exec "$python" does.py load look init'
	if grep -q 'Permission denied' stderr stdout; then skip 'other users cannot run python3 here'; fi
	expect_cause 'no right to write to the file that PROFILE_PIPE names'
}

@test "nothing is in the way, and yet the device was opened" {
	does "$python" does.py load look open
	expect_cause 'no cause was found'
}

@test "a child uses the driver that its parent has loaded" {
	does env -u CUDA_INJECTION64_PATH "$python" does.py load look fork init
	expect_cause 'no CUDA_INJECTION64_PATH in the environment'
}

@test "a child inherits the device that its parent has opened" {
	does env -u CUDA_INJECTION64_PATH "$python" does.py load look init fork rest
	expect_cause 'no CUDA_INJECTION64_PATH in the environment'
}

# NVIDIA's management library opens the device, too.
@test "a process that only watches the GPU" {
	does "$python" does.py libnvidia-ml.so.1 open load look
	expect_nothing
	does "$python" does.py libnvidia-ml.so.1 open load look open
	expect_cause 'no cause was found'
}

@test "without eBPF: a process that rests, and one that ends as it has opened the device" {
	needs_command setpriv
	cp "$profile" profile
	chmod 777 .
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -v --strict -o out.folded \
		env -u CUDA_INJECTION64_PATH "$python" does.py load look init rest
	if grep -q 'Permission denied' stderr stdout; then skip 'other users cannot run python3 here'; fi
	expect_line stderr 'eBPF'
	expect_cause 'no CUDA_INJECTION64_PATH in the environment'
	# nothing would keep it from being traced
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -v --strict -o out.folded \
		"$python" does.py load look rest
	expect_nothing
	# whether it has used the GPU was not seen
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -v --strict -o out.folded \
		env -u CUDA_INJECTION64_PATH "$python" does.py load look
	expect_line stderr '^profile: 1 process loaded the CUDA driver and was not traced; whether it used the GPU is not known: no CUDA_INJECTION64_PATH in the environment\. [A-Z]'
	expect_no_line stderr '--strict'
	expect_status 0
}

@test "without eBPF and process events: a process that rests, and one that was not seen" {
	needs_command setpriv
	cp "$profile" profile
	chmod 777 .
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -v --strict -gpu-only -o out.folded \
		sh -c 'env -u CUDA_INJECTION64_PATH "$python" does.py load init look; exit 0'
	if grep -q 'Permission denied' stderr stdout; then skip 'other users cannot run python3 here'; fi
	expect_cause 'no CUDA_INJECTION64_PATH in the environment'
	# one that is traced, and one that only watches the GPU
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile --strict -gpu-only -o out.folded \
		"$python" does.py load init rest
	expect_nothing
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -gpu-only -o out.folded \
		"$python" does.py libnvidia-ml.so.1 open rest
	expect_no_line stderr 'used the GPU'
	# nothing was seen, which says nothing
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -gpu-only -o out.folded true
	expect_line stderr '^profile: no process sent GPU work: the command did not use CUDA, or '
	expect_no_line stderr "^$no_cuda"
}

@test "without eBPF and process events: processes with many descriptors, among which one is found in time" {
	with_details
	needs_command setpriv
	cp "$profile" profile
	chmod 777 .
	with_gpu setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -v -gpu-only -o out.folded sh -c '
		"$python" many.py &
		many=$!
		until [ -e begun ]; do sleep 0.05; done
		"$0" 300000 4
		env -u CUDA_INJECTION64_PATH "$python" does.py load init look
		kill $many
		wait' "$workloads/launches"
	if grep -q 'Permission denied' stderr stdout; then skip 'other users cannot run programs here'; fi
	expect_line stderr "^Samples: $(launched 300000 300000)"
	expect_line stderr "^profile: 1 $used_untraced: no CUDA_INJECTION64_PATH "
}

@test "a capture keeps the causes" {
	with_gpu "$profile" -gpu-only -o out.profile env -u CUDA_INJECTION64_PATH "$python" does.py load rest init
	expect_line stderr "^profile: 1 $used_untraced: no CUDA_INJECTION64_PATH "
	run_profile --from out.profile --strict -o out.folded
	expect_cause 'no CUDA_INJECTION64_PATH in the environment'
}
