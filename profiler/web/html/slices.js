// SPDX-License-Identifier: MIT
// Cuts the run's time into parts, and computes the profile of a part.
import {ROW_CALL, ROW_CPU, ROW_GPU, ROW_KINDS, ROW_WAIT} from "./data.js";
import {SPAN_CALL, SPAN_KINDS, SPAN_OPERATION, SPAN_SAMPLE, SPAN_WAIT} from "./timeline.js";
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
	const gaps = {start: [], end: []};
	let at = from;
	const add = (a, b) => {
		if (b > a) {
			gaps.start.push(a);
			gaps.end.push(b);
		}
	};

	for (let i = 0; i < start.length && at < to; i++) {
		if (end[i] <= from) continue;
		add(at, Math.min(start[i], to));
		at = Math.max(at, end[i]);
	}
	add(at, to);
	return {start: Float64Array.from(gaps.start), end: Float64Array.from(gaps.end)};
}

// Cuts intervals to [from, to).
export function clipIntervals({start, end}, from, to) {
	const kept = Array.from(start, (_, i) => i).filter(i => end[i] > from && start[i] < to);

	return {
		start: Float64Array.from(kept, i => Math.max(start[i], from)),
		end: Float64Array.from(kept, i => Math.min(end[i], to)),
	};
}

const ROW_OF_SPAN = [];

ROW_OF_SPAN[SPAN_SAMPLE] = ROW_CPU;
ROW_OF_SPAN[SPAN_OPERATION] = ROW_GPU;
ROW_OF_SPAN[SPAN_WAIT] = ROW_WAIT;
ROW_OF_SPAN[SPAN_CALL] = ROW_CALL;

// Returns rows like the profile's for the time of a measure. A span counts with the part of it
// that is in that time. A launch has no weight. `kinds` are the kinds of spans, all by default.
// `atMoment`: a sample counts wholly or not at all, by the moment it was taken; its span extends
// behind that moment, into what begins then.
export function sliceRows(timeline, measure, kinds = null, atMoment = false) {
	const {spans} = timeline;
	const rows = {stack: [], kind: [], place: [], operations: [], ns: [], bytes: []};
	let slots = new Int32Array(1024).fill(-1);
	const hashOf = (stack, place, kind) => {
		const hash =
			Math.imul(stack, 0x9e3779b1) ^ Math.imul(place * SPAN_KINDS + kind, 0x85ebca6b);

		return (hash ^ (hash >>> 15)) >>> 0;
	};
	const slotOf = (stack, place, kind) => {
		let at = hashOf(stack, place, kind) & (slots.length - 1);

		for (;;) {
			const row = slots[at];

			if (
				row < 0 ||
				(rows.stack[row] === stack && rows.place[row] === place && rows.kind[row] === kind)
			)
				return at;
			at = (at + 1) & (slots.length - 1);
		}
	};
	const rowOf = (stack, place, kind) => {
		let at = slotOf(stack, place, kind);

		if (slots[at] >= 0) return slots[at];
		const row = rows.stack.length;

		rows.stack.push(stack);
		rows.place.push(place);
		rows.kind.push(kind);
		rows.operations.push(0);
		rows.ns.push(0);
		rows.bytes.push(0);
		slots[at] = row;
		if (rows.stack.length * 2 > slots.length) {
			slots = new Int32Array(slots.length * 2).fill(-1);
			for (let i = 0; i < rows.stack.length; i++)
				slots[slotOf(rows.stack[i], rows.place[i], rows.kind[i])] = i;
		}
		return row;
	};

	for (const track of timeline.tracks)
		for (const lane of track.first < 0 ? [] : track.lanes) {
			const [first, end] = spansBetween(lane, measure.first, measure.last);

			for (let i = first; i < end; i++) {
				const kind = ROW_OF_SPAN[spans.kind[i]];

				if (kind === undefined || (kinds && !kinds.includes(spans.kind[i]))) continue;
				const stop = spans.start[i] + spans.duration[i];
				const isMoment =
					atMoment && spans.kind[i] === SPAN_SAMPLE && spans.number[i] === 1;
				const ns = isMoment
					? measure.overlap(spans.start[i], spans.start[i] + 1) * spans.duration[i]
					: measure.overlap(spans.start[i], stop);

				if (!(ns > 0)) continue;
				const row = rowOf(spans.stack[i], spans.place[i], kind),
					part = ns / spans.duration[i];

				if (spans.kind[i] === SPAN_WAIT) {
					// less what the thread computed, which is CPU time
					rows.ns[row] += ns - Math.round(Math.min(spans.bytes[i], spans.duration[i]) * part);
					rows.operations[row] += spans.number[i] === 1 ? 1 : Math.max(1, Math.round(spans.number[i] * part));
					continue;
				}
				rows.ns[row] += ns;
				// a sum of many: as many as are in the part
				rows.operations[row] +=
					spans.number[i] === 1 ? 1 : Math.max(1, Math.round(spans.number[i] * part));
				rows.bytes[row] += part === 1 ? spans.bytes[i] : Math.round(spans.bytes[i] * part);
			}
		}
	return {
		count: rows.stack.length,
		stack: Uint32Array.from(rows.stack),
		kind: Uint8Array.from(rows.kind),
		place: Float64Array.from(rows.place),
		operations: Float64Array.from(rows.operations),
		ns: Float64Array.from(rows.ns),
		bytes: Float64Array.from(rows.bytes),
	};
}

const EVER = 2 ** 52; // ns

// All of the time, also what is far from the run.
export const ALL_TIME = {start: [-EVER], end: [EVER]};

// Joins rows: those of lists[k] have the number k as `step`.
function joinSteps(lists, numbers) {
	const count = lists.reduce((sum, rows) => sum + rows.count, 0),
		joined = {count, step: new Int32Array(count)};
	let at = 0;

	for (const column of ["stack", "kind", "place", "operations", "ns", "bytes"])
		joined[column] = new lists[0][column].constructor(count);
	lists.forEach((rows, k) => {
		joined.step.fill(numbers[k], at, at + rows.count);
		for (const column of ["stack", "kind", "place", "operations", "ns", "bytes"]) joined[column].set(rows[column], at);
		at += rows.count;
	});
	return joined;
}

// Returns what the timeline lacks of the run's rows: lost events, and what has no times. Rows of a part of a kernel, or
// of what ran during a wait, are those of the spans around them.
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
		column = (list, valueOf = i => list[i]) => list.constructor.from(kept, valueOf),
		whole = list => column(list, i => (rest[i] === rows.ns[i] ? list[i] : 0));

	return {
		count: kept.length,
		stack: column(rows.stack),
		kind: column(rows.kind),
		place: column(rows.place),
		operations: whole(rows.operations),
		ns: column(rest),
		bytes: whole(rows.bytes),
	};
}

// Returns the rows of a time by step, with its number as `step`: 0 outside of all, -1 if no time is known. `slice` returns the
// rows of intervals. All rows of `profile`, if it is given, are there.
export function sliceSteps({start}, intervals, slice, profile = null) {
	const within = (from, to) => slice(clipIntervals(intervals, from, to)),
		{start: first, end: last} = clipIntervals(intervals, -EVER, start[0]),
		after = clipIntervals(intervals, start.at(-1), EVER),
		lists = Array.from({length: start.length - 1}, (_, i) => within(start[i], start[i + 1])),
		numbers = [...lists.keys()].map(i => i + 1);

	lists.push(slice({start: [...first, ...after.start], end: [...last, ...after.end]}));
	numbers.push(0);
	const sliced = joinSteps(lists, numbers);

	return profile ? joinSteps([...lists, rowsBeside(profile, sliced)], [...numbers, -1]) : sliced;
}
