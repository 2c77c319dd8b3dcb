# shellcheck shell=bash
# Shared by the GPU tests: paths, one row per check, a table at the end.
#
# The machine needs nvcc, make and a GPU, and ./profile or build/portable/profile (make portable).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 1
out=${OUT:-$root/build/gpu}
mkdir -p "$out"
export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
# shellcheck disable=SC2034 # used by the scripts that source this
bin=build/tests/workloads

profile=${PROFILE:-./profile}
if ! $profile --version >/dev/null 2>&1; then
	profile=build/portable/profile
fi
if ! $profile --version >/dev/null 2>&1; then
	echo "no profile that runs here: build ./profile, or 'make portable' elsewhere and bring it" >&2
	exit 1
fi

rows=()

# add_row VERDICT NAME DETAIL: printed now, and in the table
add_row() {
	local row
	row=$(printf '%-7s %-58s %s' "$1" "$2" "$3")
	rows+=("$row")
	printf '%s\n' "$row"
}
passed=0
failed=0
skipped=0

# check NAME EXPECTED ACTUAL
check() {
	local verdict=ok
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		verdict=FAILED
		failed=$((failed + 1))
	fi
	add_row "$verdict" "$1" "$(printf 'expected %-22s got %s' "$2" "$3")"
}

# check_true NAME DETAIL CONDITION...: the condition is an awk expression
check_true() {
	if awk "BEGIN { exit !($3) }"; then
		passed=$((passed + 1))
		add_row ok "$1" "$2"
	else
		failed=$((failed + 1))
		add_row FAILED "$1" "$2"
	fi
}

skip() {
	skipped=$((skipped + 1))
	add_row skip "$1" "$2"
}

print_table() {
	printf '\n'
	printf '%s\n' "${rows[@]}"
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" -eq 0 ]
}

describe_machine() {
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
	uname -r
	nvcc --version | tail -n 1
	$profile --version
	date -u +%F
}

# sum FILE: all weights of a folded file
sum() {
	awk '{ s += $NF } END { printf "%d", s }' "$1"
}

# gpu_sum FILE: the weights of GPU work
gpu_sum() {
	awk '/\[GPU_[A-Z][^;]*$/ { s += $NF } END { printf "%d", s }' "$1"
}

# reported LOG: the ns that CUPTI reported, summed over processes (needs -v)
reported() {
	awk '/CUPTI reported/ { s += $(NF - 1) } END { printf "%d", s }' "$1"
}

# whole LOG KIND: percent of whole stacks of "CPU samples" or "launches"
whole() {
	sed -n "s/^Stacks: \([0-9.]*\) % of $2 are whole.*/\1/p" "$1"
}

# correlation LOG: "matched unmatched dropped"
correlation() {
	sed -n 's/^Correlation: \([0-9]*\) matched, \([0-9]*\) unmatched, \([0-9]*\) dropped/\1 \2 \3/p' "$1"
}

# worker_of PID: the worker process of the profiler PID, which is its supervisor
worker_of() {
	local children=''
	read -r children _ <"/proc/$1/task/$1/children"
	echo "$children"
}
