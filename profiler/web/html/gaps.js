// SPDX-License-Identifier: MIT
// Finds what the thread that launched next did while a GPU was idle, and says it in one sentence.
import {formatTime} from "./format.js";
import {firstWhere, spansBetween} from "./spans.js";

// Returns the first operation of lanes (of one store) that starts at a time or later; -1: none does.
function operationAfter(lanes, time) {
	let best = -1;
	for (const {store, first, end} of lanes) {
		const i = firstWhere(first, end, at => store.start[at] >= time);
		if (i < end && (best < 0 || store.start[i] < store.start[best])) best = i;
	}
	return best;
}

// Returns how much of [from, to) spans of tracks take, and the frame that takes most of it.
function sumWithin(tracks, from, to, frameOf) {
	const sums = new Map();
	let ns = 0,
		frame = -1;

	for (const {lanes} of tracks)
		for (const lane of lanes) {
			const {start, duration} = lane.store,
				[first, end] = spansBetween(lane, from, to);

			for (let i = first; i < end; i++) {
				const part = Math.min(start[i] + duration[i], to) - Math.max(start[i], from),
					of = part > 0 ? frameOf(i) : -1;
				if (of < 0) continue;
				ns += part;
				sums.set(of, (sums.get(of) ?? 0) + part);
				if (frame < 0 || sums.get(of) > sums.get(frame)) frame = of;
			}
		}
	return {ns: Math.min(ns, to - from), frame};
}

// Returns for a gap [from, to) of a device with these lanes: `next`, the operation that ended it, and its `launch`; -1: none is
// known; and what its thread did until then: `cpu`, `waits`, `calls`, `off`, each {ns, frame}. `frameOf` is by span.
export function lookIntoGap(timeline, lanes, from, to, frameOf) {
	const {spans, profile, tracks} = timeline,
		next = operationAfter(lanes, to),
		launch = next < 0 ? -1 : timeline.launch[next];

	if (!(launch >= 0)) return {next, launch: -1};
	const place = spans.place[launch],
		{process, thread} = profile.places,
		launchedAt = spans.start[launch],
		own = tracks.filter(
			track => place >= 0 && track.process === process[place] && track.thread === thread[place],
		);
	const did = type =>
		sumWithin(own.filter(track => track.type === type), from, Math.min(launchedAt, to), frameOf);

	return {next, launch, launchedAt, place, cpu: did("samples"), waits: did("waits"), calls: did("calls"), off: did("off")};
}

// Says it. `nameOf` is by frame, `frameOf` by span, `threadOf` by place.
export function sayGap(gap, from, to, nameOf, frameOf, threadOf) {
	if (gap.next < 0) return "Nothing ran on it afterwards.";
	const work = nameOf(frameOf(gap.next));

	if (gap.launch < 0) return `${work} ended it; who launched that is not known.`;
	const who = threadOf(gap.place),
		before = to - gap.launchedAt;

	if (gap.launchedAt <= from)
		return `${who} had launched ${work}, which came next, ${formatTime(before)} before: it waited for something else.`;
	const did = [
		["computed", gap.cpu],
		["waited", gap.waits],
		["was in CUDA calls", gap.calls],
		["was off the CPU", gap.off],
	]
		.filter(([, {ns}]) => ns > 0)
		.map(([verb, {ns, frame}]) => `${verb} for ${formatTime(ns)} (mostly ${nameOf(frame)})`);

	return (
		`${who}, which launched ${work} next, ${did.join("; ") || "has no sample in that time"}; ` +
		`that launch came ${formatTime(before)} before the gap's end.`
	);
}
