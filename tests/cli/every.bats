# SPDX-License-Identifier: MIT
# --every: results one after the other, which together have all of the run, each part once.

load helpers

setup()
{
	enter_test_folder
	with_details
	workload=$workloads/steady
}

teardown()
{
	if [ -n "${keeper-}" ]; then exec {keeper}>&-; fi
	if [ -n "${server-}" ]; then wait "$server" || true; fi
	if [ -n "${pid-}" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
}

# sum_of_results PATTERN FILE...: weights of the stacks that match
sum_of_results()
{
	awk -v pattern="$1" '$0 ~ pattern { sum += $NF } END { printf "%.0f", sum }' "${@:2}"
}

@test "results together have all work of the run, once" {
	run_profile --unit ns --strict --every 1 -o out.folded -o out.json "$workload" 3500
	expect_status 0
	[ -e out.3.folded ]
	[ ! -e out.folded ]
	expect_equal work "$(sum_of_results '\[GPU_Kernel\]' out.*.folded)" "$(($(grep -c ^work stdout) * 1000000))"
	for file in out.[0-9]*.json; do
		expect_line "$file" '"shown":"--every 1",'
		# at least 10 of some 48
		[ "$(weight_of "${file%.json}.folded" '\[GPU_Kernel\]')" -ge 10000000 ] || [ "$file" = out.4.json ]
	done
}

@test "kernels that run long after their launch, also those across the end of a result" {
	run_profile --unit ns --every 1 -o out.folded "$workloads/durations" 700
	expect_status 0
	expect_equal ns "$(sum_of_results '\[GPU_Kernel\]' out.*.folded)" "$(awk '{ sum += $3 } END { printf "%.0f", sum }' stdout)"
}

@test "processes that already run" {
	"$workload" 3600000 >stdout 2>target.err &
	target=$!
	wait_until grep -q work stdout
	run_profile --unit ns -gpu-only --every 1 -d 3.5 -o 'out-%t.folded' -p "$target"
	kill "$target"
	expect_status 0
	ls out-*.folded >names
	[ "$(wc -l <names)" -ge 3 ]
	work=$(sum_of_results '\[GPU_Kernel\]' out-*.folded)
	echo "$work ns"
	[ "$work" -ge 100000000 ] && [ $((work % 1000000)) = 0 ]
}

@test "processes that match a name later are profiled, too, and the run goes on when none is left" {
	cp "$workload" later
	./later 3600000 >said.1 2>&1 3>&- &
	first=$!
	start_profile -v --unit ns -gpu-only --every 1 -o out.folded --name '^later$'
	wait_until test -s out.1.folded
	kill "$first"
	wait "$first" || true
	# it has the name after execve
	sh -c 'sleep 1.5; exec ./later 3600000' >said.2 2>&1 3>&- &
	second=$!
	wait_until grep -q "attached to process $second " stderr
	last=$(find . -name 'out.*.folded' | wc -l)
	wait_until test -s "out.$((last + 3)).folded"
	kill -TERM "$pid"
	finish_profile
	kill "$second"
	expect_status 0
	[ "$(weight_of "out.$((last + 3)).folded" '\[GPU_Kernel\]')" -gt 0 ]
}

@test "samples of the CPU are in the result of their time" {
	run_profile -cpu-only --unit ns -F 200 --every 1s -o 'cpu-%t.folded' -o 'cpu-%t.json' "$workload" 3500 20 awake
	expect_status 0
	ls cpu-*.folded >names
	grep -Evx 'cpu-20[0-9]{6}T[0-9]{6}Z\.folded' names && false
	[ "$(wc -l <names)" -ge 3 ]
	for file in cpu-*.json; do
		node -e 'const run = JSON.parse(require("fs").readFileSync(process.argv[1]));
			if (run.totals.cpu_samples > 0) process.exit(0); console.log(process.argv[1]); process.exit(1)' "$file"
	done
}

@test "a signal ends a result early, and Ctrl-C ends the run: nothing is lost" {
	start_profile --unit ns --every 10m -o out.folded "$workload" 3600000
	wait_until grep -q work stdout
	kill -USR2 "$pid"
	wait_until test -e out.1.folded
	kill -TERM "$(child_of "$pid")"
	finish_profile
	expect_status 143
	[ -e out.2.folded ]
	work=$(sum_of_results '\[GPU_Kernel\]' out.*.folded)
	printed=$(grep -c ^work stdout)
	# the last piece may have run, and not been printed
	[ "$work" -ge $((printed * 1000000)) ]
	[ $((work % 1000000)) = 0 ]
}

@test "a result that cannot be written is in the next one" {
	mkdir full
	start_profile --unit ns --every 10m -o full/out.folded "$workload" 3600000
	wait_until grep -q work stdout
	mkdir full/out.1.folded
	kill -USR2 "$pid"
	wait_until grep -q 'result 1 could not be written: the next one has its part' stderr
	kill -TERM "$(child_of "$pid")"
	finish_profile
	expect_status 143
	[ "$(sum_of_results "\[GPU_Kernel\]" full/out.2.folded)" -ge "$(($(grep -c ^work stdout) * 1000000))" ]
}

@test "what an engine does not take is sent when it is there again" {
	needs_command python3
	run_profile --from "$root/tests/captures/h200_cpp.profile" --push http://127.0.0.1:1/ --push file:///
	if grep -q 'needs libcurl' stderr; then skip 'libcurl is not installed'; fi
	mkdir server
	mkfifo held
	python3 "$root/tests/cli/push_server.py" server times=7,status=503 <held >served 2>&1 3>&- &
	server=$!
	exec {keeper}>held
	wait_until test -e server/port
	run_profile -gpu-only --every 1 --push "http://127.0.0.1:$(cat server/port)" "$workload" 15000
	expect_status 0
	expect_line stderr 'push: a result was not taken: .*503'
	expect_line stderr 'push: the engine takes results again'
	[ ! -e merged_trace.1.folded ]
	for body in server/profile.*; do
		go tool pprof -raw "$body" 2>/dev/null | sed -n 's/^Time: //p'
	done | sort >moments
	expect_equal 'each result is of another time' "$(uniq moments | wc -l)" "$(wc -l <moments)"
	for body in server/profile.*; do
		go tool pprof -top -unit ns -sample_index=gpu "$body" 2>/dev/null | sed -n 's/^Showing nodes accounting for .* of \([0-9]*\)ns total$/\1/p'
	done | awk '{ sum += $1 } END { printf "%.0f", sum }' >sum
	expect_equal work "$(cat sum)" "$(($(grep -c ^work stdout) * 1000000))"
}

@test "a result that an engine refuses keeps none back" {
	needs_command python3
	run_profile --from "$root/tests/captures/h200_cpp.profile" --push http://127.0.0.1:1/ --push file:///
	if grep -q 'needs libcurl' stderr; then skip 'libcurl is not installed'; fi
	mkdir server
	mkfifo held
	python3 "$root/tests/cli/push_server.py" server times=1,status=422 <held >served 2>&1 3>&- &
	server=$!
	exec {keeper}>held
	wait_until test -e server/port
	start_profile -gpu-only --every 10m --push "http://127.0.0.1:$(cat server/port)" "$workload" 3600000
	wait_until grep -q work stdout
	for count in 1 2; do
		kill -USR2 "$pid"
		wait_until grep -q "result $count is written" stderr
	done
	# before the end, at which all are sent again
	[ -e server/profile.1 ]
	kill -TERM "$(child_of "$pid")"
	finish_profile
	expect_line stderr 'push: a result was refused, .*422'
	expect_line stderr 'push: 1 result was never taken by an engine'
}

@test "results that no engine takes are counted" {
	needs_command python3
	run_profile -gpu-only --every 1 --push http://127.0.0.1:1 --strict "$workload" 2500
	if grep -q 'needs libcurl' stderr; then skip 'libcurl is not installed'; fi
	expect_status 124
	expect_line stderr 'push: [23] results were never taken by an engine'
}

@test "results that are asked for within a second have names of their own" {
	start_profile --unit ns --every 10m -o 'out-%t.folded' "$workload" 3600000
	wait_until grep -q work stdout
	for count in 1 2 3; do
		kill -USR2 "$pid"
		wait_until sh -c "[ \$(find . -name 'out-*' | wc -l) = $count ]"
	done
	kill -TERM "$(child_of "$pid")"
	finish_profile
	expect_status 143
	expect_equal results "$(find . -name 'out-*' | wc -l)" 4
	[ "$(sum_of_results '\[GPU_Kernel\]' out-*.folded)" -ge $(($(grep -c ^work stdout) * 1000000)) ]
}

@test "a result that is due while the one before is being written has all the time since" {
	mkfifo out.1.html
	exec {keeper}<>out.1.html
	start_profile --unit ns --every 1 -o out.html -o out.folded "$workload" 3600000
	# some 48 a second
	wait_until sh -c '[ $(grep -c ^work stdout) -ge 200 ]'
	timeout "$patience" cat out.1.html >page 3>&- {keeper}>&- &
	exec {keeper}>&-
	unset keeper
	wait_until test -e out.2.folded
	kill -TERM "$(child_of "$pid")"
	finish_profile
	[ "$(weight_of out.2.folded '\[GPU_Kernel\]')" -ge 80000000 ]
}

@test "what is no file is refused" {
	mkfifo fifo
	for name in - /dev/null fifo; do
		run_profile --every 1 -o out.folded -o "$name" "$workload" 100
		expect_status 125
		expect_line stderr "^profile: --every writes many files, and '$name' is none\$"
		[ ! -s stdout ]
	done
}

@test "Ctrl-C ends the wait for engines at the end, and the files are there" {
	needs_command python3
	run_profile --from "$root/tests/captures/h200_cpp.profile" --push http://127.0.0.1:1/ --push file:///
	if grep -q 'needs libcurl' stderr; then skip 'libcurl is not installed'; fi
	mkdir server
	mkfifo held
	python3 "$root/tests/cli/push_server.py" server silent <held >served 2>&1 3>&- &
	server=$!
	exec {keeper}>held
	wait_until test -e server/port
	start_profile -gpu-only --every 10m -o out.folded --push "http://u:secret@127.0.0.1:$(cat server/port)" "$workload" 100
	wait_until grep -q 'Ctrl-C ends that' stderr
	kill -INT "$pid"
	finish_profile
	expect_status 0
	[ -e out.1.folded ]
	expect_line stderr 'push: 1 result was never taken by an engine'
	grep secret stderr && false
	true
}

@test "what does not go together is refused" {
	for option in 0.5 0 x -1; do
		run_profile --every "$option" true
		expect_status 125
		expect_line stderr '^profile: --every takes (a time above 0|at least one second)'
	done
	run_profile -o 'x-%t.html' true
	expect_status 125
	expect_line stderr '%t in .x-%t.html. is the time of a result: for --every$'
	run_profile --every 1 -o 'x-%t-%t.html' true
	expect_status 125
	run_profile --every 1 --prometheus 'x-%t.prom' true
	expect_status 125
	run_profile --every 1 --last 1 true
	expect_status 125
	run_profile --every 1 --wall true
	expect_status 125
}
