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
		import {unpackProfile} from '$root/profiler/web/html/data.js';
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
		import {unpackBytes, unpackProfile} from '$root/profiler/web/html/data.js';
		import {linkLaunches, makeTimelineBuilder} from '$root/profiler/web/html/timeline.js';
		const text = readFileSync('$1', 'utf8');
		const profile = await unpackProfile(text.match(/id=\"data\">([^<]*)</)[1]);
		const builder = makeTimelineBuilder(profile);
		let timeline = null;
		for (const [, part] of text.matchAll(/class=\"timeline\">([^<]*)</g))
			timeline = builder.add(await unpackBytes(part)) ?? timeline;
		builder.end();
		const {spans} = timeline;
		await linkLaunches(timeline, async () => {});
		const ofKind = kind => Array.from(spans.kind, (k, i) => i).filter(i => spans.kind[i] === kind);
		const ns = list => list.reduce((sum, i) => sum + spans.duration[i], 0);
		console.log($2);"
}

# bats test_tags=quick
@test "a report is a page that forbids everything but itself" {
	run_profile -q -gpu-only -o out.html "$workloads/launches" 100
	expect_status 0
	expect_line out.html '^<!DOCTYPE html>$'
	expect_line out.html "default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]*'; style-src 'sha256-"
	expect_line out.html '^</html>$'
	expect_no_line out.html 'https?:'
}

# bats test_tags=quick
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
		'GPU operations dropped,100'
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

@test "time off the CPU is in the timeline, with --wall" {
	needs_command node
	needs_root
	run_profile -q -cpu-only --wall -o out.html -o out.json "$workloads/blocked"
	expect_status 0
	for reason in sleep futex 'read pipe' 'read socket' poll; do
		expect_equal "$reason" "$(read_timeline out.html \
			"ofKind(5).some(i => profile.frames.name[spans.frameAt(i)] === '[blocked: $reason]')")" true
	done
	expect_equal 'rows' "$(read_timeline out.html "timeline.tracks.filter(track => track.type === 'off').length >= 8")" true
	expect_equal 'sum' "$(read_timeline out.html \
		"ns(ofKind(5)) <= JSON.parse(readFileSync('out.json', 'utf8')).totals.waiting_ns")" true
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
	run_command bash -c 'ulimit -f 3000 && exec "$@"' bash "$profile" -gpu-only -o out.html \
		"$workloads/launches" 60000
	expect_status 0
	expect_line stderr 'events are missing from the timeline: File too large'
	expect_equal 'GPU ns' "$(read_report out.html 'sum(1)')" 60000000
	expect_equal 'all' "$(read_timeline out.html 'timeline.events + timeline.lost')" 120000
	expect_equal 'lost' "$(read_timeline out.html 'timeline.lost > 10000')" true
}

# fold_report FILE JAVASCRIPT: runs it for the report with others' code folded by the page's own rules
fold_report()
{
	node --input-type=module -e "
		import {readFileSync} from 'node:fs';
		import {unpackProfile} from '$root/profiler/web/html/data.js';
		import {foldStacks, whyNotFolded} from '$root/profiler/web/html/own_code.js';
		import {tableLaunchSites} from '$root/profiler/web/html/tables.js';
		const text = readFileSync('$1', 'utf8');
		const profile = await unpackProfile(text.match(/id=\"data\">([^<]*)</)[1]);
		const {stacks, of, hasOwn} = foldStacks(profile.frames, profile.stacks), sums = new Map();
		const reason = whyNotFolded(profile, () => ({hasOwn}));
		const folded = {...profile, stacks, rows: {...profile.rows, stack: profile.rows.stack.map(i => of[i])}};
		const sites = of => tableLaunchSites(of, new Uint8Array(of.rows.count).fill(1))
			.map(site => profile.frames.name[site.frame] + ' ' + site.ns).sort().join('\n');
		folded.rows.stack.forEach((stack, i) => {
			const path = [];
			for (let at = stack; at > 0; at = stacks.parent[at])
				path.unshift(profile.frames.name[stacks.frame[at]]);
			sums.set(path.join(';'), (sums.get(path.join(';')) ?? 0) + profile.rows.ns[i]);
		});
		$2"
}

@test "stacks can be drawn by memory and by counters, in the page or by --weight" {
	local weight

	needs_command node
	run_profile -q -gpu-only --alloc -o out.html -o out.profile "$workloads/memory_use" 300 3 1 left
	expect_status 0
	expect_equal weights "$(read_report out.html 'profile.weights.map(weight => weight.title).join()')" \
		'memory at the peak,memory never freed'
	run_profile -q -gpu-only --counters dram__bytes.sum,sm__warps_launched.sum,lts__t_sector_hit_rate.pct \
		--counters-launches all -o all.html -o all.profile "$workloads/shares" 100
	expect_equal weights "$(read_report all.html 'profile.weights.map(weight => weight.title).join()')" \
		'dram__bytes.sum,sm__warps_launched.sum'
	expect_equal note "$(read_report all.html 'profile.weights[0].note')" 'measured at all 402 launches'
	for weight in peak:out:0 left:out:1 dram__bytes.sum:all:0 sm__warps_launched.sum:all:1; do
		IFS=: read -r weight file number <<<"$weight"
		run_profile -q --from "$file.profile" --weight "$weight" -o "$weight.folded" -o "$weight.html"
		expect_status 0
		expect_equal "$weight in the page" \
			"$(read_report "$file.html" "profile.weights[$number].rows.ns.reduce((sum, value) => sum + value, 0)")" \
			"$(weight_of "$weight.folded")"
		expect_equal "$weight alone" "$(read_report "$weight.html" 'sum(1)')" "$(weight_of "$weight.folded")"
	done
	expect_equal name "$(read_report dram__bytes.sum.html 'profile.facts.get("weight")')" dram__bytes.sum
	# times are what they are
	expect_equal 'GPU ns' "$(read_report all.html 'sum(1)')" "$(of_capture_ns)"
	# a view has other stacks: --weight is for that
	run_profile -q --from all.profile --trim-to seldom --weight dram__bytes.sum -o out.html -o out.folded
	expect_equal 'a view' "$(read_report out.html 'sum(1)')" "$(weight_of out.folded)"
}

# The GPU time of all.profile
of_capture_ns()
{
	run_profile -q --from all.profile --unit ns -o times.folded
	weight_of times.folded
}

@test "the page folds others' code to the same stacks, sums and launch sites as --my-code" {
	needs_command node
	for name in torch_eager torch_compile torch_loader; do
		capture=$root/tests/captures/h200_$name.profile
		run_profile -q --from "$capture" --my-code --unit ns -o mine.folded -o mine.html
		expect_status 0
		run_profile -q --from "$capture" -o all.html
		expect_status 0
		fold_report all.html 'sums.forEach((ns, path) => console.log(path + " " + ns))' >page.folded
		cmp <(LC_ALL=C sort mine.folded) <(LC_ALL=C sort page.folded)
		expect_line page.folded '\[torch\];.*\[GPU_Kernel\]'
		expect_equal "$name" "$(fold_report all.html 'console.log(reason)')" ''
		expect_line <(fold_report mine.html 'console.log(reason)') 'made with --my-code'
		cmp <(fold_report all.html 'console.log(sites(folded))') \
			<(fold_report mine.html 'console.log(sites(profile))')
	done
}

@test "where no code is own, the page says so" {
	needs_command node
	mkdir -p empty/.venv/bin
	cd empty
	cp "$workloads/launches" .venv/bin
	run_profile -q -gpu-only -o x.html .venv/bin/launches 10
	expect_status 0
	expect_line <(fold_report x.html 'console.log(reason)') '^The profile has no code below the run.s working directory'
	cp "$workloads/launches" .
	run_profile -q -gpu-only -o x.html ./launches 10
	expect_equal 'reason' "$(fold_report x.html 'console.log(reason)')" ''
}
