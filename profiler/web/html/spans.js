// SPDX-License-Identifier: MIT
// Finds the visible spans of a lane, and where they are. The work grows with the pixels, not with the spans.

export const SMALLEST_SPAN = 2; // pixels; smaller neighbours are one box

// Returns the first position in [low, high) where a condition holds that stays true.
export function firstWhere(low, high, test) {
	while (low < high) {
		const middle = Math.floor((low + high) / 2);
		if (test(middle)) high = middle;
		else low = middle + 1;
	}
	return low;
}

const endOf = (lane, i) => (lane.reach ? lane.reach[i - lane.first] : lane.store.start[i] + lane.store.duration[i]);

// Returns [first, end), among which are all spans that touch [from, to).
export function spansBetween(lane, from, to) {
	const {start} = lane.store;
	const end = firstWhere(lane.first, lane.end, i => start[i] >= to);
	return [firstWhere(lane.first, end, i => endOf(lane, i) >= from), end];
}

// Returns when a span {lane, i} begins and ends.
export function timesOf({lane: {store}, i}) {
	return [store.start[i], store.start[i] + store.duration[i]];
}

// Returns the first span from `from` on that starts at a time or later. Near ones take few steps.
function nextStarting(start, from, end, time) {
	let step = 1,
		low = from;
	while (low + step < end && start[low + step] < time) {
		low += step;
		step *= 2;
	}
	return firstWhere(low, Math.min(low + step, end), i => start[i] >= time);
}

function firstLong(duration, from, end, least) {
	while (from < end && duration[from] < least) from++;
	return from;
}

// Calls draw(x, width, first, end, share) for each box within [from, to): a span, or several, with the share of a pixel they take.
export function layOutLane(lane, from, to, width, draw) {
	const {start, duration, before} = lane.store,
		scale = width / (to - from);
	const [first, end] = spansBetween(lane, from, to);

	for (let i = first; i < end;) {
		const x = (start[i] - from) * scale,
			right = (start[i] + duration[i] - from) * scale;

		// in a crowded lane, spans that ended before may follow one that ends late
		if (right <= 0 && lane.reach) {
			i++;
			continue;
		}
		if (right - x >= SMALLEST_SPAN) {
			if (right > 0) draw(Math.max(x, 0), Math.min(right, width) - Math.max(x, 0), i, i + 1, 1);
			i++;
			continue;
		}
		const pixel = Math.floor(x);
		let next = nextStarting(start, i + 1, end, from + (pixel + 1) / scale);

		// a long span is drawn alone: only the last one, except in a crowded lane
		if (lane.reach) next = firstLong(duration, i + 1, next, SMALLEST_SPAN / scale);
		else if (next - i > 1 && duration[next - 1] * scale >= SMALLEST_SPAN) next--;
		if (next - i === 1) draw(Math.max(x, 0), Math.max(right - Math.max(x, 0), 1), i, next, 1);
		else draw(Math.max(pixel, 0), 1, i, next, Math.min((before[next] - before[i]) * scale, 1));
		i = next;
	}
}

// Returns the span at a time, or the nearest one within `reach` ns of it; -1: none.
export function spanAt(lane, time, reach) {
	const {start, duration} = lane.store;
	const [first, end] = spansBetween(lane, time - reach, time + reach);
	let best = -1,
		distance = Infinity;

	for (let i = end - 1; i >= first && i >= end - 256; i--) {
		const away = Math.max(start[i] - time, time - start[i] - duration[i], 0);
		if (away <= reach && away < distance) {
			best = i;
			distance = away;
		}
	}
	return best;
}

// Counts by span the wanted spans before it, so that the number in any range is a difference.
export function countWanted(store, isWanted) {
	const counts = new Uint32Array(store.count + 1);
	for (let i = 0; i < store.count; i++) counts[i + 1] = counts[i] + (isWanted(i) ? 1 : 0);
	return counts;
}

// ---- the axis ----

const STEPS = [1, 2, 5];

// Returns the step, in ns, of marks that are at least `room` pixels apart.
export function tickStep(ns, width, room) {
	const least = (ns * room) / Math.max(width, 1);
	for (let power = 1; ; power *= 10) for (const step of STEPS) if (step * power >= least || power > 1e15) return step * power;
}

const TICK_UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

// Formats a time as exactly as marks `step` apart need it, in a unit that suits `longest`.
export function formatTick(time, step, longest = Math.max(Math.abs(time), step)) {
	const [unit, size] = TICK_UNITS.find(([, ns]) => longest >= ns) ?? TICK_UNITS[3];
	const places = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
	const [whole, rest] = (Math.abs(time) / size).toFixed(Math.min(places, 9)).split(".");
	const digits = rest ? `.${rest.replace(/(\d{3})(?=\d)/g, "$1\u2009")}` : "";
	return `${time < 0 ? "−" : ""}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${digits} ${unit}`;
}
