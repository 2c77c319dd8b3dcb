// SPDX-License-Identifier: MIT
// Computes how busy GPUs were, within [from, to). Idle and busy time add up to all of it.
import {groupBy} from "./data.js";
import {compareTexts} from "./tree.js";
import {mergeLanes} from "./timeline.js";

export const WORK_KERNEL = 0,
	WORK_COPY = 1, // copies, sets, migrations
	WORK_COLLECTIVE = 2; // kernels of NCCL

const COLLECTIVE = /^(\[GPU_Kernel\])?(void )?nccl/i,
	COPY = /^\[GPU_(Memcpy|Memset|UVM)/;
export const MOST_AT_ONCE = 8; // and more

// Returns the kind of work of each frame.
export function worksOfFrames(frames) {
	return Uint8Array.from(frames.name, name =>
		COPY.test(name) ? WORK_COPY : COLLECTIVE.test(name) ? WORK_COLLECTIVE : WORK_KERNEL,
	);
}

// Returns the kind of work of a span; `works` is by frame.
export function workOfSpan(works, store, i) {
	return works[store.frameAt(i)] ?? WORK_KERNEL;
}

// Returns the labels of devices with their lanes, in order of the labels.
export function lanesByDevice(timeline, passes = () => true) {
	const devices = groupBy(timeline.tracks.filter(track => track.type === "gpu" && passes(track)), track => track.device),
		withLanes = Array.from(devices, ([device, tracks]) => [device, tracks.flatMap(({lanes}) => lanes)]);
	return new Map(withLanes.sort(([a], [b]) => compareTexts(a, b)));
}

// Visits the operations of lanes in order of time. `workOf` and `passes` are by span.
export function sumBusy(store, lanes, from, to, workOf, passes = null) {
	const order = mergeLanes(store, lanes),
		open = [0, 0, 0]; // by work: how many run
	const sums = {
		run: Math.max(to - from, 0),
		busy: 0,
		operations: 0,
		ns: 0, // of all operations
		byWork: [0, 0, 0], // ns of all, of each kind
		union: [0, 0, 0], // while at least one ran, of each kind
		hidden: [0, 0, 0], // of that: while a kernel ran, too
		atOnce: new Float64Array(MOST_AT_ONCE + 1), // by number of operations, the last one and more
	};
	const start = [],
		end = [];
	// running operations: a heap by end
	const ends = [],
		works = [];
	let now = from;

	function goTo(time) {
		const ns = time - now;

		if (ns > 0) {
			const count = ends.length;

			sums.atOnce[Math.min(count, MOST_AT_ONCE)] += ns;
			if (count > 0) sums.busy += ns;
			for (let work = 0; work < 3; work++)
				if (open[work] > 0) {
					sums.union[work] += ns;
					if (open[WORK_KERNEL] > 0) sums.hidden[work] += ns;
				}
			now = time;
		}
	}

	function push(time, work) {
		let at = ends.length;

		ends.push(time);
		works.push(work);
		for (; at > 0;) {
			const up = (at - 1) >> 1;
			if (ends[up] <= time) break;
			ends[at] = ends[up];
			works[at] = works[up];
			at = up;
		}
		ends[at] = time;
		works[at] = work;
	}

	function pop() {
		const time = ends.pop(),
			work = works.pop(),
			count = ends.length;
		let at = 0;

		if (count === 0) return;
		for (;;) {
			let down = 2 * at + 1;
			if (down >= count) break;
			if (down + 1 < count && ends[down + 1] < ends[down]) down++;
			if (ends[down] >= time) break;
			ends[at] = ends[down];
			works[at] = works[down];
			at = down;
		}
		ends[at] = time;
		works[at] = work;
	}

	function endUntil(time) {
		while (ends.length > 0 && ends[0] <= time) {
			goTo(ends[0]);
			open[works[0]]--;
			pop();
			if (ends.length === 0) end.push(now);
		}
	}

	for (const i of order) {
		const first = Math.max(store.start[i], from),
			last = Math.min(store.start[i] + store.duration[i], to);

		if (!(last > first) || (passes && !passes(i))) continue;
		const work = workOf(i);

		endUntil(first);
		goTo(first);
		// adjacent time belongs to the same interval
		if (ends.length === 0) {
			if (end.length > 0 && end[end.length - 1] === first) end.pop();
			else start.push(first);
		}
		push(last, work);
		open[work]++;
		sums.operations += store.number[i];
		sums.ns += last - first;
		sums.byWork[work] += last - first;
	}
	endUntil(to);
	goTo(to);
	return {...sums, idle: sums.atOnce[0], start: Float64Array.from(start), end: Float64Array.from(end)};
}

// Returns for each column of a chart of [from, to) the exact share of its time that was busy.
export function busyColumns(measure, from, to, width) {
	const scale = (to - from) / width,
		shareAt = (_, x) => measure.overlap(from + x * scale, from + (x + 1) * scale) / scale;
	return Float64Array.from({length: width}, shareAt);
}

// Returns for each column the share of a counter's largest value that it has at the column's end.
export function stateColumns({start, value, most}, from, to, width) {
	let at = -1;

	return Float64Array.from({length: width}, (_, x) => {
		while (start[at + 1] < from + ((x + 1) * (to - from)) / width) at++;
		return at < 0 ? 0 : value[at] / most;
	});
}

// Returns the longest gaps {start, end}, as positions, the longest first.
export function longestGaps(gaps, most) {
	const lengths = Float64Array.from(gaps.start, (from, i) => gaps.end[i] - from);
	const least = lengths.length > most ? lengths.slice().sort()[lengths.length - most] : 0;
	const chosen = [];
	for (let i = 0; i < lengths.length; i++) if (lengths[i] >= least) chosen.push(i);
	return chosen.sort((a, b) => lengths[b] - lengths[a] || a - b).slice(0, most);
}
