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

# read_timeline FILE JAVASCRIPT: the same of its `timeline`
read_timeline()
{
	node --input-type=module -e "
		import {readFileSync} from 'node:fs';
		import {unpackBytes, unpackProfile} from '$root/profiler/output/html/data.js';
		import {makeTimelineBuilder} from '$root/profiler/output/html/timeline.js';
		const text = readFileSync('$1', 'utf8');
		const profile = await unpackProfile(text.match(/id=\"data\">([^<]*)</)[1]);
		const builder = makeTimelineBuilder(profile, async () => {});
		for (const [, part] of text.matchAll(/class=\"timeline\">([^<]*)</g))
			builder.add(await unpackBytes(part));
		const timeline = await builder.finish(), {spans} = timeline;
		const ofKind = kind => Array.from(spans.kind, (k, i) => i).filter(i => spans.kind[i] === kind);
		const ns = list => list.reduce((sum, i) => sum + spans.duration[i], 0);
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
	expect_equal 'places' "$(read_report out.html 'profile.places.stream.some(stream => stream >= 0)')" true
	expect_equal 'losses' "$(read_report out.html 'profile.losses.length')" 0
}

@test "the loss of records is in the report" {
	needs_command node
	FAKE_CUDA_DROP_EVERY=10 run_profile -q -gpu-only -o out.html "$workloads/launches" 1000
	expect_status 0
	expect_equal 'losses' "$(read_report out.html 'profile.losses.join()')" \
		'GPU operations dropped before they reached the profiler,100'
}

@test "the timeline has each launch and operation, and knows which belong together" {
	needs_command node
	run_profile -q -gpu-only -o out.html "$workloads/launches" 1000 2 2
	expect_status 0
	expect_equal 'operations' "$(read_timeline out.html 'ofKind(2).length')" 1000
	expect_equal 'launches' "$(read_timeline out.html 'ofKind(1).length')" 1000
	expect_equal 'ns' "$(read_timeline out.html 'ns(ofKind(2))')" 1000000
	expect_equal 'pairs' "$(read_timeline out.html 'new Set(ofKind(2).map(i => timeline.launch[i]).filter(i => i >= 0)).size')" 1000
	expect_equal 'in the run' "$(read_timeline out.html 'ofKind(2).every(i => spans.start[i] > 0 && spans.start[i] + spans.duration[i] < timeline.runTo)')" true
	expect_equal 'lost' "$(read_timeline out.html 'timeline.lost')" 0
}

@test "NVTX ranges, waits and samples are in the timeline" {
	needs_command node
	needs_root
	run_profile -q --nvtx --waits -F 1000 -o out.html "$workloads/nvtx_ranges"
	expect_status 0
	expect_equal 'NVTX' "$(read_timeline out.html 'timeline.tracks.some(track => track.type === "nvtx")')" true
	run_profile -q --waits -F 1000 -o out.html "$workloads/waits"
	expect_status 0
	expect_equal 'waits' "$(read_timeline out.html 'ofKind(3).length > 0')" true
	run_profile -q -cpu-only -F 1000 -o out.html "$workloads/cpu_mix" 200
	expect_status 0
	expect_equal 'samples' "$(read_timeline out.html 'ofKind(0).length === profile.facts.get("cpu samples")')" true
}

@test "a timeline that the disk has no room for leaves the report whole" {
	needs_command node
	run_command bash -c 'ulimit -f 600 && exec "$@"' bash "$profile" -gpu-only -o out.html \
		"$workloads/launches" 30000
	expect_status 0
	expect_line stderr 'events are missing from the timeline: File too large'
	expect_equal 'GPU ns' "$(read_report out.html 'sum(1)')" 30000000
	expect_equal 'all' "$(read_timeline out.html 'timeline.events + timeline.lost')" 60000
	expect_equal 'lost' "$(read_timeline out.html 'timeline.lost > 10000')" true
}
