# SPDX-License-Identifier: MIT
# Flame graphs as SVG, beside other outputs of the same run.

load helpers

setup()
{
	enter_test_folder
	needs_root
}

# is_well_formed FILE: an XML parser reads it.
is_well_formed()
{
	if command -v xmllint >/dev/null; then
		xmllint --noout "$1"
	elif command -v python3 >/dev/null; then
		python3 -c 'import sys, xml.dom.minidom as xml; xml.parse(sys.argv[1])' "$1"
	else
		skip 'neither xmllint nor python3 is installed'
	fi
}

# ns_of FILE KIND: the picture's total of a kind of time; 0 if it has none.
ns_of()
{
	local ns

	ns=$(sed -n "s/.* data-total=\"$2\" data-ns=\"\([0-9]*\)\".*/\1/p" "$1")
	echo "${ns:-0}"
}

# bats test_tags=quick
@test "a picture and folded stacks of one run have the same totals" {
	with_details
	run_profile --waits --unit ns -o out.folded -o out.svg "$workloads/inference" 5
	expect_status 0
	is_well_formed out.svg
	expect_folded out.folded
	waiting=$(weight_of out.folded ';\[waiting for GPU\]')
	gpu=$(grep -v 'waiting for GPU' out.folded | weight_of - '\[GPU_[A-Z][^;]*$')
	cpu=$(($(weight_of out.folded) - gpu - waiting))
	[ "$gpu" = 132700000 ]
	[ "$waiting" -gt 0 ]
	expect_equal 'GPU ns' "$(ns_of out.svg GPU)" "$gpu"
	expect_equal 'waiting ns' "$(ns_of out.svg waiting)" "$waiting"
	expect_equal 'CPU ns' "$(ns_of out.svg CPU)" "$cpu"
	expect_line out.svg "class=\"sum\" .* data-ns=\"$((cpu + gpu + waiting))\""
	expect_line stderr '^Wrote [0-9]+ frames \([0-9.]+ s: [0-9.]+ s CPU, 0.133 s GPU, [0-9.]+ s waiting\) to out.svg$'
	expect_line out.svg '/inference 5</text>'
	expect_line out.svg '>GPU 132.7 ms  '
	for label in start-up 'C, C\+\+, other native code' 'CUDA call' 'GPU kernel' waiting; do
		expect_line out.svg ">$label</text></g>"
	done
}

@test "the picture needs nothing but itself" {
	run_profile -q -gpu-only -o out.svg "$workloads/launches" 10
	expect_status 0
	# namespaces are names, not places
	if grep -o '[a-z]*://[^" '"'"']*' out.svg | grep -vxE 'http://www\.w3\.org/(2000/svg|1999/xhtml)'; then
		false
	fi
	expect_no_line out.svg '@import|<image|<link|src='
}

@test "--flame: the root is at the bottom" {
	run_profile -q -gpu-only -o icicle.svg "$workloads/launches" 10
	expect_status 0
	expect_line icicle.svg '^<script type="application/json" class="data">\{"flame":false,'
	run_profile -q -gpu-only --flame -o flame.svg "$workloads/launches" 10
	expect_status 0
	is_well_formed flame.svg
	expect_line flame.svg '^<script type="application/json" class="data">\{"flame":true,'
}

@test "--format svg, on standard output" {
	run_profile -q -gpu-only --format svg -o - "$workloads/launches" 10
	expect_status 0
	is_well_formed stdout
	expect_equal ns "$(ns_of stdout GPU)" 10000
}

@test "a command without GPU work, and without anything" {
	run_profile -q -gpu-only -o out.svg true
	expect_status 0
	is_well_formed out.svg
	expect_line out.svg '· 0 frames</text>$'
	expect_line out.svg '>true</text>'
}

@test "the command's words are text" {
	run_profile -q -gpu-only -o out.svg true '</title><script>alert(1)</script>' $'\e[31m' '&"'"'"
	expect_status 0
	is_well_formed out.svg
	expect_equal scripts "$(grep -c '<script' out.svg)" 2
	if LC_ALL=C grep -n $'[\x01-\x08\x0b-\x1f\x7f]' out.svg; then false; fi
}
