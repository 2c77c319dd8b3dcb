#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# docs/recipes: the files do what their comments say, on the stand-ins and without the systems that they are for.

load helpers

readonly recipes=$BATS_TEST_DIRNAME/../../docs/recipes

setup()
{
	enter_test_folder
}

# field NAME FILE: what a unit says of it, with lines joined that a backslash continues.
field()
{
	sed -e ':a; /\\$/ { N; s/\\\n[[:space:]]*/ /; ba }' "$2" | sed -n "s/^$1=//p"
}

# as_unit UNIT COMMAND...: as a user without rights, but for the capabilities that the unit gives.
as_unit()
{
	local ambient bounding

	ambient=$(field AmbientCapabilities "$1" | tr '[:upper:]' '[:lower:]' | sed 's/cap_/,+/g; s/ //g')
	bounding=$(field CapabilityBoundingSet "$1" | tr '[:upper:]' '[:lower:]' | sed 's/cap_/,+/g; s/ //g')
	shift
	exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps="-all$ambient" \
		--ambient-caps="-all$ambient" --bounding-set="-all$bounding" "$@"
}

@test "a systemd unit: snapshots of the last seconds, and a report when the service stops" {
	local unit=$recipes/server.service words

	needs_root
	needs_command setpriv
	mkdir -m 777 run lib
	cp "$profile" .
	printf '#!/bin/sh\ngrep CapEff /proc/self/status >lib/caps\nwhile :; do %s 100 >>lib/served; done\n' \
		"$workloads/launches" >server
	chmod 755 server
	words=$(field ExecStart "$unit" | sed "s#/run/server#run#; s#/var/lib/server#lib#; s#/usr/local/bin/#./#g")
	# shellcheck disable=SC2086 # words
	(as_unit "$unit" env --default-signal=INT,QUIT,TERM $words) >stdout 2>stderr </dev/null 3>&- &
	pid=$!
	wait_until test -p run/control
	wait_until test -s lib/served
	echo snapshot >run/control
	wait_until test -s lib/server.1.html
	kill -TERM "$pid"
	finish_profile
	expect_status "$(field SuccessExitStatus "$unit")"
	test -s lib/server.html
	expect_line lib/caps '^CapEff:[[:space:]]*0+$'
	if command -v systemd-analyze >/dev/null; then
		sed "s#/usr/local/bin/profile#$PWD/profile#; s#^User=.*#User=nobody#" "$unit" >checked.service
		systemd-analyze verify "$PWD/checked.service"
	fi
}

@test "a Kubernetes job: its command, with the capabilities that it asks for, in a container's bounds" {
	local docker=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
	local added words

	needs_root
	needs_command setpriv
	added=$(sed -n 's/^ *add: \[\(.*\)\]$/\1/p' "$recipes/job.yaml" | tr '[:upper:]' '[:lower:]' | tr -d ' ')
	expect_equal 'capabilities' "$added" bpf,perfmon
	words=$(sed -n 's/^ *command: \[\(.*\)\]$/\1/p' "$recipes/job.yaml" | tr -d ',' |
		sed "s#/captures#captures#; s#^profile#$profile#; s#python3 train.py#$workloads/launches 100#")
	mkdir captures
	for RANK in 0 1; do
		# shellcheck disable=SC2086 # words
		run_command env RANK=$RANK WORLD_SIZE=2 setpriv --no-new-privs \
			--bounding-set="-all,+${docker//,/,+},+${added//,/,+}" --inh-caps=-all $words
		expect_status 0
	done
	"$profile" --from captures/cap.*.profile -o job.folded --unit ns 2>merged
	expect_line merged 'Ranks: 2 of 2'
	expect_equal 'GPU ns' "$(weight_of job.folded '\[GPU_Kernel\]')" 200000
	if python3 -c 'import yaml' 2>/dev/null; then
		python3 -c 'import sys, yaml; print(*(d["kind"] for d in yaml.safe_load_all(open(sys.argv[1]))))' \
			"$recipes/job.yaml" >kinds
		expect_line kinds '^PersistentVolumeClaim Job$'
	fi
}

# A kubectl for one pod, this machine: its files are in the folder pod.
make_kubectl()
{
	mkdir -p bin pod/tmp
	cat >bin/kubectl <<-'END'
		#!/bin/sh
		echo "$*" >>kubectl.log
		here() { case $1 in *:*) echo "pod${1#*:}" ;; *) echo "$1" ;; esac; }
		action=$1
		shift
		case $action in
		cp)
			while [ $# -gt 2 ]; do shift; done
			cp "$(here "$1")" "$(here "$2")" ;;
		exec)
			while [ "$1" != -- ]; do shift; done
			shift
			for word; do
				case $word in /tmp/*) word=pod$word ;; esac
				set -- "$@" "$word"
				shift
			done
			"$@" ;;
		esac
	END
	chmod 755 bin/kubectl
}

@test "a pod that runs already: its process is profiled, and nothing is left in the pod" {
	local target

	needs_root
	make_kubectl
	mkdir portable
	cp "$profile" portable/profile
	cp -L "$(ldd "$profile" | awk '$1 == "libcjson.so.1" { print $3 }')" portable/
	"$workloads/attach_target" >ready </dev/null 3>&- &
	target=$!
	wait_until grep -sqx ready ready
	run_command env PATH="$PWD/bin:$PATH" PORTABLE=portable KUBECTL_OPTIONS='-n jobs' \
		sh "$recipes/running-pod.sh" train-0 "$target" 1
	kill -TERM "$target"
	wait "$target" || true
	expect_status 0
	test -s train-0.html
	[ ! -e pod/tmp/profile ]
	expect_line kubectl.log '^exec -n jobs train-0 -- '
}

@test "a Kubernetes DaemonSet: its command, with the capabilities that it asks for, finds processes that run" {
	local docker=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
	local added words target

	needs_root
	needs_command setpriv
	added=$(sed -n 's/^ *add: \[\(.*\)\]$/\1/p' "$recipes/daemonset.yaml" | tr '[:upper:]' '[:lower:]' | tr -d ' ')
	expect_equal 'capabilities' "$added" bpf,perfmon,syslog,sys_ptrace
	# one process, for others of this machine are not the test's
	"$workloads/steady" 3600000 >work </dev/null 3>&- &
	target=$!
	wait_until grep -sq ^work work
	words=$(sed -n 's/^ *command: \[\(.*\)\]$/\1/p' "$recipes/daemonset.yaml" | tr -d '",' |
		sed "s#^profile#$profile#; s#--cgroup /#-p $target -d 2.5 --unit ns#; s#--every 60#--every 1#; s#--push .*#-o out-%t.folded#")
	# shellcheck disable=SC2086 # words
	run_command setpriv --no-new-privs --bounding-set="-all,+${docker//,/,+},+${added//,/,+}" --inh-caps=-all $words
	kill -TERM "$target"
	wait "$target" || true
	expect_status 0
	[ "$(find . -name 'out-*.folded' | wc -l)" -ge 2 ]
	cat out-*.folded >all
	[ "$(weight_of all '\[GPU_')" -gt 0 ]
	if python3 -c 'import yaml' 2>/dev/null; then
		python3 -c 'import sys, yaml; print(yaml.safe_load(open(sys.argv[1]))["kind"])' "$recipes/daemonset.yaml" >kinds
		expect_line kinds '^DaemonSet$'
	fi
}
