#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Reports for browsers: -o FILE.html.

load helpers

setup()
{
	enter_test_folder
}

# read_report FILE JAVASCRIPT: prints what an expression makes of the report's `profile`
read_report()
{
	node --input-type=module -e "
		import {readFileSync} from 'node:fs';
		import {unpackProfile} from '$root/profiler/output/html/data.js';
		const text = readFileSync('$1', 'utf8');
		const profile = await unpackProfile(text.match(/id=\"data\">([^<]*)</)[1]);
		const sum = kind => profile.rows.ns.reduce((all, ns, i) => all + (profile.rows.kind[i] === kind ? ns : 0), 0);
		console.log($2);"
}

@test "a report is a page that forbids everything but itself" {
	run_profile -q -gpu-only -o out.html "$workloads/launches" 100
	expect_status 0
	expect_line out.html '^<!DOCTYPE html>$'
	expect_line out.html "default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]*'; style-src 'sha256-"
	expect_line out.html '^</html>$'
	expect_no_line out.html 'https?:'
}

@test "a report holds all time, with places, whatever the unit" {
	needs_command node
	run_profile -q -gpu-only --unit us -o out.html -o out.folded "$workloads/launches" 2000
	expect_status 0
	expect_equal 'GPU ns' "$(read_report out.html 'sum(1)')" 2000000
	expect_equal 'GPU us' "$(weight_of out.folded)" 2000
	expect_equal 'device' "$(read_report out.html 'profile.devices.label[0]')" 'GPU 0'
	expect_equal 'command' "$(read_report out.html 'profile.facts.get("command")')" "$workloads/launches 2000"
	expect_equal 'places' "$(read_report out.html 'profile.places.count > 0 && profile.places.stream[0] >= 0')" true
	expect_equal 'losses' "$(read_report out.html 'profile.losses.length')" 0
}

@test "the loss of records is in the report" {
	needs_command node
	FAKE_CUDA_DROP_EVERY=10 run_profile -q -gpu-only -o out.html "$workloads/launches" 1000
	expect_status 0
	expect_equal 'losses' "$(read_report out.html 'profile.losses.join()')" \
		'GPU operations dropped before they reached the profiler,100'
}
