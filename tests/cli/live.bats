#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# --live on a pseudo-terminal: what a user sees, and that the terminal is as it was however it ends.

load helpers

setup()
{
	needs_command python3
	enter_test_folder
	# A command that does not end before the test has seen what it waits for.
	cat >until_seen <<-'EOF'
	#!/bin/sh
	"$@"
	until [ -e seen ]; do sleep 0.05; done
	EOF
	chmod 755 until_seen
}

# on_terminal: runs the Python program on stdin; terminal.py describes what it can use.
on_terminal()
{
	export profiler_killed uses_cuda
	PYTHONPATH=$root/tests/cli PYTHONDONTWRITEBYTECODE=1 timeout "$patience" python3 -c "
import os, signal, sys, time
from terminal import *
profile, workloads = os.environ['profile'], os.environ['workloads']
profiler_killed, uses_cuda = os.environ['profiler_killed'], os.environ['uses_cuda']
inference = workloads + '/inference'

# lets ./until_seen end
def seen():
    open('seen', 'w').close()

# profile --live with this command in a shell, whose standard input is not the terminal
def with_keys(command, options='', **more):
    return Terminal(['sh', '-c', 'exec %s --live %s -o x.folded %s </dev/null' %
                     (profile, options, command)], **more)

def without_keys(*command, **more):
    return Terminal([profile, '--live', '-o', 'x.folded', *command], **more)

$(cat)" 3>&-
}

# bats test_tags=quick
@test "the block shows numbers and tables, and the program's output stays above it" {
	needs_root
	on_terminal <<-'EOF'
	t = without_keys('sh', '-c', 'echo first; ./until_seen %s 100; echo last' % inference, columns=120)
	t.wait(lambda: any('server::Mlp::forward' in line for line in block_of(t)))
	block = block_of(t)
	assert len(block) == 16, block
	assert "sh -c 'echo first;" in block[0], block
	assert re.match(r'GPU 0 +[0-9.]+ % busy  [0-9.]+ % so far$', block[1]), block
	assert re.match(r'\d+ kernels/s  \d+ launched but not finished  0 lost  [0-9.]+ CPUs$', block[2]), block
	assert any(re.match(r' +[0-9.]+ m?s +[0-9.]+ % +\d+  +900.000 us  model::gemm<float, 128, 256>$', l)
	           for l in block), block
	assert any(l.endswith('  server::Mlp::forward') for l in block), block
	assert any(re.search(r'  server::\w+::(tokenize|sample)$', l) for l in block), block
	assert t.lines()[0] == 'first', t.text()
	assert termios.tcgetattr(t.fd) == t.settings
	seen()
	assert t.finish() == 0
	t.expect_restored()
	text = t.all_text()
	assert text.startswith('first\nrequests 100 kernels 7400 '), text
	assert re.search(r'\nlast\nsh -c .*: ran [0-9.]+ m?s, exit 0\. ', text), text
	EOF
	expect_line x.folded 'gemm'
}

@test "the tables of the last seconds, while nothing is in the profile yet" {
	needs_root
	on_terminal <<-'EOF'
	t = without_keys('--last', '600', './until_seen', inference, '100', columns=120)
	t.wait(lambda: any('server::Mlp::forward' in line for line in block_of(t)))
	block = block_of(t)
	assert any(re.match(r' +[0-9.]+ m?s +[0-9.]+ % +\d+  +900.000 us  model::gemm<float, 128, 256>$', l)
	           for l in block), block
	assert any(re.search(r'  server::\w+::(tokenize|sample)$', l) for l in block), block
	seen()
	assert t.finish() == 0
	t.expect_restored()
	EOF
	expect_line x.folded 'gemm'
}

@test "what is linked in statically is launched by the program's function" {
	on_terminal <<-'EOF'
	t = without_keys('-gpu-only', './until_seen', workloads + '/launches_static', '3000000', columns=120)
	t.wait(lambda: any(line.endswith('  launch_kernel') for line in block_of(t)))
	seen()
	t.finish()
	t.expect_restored()
	EOF
}

@test "keys choose a table and its order, pause, and quit the display alone" {
	on_terminal <<-'EOF'
	t = with_keys('./until_seen %s 200' % inference, '-gpu-only', columns=120)
	t.wait_for('launched by')
	t.type('2')
	t.wait(lambda: 'launched by' in t.text() and 'GPU work' not in '\n'.join(block_of(t)[:-1]))
	t.type('0s')
	t.wait_for('s sort: calls')
	t.wait(lambda: 'GPU work' in '\n'.join(block_of(t)[:-1]))
	t.type(' ')
	t.wait_for('paused')
	shown = block_of(t)
	end = time.monotonic() + 2.5
	while time.monotonic() < end:
	    t.read(0.1)
	assert block_of(t) == shown, 'it goes on:\n' + t.text()
	t.type('x ')
	t.wait(lambda: block_of(t) and 'paused' not in t.text() and block_of(t) != shown)
	assert not termios.tcgetattr(t.fd)[3] & (termios.ECHO | termios.ICANON)
	t.type('q')
	t.wait(t.is_restored)
	t.expect_restored()
	seen()
	assert t.finish() == 0
	t.expect_restored()
	assert 'Wrote' in t.all_text()
	EOF
}

@test "a command that reads the terminal gets what is typed" {
	on_terminal <<-'EOF'
	t = without_keys('sh', '-c', './until_seen; read -r word; echo "got $word"')
	t.wait_for('keys are off: the command may read this terminal (add </dev/null to use them)')
	seen()
	t.type('quiet 1\n')
	t.wait_for('got quiet 1')
	assert t.finish() == 0
	t.expect_restored()
	EOF
}

@test "Ctrl-C goes to the command, and the terminal is restored" {
	on_terminal <<-'EOF'
	for start in with_keys, without_keys:
	    t = start('sleep', '100') if start == without_keys else start('sleep 100')
	    t.wait(lambda: block_of(t))
	    t.type('\x03')
	    assert t.finish() == 130, t.status
	    t.expect_restored()
	EOF
}

@test "a second Ctrl-C kills a command that ignores the first" {
	on_terminal <<-'EOF'
	t = with_keys("sh -c 'trap \": >taken\" INT; : >ready; while :; do sleep 0.1; done'")
	t.wait(lambda: block_of(t) and os.path.exists('ready'))
	t.type('\x03')
	t.wait(lambda: os.path.exists('taken') and signals_taken(t.pid))
	t.type('\x03')
	assert t.finish() == 137, t.status
	assert 'interrupted again: killing the command' in t.all_text()
	t.expect_restored()
	EOF
}

@test "SIGTERM ends the command, and the terminal is restored" {
	on_terminal <<-'EOF'
	t = with_keys('sleep 100')
	t.wait(lambda: block_of(t))
	os.kill(t.pid, signal.SIGTERM)
	assert t.finish() == 143, t.status
	t.expect_restored()
	EOF
}

@test "the terminal is restored when the worker, the display or the supervisor is killed" {
	on_terminal <<-'EOF'
	t = with_keys('sleep 100')
	t.wait(lambda: block_of(t))
	os.kill(descendant_called(t.pid, 'profile-worker'), signal.SIGKILL)
	assert t.finish() == 125, t.status
	t.expect_restored()
	assert 'profile: ' + profiler_killed in t.all_text(), t.all_text()

	t = with_keys('./until_seen')
	t.wait(lambda: block_of(t))
	os.kill(descendant_called(t.pid, 'profile-display'), signal.SIGKILL)
	t.wait(t.is_restored)
	t.expect_restored()
	seen()
	assert t.finish() == 0, t.status
	assert 'Wrote' in t.all_text(), t.all_text()
	t.expect_restored()

	# not the session's leader, whose end would hang up the terminal
	t = Terminal(['sh', '-c', '"$0" --live -o x.folded sleep 100 </dev/null; sleep 100', profile])
	t.wait(lambda: block_of(t))
	display = descendant_called(t.pid, "profile-display")
	os.kill(descendant_called(t.pid, 'profile'), signal.SIGKILL)
	t.wait(lambda: display not in processes_called("profile-display"))
	t.expect_restored()
	os.kill(t.pid, signal.SIGKILL)
	EOF
}

@test "an error before the command runs shows nothing else" {
	on_terminal <<-'EOF'
	t = with_keys('/nonexistent')
	assert t.finish() == 127, t.status
	t.expect_restored()
	assert t.all_text().startswith('profile: '), t.all_text()
	EOF
}

@test "Ctrl-Z gives the terminal back to the shell, and fg shows the block again" {
	on_terminal <<-'EOF'
	t = Terminal(['bash', '--norc', '--noprofile', '-i'], environment={
	    'PS1': 'prompt> ', 'INPUTRC': '/dev/null', 'PROMPT_COMMAND': '', 'HISTFILE': ''})
	# no line editing: its control sequences are not those of --live
	t.wait_for('prompt>')
	t.type('set +o emacs +o vi\r')
	t.wait(lambda: t.text().count('prompt>') >= 2)
	t.type(profile + ' -q --live -gpu-only -o x.folded sleep 100 </dev/null\r')
	t.wait(lambda: block_of(t))
	t.type('\x1a')
	t.wait(lambda: t.all_text().count('prompt>') >= 3 and not block_of(t))
	assert 'Stopped' in t.all_text(), t.all_text()
	assert (t.top, t.bottom) == (0, t.rows - 1)
	assert not any(t.lines()[t.row + 1:]), t.text()
	assert 'T' in open('/proc/%d/stat' % descendant_called(t.pid, 'profile')).read().split()[2]
	t.type('fg\r')
	t.wait(lambda: block_of(t))
	t.type('\x03')
	t.wait(lambda: t.all_text().count('prompt>') >= 4 and not block_of(t))
	assert (t.top, t.bottom) == (0, t.rows - 1)
	t.type('echo status $?\r')
	t.wait_for('status 130')
	t.type('exit\r')
	t.finish()
	EOF
}

@test "in the background nothing is drawn" {
	on_terminal <<-'EOF'
	t = Terminal(['bash', '-c', 'set -m; "$0" -q --live -gpu-only -o x.folded sleep 3 & wait; echo done',
	              profile])
	t.wait_for('done')
	assert 'profile 0:' not in t.all_text(), t.all_text()
	t.finish()
	t.expect_restored()
	EOF
}

@test "the block follows the terminal's size" {
	on_terminal <<-'EOF'
	t = without_keys('sh', '-c', 'echo before; ./until_seen; echo after')
	t.wait(lambda: len(block_of(t)) == 16)
	for rows, columns in (40, 100), (12, 40), (6, 80), (24, 80):
	    t.resize(rows, columns)
	    if rows < 8:
	        t.wait(lambda: not block_of(t))
	    else:
	        t.wait(lambda: len(block_of(t)) == min(rows - max(rows // 3, 5), 48))
	        assert all(len(line) <= columns for line in t.lines())
	seen()
	assert t.finish() == 0
	t.expect_restored()
	text = t.all_text()
	assert 'before' in text and re.search(r'after\n((profile: |  ).*\n)*sh -c .*: ran [0-9.]+ m?s, exit 0\.', text), text
	EOF
}

@test "other options go with it" {
	on_terminal <<-'EOF'
	# wide enough for the path of the checkout, which is in the message
	t = with_keys('./until_seen %s 40' % inference, '-v -gpu-only', columns=4000)
	t.wait(lambda: block_of(t))
	seen()
	assert t.finish() == 0
	os.remove('seen')
	t.expect_restored()
	assert uses_cuda in t.all_text(), t.all_text()

	t = with_keys('./until_seen %s 40' % inference, '-q -gpu-only')
	t.wait(lambda: block_of(t))
	seen()
	assert t.finish() == 0
	os.remove('seen')
	t.expect_restored()
	assert not t.all_text().replace('\n', '').replace(' ', '').startswith('profile'), t.all_text()

	t = with_keys('./until_seen %s 40' % inference, '--top -gpu-only', columns=120)
	t.wait(lambda: block_of(t))
	seen()
	assert t.finish() == 0
	os.remove('seen')
	t.expect_restored()
	assert 'launched by' in t.all_text(), t.all_text()

	t = Terminal([profile, '--live', '-gpu-only', '-o', '-', './until_seen', inference, '40'])
	t.wait(lambda: block_of(t))
	seen()
	assert t.finish() == 0
	os.remove('seen')
	t.expect_restored()
	assert ';[GPU_Kernel]' in t.all_text().replace('\n', ''), t.all_text()
	EOF
}

@test "under sudo it belongs to the user" {
	needs_root
	cat >program.py <<-'EOF'
	import os
	from terminal import *
	t = Terminal([os.environ['profile'], '--live', '-o', 'theirs/x.folded',
	              './until_seen', os.environ['workloads'] + '/inference', '60'], columns=120)
	t.wait(lambda: any('server::Mlp::forward' in line for line in block_of(t)))
	display = descendant_called(t.pid, 'profile-display')
	status = open('/proc/%d/status' % display).read()
	assert '\nUid:\t4242\t4242\t4242\t4242\n' in status, status
	assert '\nCapEff:\t0000000000000000\n' in status, status
	open('seen', 'w').close()
	assert t.finish() == 0
	t.expect_restored()
	EOF
	export PYTHONPATH=$root/tests/cli PYTHONDONTWRITEBYTECODE=1
	as_tester python3 program.py
	expect_status 0
	expect_line theirs/x.folded 'gemm'
}

@test "where stderr is not a terminal, one line per second" {
	run_profile --live -gpu-only -o x.folded "$workloads/inference" 100
	expect_status 0
	expect_line stderr '^[0-9]+ s: GPU 0 [0-9.]+ % busy \([0-9.]+ % so far\), [0-9]+ kernels/s, [0-9]+ launched but not finished, 0 lost$'
	expect_no_line stderr $'\033'
	expect_line ending '^Wrote: x\.folded$'
	run_profile --live -q -gpu-only -o x.folded "$workloads/inference" 50
	expect_status 0
	expect_line stderr '^[0-9]+ s: '
	expect_no_line stderr '^[^0-9]'
	run_profile --live --from x.profile
	expect_status 125
	expect_line stderr "^profile: $(of_a_run --live)\$"
	on_terminal <<-'EOF'
	t = without_keys('sleep', '2', environment={'TERM': 'dumb'})
	assert t.finish() == 0
	assert ' s: ' in t.all_text() and not block_of(t), t.all_text()
	EOF
}

@test "the library in the program is one line, here and everywhere" {
	needs_root
	on_terminal <<-'EOF'
	t = without_keys('-F', '997', '-o', 'x.json', '-o', 'x.profile', '--top', 'sh', '-c',
	                 './until_seen %s/launches 400000' % workloads, columns=120)
	t.wait(lambda: any("  [profile's library]" in line for line in block_of(t)))
	block = block_of(t)
	assert sum("[profile's library]" in line for line in block) == 1, block
	assert not any(re.search(r'  (sink_|launch_log_|gpu_wire_|put_u64|put_key)', l) for l in block), block
	seen()
	assert t.finish() == 0
	text = t.all_text()
	rows = [l for l in text.split('\n') if re.search(r"^ +[0-9]+ .* [0-9.]+ %  \[profile's library\]$|%   \[profile's library\]$", l)]
	assert 1 <= len(rows) <= 2, text # of all time, and of that without a GPU
	EOF
	expect_line x.folded "[^;];\[profile's library\] [0-9]+\$"
	# with all that it calls
	expect_no_line x.folded "profile's library\];|;(sink_|launch_log_|gpu_wire_|put_u64|put_key)"
	jq -e '[.functions[] | select(.name == "[profile'"'"'s library]")] | length == 1' x.json
	run_profile -q --from x.profile --unit ns --my-code -o my.folded
	expect_line my.folded "\[profile's library\] [0-9]+\$"
}

@test "with CPU samples alone there is no GPU" {
	needs_root
	run_profile --live -cpu-only -o x.folded timeout 2.5 sh -c 'while :; do :; done'
	expect_line stderr '^[0-9]+ s: [01]\.[0-9]+ CPUs, 0 lost$'
}
