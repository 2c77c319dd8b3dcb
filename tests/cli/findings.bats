#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The verdict on programs whose limit is known. tests/findings/doses has all of them, and explains how an
# answer is judged: by what the program measures of itself, so that a busy machine changes both.

load helpers

setup()
{
	enter_test_folder
	needs_command python3
}

# judges STATUS RESULT: what the program printed is in the file truth, what profile says in said.json.
judges()
{
	status=0
	"$root/tests/findings/doses" --judge truth said.json >stdout 2>stderr || status=$?
	expect_status "$1"
	expect_line stdout "^files .*[0-9]  $2 "
}

# says LIMIT PERMILLE FINDING...
says()
{
	local limit=$1 share=$2

	shift 2
	jq -n --arg limit "$limit" --argjson share "$share" --args '{elapsed_ns: 1000000000,
		verdict: {limit: $limit, ns: $share, of_ns: 1000},
		findings: (["verdict"] + $ARGS.positional | map({key: .}))}' "$@" >said.json
}

# bats test_tags=quick
@test "answers are judged by the truth" {
	needs_command jq
	printf 'truth %s\n' 'share computing 500' 'share loader 300' 'share synchronizing 200' \
		'start_up 10' 'working_ns 900000000' >truth
	says loader 310
	judges 0 right
	says mixed 310
	judges 0 right
	says host_code 310
	judges 1 vague
	says unknown 0
	judges 1 unknown
	for word in synchronizing computing start_up launching no_gpu_work; do
		says "$word" 310
		judges 1 wrong
	done
	says loader 310 autotuning
	judges 1 right
	expect_line stdout ' missing: \+autotuning$'
	echo 'truth want kernel' >>truth
	says loader 310
	judges 1 right
	expect_line stdout ' missing: kernel$'
	printf 'truth %s\n' 'share computing 980' 'start_up 10' 'working_ns 500000000' >truth
	for word in computing start_up; do
		says "$word" 500
		judges 0 right
	done
	says queued 20
	judges 1 wrong
}

# names ROWS OPTIONS...: profile names what limits these programs. A busy machine may make an answer unclear.
names()
{
	local rows=$1

	shift
	run_command env "PROFILE=$profile" "$root/tests/findings/doses" --only "^($rows)\$" --steps 40 "$@"
	cat stdout
	expect_status 0
	expect_empty stderr
	expect_line stdout '^[1-9][0-9]* right, [0-9]+ vague, 0 wrong, [0-9]+ unknown, 0 missing, 0 failed;'
}

@test "large losses are named without options" {
	names 'loader_reads 50|copy_async 50|collectives 50|late_rank 50' --options plain
}

@test "large losses are named with --idle --waits, and no loss where there is none" {
	needs_root
	names 'loader_sleeps 50|synchronizing 50|hot_kernel 50|copy_async 0' --options idle
}

# bats test_tags=quick
@test "all that shows findings says the same" {
	local capture=$root/tests/captures/h200_cpp.profile

	run_profile -v --from "$capture" -o x.json -o x.md -o x.html
	expect_status 0
	"$profile" --from "$capture" --query verdict >answer
	jq -r '.findings[].claim' x.json >claims
	[ "$(wc -l <claims)" -ge 5 ]
	jq -r '.rows[].claim' answer | diff claims -
	python3 - <<-'END'
		import html
		page = html.unescape(open("x.md").read()).replace("\\", "")
		terminal = open("stderr").read() + open("ending").read()
		for claim in open("claims").read().splitlines():
		    assert claim in page, claim
		    assert claim in terminal, claim
	END
	needs_command node
	node --input-type=module -e "
		import {readFileSync} from 'node:fs';
		import {unpackProfile} from '$root/profiler/web/html/data.js';
		const page = await unpackProfile(readFileSync('x.html', 'utf8').match(/id=\"data\">([^<]*)</)[1]);
		console.log(JSON.stringify(page.figures.map(({rows}) => rows)));" >figures
	python3 - <<-'END'
		import json
		text = json.dumps(json.load(open("figures")))
		for claim in open("claims").read().splitlines():
		    assert json.dumps(claim)[1:-1] in text, claim
	END
}
