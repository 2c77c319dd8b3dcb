#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# tests/gpu/gate.sh: runs of which one measures while the next ones start. Needs no GPU.

load helpers

setup()
{
	enter_test_folder
	# says that it was imported, in place of PyTorch
	cat >slow.py <<-'EOT'
		import os
		with open("events", "a") as events:
		    events.write(f"import {os.environ['NUMBER']}\n")
	EOT
	cat >script.py <<-'EOT'
		import os, signal, slow, sys, time
		number, run = int(os.environ["NUMBER"]), sys.argv[1]
		def say(what):
		    with open("events", "a") as events:
		        events.write(f"{what} {number}\n")
		say("begin")
		if run == "dies":
		    os.kill(os.getpid(), signal.SIGKILL)
		while run == "hangs":
		    time.sleep(1)
		# the next ones import meanwhile
		for later in range(number + 1, min(number + int(sys.argv[2]), 5) + 1):
		    while f"import {later}\n" not in open("events"):
		        time.sleep(0.01)
		say("end")
		print("value", number, __name__, sys.path[0] == os.getcwd(), flush=True)
	EOT
}

# gate_runs AHEAD PATIENCE RUN...
gate_runs()
{
	cat >runs <<-'EOT'
		. "$1/tests/gpu/gate.sh"
		root=$1 ahead=$2
		gate_start()
		{
			export NUMBER=$1
			PYTHONPATH=$PWD exec timeout -k 1 120 python3 "$root/tests/gpu/train_gate.py" "$3" \
				slow,missing "$PWD/script.py" "$2" "$ahead" >"out.$1" 2>"err.$1"
		}
		gate_measured() { grep -q value "out.$1" 2>/dev/null; }
		gate_take() { cat "out.$1" >>taken; }
		shift 2
		gate_runs "$PWD" "$ahead" "$@"
	EOT
	exec bash runs "$root" "$@" 3>&-
}

# expect_values NUMBER...: taken in this order
expect_values()
{
	printf 'value %s __main__ True\n' "$@" | diff - taken
}

# measured_events: begin and end of each
measured_events()
{
	grep -v import events | tr '\n' ' '
}

@test "one run measures at a time, in order, while the next two start" {
	(gate_runs 2 "$patience" a b c d e)
	expect_values 1 2 3 4 5
	[ "$(measured_events)" = "begin 1 end 1 begin 2 end 2 begin 3 end 3 begin 4 end 4 begin 5 end 5 " ]
	# no more than two
	for number in 4 5; do
		sed "/^end $((number - 3))\$/,\$d" events >before
		if grep -qx "import $number" before; then return 1; fi
	done
	[ -z "$(find . -name 'gate.*')" ]
}

@test "with none ahead, a run starts when the one before has measured" {
	(gate_runs 0 "$patience" a b c)
	expect_values 1 2 3
	[ "$(tr '\n' ' ' <events)" = "import 1 begin 1 end 1 import 2 begin 2 end 2 import 3 begin 3 end 3 " ]
}

@test "a run that dies or hangs does not keep the others from measuring" {
	(gate_runs 1 20 a dies c hangs e)
	expect_values 1 3 5
	[ "$(measured_events)" = "begin 1 end 1 begin 2 begin 3 end 3 begin 4 begin 5 end 5 " ]
}

@test "runs end with the script that started them" {
	gate_runs 1 "$patience" hangs b &
	until grep -qs 'import 2' events && grep -q 'begin 1' events; do sleep 0.05; done
	kill "$!"
	wait "$!" || true
	[ "$(measured_events)" = "begin 1 " ]
	while pgrep -f "$PWD/script.py"; do sleep 0.05; done
}
