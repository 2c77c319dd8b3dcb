// SPDX-License-Identifier: MIT
// Cuts the run's time into parts, and computes the profile of a part.
import {ROW_CALL, ROW_CPU, ROW_GPU, ROW_KINDS, ROW_WAIT, getOrMake} from "./data.js";
import {SPAN_CALL, SPAN_OPERATION, SPAN_SAMPLE, SPAN_WAIT} from "./timeline.js";
import {firstWhere, spansBetween} from "./spans.js";

// Disjoint intervals {start, end} in order: measures how much of any time is in them.
export function makeMeasure({start, end}) {
	const count = start.length,
		before = new Float64Array(count + 1);

	for (let i = 0; i < count; i++) before[i + 1] = before[i] + end[i] - start[i];
	// time in the intervals before a moment
	const upTo = time => {
		const next = firstWhere(0, count, i => start[i] >= time);
		return next === 0 ? 0 : before[next - 1] + Math.min(time, end[next - 1]) - start[next - 1];
	};

	return {
		start,
		end,
		count,
		total: before[count],
		first: count > 0 ? start[0] : 0,
		last: count > 0 ? end[count - 1] : 0,
		overlap: (from, to) => (to > from ? upTo(to) - upTo(from) : 0),
	};
}

// Returns the gaps between intervals, within [from, to).
export function gapsBetween({start, end}, from, to) {
	return clipIntervals({start: [-Infinity, ...end], end: [...start, Infinity]}, from, to);
}

// Cuts intervals to [from, to). Those without time are left out.
export function clipIntervals({start, end}, from, to) {
	const kept = Array.from(start, (_, i) => i).filter(i => Math.min(end[i], to) > Math.max(start[i], from));
	return {start: Float64Array.from(kept, i => Math.max(start[i], from)), end: Float64Array.from(kept, i => Math.min(end[i], to))};
}

const ROW_OF_SPAN = {[SPAN_SAMPLE]: ROW_CPU, [SPAN_OPERATION]: ROW_GPU, [SPAN_WAIT]: ROW_WAIT, [SPAN_CALL]: ROW_CALL};

const ROW_COLUMNS = {
	stack: Uint32Array,
	kind: Uint8Array,
	place: Float64Array,
	operations: Float64Array,
	ns: Float64Array,
	bytes: Float64Array,
};

// Returns rows; `listOf` returns the list of a column.
function makeRows(count, listOf) {
	const lists = Object.entries(ROW_COLUMNS).map(([name, List]) => [name, listOf(name, List)]);
	return {count, ...Object.fromEntries(lists)};
}

// Returns rows like the profile's for the time of a measure. A span counts with the part of it that is in that time. A launch has
// no weight. `kinds` are the kinds of spans, all by default. `atMoment`: a sample counts wholly or not at all, by the moment it was
// taken; its span extends behind that moment, into what begins then.
export function sliceRows(timeline, measure, kinds = null, atMoment = false) {
	const {spans} = timeline;
	const rows = makeRows(0, () => []),
		known = new Map(); // rows by place and kind, then by stack
	let here = null,
		hereKey = NaN;
	const rowOf = (stack, place, kind) => {
		const key = place * ROW_KINDS + kind;

		// neighbours are alike
		if (key !== hereKey) {
			hereKey = key;
			here = getOrMake(known, key, () => new Map());
		}
		if (!here.has(stack)) {
			here.set(stack, rows.count++);
			const row = {stack, kind, place, operations: 0, ns: 0, bytes: 0};
			for (const name of Object.keys(row)) rows[name].push(row[name]);
		}
		return here.get(stack);
	};

	for (const track of timeline.tracks)
		for (const lane of track.first < 0 ? [] : track.lanes) {
			const [first, end] = spansBetween(lane, measure.first, measure.last);

			for (let i = first; i < end; i++) {
				const type = spans.kind[i],
					kind = ROW_OF_SPAN[type];
				if (kind === undefined || (kinds && !kinds.includes(type))) continue;
				const start = spans.start[i],
					duration = spans.duration[i],
					number = spans.number[i],
					bytes = spans.bytes[i],
					isMoment = atMoment && type === SPAN_SAMPLE && number === 1,
					ns = isMoment ? measure.overlap(start, start + 1) * duration : measure.overlap(start, start + duration);
				if (!(ns > 0)) continue;
				const row = rowOf(spans.stack[i], spans.place[i], kind),
					part = ns / duration;

				// of a wait, less what the thread computed, which is CPU time
				rows.ns[row] += type === SPAN_WAIT ? ns - Math.round(Math.min(bytes, duration) * part) : ns;
				// of a sum of many, as many as are in the part
				rows.operations[row] += number === 1 ? 1 : Math.max(1, Math.round(number * part));
				if (type !== SPAN_WAIT) rows.bytes[row] += part === 1 ? bytes : Math.round(bytes * part);
			}
		}
	return makeRows(rows.count, (name, List) => List.from(rows[name]));
}

const EVER = 2 ** 52; // ns

// All of the time, also what is far from the run.
export const ALL_TIME = {start: [-EVER], end: [EVER]};

// Joins rows: those of lists[k] have the number k as `step`.
function joinSteps(lists, numbers) {
	const count = lists.reduce((sum, rows) => sum + rows.count, 0);
	const join = (List, listOf) => {
		const joined = new List(count);
		lists.reduce((at, rows, k) => {
			joined.set(listOf(rows, k), at);
			return at + rows.count;
		}, 0);
		return joined;
	};

	return {
		...makeRows(count, (name, List) => join(List, rows => rows[name])),
		step: join(Int32Array, (rows, k) => new Int32Array(rows.count).fill(numbers[k])),
	};
}

// Returns what the timeline lacks of the run's rows: lost events, and what has no times. Parts of kernels and waits count to those.
function rowsBeside({rows, stacks}, sliced) {
	const keyOf = (stack, place, kind) => `${stack}.${place}.${kind}`,
		left = new Map(), // ns of spans that no row had so far
		kinds = new Float64Array(ROW_KINDS), // of spans without rows
		rest = Float64Array.from(rows.ns);

	for (let i = 0; i < sliced.count; i++) {
		const key = keyOf(sliced.stack[i], sliced.place[i], sliced.kind[i]);
		left.set(key, (left.get(key) ?? 0) + sliced.ns[i]);
	}
	rest.forEach((ns, i) => {
		let at = rows.stack[i],
			key = keyOf(at, rows.place[i], rows.kind[i]);
		for (; at > 0 && !left.has(key); key = keyOf(at, rows.place[i], rows.kind[i])) at = stacks.parent[at];
		const found = Math.min(left.get(key) ?? 0, ns);
		rest[i] -= found;
		if (found > 0) left.set(key, left.get(key) - found);
	});
	for (const [key, ns] of left) kinds[key.split(".")[2]] += ns;
	rest.forEach((ns, i) => {
		const found = Math.min(kinds[rows.kind[i]], ns);
		rest[i] -= found;
		kinds[rows.kind[i]] -= found;
	});
	const kept = Array.from(rest.keys()).filter(i => rest[i] > 0),
		isSplit = (name, i) => ["operations", "bytes"].includes(name) && rest[i] < rows.ns[i],
		valueOf = (name, i) => (isSplit(name, i) ? 0 : name === "ns" ? rest[i] : rows[name][i]);

	return makeRows(kept.length, (name, List) => List.from(kept, i => valueOf(name, i)));
}

// Returns the rows of a time by `step`: 0 outside of all, -1 if no time is known. `slice` returns those of intervals. All rows of
// `profile`, if it is given, are there.
export function sliceSteps({start}, intervals, slice, profile = null) {
	const bounds = [...start, EVER, -EVER, start[0]], // of each step, of the time after them and before them
		numbers = [...start.keys()].map(i => (i + 1) % start.length),
		within = i => slice(clipIntervals(intervals, bounds[i], bounds[i + 1])),
		lists = numbers.map((_, i) => within(i));

	lists.push(within(start.length + 1));
	numbers.push(0);
	const sliced = joinSteps(lists, numbers);

	return profile ? joinSteps([...lists, rowsBeside(profile, sliced)], [...numbers, -1]) : sliced;
}
