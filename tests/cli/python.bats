# SPDX-License-Identifier: MIT
# Python functions in launch stacks, with every installed interpreter: a system's
# static one, pyenv's with libpython.so, of all versions.

load helpers

setup()
{
	enter_test_folder
	mapfile -t pythons < <(find_pythons)
	if [ ${#pythons[@]} = 0 ]; then skip 'no Python from 3.8 to 3.15 is installed'; fi
	script=$workloads/../../../tests/workloads/python_launches.py
}

# minor_of PYTHON: 11 for 3.11.
minor_of()
{
	"$1" -c 'import sys; print(sys.version_info[1])'
}

# trace PYTHON ARGUMENTS...: of the workload; options of the profiler in $options.
trace()
{
	# shellcheck disable=SC2086
	run_profile -gpu-only -launch-stacks inprocess --unit ns ${options-} -o out.folded \
		"$1" "$script" "${@:2}"
	expect_status 0
	expect_no_line stderr '^profile: '
}

# "KERNEL: FRAME > FRAME", Python frames only, from the one below main on.
python_frames()
{
	awk -F ';' '{
		frames = ""
		for (i = 1; i < NF; i++) {
			if ($i !~ / \([^()]*\)$/) continue
			if ($i ~ /^main \(/) frames = ""
			else frames = frames (frames == "" ? "" : " > ") $i
		}
		sub(/.*\[GPU_Kernel\]/, "", $NF); sub(/ [0-9]*$/, "", $NF)
		gsub(/python_launches.py/, "F", frames)
		print $NF ": " frames
	}' "$1" | LC_ALL=C sort
}

# The output of python_frames for all common cases, with qualified names.
expected_frames()
{
	cat <<-'END'
		call: case_call (F) > Model.__call__ (F) > launch (F)
		callback: case_callback (F) > case_callback.<locals>.called (F) > launch (F)
		classmethod: case_classmethod (F) > Model.build (F) > launch (F)
		comprehension: case_comprehension (F) > case_comprehension.<locals>.<listcomp> (F) > launch (F)
		coroutine: case_coroutine (F) > awaiting (F) > awaited (F) > launch (F)
		decorated: case_decorated (F) > case_decorated.<locals>.wrap.<locals>.wrapper (F) > case_decorated.<locals>.work (F) > launch (F)
		delegate: case_delegate (F) > delegate (F) > steps (F) > launch (F)
		exception: case_exception (F) > launch (F)
		exec: case_exec (F) > <module> (<generated>) > launch (F)
		generator: case_generator (F) > steps (F) > launch (F)
		init: case_init (F) > case_init.<locals>.Made.__init__ (F) > launch (F)
		map: case_map (F) > case_map.<locals>.twice (F) > launch (F)
		method: case_method (F) > Model.forward (F) > Model.layer (F) > launch (F)
		plain: case_plain (F) > case_plain.<locals>.inner (F) > launch (F)
		property: case_property (F) > Model.width (F) > launch (F)
		reduce: case_reduce (F) > case_reduce.<locals>.add (F) > launch (F)
		sorted: case_sorted (F) > case_sorted.<locals>.key (F) > launch (F)
		spread: case_spread (F) > case_spread.<locals>.spread (F) > launch (F)
		thread: Thread._bootstrap (threading.py) > Thread._bootstrap_inner (threading.py) > Thread.run (threading.py) > case_thread.<locals>.work (F) > launch (F)
		unicode: case_unicode (F) > case_unicode.<locals>.größe_Ж (F) > launch (F)
		with: case_with (F) > case_with.<locals>.Context.__enter__ (F) > launch (F)
	END
}

# The same as Python 3.$1 has it: no qualified names before 3.11, no frame of a list's comprehension
# from 3.12 on.
expected_of_version()
{
	if [ "$1" -lt 11 ]; then
		expected_frames | sed -E 's/[A-Za-z_.<>]+\.([^ .]+ \()/\1/g'
	elif [ "$1" -ge 12 ]; then
		expected_frames | sed 's/ > case_comprehension.<locals>.<listcomp> (F)//'
	else
		expected_frames
	fi
}

# bats test_tags=quick
@test "all kinds of Python frames, in order" {
	local python cases

	cases=$(expected_frames | sed 's/:.*//')
	for python in "${pythons[@]}"; do
		echo "$python"
		# shellcheck disable=SC2086
		trace "$python" $cases
		diff <(expected_of_version "$(minor_of "$python")" | LC_ALL=C sort) \
			<(python_frames out.folded)
		expect_no_line out.folded '_PyEval_EvalFrame|truncated'
		# every stack from the thread's start
		expect_no_line out.folded '^[^;]*\.py\)'
		expect_equal 'GPU ns' "$(weight_of out.folded)" "$(wc -w <<<"$cases")000"
	done
}

@test "native frames of extensions stay between Python frames, the interpreter's are dropped" {
	local python

	for python in "${pythons[@]}"; do
		trace "$python" callback sorted
		expect_line out.folded ';case_callback \([^;]*\);.*ffi_call;.*;[^;]*called \([^;]*\);launch '
		expect_line out.folded ';case_sorted \([^;]*\);[^;]*key \([^;]*\);launch '
		options=--native-python trace "$python" callback sorted
		expect_line out.folded ';case_sorted \([^;]*\);.*;(_PyEval_EvalFrameDefault|\[python3\.[0-9]+[^];]*\]);[^;]*key \([^;]*\);(.*;)?launch '
		expect_line out.folded ';(_PyEval_EvalFrameDefault|\[python3\.[0-9]+[^];]*\]);<module> \('
	done
}

@test "--python-lines: where in the function" {
	local python line

	for python in "${pythons[@]}"; do
		options=--python-lines trace "$python" method exception delegate unicode
		for line in 'launch(self.name)' 'launch("exception")' 'launch(name)' \
			'größe_Ж()'; do
			line=$(grep -nE "^\s+${line//[()]/.}\$" "$script" | head -n 1 | cut -d : -f 1)
			expect_line out.folded "\\(python_launches.py:$line\\);"
		done
		expect_line out.folded ":$(grep -n 'check(cuda.cuLaunchKernel(f' "$script" | cut -d : -f 1)\\);"
		expect_no_line out.folded 'python_launches.py\)'
	done
}

@test "CPU samples of 400 functions are whole, in order" {
	local python

	cat >deep.py <<-'END'
		import time
		def down(n):
		    if n:
		        return down(n - 1)
		    end = time.process_time() + 0.3
		    while time.process_time() < end:
		        sum(range(1000))
		down(400)
	END
	for python in "${pythons[@]}"; do
		# before, each call is several native frames
		if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then continue; fi
		run_profile -cpu-only -o out.folded "$python" deep.py
		expect_status 0
		expect_no_line out.folded '^\[truncated\]'
		expect_line out.folded ';<module> \(deep\.py\)(;down \(deep\.py\)){401}'
	done
}

@test "recursion of 30 and of 400" {
	local python expected

	expected="recursion: case_recursion (F)$(printf ' > descend (F)%.0s' {0..30}) > launch (F)"
	for python in "${pythons[@]}"; do
		trace "$python" recursion
		diff <(echo "$expected") <(python_frames out.folded)
		run_profile -gpu-only --unit ns -o out.folded "$python" "$script" deep
		expect_status 0
		expect_line out.folded '^\[truncated\];.*down \([^;]*\);launch \([^;]*\);'
		expect_equal 'stacks' "$(wc -l <out.folded)" 1
	done
}

@test "code objects that reuse addresses have the right names" {
	local python

	for python in "${pythons[@]}"; do
		trace "$python" reused
		diff <(printf 'reused: case_reused (F) > made_%d (<string>) > launch (F)\n' {0..49} |
			LC_ALL=C sort) <(python_frames out.folded)
	done
}

@test "the program's output and exit status are its own" {
	local python

	for python in "${pythons[@]}"; do
		run_profile -q -gpu-only -o out.folded "$python" -c '
import runpy, sys
sys.argv = [sys.argv[1], "plain"]
runpy.run_path(sys.argv[0], run_name="__main__")
print("done")
sys.exit(7)' "$script"
		expect_status 7
		expect_equal stdout "$(cat stdout)" 'done'
		expect_empty stderr
	done
}

@test "offsets are those of the interpreters' headers, with and without the GIL" {
	local python include option options checked=0

	needs_command gcc
	for python in "${pythons[@]}"; do
		include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
		if [ ! -e "$include/Python.h" ]; then continue; fi
		options=(-DHAS_GIL)
		if [ "$(minor_of "$python")" -ge 13 ]; then options+=(-DPy_GIL_DISABLED=1); fi
		for option in "${options[@]}"; do
			echo "$python $option"
			# nothing of the interpreter is called
			gcc -w -O1 -D_GNU_SOURCE "$option" -I "$root" -I "$include" -I "$include/internal" \
				-I "$include/internal/mimalloc" -I "$include/.." -o probe \
				"$BATS_TEST_DIRNAME/print_python_offsets.c" "$root/symbolize/python_offsets.c" \
				-Wl,--unresolved-symbols=ignore-all
			./probe
		done
		checked=$((checked + 1))
	done
	if [ $checked = 0 ]; then skip 'no headers of a Python are installed'; fi
}

@test "threads have the names that Python gives them" {
	local python threads name

	needs_root
	threads='db-writer named-longer-than-the-kernel-keeps größe-名前 after own-name many own shared slots container'
	for python in "${pythons[@]}"; do
		echo "$python"
		run_profile -cpu-only -F 500 --by thread -o out.folded "$python" \
			"$workloads/../../../tests/workloads/python_thread_names.py" 0.1
		expect_status 0
		for name in $threads in-child first-thread; do
			expect_line out.folded "^$name [0-9]+;"
		done
		expect_no_line out.folded '^(not-this|before|Thread-1|MainThread) '
	done
}

@test "threads of Python that cannot be read in time are not read over and over" {
	run_profile -cpu-only --by thread -o out.folded "${pythons[0]}" -c '
import threading, time
class Other: pass
def fill():
    other = Other()
    other.__dict__ = {"attribute_%d" % i: i for i in range(500)}
    return other
others = [fill() for i in range(400)]
for i in range(16000): threading._active[-i - 1] = others[i % 400]
end = time.monotonic() + 6
while time.monotonic() < end: pass
threading._active = {}'
	expect_status 0
	expect_no_line stderr '[0-9] files or processes could not be read in time'
}

@test "threads have the names that Python gives them: attached, in another pid namespace, GPU time alone" {
	local name names=$workloads/../../../tests/workloads/python_thread_names.py

	needs_root
	"${pythons[0]}" "$names" &
	until [ "$(find /proc/$!/task -mindepth 1 -maxdepth 1 | wc -l)" -gt 10 ]; do sleep 0.01; done
	run_profile -p $! -cpu-only -F 500 --by thread -o out.folded
	expect_status 0
	wait
	for name in db-writer own-name many in-child; do
		expect_line out.folded "^$name [0-9]+;"
	done
	expect_no_line out.folded '^not-this '
	unshare --fork --pid --mount-proc true || skip 'no pid namespace can be made'
	run_profile -cpu-only -F 500 --by thread -o out.folded \
		unshare --fork --pid --mount-proc "${pythons[0]}" "$names"
	expect_status 0
	for name in db-writer own-name many; do
		expect_line out.folded "^$name [0-9]+;"
	done
	run_profile -gpu-only --unit ns --by thread -o out.folded "${pythons[0]}" -c '
import runpy, sys, threading, time
path = sys.argv[1]
def launch():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        sys.argv = [path, "plain"]
        runpy.run_path(path, run_name="__main__")
thread = threading.Thread(target=launch, name="trainer")
thread.start()
thread.join()' "$script"
	expect_status 0
	expect_line out.folded '^trainer [0-9]+;'
}

# chains_of FILE: "SAMPLES FRAME > FRAME", functions of the workload only, those of one chain summed.
chains_of()
{
	awk -F ';' '{
		weight = $NF; sub(/.* /, "", weight); sub(/ [0-9]*$/, "", $NF)
		chain = ""
		for (i = 1; i <= NF; i++)
			if (sub(/ \(python_burn.py\)$/, "", $i))
				chain = chain (chain == "" ? "" : " > ") $i
		sum[chain] += weight
	} END { for (chain in sum) print sum[chain], chain }' "$1"
}

@test "CPU samples show the Python functions, in order" {
	with_details
	local python samples unknown wrong names expected

	needs_root
	for python in "${pythons[@]}"; do
		echo "$python"
		run_profile -cpu-only -F 500 -o out.folded "$python" \
			"$workloads/../../../tests/workloads/python_burn.py" 0.15
		expect_status 0
		expect_no_line stderr 'runs Python'
		# but for a moment in which a function has begun and is not yet known, by chance
		samples=$(sed -n "s/^$(cpu_samples '\([0-9]*\)').*/\1/p" stderr)
		unknown=$(sed -n 's/^profile: \([0-9]*\) stacks\? ha.* place among the native ones is not known .*/\1/p' stderr)
		if [ $((${unknown:-0} * 100)) -gt "$samples" ]; then
			echo "the place of Python functions is not known in $unknown of $samples stacks"
			return 1
		fi
		names=''
		if [ "$(minor_of "$python")" -ge 11 ]; then names='Nested\.'; fi
		expected="<module> > main > repeat( > burn_hash|( > burn_generator( > produce)?"
		expected+="| > burn_sorted( > key)?|( > burn_child)"
		expected+="| > burn_nested( > ${names}outer( > ${names}middle( > ${names}inner)?)?)?)( > spin)?)?"
		# the module also makes a class and a generator
		expected+="|<module>( > Nested| > produce)?|<module> > main( > (main\.<locals>\.)?<listcomp>)?"
		expected="^[0-9]+ ($expected|repeat( > burn_thread( > spin)?)?)?\$"
		chains_of out.folded >chains
		expect_no_line <(grep -vE "$expected" chains) .
		# the interpreter's frames alone: before it is known to be one, at its start
		samples=$(awk '{ sum += $NF } END { print sum }' out.folded)
		wrong=$(grep _PyEval_EvalFrameDefault out.folded | awk '{ sum += $NF } END { print sum + 0 }')
		if [ $((wrong * 4)) -gt "$samples" ]; then
			echo "$wrong of $samples samples show no Python function"
			return 1
		fi
		expect_line chains " > burn_nested > ${names}outer > ${names}middle > ${names}inner > spin\$"
		expect_line chains ' > burn_generator > produce > spin$'
		expect_line chains ' > burn_sorted > key > spin$'
		expect_line chains ' > burn_hash$'
		expect_line chains '^[0-9]+ repeat > burn_thread > spin$'
		expect_line chains ' > repeat > burn_child > spin$'
		expect_no_line out.folded 'spin \(python_burn.py\);.*;burn_'
	done
}

# caller_of_module FILE: what has called the workload's module, as most of its stacks have it.
caller_of_module()
{
	sed -nE 's/.*;([^;]*);<module> \(python_burn.py\);.*/\1/p' "$1" | sort | uniq -c | sort -rn |
		awk 'NR == 1 { print $2 }'
}

@test "python -X perf and -X perf_jit: stacks as without, and no trampolines" {
	local python cases setting checked=0

	needs_root
	cases=$(expected_frames | sed 's/:.*//')
	touch before
	for python in "${pythons[@]}"; do
		for setting in PYTHONPERFSUPPORT PYTHON_PERF_JIT_SUPPORT; do
			if ! env $setting=1 "$python" -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' \
				2>/dev/null; then continue; fi
			echo "$python $setting"
			checked=$((checked + 1))
			export $setting=1
			# shellcheck disable=SC2086
			trace "$python" $cases
			diff <(expected_of_version "$(minor_of "$python")" | LC_ALL=C sort) \
				<(python_frames out.folded)
			expect_no_line out.folded 'py::|truncated|py_trampoline_evaluator'
			run_profile -cpu-only -F 500 -o out.folded "$python" \
				"$workloads/../../../tests/workloads/python_burn.py" 0.15
			expect_status 0
			expect_no_line stderr 'are guessed'
			run_profile -q -cpu-only -F 500 --native-python -o native.folded "$python" \
				"$workloads/../../../tests/workloads/python_burn.py" 0.05
			expect_line native.folded ';py::spin:[^;]*;[^;]*;spin \(python_burn.py\)'
			unset $setting
			# samples taken before the interpreter was known have its native frames alone
			expect_no_line out.folded 'py::.*\(python_burn.py\)|\(python_burn.py\).*py::|truncated.*spin \('
			chains_of out.folded >chains
			expect_line chains ' > burn_nested > Nested.outer > Nested.middle > Nested.inner > spin$'
			expect_line chains ' > burn_generator > produce > spin$'
			expect_line chains ' > burn_sorted > key > spin$'
			expect_line chains '^[0-9]+ repeat > burn_thread > spin$'
			expect_line chains ' > repeat > burn_child > spin$'
			expect_no_line out.folded 'spin \(python_burn.py\);.*;burn_'
			# the function that calls trampolines, with a symbol or without; not in what is imported, where
			# libraries' assembly is guessed through, by words of calls that have returned
			expect_no_line out.folded 'py_trampoline_evaluator;.*spin \(python_burn.py\)'
			caller_of_module out.folded >with
			run_profile -q -cpu-only -F 500 -o without.folded "$python" \
				"$workloads/../../../tests/workloads/python_burn.py" 0.15
			diff with <(caller_of_module without.folded)
		done
	done
	find /tmp -maxdepth 1 \( -name 'perf-*.map' -o -name 'jit-*.dump' \) -newer before -delete
	if [ $checked = 0 ]; then skip 'no Python has trampolines'; fi
}

# chain_lines: the stacks without the name of the workload's file, one on each line.
chain_lines()
{
	sed -E "s/ \\($1\\)//g; s/ [0-9]+\$//" out.folded
}

# expect_none_but_unknown FILE PATTERN: no stack matches, but for those that profile says it cannot put in
# order, taken in the moment of a call: one sample in a hundred at most.
expect_none_but_unknown()
{
	local matches unknown samples

	matches=$(grep -cE -- "$2" "$1") || true
	unknown=$(sed -n 's/^profile: \([0-9]*\) stacks\? ha.* place among the native ones is not known .*/\1/p' stderr)
	samples=$(awk '{ sum += $NF } END { print sum }' out.folded)
	if [ "$matches" -gt "${unknown:-0}" ] || [ $((${unknown:-0} * 100)) -gt "$samples" ]; then
		echo "$matches stacks match $2; of ${unknown:-0} of $samples the order is not known"
		show
		return 1
	fi
}

@test "CPU samples: native functions are below the Python functions that call them" {
	local python

	needs_root
	for python in "${pythons[@]}"; do
		echo "$python"
		run_profile -cpu-only -F 500 -o out.folded "$python" \
			"$workloads/../../../tests/workloads/python_native.py" 0.3
		expect_status 0
		chain_lines python_native.py | grep -v '^\[truncated\]' >chains
		# the interpreter's start, the program's functions, and what they call
		expect_none_but_unknown <(grep -E '(^|;)<module>(;|$)' chains | \
			grep -vE '^_start;.*;Py_RunMain;.*;<module>(;|$)') .
		expect_line chains ';<module>;repeat;use_crc;(.*;)?(crc32[^;]*|\[(libz|zlib|python)[^;]*)$'
		expect_none_but_unknown chains '(crc32|libz|zlib\.)[^;]*;(.*;)?(<module>|repeat|use_crc)(;|$)'
		expect_line chains ';<module>;repeat;use_qsort;(.*;)?qsort[^;]*;(.*;)?compare;spin(;|$)'
		expect_none_but_unknown chains '(qsort|ffi)[^;]*;(.*;)?(<module>|repeat)(;|$)'
		expect_none_but_unknown chains '(compare|spin);(.*;)?(_start|qsort|qsort_r|ffi_[^;]*|use_qsort)(;|$)'
		expect_none_but_unknown chains 'use_qsort;(_PyEval_EvalFrameDefault;)*compare'
	done
}

@test "CPU samples: an interpreter in an executable of another name" {
	local python home

	needs_root
	for python in "${pythons[@]}"; do
		if [ "$(head -c 4 "$python" | tr -d '\0')" != $'\x7fELF' ]; then continue; fi
		echo "$python"
		cp "$(realpath "$python")" engine
		home=$("$python" -c 'import sys; print(sys.base_prefix)')
		# pyenv's look for libpython beside themselves
		LD_LIBRARY_PATH=$home/lib PYTHONHOME=$home run_profile -cpu-only -F 500 -o out.folded ./engine \
			"$workloads/../../../tests/workloads/python_burn.py" 0.1
		expect_status 0
		expect_line out.folded ';burn_sorted \(python_burn.py\);key \(python_burn.py\);spin \('
		rm engine
	done
}

@test "CPU samples: interpreters that call each other on one thread" {
	local python there

	needs_root
	there='<module> \([^;]*\);burn_there \([^;]*\);(burn_there.<locals>.)?<lambda> \([^;]*\);spin_there '
	for python in "${pythons[@]}"; do
		echo "$python"
		run_profile -cpu-only -F 500 -o out.folded "$python" \
			"$workloads/../../../tests/workloads/python_interpreters.py" 0.4
		expect_status 0
		chain_lines python_interpreters.py >chains
		if [ "$(minor_of "$python")" -lt 10 ]; then
			# whose loops are whose is not known, and that is said
			expect_line stderr "^profile: [0-9]+ stacks have Python functions whose place .*python"
			continue
		fi
		expect_line chains "^_start;.*;Py_RunMain;.*;<module>;call_there;(.*;)?$there"
		expect_line chains '^_start;.*;Py_RunMain;.*;<module>;burn_here;(burn_here.<locals>.)?<lambda>;spin_here(;|$)'
		expect_no_line <(grep -v '^\[truncated\]' chains | grep 'spin_there' | grep -vE ";call_there;(.*;)?$there") .
		expect_no_line chains '(burn|spin)_there .*;(<module>|call_there|burn_here|_start)(;|$)'
	done
}

# Its code has no call-frame information: the walk of the native stack misses the evaluation, or ends.
@test "CPU samples of code that CPython's own JIT has compiled" {
	local python tried=0

	needs_root
	for python in "${pythons[@]}"; do
		if [ "$(PYTHON_JIT=1 "$python" -c 'import sys; print(sys._jit.is_enabled())' 2>/dev/null)" != True ]; then
			continue
		fi
		echo "$python"
		tried=$((tried + 1))
		PYTHON_JIT=1 run_profile -cpu-only -F 500 -o out.folded "$python" \
			"$workloads/../../../tests/workloads/python_burn.py" 0.3
		expect_status 0
		chain_lines python_burn.py >chains
		expect_line chains ';<module>;main;repeat;burn_nested;Nested.outer;Nested.middle;Nested.inner;spin;(.*;)?\[jit\]'
		expect_no_line chains '(repeat|spin)(;.*)?;(_start|Py_BytesMain|Py_RunMain|<module>|main)(;|$)'
		# never outside of the thread's start
		expect_no_line <(grep -v '^\[truncated\]' chains) '^(<module>|Thread._bootstrap)'
	done
	if [ $tried = 0 ]; then skip 'no Python has a JIT'; fi
}

# greenlet_of PYTHON: the folder of the module greenlet for it, or nothing.
greenlet_of()
{
	local folder

	for folder in "$root/build/python/greenlet-$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" \
		"$(dirname "$1")"; do
		folder=$folder/usr/lib/python3/dist-packages
		if PYTHONPATH=$folder "$1" -c 'import greenlet' 2>/dev/null; then
			echo "$folder"
			return
		fi
	done
}

@test "CPU samples of greenlets: each has its own functions, below what switched to it" {
	with_details
	local python folder tried=0 whole

	needs_root
	for python in "${pythons[@]}"; do
		folder=$(greenlet_of "$python")
		if [ -z "$folder" ]; then continue; fi
		echo "$python"
		tried=$((tried + 1))
		PYTHONPATH=$folder run_profile -cpu-only -F 500 -o out.folded "$python" \
			"$workloads/../../../tests/workloads/python_greenlets.py" 0.5
		expect_status 0
		# in the moment of a switch, in functions of greenlet that may have no name, the stack's memory is not
		# yet that of the greenlet whose functions Python has
		chain_lines python_greenlets.py | grep -vE 'g_switchstack|;\[_greenlet[^;]*\](;[^;]*)?$' >chains
		expect_line chains 'greenlet::UserGreenlet::inner_bootstrap;([^;]*;)?run_first;burn_first;spin(;|$)'
		expect_line chains \
			'greenlet::UserGreenlet::inner_bootstrap;([^;]*;)?run_second;burn_second;(.*;)?(burn_second.<locals>.)?<lambda>;spin(;|$)'
		expect_line chains '^_start;.*;Py_RunMain;.*;<module>;(descend;)+burn_main;spin(;|$)'
		# a greenlet's first function is called by greenlet's own code, main's never
		expect_no_line <(grep -v '^\[truncated\]' chains | grep -E '(^|;)run_(first|second)(;|$)' | \
			grep -vE '::inner_bootstrap;([^;]*;)?run_(first|second)(;|$)') .
		expect_no_line chains 'run_(first|second)(;.*)?;(_start|<module>|descend|burn_main|Py_RunMain)(;|$)'
		expect_no_line chains '(<module>|descend)(;.*)?;run_(first|second)(;|$)'
		# all that is not known is a moment of a switch
		whole=$(sed -nE 's/^Stacks: ([0-9]+)\..* of CPU samples are whole$/\1/p' stacks)
		if ! grep -q '^\[truncated\]' out.folded && [ "$whole" -lt 95 ]; then
			echo "$whole % are whole"
			return 1
		fi
	done
	if [ $tried = 0 ]; then skip 'no Python has the module greenlet'; fi
}

@test "launches of greenlets: in the process and by uprobe, in their own functions" {
	local python folder how tried=0

	needs_root
	cat >greenlets.py <<-'END'
		import runpy, sys, greenlet
		sys.argv = [sys.argv[1], "plain"]
		launches = runpy.run_path(sys.argv[0], run_name="workload")
		def run():
		    launches["case_plain"]()
		    main.switch()
		    launches["case_sorted"]()
		def deeper(depth):
		    deeper(depth - 1) if depth else there.switch()
		main = greenlet.getcurrent()
		there = greenlet.greenlet(run)
		sorted([1], key=lambda value: there.switch())
		deeper(4)
	END
	for python in "${pythons[@]}"; do
		folder=$(greenlet_of "$python")
		if [ -z "$folder" ]; then continue; fi
		echo "$python"
		tried=$((tried + 1))
		for how in inprocess uprobe; do
			PYTHONPATH=$folder run_profile -gpu-only -launch-stacks $how --unit ns -o out.folded \
				"$python" greenlets.py "$script"
			expect_status 0
			sed -nE 's/^.*::inner_bootstrap;/;/p' out.folded | sort >$how.stacks
		done
		diff inprocess.stacks uprobe.stacks
		expect_line inprocess.stacks '^;([^;]*;)?run \([^;]*;case_plain \([^;]*;([^;]*\.)?inner \([^;]*;launch \('
		expect_line inprocess.stacks '^;([^;]*;)?run \([^;]*;case_sorted \([^;]*;([^;]*\.)?key \([^;]*;launch \('
		expect_equal 'stacks' "$(wc -l <inprocess.stacks)" 2
	done
	if [ $tried = 0 ]; then skip 'no Python has the module greenlet'; fi
}

@test "by uprobe: the same Python and native stacks, with lines, as in the process" {
	local python how

	needs_root
	for python in "${pythons[@]}"; do
		echo "$python"
		for how in inprocess uprobe; do
			run_profile -gpu-only -launch-stacks $how --python-lines --unit ns -o $how.folded \
				"$python" "$script" plain callback method thread recursion exec unicode
			expect_status 0
			sort $how.folded >$how.stacks
		done
		diff inprocess.stacks uprobe.stacks
		expect_line uprobe.stacks ';case_callback \(python_launches.py:[0-9]+\);.*ffi_call;'
	done
}

# From 3.12 on each has a number of its own, in the same memory.
@test "code that is made again and again from the same text is sent once, and is one stack" {
	with_details
	local python

	cat >again.py <<-'END'
		import runpy, sys
		sys.argv = [sys.argv[1], "plain"]
		launch = runpy.run_path(sys.argv[0], run_name="workload")["case_plain"]
		for _ in range(400):
		    eval("launch()")
	END
	for python in "${pythons[@]}"; do
		echo "$python"
		run_profile -gpu-only --save-input raw -o out.folded "$python" again.py "$script"
		expect_status 0
		expect_line stderr "^$(correlation 401 0 '[0-9]+')\$"
		[ "$(grep -ac '"t":"pycode"' raw.pipe)" -lt 100 ]
		[ "$(grep -ac '"t":"stack"' raw.pipe)" -lt 100 ]
	done
}

# Code objects sent by the kernel side are bounded, and so are displayed names.
@test "by uprobe: odd names, and line tables longer than the limit" {
	local python how line

	needs_root
	cat >odd.py <<-'END'
		import runpy, sys
		sys.argv = [sys.argv[1], "plain"]
		launch = runpy.run_path(sys.argv[0], run_name="workload")["case_plain"]

		def call_as(name, path, lines=0):
		    body = " x = 1\n" * lines
		    scope = {}
		    exec(compile(f"def {name}(launch):\n launch()\n{body} launch()\n", path, "exec"), scope)
		    scope[name](launch)

		call_as("n" * 600, "/" + "p" * 1500 + "/" + "f" * 600 + ".py")
		call_as("é" * 300, "/" + "é" * 1100 + "/é.py")
		call_as("ж" * 511, "ж.py")
		call_as("𠀀" * 300, "/" + "𠀀" * 1100 + "/𠀀.py")
		call_as("m" * 510 + "𠀀", "m.py")
		call_as("long", "long.py", 30000)
	END
	for python in "${pythons[@]}"; do
		echo "$python"
		for how in inprocess uprobe; do
			run_profile -gpu-only -launch-stacks $how --python-lines --unit ns -o $how.folded \
				env PYTHONUTF8=1 "$python" odd.py "$script"
			expect_status 0
			sort $how.folded >$how.stacks
		done
		expect_line uprobe.stacks ';long \(long.py:2\);'
		expect_line uprobe.stacks ';long \(long.py\);'
		for line in n é ж 𠀀 m; do expect_line uprobe.stacks ";$line$line"; done
		diff <(sed 's/;long (long.py:30003);/;long (long.py);/' inprocess.stacks | sort) uprobe.stacks
	done
}

# A program does not wait for the profiler to name its samples.
@test "a program that exits immediately has all its names" {
	local python

	needs_root
	for python in "${pythons[@]}"; do
		run_profile -cpu-only -F 5000 -o out.folded "$python" -c "
import os, time
def count():
    while time.process_time() < 0.4: pass
count()
os._exit(0)"
		expect_line out.folded ';<module> \(<string>\);count \(<string>\)'
		expect_no_line out.folded '\[Python\]'
	done
}

# How many stacks the last run counted as without their Python functions.
counted_missing()
{
	sed -n 's/^Stacks: \([0-9]*\) .* without .* Python functions.*/\1/p' stacks | grep . || echo 0
}

# A call from C enters an evaluation: there is a moment in which its frames are not those of before
# any more, and not yet its own. (Some samples are of it.)
@test "CPU samples of many calls from C: Python functions are the right ones, or counted as missing" {
	with_details
	local python all missing counted

	needs_root
	cat >calls.py <<-'END'
		import functools, os, time
		def inner(x): return x
		def key(a): return inner(a)
		def add(a, b): return b
		def dirty():
		    repr([1, 2.5]); "%s %d" % ("a", 5)
		class Made:
		    def __init__(self, x): inner(x)
		def work():
		    end = time.process_time() + 0.4
		    while time.process_time() < end:
		        for _ in range(200):
		            list(map(inner, "abcdefgh"))
		            sorted("abcdefg", key=key)
		            dirty()
		            functools.reduce(add, (1, 2, 3, 4))
		            Made(1)
		work()
		os._exit(0)
	END
	for python in "${pythons[@]}"; do
		run_profile -cpu-only -F 5000 -o out.folded "$python" calls.py
		expect_status 0
		expect_no_line out.folded '\[Python\]'
		expect_line out.folded ';work \(calls.py\);([^(]*;)?key \(calls.py\);inner \(calls.py\)'
		expect_line out.folded ';work \(calls.py\);([^(]*;)?(Made\.)?__init__ \(calls.py\)[; ]'
		expect_no_line out.folded '__init__ \(__init__\)' # 3.13's own
		# what calls Python functions has Python functions around
		all=$(awk '{sum += $NF} END {print sum}' out.folded)
		missing=$(awk '/;(list_sort|map_next|functools_reduce)[; ]/ && !/\.py\)|\(<frozen/ {sum += $NF}
			END {print sum + 0}' out.folded)
		counted=$(counted_missing)
		[ "$missing" -le "$counted" ]
		[ $((missing * 5)) -lt "$all" ]
	done
}

# A thread that Python did not create has a state of the interpreter only while it runs Python, each
# time at another address.
@test "CPU samples of a thread that enters Python again and again" {
	with_details
	local python entered named counted

	needs_root
	cat >enters.c <<-'END'
		#include <pthread.h>
		static void (*callback)(void);
		static void *enter(void *rounds)
		{
			for (long i = 0; i < (long)rounds; i++)
				callback();
			return 0;
		}
		void run(void (*function)(void), long rounds)
		{
			pthread_t thread;

			callback = function;
			if (!pthread_create(&thread, 0, enter, (void *)rounds))
				pthread_join(thread, 0);
		}
	END
	gcc -g -O0 -fPIC -shared -o enters.so enters.c -pthread
	cat >enters.py <<-'END'
		import ctypes, os, time
		def leaf():
		    end = time.thread_time() + 0.002
		    while time.thread_time() < end: pass
		callback = ctypes.CFUNCTYPE(None)(leaf)
		ctypes.CDLL("./enters.so").run(callback, ctypes.c_long(300))
		os._exit(0)
	END
	for python in "${pythons[@]}"; do
		"$python" -c 'import ctypes' 2>/dev/null || continue
		run_profile -cpu-only -F 2000 -o out.folded "$python" enters.py
		expect_status 0
		entered=$(awk '/;enter;/ {sum += $NF} END {print sum + 0}' out.folded)
		named=$(awk '/;enter;.*leaf \(enters.py\)/ {sum += $NF} END {print sum + 0}' out.folded)
		counted=$(counted_missing)
		[ "$named" -gt 0 ]
		[ $(((entered - named - counted) * 10)) -lt "$entered" ]
	done
}

# Each time, code takes the place of the code that was dropped before, with all of its names.
@test "CPU samples of code in the place of other code" {
	local python wrong i

	needs_root
	for i in 0 1 2 3; do
		printf 'burn%d()\n' "$i" >"conf_$i.py"
	done
	cat >places.py <<-'END'
		import time
		def burn():
		    for _ in range(2000): pass
		def burn0(): burn()
		def burn1(): burn()
		def burn2(): burn()
		def burn3(): burn()
		end = time.process_time() + 0.7
		while time.process_time() < end:
		    for i in range(4):
		        path = "conf_%d.py" % i
		        with open(path) as file:
		            exec(compile(file.read(), path, "exec"), globals())
	END
	for python in "${pythons[@]}"; do
		run_profile -cpu-only -F 2000 -o out.folded "$python" places.py
		expect_status 0
		for i in 0 1 2 3; do
			expect_line out.folded ";<module> \\(conf_$i.py\\);burn$i \\(places.py\\);burn "
			wrong=$(grep "<module> (conf_$i.py);burn" out.folded | grep -cv "(conf_$i.py);burn$i " || true)
			expect_equal "stacks of conf_$i with another's functions" "$wrong" 0
		done
	done
}

@test "merged: CPU samples and launches of one function share its path" {
	local cpu gpu

	needs_root
	cat >both.py <<-'END'
		import runpy, sys, time
		sys.argv = [sys.argv[1], "plain"]
		main = runpy.run_path(sys.argv[0], run_name="workload")
		def work():
		    end = time.thread_time() + 0.5
		    while time.thread_time() < end:
		        pass
		    main["case_plain"]()
		work()
	END
	run_profile -F 200 --unit ns -o out.folded "${pythons[0]}" both.py "$script"
	expect_status 0
	cpu=$(grep -v GPU_Kernel out.folded | grep -o '.*;<module> (both.py);work (both.py)' | sort -u)
	gpu=$(grep 'GPU_Kernel' out.folded | grep -o '.*;<module> (both.py);work (both.py)' | sort -u)
	[ -n "$gpu" ]
	expect_equal 'path of CPU samples' "$cpu" "$gpu"
}

@test "--python-lines and --native-python in CPU samples" {
	needs_root
	run_profile -cpu-only -F 500 --python-lines -o out.folded "${pythons[0]}" \
		"$workloads/../../../tests/workloads/python_burn.py" 0.2
	expect_status 0
	expect_line out.folded "spin \(python_burn.py:$(grep -n 'total += i' \
		"$workloads/../../../tests/workloads/python_burn.py" | cut -d : -f 1)\)"
	run_profile -cpu-only -F 500 --native-python -o out.folded "${pythons[0]}" \
		"$workloads/../../../tests/workloads/python_burn.py" 0.2
	expect_status 0
	expect_line out.folded ';(_PyEval_EvalFrameDefault|\[python3\.[0-9]+[^];]*\]);<module> \(python_burn.py\);'
}

@test "many threads launch, daemons until the interpreter is gone: nothing breaks, no stack is wrong" {
	local python path begin attempt
	path='(generate|descend|make|handle|work.<locals>.<lambda>|<lambda>)'
	begin='_bootstrap \([^;]*\);[^;]*_bootstrap_inner \([^;]*\);[^;]*run \([^;]*\);work \([^;]*\);'

	for python in "${pythons[@]}"; do
		echo "$python"
		# 3.10 itself crashes in one of ten such ends when any exit handler takes a
		# few milliseconds, profiler or not
		for attempt in 1 2 3 4 5; do
			run_profile -gpu-only -launch-stacks inprocess --unit ns -o out.folded \
				"$python" "$workloads/../../../tests/workloads/python_threads.py"
			if [ "$status" != 139 ] || [ "$(minor_of "$python")" != 10 ]; then break; fi
			echo "attempt $attempt crashed"
		done
		expect_status 0
		expect_equal stdout "$(cat stdout)" 'done'
		sed -E 's/(descend \([^;]*\);)+/descend (F);/; s/made_[0-9]+ \([^;]*\);//' out.folded \
			>short
		# every other launch: from an interpreter on its way out, which is not read
		grep -vE "$begin$path \([^;]*\);launch \(" short | grep -F '.py)' >wrong || true
		expect_empty wrong
		expect_line short "$begin$path"
	done
}

@test "an interpreter that is not what its version says does no harm, and is named" {
	with_details
	local version why
	for version in 3.8.1 3.10.4 3.11.4 3.12.3 3.13.0 3.99.0; do
		why='has an unexpected memory layout'
		if [ $version = 3.99.0 ]; then why='is not known'; fi
		gcc -shared -fPIC -O1 -DVERSION="\"$version\"" -o odd_python.so "$BATS_TEST_DIRNAME/odd_python.c"
		run_profile -gpu-only -o out.folded env LD_PRELOAD="$PWD/odd_python.so" "$workloads/launches" 1000
		expect_status 0
		expect_line stderr "^profile: process [0-9]*: Python $version $why: Python functions are shown"
		expect_no_line stderr 'not the command'
		expect_line stderr "^$(correlation 1000)"
	done
}
