// SPDX-License-Identifier: MIT
// The timeline of reports, and what is reckoned from it, against simple models.
import assert from "node:assert/strict";
import {test} from "node:test";
import {encodeDetails, encodeHead, encodeProfile, encodeSpans, encodeTimeline, makeRandom} from "./made_page.mjs";
import {makeTraining} from "./made_timeline.mjs";
import {readProfile} from "../../profiler/web/html/data.js";
import {lookIntoGap, sayGap} from "../../profiler/web/html/gaps.js";
import {
	linkLaunches,
	makeRangeTrack,
	makeTimelineBuilder,
	mergeLanes,
	operationsOf,
} from "../../profiler/web/html/timeline.js";
import {
	countWanted,
	firstWhere,
	formatTick,
	layOutLane,
	spanAt,
	spansBetween,
	tickStep,
} from "../../profiler/web/html/spans.js";
import {kindsOfFrames, reasonOf} from "../../profiler/web/html/kinds.js";
import {makeTree} from "../../profiler/web/html/tree.js";
import {
	ALL_TIME,
	clipIntervals,
	gapsBetween,
	makeMeasure,
	sliceRows,
	sliceSteps,
} from "../../profiler/web/html/slices.js";
import {
	busyColumns,
	stateColumns,
	lanesByDevice,
	longestGaps,
	sumBusy,
	workOfSpan,
	worksOfFrames,
} from "../../profiler/web/html/busy.js";
import {
	formatRange,
	formatState,
	parseRange,
	parseState,
} from "../../profiler/web/html/state.js";

const GPU = 2,
	WAIT = 3;

async function build(made, partRecords) {
	const profile = readProfile(encodeProfile(made));
	const builder = makeTimelineBuilder(profile),
		timelines = encodeTimeline(made, partRecords).map(part => builder.add(part));
	const [timeline, ...others] = timelines.filter(one => one);

	builder.end();
	assert.equal(others.length, 0);
	await linkLaunches(timeline, async () => {});
	return timeline;
}

// A profile with random spans of all kinds; `step` is the time between their starts.
function makeRandomRun(seed, count, {step = 100, longest = 400, sums = false} = {}) {
	const random = makeRandom(seed),
		records = [];
	let time = -50;

	for (let i = 0; i < count; i++) {
		time += random(step);
		records.push({
			kind: random(6),
			place: random(7) - 1,
			start: time,
			duration: random(6) === 0 ? 0 : random(longest),
			stack: random(12),
			correlation: random(count >> 1),
			bytes: random(3) === 0 ? random(1 << 20) : 0,
			shape: random(3),
			node: random(9) === 0 ? random(1 << 30) * 4096 : 0,
			...(sums ? {number: 1 + random(9)} : {}),
		});
	}
	return {
		facts: {"elapsed ns": Math.max(time - 30, 1)},
		frames: [
			{class: 0, name: "main"},
			{class: 4, name: "cudaLaunchKernel"},
			{class: 6, name: "[GPU_Kernel]gemm"},
			{class: 7, name: "[GPU_Memcpy HtoD]"},
			{class: 6, name: "[GPU_Kernel]ncclDevKernel_AllReduce"},
			{class: 5, name: "[NVTX] step"},
		],
		stacks: Array.from({length: 12}, (_, i) => ({outer: i >> 1, frame: i % 6})),
		places: [
			[0, 1, -1, -1, -1],
			[0, 2, -1, -1, -1],
			[0, 1, 0, 1, 7],
			[0, 2, 0, 1, 8],
			[1, 3, 0, 1, 7],
			[1, 3, 1, 2, 9],
		],
		devices: [
			{process: 0, number: 0, label: "GPU 0", name: "A"},
			{process: 1, number: 0, label: "GPU 0", name: "A"},
			{process: 1, number: 1, label: "GPU 1", name: "B"},
		],
		timeline: {
			...(sums ? {sums: records} : {records}),
			shapes: [Array(9).fill(1), Array(9).fill(2)],
		},
	};
}

const COLUMNS = ["kind", "place", "start", "duration", "stack", "correlation", "bytes", "shape", "node", "number"];
const keyOf = span => COLUMNS.map(column => span[column]).join(" ");
const spanOf = (spans, i) => Object.fromEntries(COLUMNS.map(column => [column, spans[column][i]]));

test("records come back, each once, whatever the parts", async () => {
	for (const [sums, partRecords] of [
		[false, 7],
		[false, 1000],
		[true, 1000],
	]) {
		const made = makeRandomRun(3, 500, {sums}),
			{spans} = await build(made, partRecords);
		const expected = (made.timeline.records ?? made.timeline.sums).map(record =>
			keyOf({...record, number: record.number ?? 1, ...(sums ? {node: 0} : {})}),
		);

		assert.deepEqual(
			Array.from({length: spans.count}, (_, i) => keyOf(spanOf(spans, i))).sort(),
			expected.sort(),
		);
	}
});

test("tracks and lanes: each span in one, in order, without overlap", async () => {
	for (let seed = 0; seed < 20; seed++) {
		const timeline = await build(
			makeRandomRun(seed, 400, {step: 40 + seed * 60, longest: 2000}),
			64,
		);
		const {spans} = timeline,
			seen = new Uint8Array(spans.count);

		for (const track of timeline.tracks.filter(({type}) => type !== "nvtx"))
			for (const lane of track.lanes) {
				let latest = -Infinity;

				for (let i = lane.first; i < lane.end; i++) {
					const stop = spans.start[i] + spans.duration[i];

					assert.equal(seen[i]++, 0);
					assert.ok(i === lane.first || spans.start[i] >= spans.start[i - 1]);
					assert.equal(
						["samples", "calls", "gpu", "waits", "calls", "off"][spans.kind[i]],
						track.type,
					);
					latest = Math.max(latest, stop);
					if (lane.reach) assert.equal(lane.reach[i - lane.first], latest);
					else assert.equal(stop, latest);
				}
			}
		assert.ok(seen.every(count => count === 1));
		assert.equal(timeline.events, spans.count);
	}
});

test("damaged parts are refused", () => {
	const made = makeRandomRun(1, 50),
		profile = readProfile(encodeProfile(made)),
		parts = encodeTimeline(made, 20); // head, three of spans, three of details
	const read = (...list) => {
		const builder = makeTimelineBuilder(profile),
			timelines = list.map(part => builder.add(part));

		builder.end();
		return timelines.find(timeline => timeline);
	};
	// of a record, or several: all that is said of their order is as told
	const span = (record, flags = 3) => ({record: {kind: 0, place: 0, start: 0, duration: 1, stack: 1, ...record}, flags, isSum: 0});
	const spans = (...list) => read(encodeHead({spans: list.length}), encodeSpans(list), encodeDetails(list));

	assert.equal(read(...parts).events, made.timeline.records.length);
	assert.equal(read(encodeHead()).events, 0);
	for (let i = 0; i < parts.length; i++) {
		const others = [parts.slice(0, i), parts.slice(i + 1)];

		for (let size = 0; size < parts[i].length; size += 7)
			assert.throws(() => read(...others[0], parts[i].subarray(0, size), ...others[1]), `${size} bytes of part ${i}`);
		assert.throws(() => read(...others.flat()), /out of place|are there|too many|no track|not in order/, `without part ${i}`);
		assert.throws(() => read(...others[0], parts[i], parts[i], ...others[1]), /out of place|not whole|too many|no track|not in order/, `twice part ${i}`);
		assert.throws(() => read(...others[0], Buffer.concat([parts[i], Buffer.from([0])]), ...others[1]), /after its end/);
	}
	assert.throws(() => read(), /0 of all/);
	assert.throws(() => read(parts[0], Buffer.from([9, 0, 0, 0, 0, 0, 0, 0])), /kind 9/);
	assert.throws(() => read(encodeHead({spans: 1e9})), /too many/);
	assert.equal(spans(span({}), span({start: 5}, 0), span({start: 9}, 2)).tracks[0].lanes.length, 2);
	for (const [message, ...list] of [
		[/no kind or place/, span({place: 99})],
		[/no kind or place/, span({kind: 6})],
		[/no stack/, span({stack: 99})],
		[/no track/, span({}, 0)],
		[/no track/, span({}, 2)],
		[/no track/, span({}), span({kind: 2}, 0)],
		[/no kind or place/, span({}, 19), span({place: 99}, 16)],
		[/not in order/, span({start: 7}), span({start: 5, place: 1}, 0)],
	])
		assert.throws(() => spans(...list), message);
	assert.equal(read(encodeHead({lost: 3, reason: "No space left on device"})).reason, "No space left on device");
});

test("events outside of the run do not make it small", async () => {
	const made = {...makeRandomRun(1, 0), facts: {"elapsed ns": 1000}};
	const record = (start, duration) => ({kind: 0, place: 0, start, duration});

	made.timeline.records = [
		record(-40, 10),
		record(990, 60),
		record(-1e15, 5),
		record(3000, 5),
		record(500, 1e12),
	];
	const {from, to, runFrom, runTo, outside} = await build(made);

	assert.deepEqual([from, to, runFrom, runTo, outside], [-40, 1100, 0, 1000, 2]);
});

test("of a part of the run, that part is the run", async () => {
	const made = {
		...makeRandomRun(1, 0),
		facts: {"elapsed ns": 1000, "shown from ns": 400, "shown to ns": 600},
	};

	made.timeline.records = [{kind: GPU, place: 2, start: 450, duration: 60, stack: 2}];
	const timeline = await build(made),
		{from, to, runFrom, runTo} = timeline;

	assert.deepEqual([from, to, runFrom, runTo], [400, 600, 400, 600]);
});

test("time off the CPU: a row of each thread, in no sum, by reason", async () => {
	const texts = [
		"main", "cudaStreamSynchronize", "[runnable]", "[blocked: futex]", "[blocked: GIL]", "[blocked: read socket]",
		"[blocked: read pipe]", "[blocked: page fault]", "[blocked: sleep]", "[blocked: system call 203]", "[blocked: poll]",
	];
	const made = {
		frames: texts.map((name, i) => ({name, class: i === 1 ? 4 : i > 1 ? 8 : 0})),
		// each reason below main, then three within the CUDA call
		stacks: [
			{outer: 0, frame: 0},
			{outer: 1, frame: 1},
			...[2, 3, 4, 5, 6, 7, 8, 9, 10].map(frame => ({outer: 1, frame})),
			...[2, 3, 10].map(frame => ({outer: 2, frame})),
		],
		places: [
			[0, 1, -1, -1, -1],
			[0, 2, -1, -1, -1],
		],
		timeline: {
			records: Array.from({length: 12}, (_, i) => ({kind: 5, place: i % 2, start: 100 * i, duration: 90, stack: 3 + i})),
		},
	};
	const timeline = await build(made, 5),
		{profile, spans, tracks} = timeline,
		kinds = kindsOfFrames(profile.frames);

	assert.deepEqual(
		tracks.map(({type, thread, count, lanes}) => [type, thread, count, lanes.length]),
		[
			["off", 1, 6, 1],
			["off", 2, 6, 1],
		],
	);
	assert.deepEqual(
		Array.from({length: 12}, (_, i) => reasonOf(profile, kinds, 3 + i).word),
		["run", "lock", "lock", "net", "io", "memory", "sleep", "other", "net", "run", "gpu", "gpu"],
	);
	assert.equal(reasonOf(profile, kinds, 0).word, "other"); // without a stack
	assert.equal(sliceRows(timeline, makeMeasure({start: [0], end: [spans.count * 100]})).count, 0);
});

test("spans of lanes in order of their starts", () => {
	const random = makeRandom(5);

	for (let round = 0; round < 50; round++) {
		const lanes = [],
			start = [];

		for (let lane = random(6); lane >= 0; lane--) {
			const first = start.length;

			start.push(...Array.from({length: random(60)}, () => random(100)).sort((a, b) => a - b));
			lanes.push({first, end: start.length});
		}
		assert.deepEqual(
			Array.from(mergeLanes({start}, lanes)),
			start.map((_, i) => i).sort((a, b) => start[a] - start[b] || a - b),
		);
	}
});

test("what is visible: each span once, small ones together", async () => {
	const random = makeRandom(11);

	for (let seed = 0; seed < 30; seed++) {
		const timeline = await build(makeRandomRun(seed, 600, {step: 20 + seed * 9}));
		const whole = timeline.to - timeline.from;

		for (const track of timeline.tracks)
			for (const lane of track.lanes) {
				const {store} = lane,
					from = timeline.from + random(whole),
					to = from + 1 + random(whole),
					width = 1 + random(300);
				const seen = new Map();
				let last = -1,
					boxes = 0;

				layOutLane(lane, from, to, width, (x, w, first, end, share) => {
					boxes++;
					assert.ok(x >= 0 && w > 0 && x <= width + 1, `${x} ${w} of ${width}`);
					assert.ok(share >= 0 && share <= 1);
					assert.ok(first > last || last === -1);
					for (let i = first; i < end; i++) seen.set(i, end - first);
					last = end - 1;
				});
				for (let i = lane.first; i < lane.end; i++) {
					const stop = store.start[i] + store.duration[i];

					// what touches the window only is seen or not
					if (store.start[i] < to && stop > from)
						assert.ok(seen.has(i), `span ${i} of ${track.type} is not drawn`);
					else if (store.start[i] > to || stop < from - (2 * (to - from)) / width)
						assert.ok(!seen.has(i));
					if (((stop - store.start[i]) * width) / (to - from) >= 2 && seen.has(i))
						assert.equal(seen.get(i), 1, "a large span is alone");
				}
				assert.ok(
					boxes <= width * 1.5 + 4 || lane.reach,
					`${boxes} boxes in ${width} pixels`,
				);
			}
	}
});

test("work does not grow with the number of spans", () => {
	const count = 1000000,
		start = Float64Array.from({length: count}, (_, i) => i * 10);
	const before = Float64Array.from({length: count + 1}, (_, i) => i * 9);
	let reads = 0;
	const counted = new Proxy(start, {
		get(list, key) {
			reads++;
			return list[key];
		},
	});
	const lane = {
		store: {start: counted, duration: new Float64Array(count).fill(9), before},
		first: 0,
		end: count,
		reach: null,
	};
	let boxes = 0;

	layOutLane(lane, 0, count * 10, 1000, (x, width, first, end, share) => {
		boxes++;
		assert.ok(Math.abs(share - 0.9) < 0.02, `${share}`);
		assert.ok(end > first && width === 1);
	});
	assert.ok(boxes >= 990 && boxes <= 1010, `${boxes}`);
	assert.ok(reads < 60000, `${reads} spans looked at`);
});

test("the span at a time", async () => {
	const random = makeRandom(2),
		timeline = await build(makeRandomRun(8, 300, {step: 300}));

	for (const {lanes} of timeline.tracks)
		for (const lane of lanes)
			for (let round = 0; round < 20; round++) {
				const {start, duration} = lane.store,
					time = random(timeline.to),
					reach = random(200);
				const away = i => Math.max(start[i] - time, time - start[i] - duration[i], 0);
				let best = Infinity;

				for (let i = lane.first; i < lane.end; i++) best = Math.min(best, away(i));
				const found = spanAt(lane, time, reach);

				if (best < reach) assert.equal(away(found), best);
				else if (best > reach) assert.equal(found, -1);
			}
});

test("launches lead to what they started, within their process", async () => {
	const made = {
		...makeRandomRun(1, 0),
		timeline: {
			records: [
				{kind: 1, place: 0, start: 10, duration: 5, correlation: 7},
				{kind: 1, place: 4, start: 12, duration: 5, correlation: 7},
				{kind: GPU, place: 2, start: 30, duration: 5, correlation: 7},
				{kind: GPU, place: 3, start: 20, duration: 5, correlation: 7},
				{kind: GPU, place: 4, start: 40, duration: 5, correlation: 7},
				{kind: GPU, place: 4, start: 50, duration: 5, correlation: 8},
				{kind: GPU, place: 4, start: 60, duration: 5},
				{kind: 1, place: 0, start: 70, duration: 5},
			],
		},
	};
	const timeline = await build(made),
		{spans} = timeline;
	const at = start => spans.start.indexOf(start);

	assert.deepEqual(
		operationsOf(timeline, at(10))
			.map(i => spans.start[i])
			.sort(),
		[20, 30],
	);
	assert.deepEqual(operationsOf(timeline, at(12)), [at(40)]);
	assert.deepEqual(operationsOf(timeline, at(10), 1).length, 1);
	assert.deepEqual(
		[20, 30, 40, 50, 60].map(time => timeline.launch[at(time)]),
		[at(10), at(10), at(12), -1, -1],
	);
	assert.deepEqual(operationsOf(timeline, at(70)), []);
});

test("what the next launcher did in a gap", async () => {
	const run = [
		{kind: 0, place: 0, start: 100, duration: 60, stack: 1},
		{kind: 0, place: 0, start: 160, duration: 20, stack: 2},
		{kind: 0, place: 1, start: 100, duration: 300, stack: 4}, // of another thread
		{kind: 3, place: 0, start: 180, duration: 40, stack: 3},
		{kind: 1, place: 0, start: 240, duration: 5, stack: 3, correlation: 7},
		{kind: GPU, place: 2, start: 10, duration: 90, stack: 2, correlation: 5},
		{kind: GPU, place: 2, start: 300, duration: 50, stack: 2, correlation: 7},
		{kind: GPU, place: 2, start: 400, duration: 50, stack: 2, correlation: 7},
		{kind: GPU, place: 2, start: 500, duration: 50, stack: 2},
	];
	const timeline = await build({...makeRandomRun(1, 0), timeline: {records: run}}),
		{spans} = timeline,
		lanes = lanesByDevice(timeline).get("GPU 0");
	const look = (from, to) => lookIntoGap(timeline, lanes, from, to, i => spans.stack[i]),
		say = (from, to) =>
			sayGap(look(from, to), from, to, frame => `f${frame}`, i => spans.stack[i], place => `thread ${place}`);
	const gap = look(100, 300);

	assert.deepEqual(
		[spans.start[gap.next], gap.launchedAt, gap.place, gap.cpu, gap.waits, gap.calls],
		[300, 240, 0, {ns: 80, frame: 1}, {ns: 40, frame: 3}, {ns: 0, frame: -1}],
	);
	assert.equal(
		say(100, 300),
		"thread 0, which launched f2 next, computed for 80 ns (mostly f1); waited for 40 ns (mostly f3); " +
			"that launch came 60 ns before the gap's end.",
	);
	assert.match(say(350, 400), /had launched f2, which came next, 160 ns before: it waited for something else/);
	assert.match(say(450, 500), /f2 ended it; who launched that is not known/);
	assert.match(say(550, 600), /Nothing ran on it afterwards/);
});

test("samples as flame charts: a box for each frame as long as it stays", async () => {
	const made = {...makeRandomRun(1, 0)};

	// stacks: 3 is inside 1, 7 and 8 are inside 3
	made.timeline.records = [
		[0, 10, 7],
		[10, 10, 8],
		[21, 10, 8], // a clock's tremble
		[31, 10, 3],
		[100, 10, 3], // off the CPU before
		[108, 10, 1], // begins before the other ends
	].map(([start, duration, stack]) => ({kind: 0, place: 0, start, duration, stack}));
	const {spans, tracks, profile} = await build(made),
		{parent, frame, depth} = makeTree(profile.stacks),
		nodes = {outer: parent, frame, depth, of: stack => stack};
	const boxes = most =>
		makeRangeTrack(spans, tracks, "samples", {...nodes, most}).lanes.map(({store}) =>
			Array.from(store.start, (start, i) => [start, start + store.duration[i], store.node[i], store.number[i]]),
		);

	assert.deepEqual(boxes(3), [
		[
			[0, 41, 1, 4],
			[100, 118, 1, 2],
		],
		[
			[0, 41, 3, 4],
			[100, 108, 3, 1],
		],
		[
			[0, 10, 7, 1],
			[10, 31, 8, 2],
		],
	]);
	assert.deepEqual(boxes(1), boxes(3).slice(0, 1));
});

test("NVTX ranges last from the first to the last call in them", async () => {
	const nvtx = name => ({class: 5, name});
	const made = {
		facts: {"elapsed ns": 1000},
		frames: [nvtx("step"), nvtx("a"), nvtx("b"), {class: 4, name: "cudaLaunchKernel"}],
		stacks: [
			{outer: 0, frame: 0},
			{outer: 1, frame: 1},
			{outer: 2, frame: 3}, // 3: step, a
			{outer: 1, frame: 2},
			{outer: 4, frame: 3}, // 5: step, b
			{outer: 0, frame: 3}, // 6: none
		],
		places: [
			[0, 1, -1, -1, -1],
			[0, 2, -1, -1, -1],
		],
		timeline: {
			records: [
				[10, 5, 3],
				[20, 5, 3],
				[30, 5, 5],
				[40, 5, 0], // not captured: says nothing
				[50, 5, 5],
				[60, 5, 6],
				[70, 5, 3],
			]
				.map(([start, duration, stack]) => ({kind: 1, place: 0, start, duration, stack}))
				.concat(
					{kind: 3, place: 0, start: 80, duration: 15, stack: 3},
					{kind: 1, place: 1, start: 33, duration: 2, stack: 3},
				),
		},
	};
	const {tracks, profile} = await build(made);
	const found = tracks
		.filter(({type}) => type === "nvtx")
		.map(({thread, lanes}) => [
			thread,
			...lanes.map(({store}) =>
				Array.from(
					store.start,
					(start, i) =>
						`${profile.frames.name[store.frameAt(i)]} ${start}-${start + store.duration[i]} ${store.number[i]}`,
				),
			),
		]);

	assert.deepEqual(found.sort(), [
		[1, ["step 10-55 4", "step 70-95 2"], ["a 10-25 2", "b 30-55 2", "a 70-95 2"]],
		[2, ["step 33-35 1"], ["a 33-35 1"]],
	]);
});

// ---- parts of the time ----

function randomIntervals(random, count, most) {
	const points = [...new Set(Array.from({length: count * 2}, () => random(most)))].sort(
		(a, b) => a - b,
	);

	if (points.length % 2) points.pop();
	return {
		start: Float64Array.from(points.filter((_, i) => i % 2 === 0)),
		end: Float64Array.from(points.filter((_, i) => i % 2 === 1)),
	};
}

// Whole ns are in intervals or not: so many of [from, to) are.
const countInside = ({start, end}, from, to) => {
	let count = 0;

	for (let ns = from; ns < to; ns++) if (start.some((a, i) => a <= ns && ns < end[i])) count++;
	return count;
};

test("measures, gaps and cut intervals add up", () => {
	const random = makeRandom(4);

	for (let round = 0; round < 60; round++) {
		const intervals = randomIntervals(random, random(12), 200),
			measure = makeMeasure(intervals);
		const from = random(220) - 10,
			to = from + random(200);

		assert.equal(measure.overlap(from, to), countInside(intervals, from, to));
		assert.equal(measure.overlap(to, from), 0);
		const gaps = gapsBetween(intervals, from, to);

		assert.equal(makeMeasure(gaps).total + measure.overlap(from, to), Math.max(to - from, 0));
		gaps.start.forEach((start, i) => {
			assert.ok(gaps.end[i] > start);
			assert.equal(measure.overlap(start, gaps.end[i]), 0);
		});
		const cut = makeMeasure(clipIntervals(intervals, from, to));

		assert.equal(cut.total, measure.overlap(from, to));
	}
});

test("the profile of a part of the time: each span weighs its part", async () => {
	const random = makeRandom(9);

	for (let seed = 0; seed < 12; seed++) {
		const made = makeRandomRun(seed, 200, {step: 30, sums: seed % 3 === 2}),
			timeline = await build(made);
		const intervals = randomIntervals(random, 1 + random(6), timeline.to),
			rows = sliceRows(timeline, makeMeasure(intervals));
		const expected = new Map();

		for (const record of made.timeline.records ?? made.timeline.sums) {
			const kind = [0, -1, 1, 2, 3, -1][record.kind],
				ns = countInside(intervals, record.start, record.start + record.duration);

			if (kind < 0 || ns === 0) continue;
			const key = `${record.stack} ${kind} ${record.place}`,
				computed =
					record.kind === WAIT
						? Math.round(Math.min(record.bytes ?? 0, record.duration) * (ns / record.duration))
						: 0;

			expected.set(key, (expected.get(key) ?? 0) + ns - computed);
		}
		assert.deepEqual(
			new Map(
				Array.from({length: rows.count}, (_, i) => [
					`${rows.stack[i]} ${rows.kind[i]} ${rows.place[i]}`,
					rows.ns[i],
				]).sort(),
			),
			new Map([...expected].sort()),
		);
	}
});

test("a part of a wait is without what its thread computed", async () => {
	const made = {
		facts: {"elapsed ns": 1000},
		frames: [{name: "cudaDeviceSynchronize"}],
		stacks: [{outer: 0, frame: 0}],
		rows: [{stack: 1, kind: 2, ns: 60}],
		timeline: {records: [{kind: WAIT, start: 100, duration: 100, stack: 1, place: -1, bytes: 40}]},
	};
	const timeline = await build(made),
		ns = (from, to) => Array.from(sliceRows(timeline, makeMeasure({start: [from], end: [to]})).ns);

	assert.deepEqual(ns(0, 1000), [60]);
	assert.deepEqual(ns(100, 150), [30]);
	assert.deepEqual(ns(150, 1000), [30]);
});

test("samples of gaps count whole, by when they were taken", async () => {
	const made = {
		facts: {"elapsed ns": 1000},
		frames: [{name: "before"}, {name: "meanwhile"}],
		stacks: [
			{outer: 0, frame: 0},
			{outer: 0, frame: 1},
		],
		rows: [{stack: 1, kind: 0, ns: 200}],
		timeline: {
			records: [
				{kind: 0, start: 90, duration: 100, stack: 1, place: -1},
				{kind: 0, start: 190, duration: 100, stack: 2, place: -1},
				{kind: 0, start: 290, duration: 100, stack: 1, place: -1},
			],
		},
	};
	const rows = sliceRows(
		await build(made),
		makeMeasure({start: [0, 200], end: [100, 300]}),
		null,
		true,
	);

	assert.deepEqual(Array.from(rows.stack), [1]);
	assert.deepEqual(Array.from(rows.ns), [200]);
	assert.deepEqual(Array.from(rows.operations), [2]);
});

test("all the time is all of the profile, but for waits", async () => {
	const made = makeTraining({events: 6000}),
		timeline = await build(made),
		rows = sliceRows(timeline, makeMeasure({start: [0], end: [made.facts["elapsed ns"]]}));
	const list = all =>
		Array.from({length: all.count}, (_, i) =>
			["stack", "kind", "place", "operations", "ns", "bytes"].map(key => all[key][i]).join(),
		).sort();

	assert.deepEqual(list(rows), list(timeline.profile.rows));
	assert.ok(rows.count > 20);
});

// ---- busy ----

test("busy and idle are the run; hidden time; how many at once", async () => {
	const random = makeRandom(21);

	for (let seed = 0; seed < 20; seed++) {
		const timeline = await build(makeRandomRun(seed, 150, {step: 60}));
		const {spans, profile} = timeline,
			works = worksOfFrames(profile.frames),
			workOf = i => workOfSpan(works, spans, i);
		const from = random(300),
			to = from + random(4000);

		for (const [device, lanes] of lanesByDevice(timeline)) {
			const sums = sumBusy(spans, lanes, from, to, workOf);
			const mine = [...mergeLanes(spans, lanes)];
			const expected = {
				busy: 0,
				union: [0, 0, 0],
				hidden: [0, 0, 0],
				atOnce: Array(9).fill(0),
			};

			for (let ns = from; ns < to; ns++) {
				const running = mine.filter(
						i => spans.start[i] <= ns && ns < spans.start[i] + spans.duration[i],
					),
					kinds = new Set(running.map(workOf));

				expected.busy += running.length > 0 ? 1 : 0;
				expected.atOnce[Math.min(running.length, 8)]++;
				for (const kind of kinds) {
					expected.union[kind]++;
					expected.hidden[kind] += kinds.has(0) ? 1 : 0;
				}
			}
			assert.equal(sums.busy, expected.busy, `${device}, seed ${seed}`);
			assert.equal(sums.busy + sums.idle, Math.max(to - from, 0));
			assert.deepEqual(sums.union, expected.union);
			assert.deepEqual(sums.hidden, expected.hidden);
			assert.deepEqual(Array.from(sums.atOnce), expected.atOnce);
			assert.equal(makeMeasure(sums).total, sums.busy);
			for (let i = 1; i < sums.start.length; i++) assert.ok(sums.start[i] > sums.end[i - 1]);
			assert.equal(makeMeasure(gapsBetween(sums, from, to)).total, sums.idle);
			assert.equal(
				sums.byWork.reduce((a, b) => a + b),
				sums.ns,
			);
		}
	}
});

test("kinds of work, by name", () => {
	const name = [
		"[GPU_Kernel]gemm",
		"[GPU_Kernel]ncclDevKernel_AllReduce_Sum_f16(ncclDevComm*)",
		"ncclKernel_SendRecv",
		"[GPU_Kernel]void nccl_work<int>()",
		"[GPU_Kernel]my_nccl",
		"[GPU_Memcpy HtoD]",
		"[GPU_Memset]",
		"[GPU_UVM HtoD]",
		"[GPU_Graph]",
	];

	assert.deepEqual(Array.from(worksOfFrames({name})), [0, 2, 2, 2, 0, 1, 1, 1, 0]);
});

test("columns of a chart hold the exact share of their own time", () => {
	const random = makeRandom(5);

	for (let round = 0; round < 50; round++) {
		const busy = {start: [], end: []},
			width = 1 + random(40),
			ns = width * (1 + random(9));

		for (let at = random(5); at < ns; at += 1 + random(9)) {
			busy.start.push(at);
			busy.end.push((at += 1 + random(30)));
		}
		const columns = busyColumns(makeMeasure(busy), 0, ns, width),
			step = ns / width;

		columns.forEach((share, x) => {
			let model = 0;

			for (let at = x * step; at < (x + 1) * step; at++)
				model += busy.start.some((start, i) => start <= at && at < busy.end[i]) ? 1 : 0;
			assert.ok(Math.abs(share - model / step) < 1e-9, `${share} ${model}`);
		});
	}
});

test("solid bursts of a chart have steep edges and empty gaps", () => {
	const bursts = {start: [20, 40], end: [30, 45]};

	assert.deepEqual(
		Array.from(busyColumns(makeMeasure(bursts), 0, 60, 6)),
		[0, 0, 1, 0, 0.5, 0],
	);
	// a part of the time, at a scale where edges are within columns
	assert.deepEqual(
		Array.from(busyColumns(makeMeasure(bursts), 24, 44, 5)),
		[1, 0.5, 0, 0, 1],
	);
});

test("the longest gaps", () => {
	const random = makeRandom(6);

	for (let round = 0; round < 30; round++) {
		const gaps = gapsBetween(randomIntervals(random, 40, 3000), 0, 3000),
			most = 1 + random(20);
		const lengths = Array.from(gaps.start, (start, i) => gaps.end[i] - start);

		assert.deepEqual(
			longestGaps(gaps, most).map(i => lengths[i]),
			lengths
				.slice()
				.sort((a, b) => b - a)
				.slice(0, most),
		);
	}
});

// ---- the axis, the address ----

test("marks on the axis are apart, and say what tells them apart", () => {
	for (let ns = 1; ns < 1e15; ns *= 3.7) {
		const step = tickStep(ns, 1000, 100);

		assert.ok(
			(step * 1000) / ns >= 100 && (step * 1000) / ns < 1000 + 1000 / ns,
			`${ns}: ${step}`,
		);
		for (const base of [0, 12345678901]) {
			const texts = [0, 1, 2].map(i => formatTick(base + i * step, step, base + ns));

			assert.equal(new Set(texts).size, 3, texts.join());
		}
	}
	assert.equal(formatTick(1234567890, 10, 2e9), "1.234\u2009567\u200989 s");
	assert.equal(formatTick(0, 100, 900), "0 ns");
	assert.equal(formatTick(-1500, 500, 2000), "−1.5 µs");
	assert.equal(formatTick(12345e9, 1e9, 12345e9), "12,345 s");
});

test("a chosen time is in the address, if it is one", () => {
	assert.deepEqual(parseRange(formatRange(-5.5, 17.2)), [-6, 18]);
	for (const text of [
		"",
		"5",
		"5..5",
		"7..5",
		"1..x",
		"1..2..3",
		"1e3..2e3",
		`0..${"9".repeat(17)}`,
	])
		assert.equal(parseRange(text), null, text);
	const state = parseState("#view=timeline&time=5..9&window=bad&span=3&idle=GPU%200");

	assert.deepEqual(
		[state.view, state.time, state.window, state.span, state.idle],
		["timeline", "5..9", "", "3", "GPU 0"],
	);
	assert.equal(parseState(`#${formatState(state)}`).idle, "GPU 0");
});

test("how many are wanted, in any range", () => {
	const counts = countWanted({count: 5}, i => i % 2 === 0);

	assert.deepEqual(Array.from(counts), [0, 1, 1, 2, 2, 3]);
	assert.equal(
		firstWhere(0, 10, i => i >= 7),
		7,
	);
	assert.equal(
		firstWhere(0, 10, () => false),
		10,
	);
	assert.deepEqual(
		spansBetween(
			{store: {start: [0, 10, 20], duration: [5, 5, 5]}, first: 0, end: 3, reach: null},
			6,
			20,
		),
		[1, 2],
	);
});

// ns by kind, stack, place and step, of spans with the part in each.
function modelSteps({spans}, start, from, to) {
	const sums = new Map(),
		rowKind = [0, null, 1, 2, 3, null], // time off the CPU has no row
		parts = [[-Infinity, start[0], 0], ...start.slice(1).map((end, i) => [start[i], end, i + 1]), [start.at(-1), Infinity, 0]];

	for (let i = 0; i < spans.count; i++)
		for (const [first, last, step] of rowKind[spans.kind[i]] === null ? [] : parts) {
			const stop = spans.start[i] + spans.duration[i],
				ns = Math.min(stop, last, to) - Math.max(spans.start[i], first, from),
				key = [rowKind[spans.kind[i]], spans.stack[i], spans.place[i], step].join();
			const less = spans.kind[i] === WAIT ? Math.round((Math.min(spans.bytes[i], spans.duration[i]) * ns) / spans.duration[i]) : 0;

			if (ns > 0) sums.set(key, (sums.get(key) ?? 0) + ns - less);
		}
	return sums;
}

test("steps: each ns of the run's rows is in one, with what has no time", async () => {
	for (let seed = 0; seed < 20; seed++) {
		const random = makeRandom(seed),
			made = makeRandomRun(seed, 300, {sums: seed % 2 === 1}),
			start = Array.from({length: 3 + random(30)}, () => random(20000)).sort((a, b) => a - b);
		const timeline = await build(made),
			slice = intervals => sliceRows(timeline, makeMeasure(intervals)),
			whole = slice(ALL_TIME);
		const sumsOf = rows => {
			const sums = new Map();

			for (let i = 0; i < rows.count; i++) {
				const key = [rows.kind[i], rows.stack[i], rows.place[i], rows.step[i]].join();

				sums.set(key, (sums.get(key) ?? 0) + rows.ns[i]);
			}
			return sums;
		};
		const sorted = sums => [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
		const time = {start: [1000], end: [9000]};

		assert.deepEqual(sorted(sumsOf(sliceSteps({start}, ALL_TIME, slice))), sorted(modelSteps(timeline, start, -Infinity, Infinity)));
		assert.deepEqual(sorted(sumsOf(sliceSteps({start}, time, slice))), sorted(modelSteps(timeline, start, 1000, 9000)));
		// the run's rows: some have more than the timeline, one is below a span's stack, one is of idle time
		const rows = {...whole, kind: whole.kind.slice(), stack: whole.stack.slice(), ns: whole.ns.map((ns, i) => ns + (i % 3 === 0 ? 7 : 0))};
		const below = rows.stack.findIndex((stack, i) => stack >= 1 && stack <= 5 && rows.kind[i] === 1);
		const idle = rows.kind.indexOf(3);

		if (below >= 0) rows.stack[below] *= 2;
		rows.kind[idle] = 4;
		const byStep = sliceSteps({start}, ALL_TIME, slice, {...timeline.profile, rows});

		for (const kind of [0, 1, 2, 4]) {
			const sumOf = list => list.ns.reduce((sum, ns, i) => sum + (list.kind[i] === kind ? ns : 0), 0);

			assert.equal(sumOf(byStep), sumOf(rows), `kind ${kind}`);
		}
	}
});

test("the state of GPUs: counters with their values, and a chart of one", () => {
	const read = states =>
		readProfile(encodeProfile({frames: [], stacks: [], rows: [], states})).states;
	const states = read([
		{device: "GPU 0", name: "SM clock (MHz)", values: [[100, 1980], [300, 990]]},
		{device: "GPU 1", name: "power (W)", values: [[200, 400]]},
		{device: "GPU 1", name: "never told", values: [[200, 0]]},
	]);

	assert.deepEqual(states, [
		{device: "GPU 0", name: "SM clock (MHz)", start: [1e8, 3e8], value: [1980, 990], most: 1980},
		{device: "GPU 1", name: "power (W)", start: [2e8], value: [400], most: 400},
	]);
	// the value at the end of each column
	assert.deepEqual([...stateColumns(states[0], 0, 4e8, 4)], [0, 1, 1, 0.5]);
	assert.deepEqual([...stateColumns(states[0], 5e8, 6e8, 2)], [0.5, 0.5]);
	assert.throws(() => read([{device: "GPU 0", name: "x", counter: 1, values: [[0, 1]]}]), /no counter/);
});
