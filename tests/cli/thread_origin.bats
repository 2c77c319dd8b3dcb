# SPDX-License-Identifier: MIT
# --thread-origin: threads below the stacks that created them.

load helpers

setup()
{
	enter_test_folder
	needs_root
	script=$workloads/../../../tests/workloads/python_started.py
}

# Functions in Python files and marks, below <module> of the script, of stacks that match $1.
frames_of()
{
	grep -E "$1" out.folded | awk -F ';' '{
		frames = ""
		for (i = 1; i <= NF; i++) {
			if ($i ~ /^<module> \(/) frames = ""
			else if ($i ~ / \([^()]*\)$|^\[(started a thread|Python)\]/) {
				sub(/ \([^()]*\)$/, "", $i)
				sub(/.*\./, "", $i)
				if ($i !~ /^_/) frames = frames (frames == "" ? "" : " > ") $i
			}
		}
		sub(/.* /, "", $NF)
		print frames " " $NF
	}' | LC_ALL=C sort
}

@test "Python's threads: started by a function, by threads, by an executor" {
	local python
	mapfile -t pythons < <(find_pythons)

	for python in "${pythons[@]}"; do
		echo "$python"
		run_profile --thread-origin --unit ns -o out.folded "$python" "$script"
		expect_status 0
		diff - <(frames_of GPU_Kernel | sed 's/ > <listcomp>//; s/\( > run\)* > work/ > work/') <<-'END'
			by_executor > map > submit > start > [started a thread] > work 2000
			deeply > run > start > [started a thread] > run > second > run > start > [started a thread] > run > third > run > start > [started a thread] > work 1000
			plainly > run > start > [started a thread] > work 1000
			work 1000
		END
		# CPU samples, too; no thread but ours stands at the root
		frames_of 'work \([^;]*\)' | grep -q 'deeply.*third.*started a thread.*work [0-9]*0000$'
		expect_no_line out.folded '^(\[[^;]*\];)*clone3?;.*python_started'
		expect_line out.folded '^[^;]*start[^;]*;.*;pthread_create.*;\[started a thread\];'
	done
}

@test "10,000 threads of one function in C" {
	run_profile --thread-origin --unit ns -o out.folded "$root/build/tests/hosts/short_threads" 10000
	expect_status 0
	expect_line out.folded '^_start;.*;main;pthread_create.*;\[started a thread\];.*;launch;cudaLaunchKernel;\[GPU_Kernel\]from_short_thread.* 10000000$'
	expect_equal 'stacks with the kernel' "$(grep -c GPU_Kernel out.folded)" 1
}

@test "without it, threads begin where they start" {
	run_profile --unit ns -o out.folded "$workloads/launches" 100 4
	expect_status 0
	expect_no_line out.folded 'started a thread'
	run_profile --thread-origin -gpu-only --unit ns -o out.folded "$workloads/launches" 100 4
	expect_status 0
	expect_line out.folded ';main;.*pthread_create.*;\[started a thread\];.*GPU_Kernel'
	expect_equal 'GPU ns' "$(weight_of out.folded)" 100000
}

@test "it needs privilege, and says so" {
	needs_command setpriv
	chmod 777 .
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups "$profile" --thread-origin \
		-o out.folded true
	expect_status 125
	expect_line stderr 'run with sudo'
	expect_no_file out.folded
}
