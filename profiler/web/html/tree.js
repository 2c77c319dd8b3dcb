// SPDX-License-Identifier: MIT
// Stacks as a tree, and its sums. Trees may be 100,000 deep: nothing recurses. A node's number is above its parent's.
import {ROW_KINDS} from "./data.js";
import {PLACE_KEYS} from "./state.js";

// Lists the children of each node, as a range in one list.
export function makeTree(stacks) {
	const {count, parent, frame} = stacks;
	const first = new Uint32Array(count + 1),
		list = new Uint32Array(Math.max(count - 1, 0));
	const depth = new Uint32Array(count);

	for (let i = 1; i < count; i++) {
		first[parent[i] + 1]++;
		depth[i] = depth[parent[i]] + 1;
	}
	for (let i = 0; i < count; i++) first[i + 1] += first[i];
	const next = first.slice();

	for (let i = 1; i < count; i++) list[next[parent[i]]++] = i;
	return {count, parent, frame, depth, first, list, run: stacks.run};
}

// Devices are numbered by process. Devices with one name are taken for one.
export function deviceLabels(profile) {
	const {devices, places} = profile;
	const labels = new Map();
	for (let i = 0; i < devices.count; i++) labels.set(`${devices.process[i]}.${devices.number[i]}`, devices.label[i]);
	return Array.from(places.device, (device, i) =>
		device < 0 ? "" : (labels.get(`${places.process[i]}.${device}`) ?? `GPU ${device}`),
	);
}

// Returns a function that tells whether a place, -1 for an unknown one, passes the filter: texts by PLACE_KEYS, "" for all.
export function placesThatPass(profile, filter) {
	const {count, process, thread, stream} = profile.places,
		labels = deviceLabels(profile),
		passes = Array.from(
			{length: count},
			(_, i) =>
				["", String(process[i])].includes(filter.process) &&
				["", `${process[i]}.${thread[i]}`].includes(filter.thread) &&
				["", labels[i]].includes(filter.device) &&
				["", String(stream[i])].includes(filter.stream),
		),
		isAll = PLACE_KEYS.every(key => filter[key] === "");

	return place => (place < 0 ? isAll : passes[place]);
}

// Tells which rows pass the filter and the list of kinds.
export function rowsThatPass(profile, filter, kinds) {
	const {count, kind, place} = profile.rows,
		isHere = placesThatPass(profile, filter),
		passes = new Uint8Array(count);
	for (let i = 0; i < count; i++) passes[i] = kinds.includes(kind[i]) && isHere(place[i]);
	return passes;
}

// Returns what is `step` after a position of a list, or before it; after its end comes its beginning. -1: none so far.
export function nextOf(list, at, step) {
	return list[((at < 0 && step < 0 ? 0 : at) + step + list.length) % list.length];
}

// Returns the nodes from the root on to one, without the root.
export function pathTo(parent, node) {
	const path = [];
	for (let at = node; at > 0; at = parent[at]) path.push(at);
	return path.reverse();
}

// Sums up each node: own, and with all inside it. Behind kinds, `byKind` has sums of further columns of rows (difference.js).
export function weigh(profile, tree, passes) {
	const {rows} = profile,
		{columns = []} = rows,
		make = () => new Float64Array(tree.count),
		[own, ownOperations, ownBytes] = [make(), make(), make()],
		ownByKind = Array.from({length: ROW_KINDS + columns.length}, make);
	const sumUp = list => {
		const sums = list.slice();
		for (let i = tree.count - 1; i > 0; i--) sums[tree.parent[i]] += sums[i];
		return sums;
	};

	for (let i = 0; i < rows.count; i++) {
		if (!passes[i]) continue;
		const at = rows.stack[i];
		own[at] += rows.ns[i];
		ownOperations[at] += rows.operations[i];
		ownBytes[at] += rows.bytes[i];
		ownByKind[rows.kind[i]][at] += rows.ns[i];
		for (let c = 0; c < columns.length; c++) ownByKind[ROW_KINDS + c][at] += columns[c][i];
	}
	return {
		own, ownOperations, ownBytes, ownByKind,
		total: sumUp(own),
		operations: sumUp(ownOperations),
		bytes: sumUp(ownBytes),
		byKind: ownByKind.map(sumUp),
	};
}

export const compareNaturally = new Intl.Collator("en", {numeric: true}).compare; // "2" before "10"
export const compareTexts = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// Returns positions of frames by name, for sorting.
export function rankNames(frames) {
	const order = Array.from({length: frames.count}, (_, i) => i);
	const rank = new Uint32Array(frames.count);
	order.sort((a, b) => compareTexts(frames.name[a], frames.name[b]) || a - b);
	order.forEach((frame, at) => (rank[frame] = at));
	return rank;
}

// Compares two frames of siblings: layers and steps come first, in order of their nodes' numbers. Returns 0 if none is one.
function compareTurns(isInTurn, a, b, order) {
	const [one, other] = [isInTurn?.[a] ?? 0, isInTurn?.[b] ?? 0];
	return one && other ? order : other - one;
}

// Returns the node of a text in the address, or the root.
export function nodeOfName({count}, {total}, name) {
	return /^\d+$/.test(name) && +name < count && total[+name] > 0 ? +name : 0;
}

// Returns the picture's order: callers around callees. Children with time are in order: layers of a model and steps (`isInTurn` by
// frame) as they ran, then the largest first; or by `rank` of their frames. `start` is where a node begins, in ns.
export function makeCallees(tree, weights, rank, isInTurn = null) {
	const {count, parent, frame, depth, first, list} = tree;
	const {total} = weights;
	const sorted = list.slice(),
		end = new Uint32Array(count);
	const start = new Float64Array(count),
		height = new Uint32Array(count);
	const compare = rank
		? (a, b) => rank[frame[a]] - rank[frame[b]]
		: (a, b) => compareTurns(isInTurn, frame[a], frame[b], a - b) || total[b] - total[a] || a - b;

	for (let i = 0; i < count; i++) {
		let to = first[i];

		for (let c = first[i]; c < first[i + 1]; c++) if (total[list[c]] > 0) sorted[to++] = list[c];
		end[i] = to;
		if (to - first[i] > 1) sorted.subarray(first[i], to).sort(compare);
		for (let c = first[i], at = start[i]; c < to; c++) {
			start[sorted[c]] = at;
			at += total[sorted[c]];
		}
	}
	for (let i = count - 1; i > 0; i--) if (total[i] > 0) height[parent[i]] = Math.max(height[parent[i]], height[i] + 1);
	return {
		parent, frame, depth, total, start,
		own: weights.own,
		operations: weights.operations,
		bytes: weights.bytes,
		byKind: weights.byKind,
		children: node => sorted.subarray(first[node], end[node]),
		levelsBelow: node => height[node],
		nameOf: node => (node === 0 ? "" : String(node)),
		nodeOf: name => nodeOfName(tree, weights, name),
	};
}

// Returns the outermost nodes with a matching frame, and their sums; `matches` is by frame.
export function outermost(tree, weights, matches) {
	const inside = new Uint8Array(tree.count),
		nodes = [];
	let total = 0;

	for (let i = 1; i < tree.count; i++) {
		const matched = matches[tree.frame[i]];
		inside[i] = inside[tree.parent[i]] || matched;
		if (matched && !inside[tree.parent[i]] && weights.total[i] > 0) {
			nodes.push(i);
			total += weights.total[i];
		}
	}
	return {nodes, total};
}

const SEARCHED = 4096, // characters of a name
	LONGEST_SEARCH = 2000; // longer ones are no regular expressions

// Returns true for a pattern that repeats a group whose length or text varies, as "(a+)+": such a search may take for ever.
function mayTakeForEver(pattern) {
	let text = pattern.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gs, "x");
	for (;;) {
		const [group, inside, repeat] = /\((?:\?(?:[:=!]|<[=!]|<\w+>))?([^()]*)\)([*+{]?)/.exec(text) ?? [""],
			varies = /[*+?{|]/.test(inside);
		if (group === "" || (varies && repeat)) return group !== "";
		text = text.replace(group, varies ? "*" : "x");
	}
}

// Turns a search into a regular expression, or plain text if it is not one that can be searched for. Null: everything.
export function compileSearch(text) {
	if (text === "") return null;
	try {
		if (text.length > LONGEST_SEARCH || mayTakeForEver(text)) throw new RangeError("takes too long");
		const expression = new RegExp(text, "i");
		return {isPlain: false, test: name => expression.test(name.slice(0, SEARCHED))};
	} catch {
		const plain = text.toLowerCase();
		return {isPlain: true, test: name => name.slice(0, SEARCHED).toLowerCase().includes(plain)};
	}
}

// Returns 1 by frame where its name, or the class of a kernel, matches; null without a search.
export function searchFrames(frames, text) {
	const search = compileSearch(text),
		hasClass = i => frames.workClass?.[i] && search.test(frames.workClass[i]);
	return search && Uint8Array.from(frames.name, (name, i) => search.test(name) || hasClass(i));
}
