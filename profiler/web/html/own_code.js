// SPDX-License-Identifier: MIT
// Folds library code into its packages, as --my-code does: profiler/shape/view.h has the rules.
import {
	ROLE_CALLERS,
	ROLE_FOLDED,
	ROLE_KERNEL_MODE,
	ROLE_OWN,
	ROLE_PACKAGE,
	ROLE_PLUMBING,
} from "./data.js";

const RUN_MAX = 8; // VIEW_RUN_MAX

// frame classes: enum frame_class
const CLASS_NATIVE = 0,
	CLASS_PYTHON = 1,
	CLASS_JIT = 2,
	CLASS_API = 4,
	CLASS_CALL = 9,
	CLASS_MARK = 11;

// A set of stacks, built frame by frame. `most` is its largest number of stacks, with the root.
function makeStacks(most) {
	const parent = new Int32Array(most),
		frame = new Int32Array(most);
	let slots = new Int32Array(1024), // 0, the root, is none that is added
		count = 1;
	// position of the stack, or of the slot for it
	const slotOf = (outer, inner) => {
		const mask = slots.length - 1;
		let at = Math.imul(outer, 0x9e3779b1) ^ Math.imul(inner + 1, 0x85ebca6b);

		at = (at ^ (at >>> 15)) & mask;
		while (slots[at] !== 0 && (parent[slots[at]] !== outer || frame[slots[at]] !== inner))
			at = (at + 1) & mask;
		return at;
	};

	parent[0] = frame[0] = -1;
	return {
		parent,
		frame,
		push(outer, inner) {
			const at = slotOf(outer, inner);

			if (slots[at] !== 0) return slots[at];
			slots[at] = count;
			parent[count] = outer;
			frame[count] = inner;
			if (++count * 2 > slots.length) {
				slots = new Int32Array(slots.length * 4);
				for (let i = 1; i < count; i++) slots[slotOf(parent[i], frame[i])] = i;
			}
			return count - 1;
		},
		finish: () => ({count, parent: parent.slice(0, count), frame: frame.slice(0, count)}),
	};
}

// Returns by stack the frame of its launch site: digest_site in profiler/tables/hot_spots.c, from
// the outside in. Only callers of the outermost CUDA call count: the innermost Python function,
// else another function, else a package; else the outermost frame.
function sitesOf(frames, {count, parent, frame}) {
	const site = new Int32Array(count).fill(-1),
		found = new Int32Array(count).fill(-1),
		rank = new Uint8Array(count), // of what was found
		outermost = new Int32Array(count).fill(-1);
	const IN_PACKAGE = 1,
		IN_CODE = 2,
		IN_PYTHON = 3,
		CLOSED = 4; // by a call

	for (let i = 1; i < count; i++) {
		const outer = parent[i],
			f = frame[i],
			type = frames.class[f];
		let here = 0;

		outermost[i] = outer === 0 ? f : outermost[outer];
		found[i] = found[outer];
		rank[i] = rank[outer];
		if (type === CLASS_API || type === CLASS_CALL || type === CLASS_MARK) {
			rank[i] = CLOSED;
		} else if (rank[outer] !== CLOSED) {
			if (frames.role[f] === ROLE_FOLDED) here = IN_PACKAGE;
			else if (type === CLASS_NATIVE || type === CLASS_JIT) here = IN_CODE;
			else if (type === CLASS_PYTHON) here = IN_PYTHON;
			if (here > 0 && here >= rank[outer]) {
				found[i] = f;
				rank[i] = here;
			}
		}
		site[i] = rank[i] >= IN_PYTHON && found[i] >= 0 ? found[i] : outermost[i];
	}
	return site;
}

// Returns the folded stacks. `of` is the folded stack of each stack; `hasOwn` is whether any
// function is the user's own.
export function foldStacks(frames, stacks) {
	const {count} = stacks,
		made = makeStacks(3 * count); // each frame adds two at most, and each stack an end
	// state of folding by stack
	const kept = new Int32Array(count), // up to the last frame that stays
		packages = new Int32Array(count), // and further, with the packages that follow
		length = new Uint8Array(count), // how many
		plumbing = new Int32Array(count).fill(-1); // the frame that follows if the stack ends here
	const of = new Int32Array(count);
	let hasOwn = false;

	const ended = i => (plumbing[i] < 0 ? packages[i] : made.push(packages[i], plumbing[i]));

	function addPackage(i, outer, frame) {
		let at = packages[outer],
			run = length[outer];

		kept[i] = kept[outer];
		// go back to a package that is already on the stack
		for (; at !== kept[i]; at = made.parent[at], run--)
			if (made.frame[at] === frame) {
				packages[i] = at;
				length[i] = run;
				return;
			}
		at = packages[outer];
		run = length[outer];
		if (run < RUN_MAX) run++;
		else at = made.parent[at];
		packages[i] = made.push(at, frame);
		length[i] = run;
	}

	for (let i = 1; i < count; i++) {
		const outer = stacks.parent[i],
			frame = stacks.frame[i];
		let role = frames.role[frame],
			around = packages[outer];

		if (role === ROLE_CALLERS)
			role = packages[outer] === kept[outer] ? ROLE_OWN : ROLE_PLUMBING;
		if (role === ROLE_PACKAGE) {
			addPackage(i, outer, frames.folded[frame]);
		} else if (role === ROLE_PLUMBING) {
			kept[i] = kept[outer];
			packages[i] = packages[outer];
			length[i] = length[outer];
			plumbing[i] = frames.folded[frame];
		} else {
			if (role === ROLE_OWN) {
				around = kept[outer];
				hasOwn ||= frames.class[frame] === CLASS_NATIVE || frames.class[frame] === CLASS_PYTHON;
			} else if (role === ROLE_KERNEL_MODE) {
				around = ended(outer);
			}
			kept[i] = packages[i] = made.push(around, frame);
		}
		of[i] = ended(i);
	}
	const folded = made.finish();

	return {stacks: {...folded, site: sitesOf(frames, folded)}, of, hasOwn};
}

// Explains why library code cannot be told from the user's own, or returns "". `fold` makes
// folded stacks.
export function whyNotFolded(profile, fold) {
	const {frames, facts} = profile;
	let hasCallers = false;

	if (facts.has("folded"))
		return "Library code is already folded: the report was made with --my-code";
	for (let i = 0; i < frames.count; i++) {
		if (frames.class[i] > CLASS_PYTHON) continue;
		if (frames.role[i] === ROLE_OWN) return "";
		hasCallers ||= frames.role[i] === ROLE_CALLERS;
	}
	if (hasCallers && fold().hasOwn) return "";
	return "The profile has no code below the run's working directory; --my-path names other folders";
}
