// SPDX-License-Identifier: MIT
// Sums up the time of kernels by source line and stall reason (--stalls).
import {ROW_GPU, getOrMake} from "./data.js";
import {isKind} from "./kinds.js";

// In the order of enum source_state in profiler/shape/source_file.h: reasons why there is no text.
export const SOURCE_STATES = [
	"", "was not found where this report was written, or may not be read there",
	"is not shown: its name or place is not that of source", "is not shown: it is larger than 2 MiB",
	"is not shown: it is not text in UTF-8", "is not shown: this report has too much source already",
];
const LINES_AROUND = 20; // lines, as in source_text.h

// Turns "[stall: long scoreboard]" into "long scoreboard".
export function reasonText(name) {
	return name.replace(/^\[(stall: )?/, "").replace(/\]$/, "");
}

function addNs(map, key, ns) {
	map.set(key, (map.get(key) ?? 0) + ns);
}

// Returns by kernel, as frames: {frame, ns, stalls, unplaced, files}. `ns` is all its time, and `stalls` the part with reasons.
// `unplaced` is the time without a line: {ns, reasons}. `files` is by path {file, ns, lines}, and `lines` by number {line, ns,
// reasons}. `reasons` is ns by frame.
export function sumLines(profile, tree, kinds, passes) {
	const {rows, frames} = profile,
		kernels = new Map();
	const makePlace = () => ({ns: 0, reasons: new Map()});

	for (let i = 0; i < rows.count; i++) {
		const last = rows.stack[i];
		let at = last;

		if (!passes[i] || rows.kind[i] !== ROW_GPU || last <= 0) continue;
		const isSplit = isKind(kinds[tree.frame[last]], "stall");

		if (isSplit) while (at > 0 && !isKind(kinds[tree.frame[at]], "gpu")) at = tree.parent[at];
		if (at <= 0 || !isKind(kinds[tree.frame[at]], "gpu")) continue;
		const kernel = getOrMake(kernels, tree.frame[at], () => ({
			frame: tree.frame[at],
			ns: 0,
			stalls: 0,
			unplaced: makePlace(),
			files: new Map(),
		}));

		kernel.ns += rows.ns[i];
		if (!isSplit) continue;
		const outer = tree.frame[tree.parent[last]],
			path = frames.file[outer],
			line = frames.line[outer];
		let place = kernel.unplaced;

		kernel.stalls += rows.ns[i];
		if (tree.parent[last] !== at && path && line > 0) {
			const file = getOrMake(kernel.files, path, () => ({file: path, ns: 0, lines: new Map()}));
			file.ns += rows.ns[i];
			place = getOrMake(file.lines, line, () => ({line, ...makePlace()}));
		}
		place.ns += rows.ns[i];
		addNs(place.reasons, tree.frame[last], rows.ns[i]);
	}
	return kernels;
}

export function byTime(list) {
	return [...list].sort((a, b) => b.ns - a.ns);
}

// Sums up the reasons of places, the longest first: [[frame, ns], ...].
export function sumReasons(places) {
	const sums = new Map();
	for (const place of places) for (const [frame, ns] of place.reasons) addNs(sums, frame, ns);
	return [...sums].sort(([, a], [, b]) => b - a);
}

// Returns the visible lines of a file, in order: {line, text, place}. `place` is null without samples, `text` null if unknown. They
// are the lines around samples that the source has. "isGap" says that lines before this one are left out.
export function listLines(file, source) {
	const numbers = new Set(file.lines.keys());

	for (const line of file.lines.keys())
		for (let i = line - LINES_AROUND; i <= line + LINES_AROUND; i++) if (source?.lines.has(i)) numbers.add(i);
	const sorted = [...numbers].sort((a, b) => a - b);

	return sorted.map((line, i) => ({
		line,
		text: source?.lines.get(line) ?? null,
		place: file.lines.get(line) ?? null,
		isGap: i > 0 && sorted[i - 1] !== line - 1,
	}));
}
