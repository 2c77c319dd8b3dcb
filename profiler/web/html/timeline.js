// SPDX-License-Identifier: MIT
// Turns the timeline's parts of the page (profiler/web/html_timeline.h) into spans in lanes.
// Spans are columns. Spans of a track are adjacent, and so are those of a lane, in order of their
// starts. Times are ns since the command's start. Spans in a lane hardly overlap, and end in the
// order in which they start. A crowded lane is an exception: its `reach` is by span the latest
// end so far.
import {makeReader, UNKNOWN} from "./data.js";
import {deviceLabels} from "./tree.js";

export const SPAN_SAMPLE = 0,
	SPAN_LAUNCH = 1,
	SPAN_OPERATION = 2,
	SPAN_WAIT = 3,
	SPAN_CALL = 4,
	SPAN_KINDS = 5;
const PART_RECORDS = 0,
	PART_SUMS = 1,
	PART_END = 2;
const MOST_LANES = 4; // of a track; what overlaps more is in the last one
const STEP = 1 << 17; // spans between pauses
const MARGIN = 0.1; // of the run, before and after it
const TREMBLING = 1000; // ns that one operation may seem to begin before the end of another
const NVTX_CLASS = 5;

const fromSigned = number => (number % 2 === 0 ? number / 2 : -(number + 1) / 2);

// Turns differences within groups into the numbers that they stand for.
function addUp(list, groups, firsts) {
	let at = 0;

	groups.forEach(({count}, group) => {
		let value = firsts ? firsts[group] : 0;

		for (const end = at + count; at < end; at++) {
			value += firsts ? list[at] : fromSigned(list[at]);
			list[at] = value;
		}
	});
	return list;
}

export function readPart(bytes) {
	const reader = makeReader(bytes),
		kind = reader.number();

	if (kind === PART_END) {
		const end = {
			kind,
			records: reader.number(),
			summed: reader.number(),
			lost: reader.number(),
			lostShapes: reader.number(),
			reason: reader.text(),
		};
		const count = reader.number();

		end.shapes = Array.from({length: 9}, () => reader.column(count, Float64Array));
		return end;
	}
	if (kind > PART_END) throw new Error(`the timeline has a part of kind ${kind}`);
	const groupCount = reader.number();
	const [kinds, places, counts] = [0, 1, 2].map(() => reader.column(groupCount, Float64Array));
	const firsts = reader.column(groupCount, Float64Array).map(fromSigned);
	const groups = Array.from(kinds, (groupKind, i) => ({
		kind: groupKind,
		place: places[i] - 1,
		count: counts[i],
	}));
	const count = reader.number();

	if (groups.reduce((sum, group) => sum + group.count, 0) !== count)
		throw new Error("the groups of the timeline are not whole");
	const part = {
		kind,
		groups,
		count,
		start: addUp(reader.column(count, Float64Array), groups, firsts),
		duration: reader.column(count, Float64Array),
		stack: reader.column(count, Uint32Array),
		correlation: addUp(reader.column(count, Float64Array), groups, null),
		node: reader.column(count, Float64Array),
		bytes: reader.column(count, Float64Array),
		shape: reader.column(count, Uint32Array),
		number: null,
	};

	if (kind === PART_SUMS) [part.node, part.number] = [new Float64Array(count), part.node];

	if (!reader.isAtEnd()) throw new Error("a part of the timeline goes on after its end");
	return part;
}

// ---- order ----

// Returns positions that sort `starts`, stable; null if they are sorted. Records come as a few
// sorted runs.
export function orderOf(starts) {
	const runs = [0];

	for (let i = 1; i < starts.length; i++) if (starts[i] < starts[i - 1]) runs.push(i);
	if (runs.length === 1) return null;
	runs.push(starts.length);
	return mergeRuns(
		Uint32Array.from(starts, (_, i) => i),
		runs,
		starts,
	);
}

// Merges runs [runs[k], runs[k + 1]) that are sorted into one sorted list.
function mergeRuns(order, runs, starts) {
	let from = order,
		to = new Uint32Array(order.length);

	while (runs.length > 2) {
		const next = [0];

		for (let k = 0; k + 1 < runs.length; k += 2) {
			const end = runs[Math.min(k + 2, runs.length - 1)];
			let a = runs[k],
				b = runs[k + 1];
			const middle = b;

			for (let at = a; at < end; at++)
				to[at] =
					a < middle && (b >= end || starts[from[a]] <= starts[from[b]])
						? from[a++]
						: from[b++];
			next.push(end);
		}
		runs = next;
		[from, to] = [to, from];
	}
	return from;
}

// Returns all spans of lanes (of one store) in order of their starts.
export function mergeLanes(store, lanes) {
	const order = new Uint32Array(lanes.reduce((sum, lane) => sum + lane.end - lane.first, 0));
	const runs = [0];
	let at = 0;

	for (const lane of lanes) {
		if (lane.end === lane.first) continue;
		for (let i = lane.first; i < lane.end; i++) order[at++] = i;
		runs.push(at);
	}
	return runs.length > 2 ? mergeRuns(order, runs, store.start) : order;
}

// Returns the lane of each span, the first one that is free, and the number of lanes.
function chooseLanes(store, first, end, most) {
	const lanes = new Uint8Array(end - first),
		free = [];

	for (let i = first; i < end; i++) {
		const stop = store.start[i] + store.duration[i],
			soon = store.start[i] + Math.min(store.duration[i] / 4, TREMBLING);
		let lane = 0;

		while (lane < free.length && !(free[lane] <= soon && free[lane] <= stop)) lane++;
		lane = Math.min(lane, most - 1);
		lanes[i - first] = lane;
		free[lane] = lane < free.length ? Math.max(free[lane], stop) : stop;
	}
	return {lanes, count: Math.max(free.length, 1)};
}

function reachOf(store, first, end) {
	let latest = -Infinity,
		isCrowded = false;

	for (let i = first; i < end; i++) {
		const stop = store.start[i] + store.duration[i];

		isCrowded ||= stop < latest;
		latest = Math.max(latest, stop);
	}
	if (!isCrowded) return null;
	const reach = new Float64Array(end - first);

	latest = -Infinity;
	for (let i = first; i < end; i++)
		reach[i - first] = latest = Math.max(latest, store.start[i] + store.duration[i]);
	return reach;
}

function permute(store, first, order) {
	for (const column of store.columns) {
		const old = store[column].slice(first, first + order.length);

		for (let i = 0; i < order.length; i++) store[column][first + i] = old[order[i]];
	}
}

// ---- all parts to tracks ----

const COLUMNS = {
	start: Float64Array,
	duration: Float64Array,
	stack: Uint32Array,
	place: Int32Array,
	kind: Uint8Array,
	correlation: Uint32Array,
	node: Float64Array,
	bytes: Float64Array,
	shape: Uint32Array,
	number: Uint32Array, // records in it
};

const PART_COLUMNS = ["start", "duration", "stack", "correlation", "node", "bytes", "shape"];

const TRACK_TYPES = ["samples", "calls", "gpu", "waits", "calls"]; // by kind of span

function trackKey(profile, labels, kind, place) {
	const {places} = profile,
		type = TRACK_TYPES[kind],
		part = name => (place < 0 ? UNKNOWN : places[name][place]);
	const track = {type, process: part("process")};

	if (type === "gpu")
		Object.assign(track, {
			device: place < 0 ? "" : labels[place],
			context: part("context"),
			stream: part("stream"),
		});
	else track.thread = part("thread");
	return track;
}

// Collects parts (add), and makes the timeline of them (finish). `pause` is awaited between
// steps, so that the page stays responsive.
export function makeTimelineBuilder(profile, pause) {
	const parts = [],
		labels = deviceLabels(profile);
	let end = null;

	async function finish() {
		if (!end) throw new Error("the timeline has no end");
		const tracks = new Map(),
			byPlace = new Map();
		const count = parts.reduce((sum, part) => sum + part.count, 0);

		if (count !== end.records)
			throw new Error(`the timeline has ${count} of ${end.records} records`);
		const trackOf = (kind, place) => {
			const key = kind * (profile.places.count + 1) + place + 1;
			let track = byPlace.get(key);

			if (!track) {
				const made = trackKey(profile, labels, kind, place),
					name = JSON.stringify(made);

				track = tracks.get(name) ?? {...made, count: 0, lanes: [], places: []};
				track.places.push(place);
				tracks.set(name, track);
				byPlace.set(key, track);
			}
			return track;
		};

		for (const part of parts)
			for (const group of part.groups) trackOf(group.kind, group.place).count += group.count;
		const store = {count, columns: Object.keys(COLUMNS)};

		for (const [column, List] of Object.entries(COLUMNS)) store[column] = new List(count);
		let at = 0;

		for (const track of tracks.values()) {
			track.first = track.next = at;
			at += track.count;
		}
		for (const part of parts.splice(0)) {
			let from = 0;

			for (const {kind, place, count: size} of part.groups) {
				const track = trackOf(kind, place),
					to = track.next;

				for (const column of PART_COLUMNS)
					store[column].set(part[column].subarray(from, from + size), to);
				if (part.number) store.number.set(part.number.subarray(from, from + size), to);
				store.kind.fill(kind, to, to + size);
				store.place.fill(place, to, to + size);
				if (!part.number) store.number.fill(1, to, to + size);
				track.next += size;
				from += size;
			}
			await pause();
		}
		for (const track of tracks.values()) await layOutTrack(store, track, pause);
		store.before = new Float64Array(count + 1);
		for (let i = 0; i < count; i++) store.before[i + 1] = store.before[i] + store.duration[i];
		store.frameAt = i => profile.stacks.frame[store.stack[i]];
		const timeline = {
			profile,
			spans: store,
			tracks: [...tracks.values()],
			events: store.number.reduce((sum, number) => sum + number, 0),
			shapes: end.shapes,
			summed: end.summed,
			lost: end.lost,
			lostShapes: end.lostShapes,
			reason: end.reason,
			...extentOf(store, profile),
		};

		await pause();
		Object.assign(timeline, await linkLaunches(profile, store, pause));
		await pause();
		timeline.tracks.push(...(await makeNvtxTracks(profile, timeline, pause)));
		return timeline;
	}

	return {
		add(bytes) {
			const part = readPart(bytes);

			if (end) throw new Error("the timeline goes on after its end");
			if (part.kind === PART_END) {
				end = part;
				return;
			}
			for (const {kind, place} of part.groups)
				if (kind >= SPAN_KINDS || place >= profile.places.count)
					throw new Error("a record of the timeline is of no kind or place");
			if (part.stack.some(stack => stack >= profile.stacks.count))
				throw new Error("a record of the timeline has no stack");
			parts.push(part);
		},
		finish,
	};
}

async function layOutTrack(store, track, pause) {
	const {first, count} = track,
		end = first + count;
	const order = orderOf(store.start.subarray(first, end));

	if (order) permute(store, first, order);
	await pause();
	// a thread waits once at a time; samples follow each other, except for clock jitter
	const most = track.type === "gpu" || track.type === "calls" ? MOST_LANES : 1;
	const {lanes, count: laneCount} = chooseLanes(store, first, end, most);
	let at = first;

	await pause();
	if (laneCount > 1) {
		const byLane = new Uint32Array(count),
			sizes = new Uint32Array(laneCount);
		let to = 0;

		for (let lane = 0; lane < laneCount; lane++)
			for (let i = 0; i < count; i++)
				if (lanes[i] === lane) {
					byLane[to++] = i;
					sizes[lane]++;
				}
		permute(store, first, byLane);
		for (const size of sizes) {
			track.lanes.push({store, track, first: at, end: at + size});
			at += size;
		}
	} else {
		track.lanes.push({store, track, first, end});
	}
	await pause();
	for (const lane of track.lanes) lane.reach = reachOf(store, lane.first, lane.end);
	track.ns = 0;
	for (let i = first; i < end; i++) track.ns += store.duration[i];
}

// Returns the time that is shown, [runFrom, runTo), usually the run; and [from, to) with what is
// close to it. `outside` is the number of events beyond, which would make everything else small.
function extentOf(store, profile) {
	const known = profile.facts.get("shown to ns") ?? profile.facts.get("elapsed ns") ?? 0,
		runFrom = known > 0 ? (profile.facts.get("shown from ns") ?? 0) : 0,
		margin = Math.ceil((known - runFrom) * MARGIN);
	let from = runFrom,
		to = known,
		outside = 0;

	for (let i = 0; i < store.count; i++) {
		const stop = store.start[i] + store.duration[i];

		if (known > 0 && (store.start[i] > known + margin || stop < runFrom - margin)) {
			outside += store.number[i];
			continue;
		}
		if (store.start[i] < from) from = store.start[i];
		if (stop > to) to = stop;
	}
	if (known > 0) {
		from = Math.max(from, runFrom - margin);
		to = Math.min(to, known + margin);
	}
	return {from, to: Math.max(to, from + 1), runFrom, runTo: known > 0 ? known : to, outside};
}

// ---- flows ----

// Connects by span: `launch` of an operation, `nextOperation` of the same launch,
// `firstOperation` of a launch; -1: none.
async function linkLaunches(profile, store, pause) {
	const launch = new Int32Array(store.count).fill(-1),
		firstOperation = new Int32Array(store.count).fill(-1),
		nextOperation = new Int32Array(store.count).fill(-1);
	const processOf = i => (store.place[i] < 0 ? -1 : profile.places.process[store.place[i]]);
	let launches = 0;

	for (let i = 0; i < store.count; i++) launches += store.kind[i] === SPAN_LAUNCH ? 1 : 0;
	let size = 16;

	while (size < launches * 2) size *= 2;
	const slots = new Int32Array(size).fill(-1);
	const slotOf = i => {
		const key = Math.imul(
			store.correlation[i] ^ Math.imul(processOf(i), 0x9e3779b1),
			0x85ebca6b,
		);
		let at = (key ^ (key >>> 15)) & (size - 1);

		while (
			slots[at] >= 0 &&
			(store.correlation[slots[at]] !== store.correlation[i] ||
				processOf(slots[at]) !== processOf(i))
		)
			at = (at + 1) & (size - 1);
		return at;
	};

	for (let i = 0; i < store.count; i++) {
		if (i % STEP === 0) await pause();
		if (store.kind[i] === SPAN_LAUNCH && store.correlation[i] > 0) slots[slotOf(i)] = i;
	}
	// backwards, so that lists are in order
	for (let i = store.count - 1; i >= 0; i--) {
		if (i % STEP === 0) await pause();
		if (store.kind[i] !== SPAN_OPERATION || store.correlation[i] === 0) continue;
		const found = slots[slotOf(i)];

		if (found < 0) continue;
		launch[i] = found;
		nextOperation[i] = firstOperation[found];
		firstOperation[found] = i;
	}
	return {launch, firstOperation, nextOperation};
}

// Returns the operations of a launch, at most `most`.
export function operationsOf(timeline, launch, most = Infinity) {
	const list = [];

	for (let i = timeline.firstOperation[launch]; i >= 0 && list.length < most;) {
		list.push(i);
		i = timeline.nextOperation[i];
	}
	return list;
}

// ---- NVTX ----

// Returns the ranges of a thread, with a lane for each depth. A range lasts from the first to the
// last of consecutive calls whose stacks have it in the same place.
async function makeNvtxTracks(profile, timeline, pause) {
	const {frames, stacks} = profile,
		nodes = {outer: [-1], frame: [-1], depth: [-1]},
		nodeOf = new Int32Array(stacks.count),
		known = new Map();

	for (let i = 1; i < stacks.count; i++) {
		const outer = nodeOf[stacks.parent[i]];

		nodeOf[i] = outer;
		if (frames.class[stacks.frame[i]] !== NVTX_CLASS) continue;
		const key = outer * frames.count + stacks.frame[i];
		let node = known.get(key);

		if (node === undefined) {
			node = nodes.frame.length;
			nodes.outer.push(outer);
			nodes.frame.push(stacks.frame[i]);
			nodes.depth.push(nodes.depth[outer] + 1);
			known.set(key, node);
		}
		nodeOf[i] = node;
	}
	if (known.size === 0) return [];
	const threads = new Map();

	for (const track of timeline.tracks)
		if (track.type === "calls" || track.type === "waits") {
			const key = `${track.process}.${track.thread}`;

			threads.set(key, [...(threads.get(key) ?? []), track]);
		}
	const made = [];

	for (const list of threads.values()) {
		made.push(makeNvtxTrack(timeline.spans, list, nodes, nodeOf));
		await pause();
	}
	return made.filter(track => track.lanes.length > 0);
}

function makeNvtxTrack(spans, tracks, nodes, nodeOf) {
	const order = mergeLanes(
		spans,
		tracks.flatMap(track => track.lanes),
	);
	const ranges = [], // by depth
		open = []; // by depth: {node, start, end, calls}
	const path = [];
	const close = depth => {
		while (open.length > depth) {
			const range = open.pop();

			(ranges[open.length] ??= []).push(range);
		}
	};

	for (const i of order) {
		if (spans.stack[i] === 0) continue; // not captured: says nothing
		const node = nodeOf[spans.stack[i]],
			stop = spans.start[i] + spans.duration[i];

		path.length = nodes.depth[node] + 1;
		for (let at = node; at > 0; at = nodes.outer[at]) path[nodes.depth[at]] = at;
		for (let depth = 0; depth < path.length; depth++) {
			if (open[depth]?.node !== path[depth]) {
				close(depth);
				open.push({node: path[depth], start: spans.start[i], end: stop, calls: 0});
			}
			open[depth].end = Math.max(open[depth].end, stop);
			open[depth].calls += spans.number[i];
		}
		close(path.length);
	}
	close(0);
	const track = {
		type: "nvtx",
		process: tracks[0].process,
		thread: tracks[0].thread,
		places: tracks.flatMap(({places}) => places),
		lanes: [],
	};

	for (const list of ranges) {
		list.sort((a, b) => a.start - b.start);
		const store = {
			count: list.length,
			start: Float64Array.from(list, range => range.start),
			duration: Float64Array.from(list, range => range.end - range.start),
			frame: Int32Array.from(list, range => nodes.frame[range.node]),
			number: Uint32Array.from(list, range => range.calls),
			before: new Float64Array(list.length + 1),
		};

		for (let i = 0; i < list.length; i++)
			store.before[i + 1] = store.before[i] + store.duration[i];
		store.frameAt = i => store.frame[i];
		track.lanes.push({
			store,
			track,
			first: 0,
			end: list.length,
			reach: reachOf(store, 0, list.length),
		});
	}
	track.count = track.lanes.reduce((sum, lane) => sum + lane.end, 0);
	return track;
}
