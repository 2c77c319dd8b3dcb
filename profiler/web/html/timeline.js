// SPDX-License-Identifier: MIT
// Turns the timeline's parts of the page (profiler/web/html_timeline.h) into spans in lanes. Spans are columns, those of a track
// and of a lane adjacent, in order of their starts. Times are ns since the command's start. Spans in a lane hardly overlap, and
// end as they start. A crowded lane is an exception: its `reach` is by span the latest end so far.
import {UNKNOWN, groupBy, makeReader} from "./data.js";
import {makeStacks} from "./own_code.js";
import {deviceLabels, makeTree} from "./tree.js";

export const SPAN_SAMPLE = 0,
	SPAN_LAUNCH = 1,
	SPAN_OPERATION = 2,
	SPAN_WAIT = 3,
	SPAN_CALL = 4,
	SPAN_OFF_CPU = 5,
	SPAN_KINDS = 6;
const PART_HEAD = 0,
	PART_SPANS = 1,
	PART_DETAILS = 2;
const BEGINS_TRACK = 1, // flags of a run
	BEGINS_LANE = 2,
	IS_CROWDED = 4,
	IS_OF_SUMS = 8,
	IS_OF_PLACES = 16;
const LARGE = 2 ** 32 - 1; // a word for a number that does not fit
const MOST_SPANS = 1 << 25; // a page has 8 million
const MARGIN = 0.1; // of the run, before and after it
// Rows of ranges that frames stand for: their kinds in enum frame_kind.
const RANGES = [
	["nvtx", [6]],
	["layers", [7, 8]],
];

const fromSigned = number => (number % 2 === 0 ? number / 2 : -(number + 1) / 2);

// ---- order ----

// Merges runs [runs[k], runs[k + 1]) that are sorted into one sorted list.
function mergeRuns(from, runs, starts) {
	let to = new Uint32Array(from.length);

	while (runs.length > 2) {
		const next = [0];

		for (let k = 0; k + 1 < runs.length; k += 2) {
			const end = runs[Math.min(k + 2, runs.length - 1)];
			let a = runs[k],
				b = runs[k + 1];
			const middle = b;
			for (let at = a; at < end; at++)
				to[at] = a < middle && (b >= end || starts[from[a]] <= starts[from[b]]) ? from[a++] : from[b++];
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

// Returns by span of [first, end) the latest end so far.
function reachOf(store, first, end) {
	const reach = new Float64Array(end - first);
	let latest = -Infinity;
	for (let i = first; i < end; i++) reach[i - first] = latest = Math.max(latest, store.start[i] + store.duration[i]);
	return reach;
}

// ---- all parts to tracks ----

const COLUMNS = {
	start: Float64Array,
	duration: Float64Array,
	stack: Uint32Array,
	place: Int32Array,
	kind: Uint8Array,
	number: Uint32Array, // records in it
};
// These follow when the timeline is shown.
const DETAILS = {correlation: Uint32Array, node: Float64Array, bytes: Float64Array, shape: Uint32Array};
const TRACK_TYPES = ["samples", "calls", "gpu", "waits", "calls", "off"]; // by kind of span

function makeTrack({places}, labels, kind, place) {
	const type = TRACK_TYPES[kind],
		part = name => (place < 0 ? UNKNOWN : places[name][place]);

	return {
		type,
		process: part("process"),
		...(type === "gpu"
			? {device: place < 0 ? "" : labels[place], context: part("context"), stream: part("stream")}
			: {thread: part("thread")}),
		lanes: [],
		places: [],
		until: -Infinity,
		ns: 0,
	};
}

// Collects parts: add() returns the timeline once all its spans are there, whose details follow.
export function makeTimelineBuilder(profile) {
	const labels = deviceLabels(profile),
		tracks = [];
	let head = null,
		spans = null,
		before = null, // see sumsBefore
		track = null,
		at = 0, // spans that were read
		detailed = 0;

	function readHead(reader, count) {
		const [sums, summed, lost, lostShapes] = reader.column(4, Float64Array);

		if (count > MOST_SPANS) throw new Error(`${count} events are too many`);
		head = {count, sums, summed, lost, lostShapes, reason: reader.text()};
		const shapes = reader.number();

		head.shapes = Array.from({length: 9}, () => reader.column(shapes, Float64Array));
		spans = {
			count,
			frameAt: i => profile.stacks.frame[spans.stack[i]],
			get before() {
				return (before ??= sumsBefore(spans));
			},
		};
		allocate(COLUMNS, count);
		allocate(DETAILS, 0);
		// the less memory, the sooner it is filled
		if (sums === 0) spans.number = new Uint8Array(count).fill(1);
		if (profile.places.count < 1 << 15) spans.place = new Int16Array(count);
	}

	function allocate(columns, count) {
		for (const [column, List] of Object.entries(columns)) spans[column] = new List(count);
	}

	// Adds spans of one kind, from their words.
	function addRun(flags, kind, place, first, steps, durations, reader) {
		if (kind >= SPAN_KINDS || place >= profile.places.count) throw new Error("an event is of no kind or place");
		if (flags & BEGINS_TRACK) tracks.push((track = {...makeTrack(profile, labels, kind, place), first: at}));
		if (track?.type !== TRACK_TYPES[kind]) throw new Error("an event is on no track");
		if (flags & (BEGINS_TRACK | BEGINS_LANE))
			track.lanes.push({store: spans, track, first: at, reach: flags & IS_CROWDED ? [] : null});
		const {start, duration} = spans,
			end = at + steps.length;

		if (at > track.lanes.at(-1).first && first < start[at - 1]) throw new Error("events are not in order");
		let time = first,
			{until, ns} = track;

		for (let i = 0; i < steps.length; i++) {
			start[at + i] = time += steps[i] < LARGE ? steps[i] : reader.number();
			const length = durations[i] < LARGE ? durations[i] : reader.number();
			duration[at + i] = length;
			ns += length;
			if (time + length > until) until = time + length;
		}
		spans.kind.fill(kind, at, end);
		spans.place.fill(place, at, end);
		if (!track.places.includes(place)) track.places.push(place);
		Object.assign(track, {until, ns, count: end - track.first});
		track.lanes.at(-1).end = at = end;
	}

	// Reads the places of the spans from `from` on, where a track has several.
	function readPlaces(reader, from) {
		reader.column(at - from, Float64Array).forEach((number, i) => {
			const place = number - 1;
			if (place >= profile.places.count) throw new Error("an event is of no kind or place");
			spans.place[from + i] = place;
			if (track.places.at(-1) !== place && !track.places.includes(place)) track.places.push(place);
		});
	}

	function readSpans(reader, size) {
		const [steps, durations, numbers] = Array.from({length: 3}, () => reader.words(size)),
			runs = reader.number(),
			[flags, kinds, places, counts, firsts] = Array.from({length: 5}, () => reader.column(runs, Float64Array));
		const {stack, number} = spans,
			{of, count} = profile.stacks,
			base = at;

		if (at + size > head.count || counts.reduce((sum, one) => sum + one, 0) !== size || size === 0)
			throw new Error("the runs of events are not whole");
		// runs of unnamed functions are folded
		for (let i = 0; i < numbers.length; i++) {
			if (numbers[i] >= (of?.length ?? count)) throw new Error("an event has no stack");
			stack[at + i] = of ? of[numbers[i]] : numbers[i];
		}
		for (let run = 0; run < runs; run++) {
			const from = at,
				part = [from - base, from - base + counts[run]];

			addRun(
				flags[run], kinds[run], places[run] - 1, fromSigned(firsts[run]),
				steps.subarray(...part), durations.subarray(...part), reader,
			);
			if (flags[run] & IS_OF_SUMS) reader.fill(number, from, at);
			else if (head.sums > 0) number.fill(1, from, at);
			if (flags[run] & IS_OF_PLACES) readPlaces(reader, from);
		}
	}

	function readDetails(reader, size) {
		const from = detailed;

		detailed += size;
		if (detailed > head.count || size === 0) throw new Error("there are too many details");
		if (from === 0) allocate(DETAILS, head.count);
		const {correlation} = spans;

		reader.words(size).forEach((difference, i) => {
			// modulo 2^32
			correlation[from + i] = (i > 0 ? correlation[from + i - 1] : 0) + difference;
		});
		spans.shape.set(reader.words(size), from);
		for (const column of ["node", "bytes"]) reader.fill(spans[column], from, detailed);
	}

	function makeTimeline() {
		const {count, sums, ...rest} = head;

		for (const {lanes} of tracks) for (const lane of lanes) if (lane.reach) lane.reach = reachOf(spans, lane.first, lane.end);
		const timeline = {
			profile,
			spans,
			tracks,
			events: count - sums + rest.summed,
			...rest,
			...extentOf(spans, tracks, profile),
			// by span, once they are known (linkLaunches)
			launch: [],
			firstOperation: [],
			nextOperation: [],
		};

		timeline.tracks = [...tracks, ...RANGES.flatMap(([type, kinds]) => makeRangeTracks(timeline, type, kinds))];
		return timeline;
	}

	return {
		add(bytes) {
			const reader = makeReader(bytes),
				[kind, size] = reader.words(2);

			if (kind === PART_HEAD && !head) readHead(reader, size);
			else if (kind === PART_SPANS && at < head?.count) readSpans(reader, size);
			else if (kind === PART_DETAILS && at === head?.count) readDetails(reader, size);
			else throw new Error(`a part of kind ${kind} is out of place`);
			if (!reader.isAtEnd()) throw new Error("a part goes on after its end");
			return kind !== PART_DETAILS && at === head.count ? makeTimeline() : null;
		},
		end() {
			if (!head || detailed < head.count) throw new Error(`${detailed} of ${head?.count ?? "all"} events are there`);
		},
	};
}

// Sums up by span the durations of those before it.
export function sumsBefore({count, duration}) {
	const before = new Float64Array(count + 1);
	for (let i = 0; i < count; i++) before[i + 1] = before[i] + duration[i];
	return before;
}

// Returns the time that is shown, [runFrom, runTo); [from, to) with what is close to it; and how many events are `outside`.
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

// Connects launches to what they started: by span `launch` of an operation, `nextOperation` of the same launch,
// `firstOperation` of a launch; -1: none. A timeline can be seen before.
export async function linkLaunches(timeline, pause) {
	const {spans, tracks} = timeline,
		{kind, correlation} = spans,
		[launch, firstOperation, nextOperation] = [0, 1, 2].map(() => new Int32Array(spans.count).fill(-1));

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
				const found = correlation[i] === 0 || at < 0 ? -1 : at < near.length ? near[at] : (far.get(correlation[i]) ?? -1);
				if (!(found >= 0)) continue;
				launch[i] = found;
				nextOperation[i] = firstOperation[found];
				firstOperation[found] = i;
			}
			await pause();
		}
	}
	Object.assign(timeline, {launch, firstOperation, nextOperation, isLinked: true});
}

// Returns the operations of a launch, at most `most`.
export function operationsOf(timeline, launch, most = Infinity) {
	const list = [];
	for (let i = timeline.firstOperation[launch]; i >= 0 && list.length < most; i = timeline.nextOperation[i]) list.push(i);
	return list;
}

// ---- ranges ----

const DEEPEST_RANGE = 64; // levels that are shown

// Returns for each thread with frames of some kinds a track of them: a lane for each depth, computed when it is needed.
function makeRangeTracks({profile, spans, tracks}, type, kinds) {
	const {frames, stacks} = profile,
		made = makeStacks(stacks.count),
		nodeOf = new Int32Array(stacks.count);

	for (let i = 1; i < stacks.count; i++) {
		const outer = nodeOf[stacks.parent[i]],
			frame = stacks.frame[i];
		nodeOf[i] = kinds.includes(frames.kind[frame]) ? made.push(outer, frame) : outer;
	}
	const {count, parent: outer, frame, depth} = makeTree(made.finish()),
		nodes = {outer, frame, depth, most: DEEPEST_RANGE, of: stack => nodeOf[stack]},
		callers = tracks.filter(({type}) => type === "calls" || type === "waits"),
		threads = count > 1 ? groupBy(callers, ({process, thread}) => `${process}.${thread}`) : new Map();

	return [...threads.values()].flatMap(list => {
		let deepest = 0,
			made = null;

		for (const {first, count} of list)
			for (let i = first; i < first + count; i++) deepest = Math.max(deepest, depth[nodeOf[spans.stack[i]]]);
		const laneAt = level => (made ??= makeRangeTrack(spans, list, type, nodes)).lanes[level],
			track = {...list[0], type, places: list.flatMap(({places}) => places), first: -1, count: 0, ns: 0};

		track.lanes = Array.from({length: Math.min(deepest, DEEPEST_RANGE)}, (_, level) => {
			const lane = {track, first: 0};
			for (const key of ["store", "end", "reach"]) Object.defineProperty(lane, key, {get: () => laneAt(level)[key]});
			return lane;
		});
		return deepest > 0 ? [track] : [];
	});
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
			for (let at = node; at > 0; at = nodes.outer[at]) if (nodes.depth[at] <= nodes.most) path[nodes.depth[at] - 1] = at;
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
	const track = {type, process: tracks[0].process, thread: tracks[0].thread, lanes: []};

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
	return track;
}
