#!/bin/sh
# SPDX-License-Identifier: MIT
#
# running-pod.sh POD [PID=1] [SECONDS=10]: profiles a process of a pod that runs already; writes POD.html here.
#
# Copies the folder that `make portable` builds into the pod, for its image need not have `profile`. The container must
# be root's, with the capabilities BPF and PERFMON, and SYS_PTRACE for its GPU time where Yama's ptrace_scope is not 0;
# a seccomp filter must allow what they allow (docs/cluster.md). Where it has none of this, start the pod again with
# INJECTION_TRACE in its environment (docs/traces.md): that needs no privilege.
#
# PORTABLE names the folder (default build/portable), KUBECTL_OPTIONS has words for each kubectl (-n NAMESPACE -c CONTAINER).
set -eu

pod=$1 pid=${2:-1} seconds=${3:-10}
portable=${PORTABLE:-build/portable}

# The words of KUBECTL_OPTIONS are options.
# shellcheck disable=SC2086
in_pod()
{
	kubectl exec ${KUBECTL_OPTIONS-} "$pod" -- "$@"
}

# shellcheck disable=SC2086
{
	in_pod mkdir -p /tmp/profile
	kubectl cp ${KUBECTL_OPTIONS-} "$portable/profile" "$pod:/tmp/profile/profile"
	kubectl cp ${KUBECTL_OPTIONS-} "$portable/libcjson.so.1" "$pod:/tmp/profile/libcjson.so.1"
	status=0
	in_pod /tmp/profile/profile -p "$pid" -d "$seconds" -o /tmp/profile/report.html || status=$?
	if [ "$status" -eq 0 ]; then kubectl cp ${KUBECTL_OPTIONS-} "$pod:/tmp/profile/report.html" "$pod.html"; fi
	in_pod rm -rf /tmp/profile
}
exit "$status"
