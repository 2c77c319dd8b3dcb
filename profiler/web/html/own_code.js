// SPDX-License-Identifier: MIT
// Folds library code: runs of functions without a name into their library, and all of it into its packages, as --my-code does:
// profiler/shape/view.h has the rules of that.
import {FIGURE, ROLE, addFrames, getOrMake} from "./data.js";

const RUN_MAX = 8; // VIEW_RUN_MAX

// frame classes: enum frame_class
const CLASS_NATIVE = 0,
	CLASS_PYTHON = 1,
	CLASS_JIT = 2,
	CLASS_API = 4,
	CLASS_CALL = 9,
	CLASS_MARK = 11;

// A set of stacks, built frame by frame. `most` is its largest number of stacks, with the root.
export function makeStacks(most) {
	const parent = new Int32Array(most),
		frame = new Int32Array(most);
	let slots = new Int32Array(1024), // 0, the root, is none that is added
		count = 1;
	// position of the stack, or of the slot for it
	const slotOf = (outer, inner) => {
		const mask = slots.length - 1;
		let at = Math.imul(outer, 0x9e3779b1) ^ Math.imul(inner + 1, 0x85ebca6b);
		at = (at ^ (at >>> 15)) & mask;
		while (slots[at] !== 0 && (parent[slots[at]] !== outer || frame[slots[at]] !== inner)) at = (at + 1) & mask;
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

const OFFSETS_SHOWN = 40;

// Returns the library of a function of others that has no name, and what it has in place of one; or null. The user's own stay:
// their offsets are all that tells them apart.
function parseUnnamed({name, module, role}, i) {
	const file = module[i].slice(module[i].lastIndexOf("/") + 1),
		offset = name[i].slice(file.length + 1, -1),
		hidden = /^(lib\w{1,80})_static_([0-9a-f]{40})$/.exec(name[i]); // of CUDA's static libraries
	if (![ROLE.PACKAGE, ROLE.PLUMBING].includes(role[i])) return null;
	if (hidden) return [`[${hidden[1]}]`, hidden[2].slice(0, 8)];
	if (file === "" || name[i] !== `[${file}${offset}]` || !/^(?:\+0x[0-9a-f]+)?$/.test(offset)) return null;
	return [`[${file}]`, offset];
}

// Returns by frame the one of its library, if it is a function there without a name, or -1. That frame tells the offsets.
function librariesOf(frames) {
	const parts = new Map(), // by all that a frame of a library has
		libraries = new Int32Array(frames.count).fill(-1);

	for (let i = 0; i < libraries.length; i++) {
		const [name, offset] = parseUnnamed(frames, i) ?? [""],
			columns = ["module", "class", "kind", "role", "folded"],
			key = [name, ...columns.map(column => frames[column][i])].join("\n");
		if (name === "") continue;
		getOrMake(parts, key, () => ({name, list: []})).list.push([i, offset]);
	}
	const isNew = ({list}) => list.every(([, offset]) => offset !== ""),
		added = [...parts.values()].filter(isNew).map(({name}) => name);
	let next = frames.count;

	addFrames(frames, added, 0); // all at once: their columns are copied
	for (const part of parts.values()) {
		const {list} = part,
			[first] = list[0],
			offsets = list.map(([, offset]) => offset).filter(offset => offset !== ""),
			library = isNew(part) ? next++ : list.find(([, offset]) => offset === "")[0];
		for (const column of ["module", "class", "kind", "role", "folded"]) frames[column][library] = frames[column][first];
		if (offsets.length > 0) frames.facts.set(library, [["unnamed functions", offsets.slice(0, OFFSETS_SHOWN).join(" ")]]);
		for (const [i] of list) libraries[i] = library;
	}
	return libraries;
}

// Returns the profile with unnamed functions of one library in a row as one frame. `stacks.run` is the most that one stands for,
// `stacks.of` the new number of each stack.
export function foldUnnamed(profile) {
	const {frames, stacks, weights, figures} = profile,
		libraries = librariesOf(frames),
		made = makeStacks(stacks.count),
		of = new Int32Array(stacks.count),
		length = new Int32Array(stacks.count), // of the run that a stack ends with
		run = new Int32Array(stacks.count),
		site = new Int32Array(stacks.count).fill(-1);
	const frameOf = frame => (libraries[frame] >= 0 ? libraries[frame] : frame);

	if (libraries.every(library => library < 0)) return profile;
	for (let i = 1; i < stacks.count; i++) {
		const outer = stacks.parent[i],
			frame = frameOf(stacks.frame[i]),
			isUnnamed = libraries[stacks.frame[i]] >= 0,
			goesOn = isUnnamed && length[outer] > 0 && made.frame[of[outer]] === frame;

		of[i] = goesOn ? of[outer] : made.push(of[outer], frame);
		length[i] = isUnnamed ? (goesOn ? length[outer] : 0) + 1 : 0;
		run[of[i]] = Math.max(run[of[i]], length[i]);
		site[of[i]] = stacks.site[i] < 0 ? -1 : frameOf(stacks.site[i]);
	}
	const moved = rows => ({...rows, stack: rows.stack.map(stack => of[stack])});

	for (const {columns, rows} of figures)
		columns.forEach(({kind}, at) => {
			for (const row of kind === FIGURE.FRAME ? rows : []) row[at] = frameOf(row[at]);
		});
	return {
		...profile,
		stacks: {...made.finish(), site, run, of},
		rows: moved(profile.rows),
		weights: weights.map(weight => ({...weight, rows: moved(weight.rows)})),
	};
}

// Returns by stack the frame of its launch site: digest_site in profiler/tables/hot_spots.c, from the outside in. Only callers of
// the outermost CUDA call count: the innermost Python function, else another function, else a package; else the outermost frame.
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
			if (frames.role[f] === ROLE.FOLDED) here = IN_PACKAGE;
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

// Returns the folded stacks. `of` is the folded stack of each stack; `hasOwn` is whether any function is the user's own.
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

		if (role === ROLE.CALLERS) role = packages[outer] === kept[outer] ? ROLE.OWN : ROLE.PLUMBING;
		if (role === ROLE.PACKAGE) {
			addPackage(i, outer, frames.folded[frame]);
		} else if (role === ROLE.PLUMBING) {
			kept[i] = kept[outer];
			packages[i] = packages[outer];
			length[i] = length[outer];
			plumbing[i] = frames.folded[frame];
		} else {
			if (role === ROLE.OWN) {
				around = kept[outer];
				hasOwn ||= frames.class[frame] === CLASS_NATIVE || frames.class[frame] === CLASS_PYTHON;
			} else if (role === ROLE.KERNEL_MODE) {
				around = ended(outer);
			}
			kept[i] = packages[i] = made.push(around, frame);
		}
		of[i] = ended(i);
	}
	const folded = made.finish();

	return {stacks: {...folded, site: sitesOf(frames, folded)}, of, hasOwn};
}

// Explains why library code cannot be told from the user's own, or returns "". `fold` makes folded stacks.
export function whyNotFolded(profile, fold) {
	const {frames, facts} = profile;
	let hasCallers = false;

	if (facts.has("folded")) return "Library code is already folded: the report was made with --my-code";
	for (let i = 0; i < frames.count; i++) {
		if (frames.class[i] > CLASS_PYTHON) continue;
		if (frames.role[i] === ROLE.OWN) return "";
		hasCallers ||= frames.role[i] === ROLE.CALLERS;
	}
	if (hasCallers && fold().hasOwn) return "";
	return "The profile has no code below the run's working directory; --my-path names other folders";
}
