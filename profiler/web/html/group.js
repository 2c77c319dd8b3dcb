// SPDX-License-Identifier: MIT
// Groups stacks by where they ran, or by what they are inside: each has the frame of its group at the root, as with --by.
import {ROLE, addFrames, groupBy} from "./data.js";
import {isKind, kindsOfFrames} from "./kinds.js";
import {placeNames} from "./tables.js";
import {deviceLabels} from "./tree.js";

const KIND_PLACE = 0, // enum frame_kind
	MOST_NODES = 4e6,
	MOST_STEPS = 20, // beside each other; more are in tens, hundreds and so on
	TEN = 10;

// Returns the stacks of rows, grouped, and where the rows are in them: `stacks` are those that rows have now, `frames` has the
// frame of each row's group, and `outer` the frames around those of groups. Returns null if that is more than a browser holds.
export function groupStacks(stacks, rowStacks, frames, outer = new Map()) {
	const rowsOf = groupBy(frames.keys(), row => frames[row]),
		at = new Int32Array(stacks.count), // the node in the group that is made; 0: none
		moved = new Uint32Array(rowStacks.length),
		parent = [-1],
		origin = [0], // the stack that a node is of
		roots = [-1], // of nodes: the frame of a group, or -1
		groups = new Map(); // nodes by frame of a group
	const groupNode = frame => {
		if (groups.has(frame)) return groups.get(frame);
		const node = parent.push(outer.has(frame) ? groupNode(outer.get(frame)) : 0) - 1;
		origin.push(0);
		roots.push(frame);
		groups.set(frame, node);
		return node;
	};

	for (const [frame, rows] of rowsOf) {
		const inside = [],
			root = groupNode(frame);

		for (const row of rows) for (let i = rowStacks[row]; i > 0 && at[i] === 0; i = stacks.parent[i]) at[i] = inside.push(i);
		// nodes are made for each group: deep stacks in many groups are too much for any browser
		if (parent.length + inside.length > MOST_NODES) return null;
		inside.sort((a, b) => a - b); // parents first, and layers as they ran
		for (const i of inside) {
			at[i] = parent.push(at[stacks.parent[i]] || root) - 1;
			origin.push(i);
			roots.push(-1);
		}
		for (const row of rows) moved[row] = at[rowStacks[row]] || root;
		for (const i of inside) at[i] = 0;
	}
	const column = list => list && Int32Array.from(origin, i => list[i]);

	return {
		stacks: {
			count: parent.length,
			parent: Int32Array.from(parent),
			frame: Int32Array.from(origin, (i, node) => (roots[node] >= 0 ? roots[node] : stacks.frame[i])),
			site: column(stacks.site),
			run: column(stacks.run),
		},
		moved,
	};
}

// Returns the grouping by step of the main loop. `inTurn` are frames of steps: they go by time.
function groupSteps(frames, {start, warmUp}) {
	const count = start.length - 1,
		outer = new Map(),
		[unknown, outside] = addFrames(frames, ["[no known step]", "[outside of steps]"], KIND_PLACE).values(),
		stepName = i => `step ${i + 1}${i < warmUp ? ", warm-up" : ""}`,
		add = texts => [...addFrames(frames, texts, KIND_PLACE).values()],
		steps = add(Array.from({length: count}, (_, i) => stepName(i))),
		inTurn = new Set(steps);

	for (let list = steps, size = TEN; list.length > MOST_STEPS; size *= TEN) {
		const around = add(
			Array.from({length: Math.ceil(count / size)}, (_, i) => `steps ${i * size + 1}–${Math.min((i + 1) * size, count)}`),
		);
		list.forEach((frame, i) => outer.set(frame, around[Math.floor(i / TEN)]));
		around.forEach(frame => inTurn.add(frame));
		list = around;
	}
	return {label: "step", outer, inTurn, frameOf: (_, place, step = -1) => (step < 0 ? unknown : (steps[step - 1] ?? outside))};
}

// Returns what stacks can be grouped by, {word: {label, frameOf(stack, place, step)}}, where there is more than one group: steps
// have numbers from 1 on, 0 is outside of all. Their frames are added to the profile's: before anything counts those.
export function makeGroupings(profile) {
	const {frames, stacks, places} = profile,
		names = placeNames(profile),
		devices = deviceLabels(profile),
		kinds = kindsOfFrames(frames),
		groupings = {};
	const ofPlace = (word, label, textOf) => {
		const texts = Array.from(places.process, (_, i) => textOf(i)),
			none = `[no ${word}]`;
		if (new Set(texts).size < 2) return;
		const numbers = addFrames(frames, new Set([...texts, none]), KIND_PLACE);
		groupings[word] = {label, frameOf: (_, place) => numbers.get(place < 0 ? none : texts[place])};
	};
	// `of`: the frame that a frame stands for, or -1; `isOutermost`: the first of them counts, not the last
	const ofStack = (word, label, of, isOutermost) => {
		let found = null;

		if (!of.some(frame => frame >= 0)) return;
		const none = addFrames(frames, [`[no ${word}]`], KIND_PLACE).get(`[no ${word}]`);

		groupings[word] = {
			label,
			frameOf(stack) {
				if (!found) {
					found = new Int32Array(stacks.count).fill(none);
					for (let i = 1; i < stacks.count; i++) {
						const outer = found[stacks.parent[i]],
							own = of[stacks.frame[i]];
						found[i] = own < 0 || (isOutermost && outer !== none) ? outer : own;
					}
				}
				return found[stack];
			},
		};
	};
	const severalProcesses = new Set(places.process).size > 1;
	const process = i => names.process(places.process[i]);
	const thread = i => names.thread(places.process[i], places.thread[i]);

	ofPlace("process", "process", process);
	ofPlace("thread", "thread", i => (severalProcesses ? `${thread(i)} of ${process(i)}` : thread(i)));
	ofPlace("stream", "stream", i =>
		places.stream[i] < 0 ? "[no stream]" : `${devices[i]} stream ${places.stream[i]}`,
	);
	ofStack("package", "package", frames.folded.map((to, i) => (frames.role[i] === ROLE.PACKAGE ? to : -1)), true);
	for (const [word, label] of [["nvtx", "NVTX range"], ["operator", "operator"], ["layer", "layer"]])
		ofStack(word, label, Array.from(kinds, (kind, i) => (isKind(kind, word) ? i : -1)), false);
	if (profile.steps.start.length > 2) groupings.step = groupSteps(frames, profile.steps);
	return groupings;
}
