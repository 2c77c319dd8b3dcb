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
	SPAN_OFF_CPU = 5,
	SPAN_KINDS = 6;
const PART_RECORDS = 0,
	PART_SUMS = 1,
	PART_END = 2;
const MOST_LANES = 4; // of a track; what overlaps more is in the last one
const MARGIN = 0.1; // of the run, before and after it
const TREMBLING = 1000; // ns that one operation may seem to begin before the end of another
// Rows of ranges that frames stand for: their kinds in enum frame_kind.
const RANGES = [
	["nvtx", [6]],
	["layers", [7, 8]],
];

function fromSigned(number) {
	const half = Math.floor(number / 2);

	return half * 2 === number ? half : -half - 1;
}

// Reads a part up to its records: {kind, groups, count, reader}, or the end.
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
	const [kinds, places, counts, firsts] = [0, 1, 2, 3].map(() => reader.column(groupCount, Float64Array));
	const groups = Array.from(kinds, (groupKind, i) => ({
		kind: groupKind,
		place: places[i] - 1,
		count: counts[i],
		first: fromSigned(firsts[i]),
	}));
	const count = reader.number();

	if (groups.reduce((sum, group) => sum + group.count, 0) !== count || count > bytes.length)
		throw new Error("the groups of the timeline are not whole");
	return {kind, groups, count, reader};
}

// Reads the records of a part to where its groups say (`to`), a column after the other.
function readRecords({kind, groups, reader}, store, {of, count: stackCount}) {
	const columns = [...PART_COLUMNS];

	if (kind === PART_SUMS) columns[columns.indexOf("node")] = "number";
	const differences = new Float64Array(groups.reduce((most, {count}) => Math.max(most, count), 0));

	for (const column of columns) {
		const list = store[column];

		for (const {track, to, count, first} of groups) {
			const end = to + count;
			let most;

			if (column === "correlation") {
				let value = 0;

				differences.fill(0);
				most = reader.fill(differences, 0, count);
				for (let i = 0; i < count; i++) list[to + i] = value += fromSigned(differences[i]);
			} else {
				most = reader.fill(list, to, end);
			}
			if (most > 0) track.mayVary.add(column);
			if (column === "start") {
				list[to] = first;
				for (let i = to + 1; i < end; i++) list[i] += list[i - 1];
			} else if (column === "stack") {
				if (most >= (of?.length ?? stackCount)) throw new Error("a record of the timeline has no stack");
				// runs of unnamed functions are folded
				for (let i = to; of && i < end; i++) list[i] = of[list[i]];
			}
		}
	}
	if (!reader.isAtEnd()) throw new Error("a part of the timeline goes on after its end");
	for (const {kind: one, place, to, count} of groups) {
		store.kind.fill(one, to, to + count);
		store.place.fill(place, to, to + count);
		if (kind === PART_RECORDS) store.number.fill(1, to, to + count);
	}
}

// ---- order ----

// Returns positions that sort `starts`, stable; null if they are sorted. Records come as a few
// sorted runs.
export function orderOf(starts) {
	const runs = [0];

	for (let i = 1; i < starts.length; i++) if (starts[i] < starts[i - 1]) runs.push(i);
	if (runs.length === 1) return null;
	runs.push(starts.length);
	return mergeRuns(upTo(starts.length), runs, starts);
}

function upTo(count) {
	const list = new Uint32Array(count);

	for (let i = 0; i < count; i++) list[i] = i;
	return list;
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

// Returns the lane of each span of [first, first + order.length), the first one that is free; the number
// of lanes, the latest end, and if spans overlap in the last lane.
function chooseLanes({start, duration}, first, order, most) {
	const lanes = new Uint8Array(order.length),
		free = [];
	let isCrowded = false;

	for (let i = 0; i < order.length; i++) {
		const at = first + order[i],
			stop = start[at] + duration[at],
			soon = Math.min(start[at] + Math.min(duration[at] / 4, TREMBLING), stop);
		let lane = 0;

		while (lane < free.length && free[lane] > soon) lane++;
		if (lane >= most) {
			lane = most - 1;
			isCrowded ||= stop < free[lane];
		}
		lanes[i] = lane;
		free[lane] = lane < free.length ? Math.max(free[lane], stop) : stop;
	}
	return {lanes, count: Math.max(free.length, 1), until: Math.max(...free, 0), isCrowded};
}

// Returns by span of [first, end) the latest end so far.
function reachOf(store, first, end) {
	const reach = new Float64Array(end - first);
	let latest = -Infinity;

	for (let i = first; i < end; i++)
		reach[i - first] = latest = Math.max(latest, store.start[i] + store.duration[i]);
	return reach;
}

// Sorts the spans of a track. A column with one value in all of them stays.
function permute(store, {first, count, places, mayVary}, order) {
	for (const column of store.columns) {
		if (!mayVary.has(column) && (column !== "place" || places.length === 1)) continue;
		const list = store[column],
			old = list.slice(first, first + count);

		for (let i = 0; i < count; i++) list[first + i] = old[order[i]];
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

const TRACK_TYPES = ["samples", "calls", "gpu", "waits", "calls", "off"]; // by kind of span

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

				track = tracks.get(name) ?? {
					...made,
					kind,
					count: 0,
					lanes: [],
					places: [],
					mayVary: new Set(["start", "duration", "stack"]),
				};
				if (!track.places.includes(place)) track.places.push(place);
				if (track.kind !== kind) track.mayVary.add("kind");
				tracks.set(name, track);
				byPlace.set(key, track);
			}
			return track;
		};

		for (const {groups} of parts)
			for (const group of groups) {
				group.track = trackOf(group.kind, group.place);
				group.to = group.track.count;
				group.track.count += group.count;
			}
		const store = {
			count,
			columns: Object.keys(COLUMNS),
			sums: parts.reduce((sum, part) => sum + (part.kind === PART_SUMS ? part.count : 0), 0),
		};
		let at = 0;

		for (const [column, List] of Object.entries(COLUMNS)) store[column] = new List(count);
		// the less memory, the sooner it is filled
		if (store.sums === 0) store.number = new Uint8Array(count);
		if (profile.places.count < 1 << 15) store.place = new Int16Array(count);
		for (const track of tracks.values()) {
			track.first = at;
			at += track.count;
		}
		for (const part of parts.splice(0)) {
			for (const group of part.groups) group.to += group.track.first;
			readRecords(part, store, profile.stacks);
			await pause();
		}
		for (const track of tracks.values()) await layOutTrack(store, track, pause);
		store.before = sumsBefore(store);
		for (const track of tracks.values())
			track.ns = store.before[track.first + track.count] - store.before[track.first];
		store.frameAt = i => profile.stacks.frame[store.stack[i]];
		const timeline = {
			profile,
			spans: store,
			tracks: [...tracks.values()],
			events: store.count - store.sums + end.summed,
			shapes: end.shapes,
			summed: end.summed,
			lost: end.lost,
			lostShapes: end.lostShapes,
			reason: end.reason,
			...extentOf(store, [...tracks.values()], profile),
			...noLinks(count),
		};

		await pause();
		for (const [type, kinds] of RANGES)
			timeline.tracks.push(...(await makeRangeTracks(timeline, type, kinds, pause)));
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
			parts.push(part);
		},
		finish,
	};
}

// Sums up by span the durations of those before it.
export function sumsBefore({count, duration}) {
	const before = new Float64Array(count + 1);

	for (let i = 0; i < count; i++) before[i + 1] = before[i] + duration[i];
	return before;
}

async function layOutTrack(store, track, pause) {
	const {first, count} = track,
		sorted = orderOf(store.start.subarray(first, first + count));
	let order = sorted ?? upTo(count);
	// a thread waits, and is off the CPU, once at a time; samples follow each other, except for clock jitter
	const most = track.type === "gpu" || track.type === "calls" ? MOST_LANES : 1;
	const {lanes, count: laneCount, until, isCrowded} = chooseLanes(store, first, order, most),
		ends = new Uint32Array(laneCount);

	for (let i = 0; i < count; i++) ends[lanes[i]]++;
	for (let lane = 1; lane < laneCount; lane++) ends[lane] += ends[lane - 1];
	ends.forEach((end, lane) =>
		track.lanes.push({store, track, first: first + (ends[lane - 1] ?? 0), end: first + end, reach: null}),
	);
	if (laneCount > 1) {
		const byLane = new Uint32Array(count);

		for (let i = count - 1; i >= 0; i--) byLane[--ends[lanes[i]]] = order[i];
		order = byLane;
	}
	await pause();
	if (sorted || laneCount > 1) permute(store, track, order);
	await pause();
	const last = track.lanes.at(-1);

	if (isCrowded) last.reach = reachOf(store, last.first, last.end);
	track.until = until;
}

// Returns the time that is shown, [runFrom, runTo), usually the run; and [from, to) with what is
// close to it. `outside` is the number of events beyond, which would make everything else small.
function extentOf(store, tracks, profile) {
	const known = profile.facts.get("shown to ns") ?? profile.facts.get("elapsed ns") ?? 0,
		runFrom = known > 0 ? (profile.facts.get("shown from ns") ?? 0) : 0,
		margin = Math.ceil((known - runFrom) * MARGIN);
	let from = runFrom,
		to = known,
		outside = 0;

	for (const {first, count, lanes, until} of tracks) {
		const earliest = Math.min(...lanes.map(lane => store.start[lane.first]));

		if (known === 0 || (earliest >= runFrom - margin && until <= known + margin)) {
			from = Math.min(from, earliest);
			to = Math.max(to, until);
			continue;
		}
		for (let i = first; i < first + count; i++) {
			const stop = store.start[i] + store.duration[i];

			if (store.start[i] > known + margin || stop < runFrom - margin) {
				outside += store.number[i];
				continue;
			}
			from = Math.min(from, store.start[i]);
			to = Math.max(to, stop);
		}
	}
	if (known > 0) {
		from = Math.max(from, runFrom - margin);
		to = Math.min(to, known + margin);
	}
	return {from, to: Math.max(to, from + 1), runFrom, runTo: known > 0 ? known : to, outside};
}

// ---- flows ----

// By span: `launch` of an operation, `nextOperation` of the same launch, `firstOperation` of a launch;
// -1: none.
const noLinks = count =>
	Object.fromEntries(
		["launch", "firstOperation", "nextOperation"].map(name => [name, new Int32Array(count).fill(-1)]),
	);

// Connects launches to what they started. A timeline can be seen before.
export async function linkLaunches({spans, tracks, launch, firstOperation, nextOperation}, pause) {
	const {kind, correlation} = spans;

	for (const process of new Set(tracks.map(track => track.process))) {
		const [calls, gpus] = ["calls", "gpu"].map(type =>
			tracks.filter(track => track.process === process && track.type === type),
		);
		let launches = 0,
			least = Infinity;

		for (const {first, count} of calls)
			for (let i = first; i < first + count; i++)
				if (kind[i] === SPAN_LAUNCH && correlation[i] > 0) {
					launches++;
					if (correlation[i] < least) least = correlation[i];
				}
		// numbers are dense as a rule; those that are not are in a map
		const near = new Int32Array(launches * 4).fill(-1),
			far = new Map();

		for (const {first, count} of calls) {
			for (let i = first; i < first + count; i++) {
				if (kind[i] !== SPAN_LAUNCH || correlation[i] === 0) continue;
				if (correlation[i] - least < near.length) near[correlation[i] - least] = i;
				else far.set(correlation[i], i);
			}
			await pause();
		}
		// backwards, so that lists are in order
		for (const {first, count} of gpus.reverse()) {
			for (let i = first + count - 1; i >= first; i--) {
				const at = correlation[i] - least;
				// 0: none is known
				const found =
					correlation[i] === 0 || at < 0 ? -1 : at < near.length ? near[at] : (far.get(correlation[i]) ?? -1);

				if (!(found >= 0)) continue;
				launch[i] = found;
				nextOperation[i] = firstOperation[found];
				firstOperation[found] = i;
			}
			await pause();
		}
	}
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

// ---- ranges ----

const DEEPEST_RANGE = 64; // levels that are shown

// Returns for each thread with frames of some kinds a track of them, with a lane for each depth.
async function makeRangeTracks({profile, spans, tracks}, type, kinds, pause) {
	const {frames, stacks} = profile,
		nodes = {outer: [0], frame: [-1], depth: [0], most: DEEPEST_RANGE},
		nodeOf = new Int32Array(stacks.count),
		known = new Map();

	for (let i = 1; i < stacks.count; i++) {
		const outer = nodeOf[stacks.parent[i]];

		nodeOf[i] = outer;
		if (!kinds.includes(frames.kind[stacks.frame[i]])) continue;
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
	nodes.of = stack => nodeOf[stack];
	if (known.size === 0) return [];
	const threads = new Map();

	for (const track of tracks)
		if (track.type === "calls" || track.type === "waits") {
			const key = `${track.process}.${track.thread}`;

			threads.set(key, [...(threads.get(key) ?? []), track]);
		}
	const made = [];

	for (const list of threads.values()) {
		made.push(makeRangeTrack(spans, list, type, nodes));
		await pause();
	}
	return made.filter(track => track.lanes.length > 0);
}

// Returns what spans of one thread are in, by depth: a range lasts from the first to the last of consecutive
// spans whose stacks have it in the same place. Of samples it ends where the thread was not on a CPU. `nodes`
// are those of a tree: {outer, frame, depth, of(stack), most: levels}; `store.node` are theirs.
export function makeRangeTrack(spans, tracks, type, nodes) {
	const order = mergeLanes(
			spans,
			tracks.flatMap(track => track.lanes),
		),
		ofSamples = type === "samples";
	const ranges = [], // by depth
		open = []; // by depth: {node, start, end, calls}
	const path = [];
	let last = 0, // node of the spans before
		lastEnd = 0,
		calls = 0;
	const close = (depth, time) => {
		while (open.length > depth) {
			const range = open.pop();

			if (ofSamples && range.end > time) range.end = time;
			(ranges[open.length] ??= []).push(range);
		}
	};
	const keep = () => {
		for (const range of open) {
			range.end = Math.max(range.end, lastEnd);
			range.calls += calls;
		}
	};

	for (let k = 0; k < order.length; k++) {
		const i = order[k],
			node = nodes.of(spans.stack[i]),
			start = spans.start[i],
			stop = start + spans.duration[i],
			isApart = ofSamples && start > lastEnd + spans.duration[i] / 2;

		if (spans.stack[i] === 0 && !ofSamples) continue; // not captured: says nothing
		if (node !== last || isApart) {
			keep();
			if (isApart) close(0, lastEnd);
			path.length = 0;
			for (let at = node; at > 0; at = nodes.outer[at])
				if (nodes.depth[at] <= nodes.most) path[nodes.depth[at] - 1] = at;
			for (let depth = 0; depth < path.length; depth++)
				if (open[depth]?.node !== path[depth]) {
					close(depth, start);
					open.push({node: path[depth], start, end: stop, calls: 0});
				}
			close(path.length, start);
			last = node;
			lastEnd = stop;
			calls = 0;
		}
		if (stop > lastEnd) lastEnd = stop;
		calls += spans.number[i];
	}
	keep();
	close(0, Infinity);
	const track = {
		type,
		process: tracks[0].process,
		thread: tracks[0].thread,
		places: tracks.flatMap(({places}) => places),
		lanes: [],
		ns: 0,
	};

	for (const list of ranges) {
		list.sort((a, b) => a.start - b.start);
		const store = {
			count: list.length,
			start: Float64Array.from(list, range => range.start),
			duration: Float64Array.from(list, range => range.end - range.start),
			node: Uint32Array.from(list, range => range.node),
			number: Uint32Array.from(list, range => range.calls),
			isStack: ofSamples, // its nodes are stacks
			frameAt: i => nodes.frame[store.node[i]],
		};
		const reach = reachOf(store, 0, list.length);

		store.before = sumsBefore(store);
		track.lanes.push({
			store,
			track,
			first: 0,
			end: list.length,
			reach: reach.some((latest, i) => latest > store.start[i] + store.duration[i]) ? reach : null,
		});
	}
	track.count = track.lanes.reduce((sum, lane) => sum + lane.end, 0);
	return track;
}
