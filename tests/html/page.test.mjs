// SPDX-License-Identifier: MIT
// The logic of the report's page, without a browser: node --test tests/html
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {createHash} from "node:crypto";
import {readFileSync, readdirSync} from "node:fs";
import {test} from "node:test";
import {gzipSync} from "node:zlib";
import {encodeProfile, makeBigProfile, makeRandom} from "./made_page.mjs";
import {readProfile, unpackProfile} from "../../profiler/web/html/data.js";
import {
	clip,
	formatAmount,
	formatBytes,
	formatCount,
	formatRate,
	formatShare,
	formatTime,
	makeCutter,
} from "../../profiler/web/html/format.js";
import {TABLE_LABELS} from "../../profiler/web/html/figures.js";
import {KINDS, kindsOfFrames} from "../../profiler/web/html/kinds.js";
import {cutName, elideArguments, labelFrames, sharedLength, tellKernel} from "../../profiler/web/html/names.js";
import {
	compileSearch,
	makeCallees,
	makeTree,
	outermost,
	rankNames,
	rowsThatPass,
	searchFrames,
	weigh,
} from "../../profiler/web/html/tree.js";
import {groupStacks, makeGroupings} from "../../profiler/web/html/group.js";
import {escapeXml, makeFolded, makeMarkdown, makeSvg} from "../../profiler/web/html/export.js";
import {foldStacks, foldUnnamed, whyNotFolded} from "../../profiler/web/html/own_code.js";
import {makeCallers} from "../../profiler/web/html/callers.js";
import {
	contentOf,
	sumFrames,
	tableFunctions,
	tableGpuWork,
	tableLaunchSites,
	tableStreams,
	tableThreads,
} from "../../profiler/web/html/tables.js";
import {listLines, reasonText, sumLines, sumReasons} from "../../profiler/web/html/source.js";
import {DEFAULTS, formatState, parseState} from "../../profiler/web/html/state.js";
import {
	ancestor,
	boxAt,
	indexRows,
	layOut,
	shadeOf,
	shiftColour,
	textOn,
} from "../../profiler/web/html/draw.js";

const folder = new URL("../../profiler/web/html/", import.meta.url).pathname;
const NO_FILTER = {process: "", thread: "", device: "", stream: ""};
const ALL_KINDS = [0, 1, 2, 3];
const NATIVE = 0,
	PYTHON = 1,
	API = 4,
	GPU_KERNEL = 6,
	GPU_WORK = 7;

// A profile of paths: [["main", "f"], kind, ns, more of the row]. Frames by name; a name may be [class, name].
function profileOf(paths, more = {}) {
	const frames = [],
		stacks = [],
		numbers = new Map(),
		children = new Map(),
		rows = [];

	for (const [path, kind, ns, row] of paths) {
		let outer = 0;

		for (const part of path) {
			const [type, name] = Array.isArray(part) ? part : [NATIVE, part];

			if (!numbers.has(name)) {
				numbers.set(name, frames.length);
				frames.push({class: type, name});
			}
			const key = `${outer} ${numbers.get(name)}`;

			if (!children.has(key)) {
				stacks.push({outer, frame: numbers.get(name)});
				children.set(key, stacks.length);
			}
			outer = children.get(key);
		}
		if (row?.site) stacks[outer - 1].site = numbers.get(row.site);
		rows.push({stack: outer, kind, ns, ...row});
	}
	rows.sort((a, b) => a.stack - b.stack);
	return readProfile(encodeProfile({frames, stacks, rows, ...more}));
}

function everything(profile, filter = NO_FILTER, kinds = ALL_KINDS) {
	const tree = makeTree(profile.stacks),
		passes = rowsThatPass(profile, filter, kinds);

	return {
		tree,
		passes,
		weights: weigh(profile, tree, passes),
		kinds: kindsOfFrames(profile.frames),
	};
}

// The tree as nested lists: [name, total, children...].
function shape(profile, graph, node = 0) {
	const name = node === 0 ? "" : profile.frames.name[graph.frame[node]];

	return [
		name,
		graph.total[node],
		...Array.from(graph.children(node), child => shape(profile, graph, child)),
	];
}

const frameOf = (profile, name) => profile.frames.name.indexOf(name);
const only = (profile, name) =>
	Uint8Array.from(profile.frames.name, other => (other === name ? 1 : 0));

const SMALL = [
	[["main", "b"], 0, 10],
	[["main", "a"], 0, 30],
	[["main", "a", "a"], 0, 5],
	[["main", "b", "a"], 0, 7],
	[
		["main", "b", [API, "cudaLaunchKernel"], [GPU_KERNEL, "[GPU_Kernel]k"]],
		1,
		100,
		{count: 4, bytes: 0, site: "b"},
	],
];

test("data: what was encoded is read again", async () => {
	const made = {
		facts: {command: "./a b", "elapsed ns": 2 ** 53 - 1},
		losses: {"CPU samples dropped": 3},
		frames: [
			{class: NATIVE, name: "main", module: "/bin/a"},
			{class: PYTHON, name: "f (m.py:4)", file: "/m.py", line: 4},
		],
		stacks: [
			{outer: 0, frame: 0},
			{outer: 1, frame: 1},
		],
		processes: [{number: 0, pid: 77, name: "a 77"}],
		threads: [{process: 0, tid: 78, name: "worker 78"}],
		devices: [{process: 0, number: 1, label: "GPU 1", name: "Made-up"}],
		places: [
			[0, 78, -1, -1, -1],
			[0, 78, 1, 2, 7],
		],
		rows: [
			{stack: 1, kind: 0, place: 0, ns: 127, count: 1},
			{stack: 2, kind: 1, place: 1, ns: 128, count: 2, bytes: 2 ** 40},
			{stack: 2, kind: 2, ns: 5},
		],
		kernels: [
			{frame: 1, label: "fused", text: "aten.add, aten.mul"},
			{frame: 1, label: "defined", text: "/k.py:3"},
		],
	};
	const profile = await unpackProfile(
		` ${gzipSync(encodeProfile(made)).toString("base64")}\n`,
	);

	assert.equal(profile.facts.get("command"), "./a b");
	assert.equal(profile.facts.get("elapsed ns"), 2 ** 53 - 1);
	assert.deepEqual(profile.losses, [["CPU samples dropped", 3]]);
	assert.deepEqual(profile.frames.name, ["main", "f (m.py:4)"]);
	assert.deepEqual(profile.frames.file, ["", "/m.py"]);
	assert.deepEqual([...profile.frames.line], [0, 4]);
	assert.deepEqual([...profile.stacks.parent], [-1, 0, 1]);
	assert.deepEqual([...profile.places.device], [-1, 1]);
	assert.deepEqual([...profile.rows.stack], [1, 2, 2]);
	assert.deepEqual([...profile.rows.place], [0, 1, -1]);
	assert.deepEqual([...profile.rows.bytes], [0, 2 ** 40, 0]);
	assert.deepEqual(
		[...profile.frames.facts],
		[
			[
				1,
				[
					["fused", "aten.add, aten.mul"],
					["defined", "/k.py:3"],
				],
			],
		],
	);
});

test("data: any bytes are names", () => {
	const names = [
		"</script><script>alert(1)</script>",
		"\u2028\u2029",
		"x".repeat(1 << 20),
		"\ufeffbom",
		"__proto__",
	];
	const profile = readProfile(
		encodeProfile({
			frames: [...names.map(name => ({name})), {name: Buffer.from([0x66, 0xff, 0xc0, 0x80])}],
		}),
	);

	assert.deepEqual(profile.frames.name.slice(0, -1), names);
	assert.match(profile.frames.name.at(-1), /^f\ufffd+$/);
});

test("data: damage is an error, not nonsense", () => {
	const bytes = encodeProfile({
		frames: [{name: "f"}],
		stacks: [{outer: 0, frame: 0}],
		rows: [{stack: 1, kind: 0, ns: 5}],
	});

	for (let end = 0; end < bytes.length; end++)
		assert.throws(() => readProfile(bytes.subarray(0, end)));
	assert.throws(() => readProfile(Buffer.concat([bytes, Buffer.from([0])])), /after its end/);
	assert.throws(() => readProfile(encodeProfile({stacks: [{outer: 0, frame: 3}]})), /no frame/);
	assert.throws(
		() => readProfile(encodeProfile({rows: [{stack: 1, kind: 0, ns: 5}]})),
		/nothing/,
	);
	assert.throws(() => readProfile(Buffer.from([8])), /format 8/);
});

test("tree: layers stand as they ran, before others", () => {
	const profile = profileOf([
		[["main", "[h.1]"], 1, 10],
		[["main", "[h.0]"], 1, 20],
		[["main", "f"], 1, 30],
		[["main", "g"], 1, 40],
		[["main", "[h.2]"], 1, 15],
	]);
	const {tree, weights} = everything(profile);
	const isLayer = profile.frames.name.map(name => (name.startsWith("[h") ? 1 : 0));
	const names = rank =>
		Array.from(
			makeCallees(tree, weights, rank, isLayer).children(1),
			node => profile.frames.name[tree.frame[node]],
		);

	assert.deepEqual(names(null), ["[h.1]", "[h.0]", "[h.2]", "g", "f"]);
	assert.deepEqual(names(rankNames(profile.frames)), ["[h.0]", "[h.1]", "[h.2]", "f", "g"]);
});

test("tree: totals are those of what is inside, the largest first", () => {
	const profile = profileOf(SMALL),
		{tree, weights} = everything(profile);

	assert.deepEqual(shape(profile, makeCallees(tree, weights, null)), [
		"",
		152,
		[
			"main",
			152,
			["b", 117, ["cudaLaunchKernel", 100, ["[GPU_Kernel]k", 100]], ["a", 7]],
			["a", 35, ["a", 5]],
		],
	]);
	assert.deepEqual(shape(profile, makeCallees(tree, weights, rankNames(profile.frames))), [
		"",
		152,
		[
			"main",
			152,
			["a", 35, ["a", 5]],
			["b", 117, ["a", 7], ["cudaLaunchKernel", 100, ["[GPU_Kernel]k", 100]]],
		],
	]);
});

test("tree: a filter of kinds and places leaves out what is empty", () => {
	const profile = profileOf(
		[
			[["f"], 0, 1, {place: 0}],
			[["g"], 1, 2, {place: 1}],
			[["h"], 1, 4, {place: 2}],
			[["i"], 0, 8],
		],
		{
			places: [
				[0, 10, -1, -1, -1],
				[0, 10, 0, 1, 7],
				[1, 20, 0, 1, 7],
			],
			devices: [
				{process: 0, number: 0, label: "GPU 0"},
				{process: 1, number: 0, label: "GPU 0 MPS"},
			],
		},
	);
	const total = (filter, kinds) => {
		const {tree, weights} = everything(profile, {...NO_FILTER, ...filter}, kinds);

		return [weights.total[0], makeCallees(tree, weights, null).children(0).length];
	};

	assert.deepEqual(total({}), [15, 4]);
	assert.deepEqual(total({}, [1]), [6, 2]);
	assert.deepEqual(total({process: "0"}), [3, 2]);
	assert.deepEqual(total({thread: "1.20"}), [4, 1]);
	assert.deepEqual(total({device: "GPU 0"}), [2, 1]);
	assert.deepEqual(total({stream: "7"}), [6, 2]);
	assert.deepEqual(total({process: "9"}), [0, 0]);
});

test("tree: sums are exact up to 2^53", () => {
	const profile = profileOf([
			[["f"], 0, 2 ** 52],
			[["f", "g"], 0, 2 ** 52 - 1],
		]),
		{weights} = everything(profile);

	assert.equal(weights.total[0], 2 ** 53 - 1);
});

test("tree: 100,000 frames deep", () => {
	const depth = 100000,
		stacks = Array.from({length: depth}, (_, i) => ({outer: i, frame: i % 2}));
	const profile = readProfile(
		encodeProfile({
			frames: [{name: "f"}, {name: "g"}],
			stacks,
			rows: [{stack: depth, kind: 0, ns: 3}],
		}),
	);
	const {tree, weights} = everything(profile),
		graph = makeCallees(tree, weights, null);

	assert.equal(weights.total[1], 3);
	assert.equal(graph.levelsBelow(0), depth);
	assert.equal(sumFrames(tree, weights, 2).total[0], 3);
	const {boxes, hidden} = layOut(graph, 0, 0, 3, 1000, 400);

	assert.equal(boxes.length, 400);
	assert.equal(hidden, depth - 399);
	let node = 0;
	const callers = makeCallers(tree, weights, -1, null, null);

	for (let i = 0; i < depth; i++) [node] = callers.children(node);
	assert.equal(callers.total[node], 3);
	assert.equal(callers.children(node).length, 0);
});

test("callers: own time, and inside it where it was called", () => {
	const profile = profileOf(SMALL),
		{tree, weights} = everything(profile);

	assert.deepEqual(shape(profile, makeCallers(tree, weights, -1, null, null)), [
		"",
		152,
		["[GPU_Kernel]k", 100, ["cudaLaunchKernel", 100, ["b", 100, ["main", 100]]]],
		["a", 42, ["main", 30], ["b", 7, ["main", 7]], ["a", 5, ["main", 5]]],
		["b", 10, ["main", 10]],
	]);
});

test("callers: of one frame, with what is inside it, once", () => {
	const profile = profileOf(SMALL),
		{tree, weights} = everything(profile),
		a = frameOf(profile, "a");
	const graph = makeCallers(
		tree,
		weights,
		a,
		outermost(tree, weights, only(profile, "a")).nodes,
		null,
	);

	assert.deepEqual(shape(profile, graph), [
		"",
		42,
		["a", 42, ["main", 35], ["b", 7, ["main", 7]]],
	]);
	const inner = graph.nodeOf(`${a}.${frameOf(profile, "b")}`);

	assert.equal(graph.nameOf(inner), `${a}.${frameOf(profile, "b")}`);
	assert.equal(graph.total[inner], 7);
	assert.equal(graph.nodeOf("999"), 0);
});

test("callers: random trees keep their totals on every level", () => {
	const profile = readProfile(encodeProfile(makeBigProfile(3000, 7))),
		{tree, weights} = everything(profile);
	const graph = makeCallers(tree, weights, -1, null, null);

	for (let node = 0; node < 2000 && node < graph.total.length; node++) {
		const inside = Array.from(graph.children(node)).reduce(
			(sum, child) => sum + graph.total[child],
			0,
		);

		assert.equal(inside + graph.own[node], graph.total[node]);
	}
	assert.equal(graph.total[0], weights.total[0]);
});

// Roles, as in code_role.h.
const OWN = 0,
	CALLERS = 1,
	KEPT = 2,
	KERNEL_MODE = 3,
	PACKAGE = 4,
	PLUMBING = 5;

// A stack's names from the outside in.
function pathOf(frames, stacks, i) {
	const path = [];

	for (; i > 0; i = stacks.parent[i]) path.push(stacks.frame[i]);
	return path.reverse();
}

// What profiler/shape/view.h says of folding, of one stack: the names that are left.
function foldSlowly(frames, path) {
	const left = [];
	let run = [],
		plumbing = [];

	for (const frame of path) {
		const label = frames.folded[frame] < 0 ? null : frames.name[frames.folded[frame]];
		let role = frames.role[frame];

		if (role === CALLERS) role = run.length === 0 ? OWN : PLUMBING;
		if (role === PLUMBING) {
			plumbing = [label];
			continue;
		}
		if (role === PACKAGE) {
			if (run.includes(label)) run = run.slice(0, run.indexOf(label) + 1);
			else run = [...run.slice(0, 7), label];
		} else {
			if (role !== OWN) left.push(...run);
			if (role === KERNEL_MODE) left.push(...plumbing);
			left.push(frames.name[frame]);
			run = [];
		}
		plumbing = [];
	}
	return [...left, ...run, ...plumbing];
}

test("own code: others' is folded as the rules say, in random stacks", () => {
	for (let seed = 1; seed <= 60; seed++) {
		const random = makeRandom(seed),
			packages = 1 + random(14),
			frames = [],
			stacks = [];

		for (let i = 0; i < 40; i++) {
			const role = random(2) === 0 ? PACKAGE : random(6);

			frames.push({
				class: role === KEPT ? API : role === KERNEL_MODE ? 3 : random(3),
				name: `f${i}`,
				role,
				folded: [CALLERS, PACKAGE, PLUMBING].includes(role)
					? `[p${random(packages)}]`
					: undefined,
			});
		}
		for (let i = 0; i < 400; i++)
			stacks.push({outer: Math.max(0, i - random(1 + random(20))), frame: random(40)});
		const profile = readProfile(encodeProfile({frames, stacks})),
			{stacks: folded, of, hasOwn} = foldStacks(profile.frames, profile.stacks);
		const names = new Set();

		for (let i = 0; i < profile.stacks.count; i++) {
			const path = pathOf(profile.frames, profile.stacks, i);

			assert.deepEqual(
				pathOf(profile.frames, folded, of[i]).map(frame => profile.frames.name[frame]),
				foldSlowly(profile.frames, path),
				`seed ${seed}, stack ${i}`,
			);
		}
		// equal stacks are one, and each is inside one before it
		for (let i = 1; i < folded.count; i++) {
			assert.ok(folded.parent[i] < i);
			names.add(`${folded.parent[i]} ${folded.frame[i]}`);
		}
		assert.equal(names.size, folded.count - 1);
		assert.equal(whyNotFolded(profile, () => ({hasOwn})) === "", hasOwn);
	}
});

test("own code: nothing is folded where nothing is own, or everything has been", () => {
	const folded = profile => foldStacks(profile.frames, profile.stacks);
	const reason = data => {
		const profile = readProfile(encodeProfile(data));

		return whyNotFolded(profile, () => folded(profile));
	};
	const own = {name: "main", role: OWN},
		library = {name: "g", role: PACKAGE, folded: "[libg.so]"},
		text = {class: PYTHON, name: "<module>", role: CALLERS, folded: "[python]"};
	const stacks = [
		{outer: 0, frame: 0},
		{outer: 1, frame: 1},
	];

	assert.match(reason({}), /no code below/);
	assert.match(reason({frames: [library, text], stacks}), /no code below/);
	assert.match(reason({frames: [{class: 2, name: "jit", role: OWN}]}), /no code below/);
	assert.match(reason({frames: [own], facts: {folded: 1}}), /--my-code/);
	assert.equal(reason({frames: [text, library], stacks}), "");
	assert.equal(reason({frames: [library, own], stacks}), "");
});

test("own code: a launch site is the innermost function that is left", () => {
	const frames = [
		{name: "main", role: OWN}, // 0
		{class: PYTHON, name: "step (train.py)", role: OWN},
		{class: PYTHON, name: "linear (functional.py)", role: PACKAGE, folded: "[torch]"}, // 2
		{name: "at::mm", role: PACKAGE, folded: "[libtorch.so]"},
		{class: API, name: "cudaLaunchKernel"}, // 4
		{class: GPU_KERNEL, name: "[GPU_Kernel]k"},
		{class: 11, name: "launched at"}, // 6
		{name: "launch", role: OWN},
	];
	const site = (...path) => {
		const profile = readProfile(
			encodeProfile({frames, stacks: path.map((frame, outer) => ({outer, frame}))}),
		);
		const {stacks, of} = foldStacks(profile.frames, profile.stacks);

		return profile.frames.name[stacks.site[of[path.length]]];
	};

	assert.equal(site(0, 1, 2, 3, 4, 5), "step (train.py)");
	assert.equal(site(0, 1, 7, 4, 5), "step (train.py)");
	assert.equal(site(0, 2, 3, 4, 5), "main");
	assert.equal(site(2, 3, 4, 5), "[libtorch.so]");
	assert.equal(site(0, 4, 6, 1, 4, 5), "main");
	assert.equal(site(4, 5), "cudaLaunchKernel");
	assert.equal(site(0, 1, 5), "step (train.py)");
	assert.equal(site(0, 5), "main");
});

test("own code: packages of Python have its colour", () => {
	const native = (module, folded) => ({name: folded + module, kind: 2, module, role: PACKAGE, folded});
	const profile = readProfile(
		encodeProfile({
			frames: [
				{class: PYTHON, name: "dumps (json.py)", kind: 3, role: PACKAGE, folded: "[json]"},
				native("/usr/lib/python3.11/lib-dynload/_json.so", "[json]"),
				native("/e/site-packages/numpy/core/_multiarray.so", "[numpy]"),
				native("/e/site-packages/nvidia/cublas/lib/libcublas.so.12", "[libcublas.so.12]"),
				native("/usr/bin/python3.11", "[python]"),
				native("/usr/lib/libx.so", "[libx.so]"),
				native("/home/me/app", "[std]"),
			],
			stacks: [{outer: 0, frame: 0}],
		}),
	);
	const kinds = kindsOfFrames(profile.frames);
	const ofPackages = Array.from(profile.frames.name, (name, i) => [name, KINDS[kinds[i]].word]).slice(7);

	assert.deepEqual(ofPackages, [
		["[json]", "python"],
		["[numpy]", "python"],
		["[libcublas.so.12]", "native"],
		["[python]", "python"],
		["[libx.so]", "native"],
		["[std]", "native"],
	]);
});

test("own code: 100,000 frames deep, and all time of a big profile", () => {
	const deep = readProfile(
		encodeProfile({
			frames: [
				{name: "f", role: OWN},
				{name: "g", role: PACKAGE, folded: "[g]"},
			],
			stacks: Array.from({length: 100000}, (_, i) => ({outer: i, frame: i % 2})),
		}),
	);
	const {stacks, of} = foldStacks(deep.frames, deep.stacks);

	assert.equal(pathOf(deep.frames, stacks, of[100000]).length, 50001);
	const big = readProfile(encodeProfile(makeBigProfile(50000))),
		folded = foldStacks(big.frames, big.stacks);
	const rows = {...big.rows, stack: big.rows.stack.map(i => folded.of[i])},
		profile = {...big, stacks: folded.stacks, rows};

	assert.equal(everything(profile).weights.total[0], everything(big).weights.total[0]);
	assert.deepEqual(
		everything(profile).weights.byKind.map(list => list[0]),
		everything(big).weights.byKind.map(list => list[0]),
	);
});

// The profile grouped by a word, and what each group holds: [name, its tree].
function groupedBy(profile, word) {
	const {rows} = profile,
		{frameOf} = makeGroupings(profile)[word];
	const {stacks, moved} = groupStacks(
		profile.stacks,
		rows.stack,
		Array.from(rows.stack, (stack, i) => frameOf(stack, rows.place[i])),
	);
	const grouped = {...profile, stacks, rows: {...rows, stack: moved}},
		{tree, weights} = everything(grouped);

	return {grouped, shape: shape(profile, makeCallees(tree, weights, rankNames(profile.frames)))};
}

test("groups: steps in turn, many of them in tens and hundreds", () => {
	const stepsOf = count => {
		const profile = profileOf([[["main"], 1, 1]], {steps: Array.from({length: count + 1}, (_, i) => i), warmUp: 1}),
			{outer, inTurn, frameOf} = makeGroupings(profile).step,
			{name} = profile.frames;
		const pathOf = step => {
			const path = [];

			for (let at = frameOf(1, 0, step); at !== undefined; at = outer.get(at)) path.push(name[at]);
			return path;
		};

		return {profile, frameOf, pathOf, outer, inTurn};
	};
	const few = stepsOf(3),
		many = stepsOf(215);

	assert.deepEqual([1, 3, 0, undefined].map(few.pathOf), [["step 1, warm-up"], ["step 3"], ["[outside of steps]"], ["[no known step]"]]);
	assert.deepEqual(many.pathOf(10), ["step 10", "steps 1–10", "steps 1–100"]);
	assert.deepEqual(many.pathOf(215), ["step 215", "steps 211–215", "steps 201–215"]);
	const steps = [0, 1, 10, 11, 215], // by row
		rows = {stack: [], kind: [], place: [], operations: [], bytes: [], ns: [8, 1, 2, 32, 4], count: 5};

	for (const column of ["stack", "kind", "place", "operations", "bytes"]) rows[column] = steps.map(() => 1);
	rows.place.fill(-1);
	const {stacks, moved} = groupStacks(many.profile.stacks, rows.stack, steps.map(step => many.frameOf(1, 0, step)), many.outer),
		{tree, weights} = everything({...many.profile, stacks, rows: {...rows, stack: moved}}),
		isInTurn = many.profile.frames.name.map((_, frame) => +many.inTurn.has(frame));

	assert.deepEqual(shape(many.profile, makeCallees(tree, weights, null, isInTurn)), [
		"",
		47,
		["steps 1–100", 35, ["steps 1–10", 3, ["step 1, warm-up", 1, ["main", 1]], ["step 10", 2, ["main", 2]]], ["steps 11–20", 32, ["step 11", 32, ["main", 32]]]],
		["steps 201–215", 4, ["steps 211–215", 4, ["step 215", 4, ["main", 4]]]],
		["[outside of steps]", 8, ["main", 8]],
	]);
});

test("groups: of layers, operators, ranges and packages, all time once", () => {
	const LAYER = 18,
		OPERATOR = 17,
		NVTX = 5;
	const paths = [
		[["main", [LAYER, "[a]"], [LAYER, "[a.b]"], [OPERATOR, "op:mm"], [GPU_KERNEL, "k"]], 1, 100],
		[["main", [LAYER, "[a]"], [GPU_KERNEL, "k"]], 1, 20],
		[["main", [NVTX, "nvtx:step"], [LAYER, "[a]"], "g"], 0, 3],
		[["main", "f"], 0, 4],
		[[], 0, 5],
	];
	const groups = word => groupedBy(profileOf(paths), word).shape.slice(2).map(([name, total]) => [name, total]);

	assert.deepEqual(groups("layer"), [
		["[a.b]", 100],
		["[a]", 23],
		["[no layer]", 9],
	]);
	assert.deepEqual(groups("operator"), [
		["[no operator]", 32],
		["op:mm", 100],
	]);
	assert.deepEqual(groups("nvtx"), [
		["[no nvtx]", 129],
		["nvtx:step", 3],
	]);
	assert.deepEqual(Object.keys(makeGroupings(profileOf(SMALL))), []);
	const frames = [
		{name: "main", role: OWN},
		{name: "mm", role: PACKAGE, folded: "[torch]"},
		{name: "gemm", role: PACKAGE, folded: "[libcublas.so.13]"},
	];
	const stacks = [0, 1, 2].map((frame, outer) => ({outer, frame}));
	const packages = readProfile(
		encodeProfile({frames, stacks, rows: [1, 2, 3].map(stack => ({stack, kind: 0, ns: stack}))}),
	);

	assert.deepEqual(groupedBy(packages, "package").shape, [
		"",
		6,
		["[no package]", 1, ["main", 1]],
		["[torch]", 5, ["main", 5, ["mm", 5, ["gemm", 3]]]],
	]);
});

test("groups: each has the stacks that its filter leaves, in random trees", () => {
	for (let seed = 1; seed <= 20; seed++) {
		const random = makeRandom(seed),
			frames = Array.from({length: 9}, (_, i) => ({name: `f${i}`})),
			stacks = Array.from({length: 60}, (_, i) => ({outer: Math.max(0, i - random(6)), frame: random(9)}));
		const profile = readProfile(
			encodeProfile({
				frames,
				stacks,
				processes: [{number: 0, pid: 1, name: "app 1"}],
				threads: [1, 2, 3].map(tid => ({process: 0, tid, name: `app ${tid}`})),
				places: [1, 2, 3].map(tid => [0, tid, -1, -1, -1]),
				rows: Array.from({length: 40}, (_, i) => ({
					stack: i,
					kind: random(4),
					place: random(3),
					ns: 1 + random(99),
				})),
			}),
		);
		const {grouped, shape: groups} = groupedBy(profile, "thread");

		for (let i = 1; i < grouped.stacks.count; i++) assert.ok(grouped.stacks.parent[i] < i);
		for (const [name, total, ...inside] of groups.slice(2)) {
			const filter = {...NO_FILTER, thread: `0.${name.slice(4)}`},
				{tree, weights} = everything(profile, filter);
			const [, wanted, ...left] = shape(profile, makeCallees(tree, weights, rankNames(profile.frames)));

			assert.equal(total, wanted);
			assert.deepEqual(JSON.stringify(inside), JSON.stringify(left), `seed ${seed}, ${name}`);
		}
		assert.equal(groups[1], everything(profile).weights.total[0]);
	}
});

test("search: a regular expression, or plain text", () => {
	assert.equal(compileSearch(""), null);
	assert.ok(compileSearch("^GEMM|soft").test("gemm_k"));
	assert.ok(compileSearch("f(").isPlain);
	// what might never end is plain text
	for (const text of ["(a+)+$", "(a|a)*$", "((a*)b)+", "(?:a?a?){9}", "(x(\\)a+))+", "(?<n>a+)*"])
		assert.ok(compileSearch(text).isPlain, text);
	for (const text of ["(ab)+c*", "a(b+|c)d?", "([(a+)]b)+", "\\(a+\\)+", "^\\[blocks\\.\\d+\\.mlp\\]$"])
		assert.ok(!compileSearch(text).isPlain, text);
	assert.ok(!compileSearch("(a+)+$").test(`${"a".repeat(4000)}!`));
	assert.ok(compileSearch("F(").test("void f(int)"));
	assert.ok(!compileSearch("f(").test("void g(int)"));
	assert.equal(searchFrames({name: ["f"]}, ""), null);
});

test("search: the share counts nested matches once", () => {
	const profile = profileOf(SMALL),
		{tree, weights} = everything(profile);
	const share = text => outermost(tree, weights, searchFrames(profile.frames, text)).total;

	assert.equal(share("^a$"), 42);
	assert.equal(share("a|b"), 152);
	assert.equal(share("k"), 100);
	assert.equal(share("nothing like it"), 0);
});

test("tables: functions, kernels, launch sites", () => {
	const profile = profileOf([
		...SMALL,
		[
			["main", [API, "cudaMemcpy"], [GPU_WORK, "[GPU_Memcpy HtoD]"]],
			1,
			50,
			{count: 2, bytes: 800, site: "main"},
		],
		[[[GPU_WORK, "[GPU_UVM HtoD]"]], 1, 1, {site: "[GPU_UVM HtoD]"}],
		[["main", "sync", [GPU_KERNEL, "[GPU_Kernel]k"]], 2, 11],
	]);
	const {tree, passes, weights, kinds} = everything(profile),
		sums = sumFrames(tree, weights, profile.frames.count);
	const named = (list, name) => list.find(row => profile.frames.name[row.frame] === name);

	assert.deepEqual(named(tableFunctions(kinds, sums), "a"), {
		frame: frameOf(profile, "a"),
		own: 42,
		total: 42,
		cpu: 42,
		gpu: 0,
		wait: 0,
	});
	assert.equal(named(tableFunctions(kinds, sums), "b").gpu, 100);
	assert.deepEqual(tableGpuWork(profile, tree, kinds, passes, "gpu"), [
		{frame: frameOf(profile, "[GPU_Kernel]k"), operations: 4, ns: 100, bytes: 0, mean: 25},
	]);
	assert.equal(
		named(tableGpuWork(profile, tree, kinds, passes, "copy"), "[GPU_Memcpy HtoD]").bytes,
		800,
	);
	const sites = tableLaunchSites(profile, passes);

	assert.deepEqual(
		sites.map(site => [profile.frames.name[site.frame], site.ns, site.operations]).sort(),
		[
			["[GPU_UVM HtoD]", 1, 1],
			["b", 100, 4],
			["main", 50, 2],
		],
	);
});

test("tables: a kernel whose time is split by stalls and waits for ranks is one", () => {
	const WAIT = 8,
		GPU_CODE = 13,
		STALL = 14;
	const kernel = ["main", [API, "cudaLaunchKernel"], [GPU_KERNEL, "[GPU_Kernel]k"]];
	const profile = profileOf([
		[kernel, 1, 5, {count: 4}],
		[[...kernel, [GPU_CODE, "step"], [GPU_CODE, "k.cu:3"], [STALL, "[selected]"]], 1, 30, {count: 0}],
		[[...kernel, [STALL, "[stall: wait]"]], 1, 45, {count: 0}],
		[[...kernel, [WAIT, "[waiting for rank 3]"]], 1, 20, {count: 0}],
		[["main", [STALL, "[stall: of nothing]"]], 1, 7, {count: 1}],
	]);
	const {tree, passes, kinds} = everything(profile);

	assert.deepEqual(tableGpuWork(profile, tree, kinds, passes, "gpu"), [
		{frame: frameOf(profile, "[GPU_Kernel]k"), operations: 4, ns: 100, bytes: 0, mean: 25},
	]);
});

test("tables: a wait is no function's own time", () => {
	const profile = profileOf([
		[
			[
				"main",
				"sync",
				[8, "[waiting for GPU]"],
				[GPU_KERNEL, "k"],
				[11, "launched at"],
				"main",
				"launch",
			],
			2,
			8,
		],
		[["main", "launch"], 0, 3],
	]);
	const {tree, weights, kinds} = everything(profile),
		rows = tableFunctions(kinds, sumFrames(tree, weights, profile.frames.count));

	assert.deepEqual(
		rows.map(row => [profile.frames.name[row.frame], row.own, row.total, row.wait]),
		[
			["main", 0, 11, 8],
			["sync", 0, 8, 8],
			["launch", 3, 11, 8],
		],
	);
});

test("tables: what a thread spins for is not what it computes", () => {
	const profile = profileOf([
		[["main", "sync", "[spinning for GPU]", "kernel", "launched at", "main", "launch"], 0, 8],
		[["main", "sync"], 0, 3],
	]);
	const {tree, weights, kinds} = everything(profile),
		{count, name} = profile.frames,
		sums = sumFrames(tree, weights, count, name.indexOf("[spinning for GPU]")),
		rows = tableFunctions(kinds, sums);

	assert.deepEqual(
		rows.map(row => [name[row.frame], row.own, row.cpu]).filter(([, own]) => own > 0),
		[["sync", 11, 11]],
	);
});

test("pictures: what is closed has nothing inside", () => {
	const {tree, weights} = everything(
			profileOf([
				[["[idle threads of p]", "wait", "poll"], 2, 8],
				[["main", "work"], 0, 2],
			]),
		),
		graph = makeCallees(tree, weights, null);
	const nodes = isClosed => layOut(graph, 0, 0, 10, 1000, 400, isClosed).boxes.length;

	assert.equal(nodes(), 6);
	assert.equal(nodes(node => graph.total[node] === 8), 4);
	assert.equal(nodes(node => node === 0), 1);
});

test("tables: threads and streams", () => {
	const profile = profileOf(
		[
			[["f"], 0, 5, {place: 0}],
			[["g"], 1, 7, {place: 1, count: 3}],
			[["h"], 2, 2, {place: 0}],
			[["i"], 0, 1],
		],
		{
			places: [
				[0, 10, -1, -1, -1],
				[0, 10, 0, 1, 7],
			],
			processes: [{number: 0, pid: 10, name: "a 10"}],
		},
	);
	const {passes} = everything(profile);

	assert.deepEqual(tableThreads(profile, passes), [
		{
			cpu: 5,
			gpu: 7,
			wait: 2,
			operations: 3,
			bytes: 0,
			process: 0,
			thread: 10,
			processName: "a 10",
			threadName: "thread 10",
		},
	]);
	assert.deepEqual(
		tableStreams(profile, passes).map(row => [row.device, row.stream, row.gpu]),
		[["GPU 0", 7, 7]],
	);
});

test("kinds: those of the data", () => {
	assert.deepEqual(
		Array.from(kindsOfFrames({kind: Uint8Array.from([1, 2, 7, 8, 9, 12, 13, 16, 17, 99])}), kind => KINDS[kind].word),
		["start", "native", "operator", "layer", "api", "device", "stall", "idle", "mark", "mark"],
	);
});

test("names: cut in the middle, where those that begin alike are the same", () => {
	const cutAll = (texts, length) => texts.map(makeCutter(texts, length));

	assert.deepEqual(cutAll(["kernel_of_some_library_nn_64", "kernel_of_some_library_tn_64", "k"], 16), [
		"kern…rary_nn_64",
		"kern…rary_tn_64",
		"k",
	]);
	// what tells apart is far from the end
	assert.deepEqual(cutAll(["kernel_for_a_64x64x8_and_the_rest", "kernel_for_b_64x64x8_and_the_rest"], 16), [
		"kern…r_a_64x64x…",
		"kern…r_b_64x64x…",
	]);
	assert.deepEqual(cutAll(["abcdefgh-1", "abXdefgh-2"], 8), ["abcdefg…", "abXdefg…"]);
	for (const text of [...cutAll(["x".repeat(1 << 20), "x".repeat(1 << 20)], 40)]) assert.ok(text.length <= 41);
});

test("names: cut where it hurts least", () => {
	const cut = (name, room) => cutName(name, text => text.length <= room);

	assert.equal(cut("main", 10), "main");
	assert.equal(cut("forward (model.py:42)", 12), "forward");
	assert.equal(cut("model::gemm<float, 128>::run", 25), "model::gemm<…>::run");
	assert.equal(cut("model::layers::Attention::forward", 20), "…Attention::forward");
	assert.equal(cut("model::layers::Attention::forward", 10), "…forward");
	assert.equal(cut("gemm<float, 128>", 5), "gemm");
	assert.equal(cut("op:aten::addmm", 14), "op:aten::addmm");
	assert.equal(cut("op:aten::addmm", 13), "aten::addmm");
	assert.equal(cut("op:aten::addmm", 10), "…addmm");
	assert.equal(cut("nvtx:step 12", 7), "step 12");
	assert.equal(cut("nvtx:step 12", 6), "step…");
	assert.equal(cut("op::run", 6), "…run");
	assert.equal(cut("nvtx:", 4), "nvt…");
	const cutLayer = (name, room) => cutName(name, text => text.length <= room, true);

	assert.equal(cutLayer("[layers.18.mlp]", 15), "[layers.18.mlp]");
	assert.equal(cutLayer("[layers.18.mlp]", 14), "…18.mlp]");
	assert.equal(cutLayer("[layers.18.mlp]", 7), "…mlp]");
	assert.equal(cutLayer("[layers.18.mlp]", 4), "mlp]");
	assert.equal(cutLayer("[GPT]", 4), "[GP…");
	assert.equal(cut("<module> (a.py)", 7), "<modul…");
	assert.equal(cut("detokenize", 6), "detok…");
	assert.equal(cut("attention_scores", 12), "attention…");
	assert.equal(cut("x".repeat(1 << 20), 1), "");
	assert.ok(cut("x".repeat(1 << 20), 10).length <= 10);
	assert.equal(cut("a\u{1f600}\u{1f600}\u{1f600}", 4), "a\u{1f600}…");
	assert.equal(elideArguments("operator<"), "operator<");
	assert.equal(elideArguments("<module>"), "<module>");
	assert.equal(elideArguments("<T as U<V>>::f"), "<T as U<V>>::f");
	assert.equal(elideArguments("f<a<b>>::g<c>"), "f<…>::g<…>");
	assert.equal(elideArguments("operator->"), "operator->");
	const random = makeRandom(3);

	for (let round = 0; round < 500; round++) {
		const name = Array.from({length: random(30)}, () => "ab:<>() _\u{1f600}"[random(10)]).join(
				"",
			),
			room = random(20);

		assert.ok(cut(name, room).length <= Math.max(room, 0), JSON.stringify(name));
	}
});

test("names: kernels of libraries say what they compute", () => {
	const PARAMETERS = "(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda(float)#1}";
	const told = [
		["sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4", "gemm nn 64x64x8"],
		["sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x16_kernel__5x_cublas", "gemm tf32 nn 64x64x16"],
		["sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", "gemm bf16 tn 128x128x64"],
		["cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(Params)", "sgemm nt 128x256x8"],
		["cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8", "gemm bf16 nn 128x128x64"],
		["ampere_sgemm_128x64_tn", "sgemm tn 128x64"],
		["nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNN", "nvjet TNN 128x256x64"],
		["cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x", "sdpa flash fprop f16 64x128x128"],
		["fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)", "fmha forward 64x64"],
		["pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>, true>(P)", "flash_fwd 64x128x128"],
		["cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<int> > >(P)", "FlashAttnFwdSm90"],
		["at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)", "elementwise add"],
		[`at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl${PARAMETERS}, std::array<char*, 2ul> >`, "elementwise Gelu"],
		[`at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda${PARAMETERS}> >`, "elementwise direct_copy"],
		["at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float> > >(P)", "reduce Mean"],
		["at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0>, std::plus<float>, float>(P)", "multi_tensor_apply plus"],
		["cublasLt::splitKreduce_kernel<32, 16, int>(P)", "splitKreduce"],
		["cublas::gemvx::kernel<int>(P)", "gemvx"],
		["triton_per_fused__softmax_add_div_1", "triton softmax_add_div_1"],
		["model::matmul<float, 16>(float*)", "short"],
		["my_64x64_kernel", "short"],
		["", "short"],
	];

	for (const [name, label] of told) assert.equal(tellKernel(`[GPU_Kernel]${name}`, "short"), label, name);
});

test("names: two kernels or libraries have one label only if they have one name", () => {
	const labels = (names, kind = 9) =>
		labelFrames({name: names, shortName: names}, names.map(() => kind));
	const gemm = part => `sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_${part}_cublas`;

	assert.equal(KINDS[9].word, "gpu");
	assert.deepEqual(labels([gemm("stage3_aligna4"), gemm("stage4_aligna4"), gemm("stage3_aligna4"), "ampere_sgemm_128x64_tn"]), [
		"gemm nn 64x64x8 stage3",
		"gemm nn 64x64x8 stage4",
		"gemm nn 64x64x8 stage3",
		"sgemm tn 128x64",
	]);
	assert.deepEqual(labels(["triton_per_fused_add_1", "triton_poi_fused_add_1"]), ["triton add_1 per", "triton add_1 poi"]);
	assert.deepEqual(labels(["triton_per_fused_add_1", "triton_per_fused__add_1"]), [
		"triton_per_fused_add_1",
		"triton_per_fused__add_1",
	]);
	assert.deepEqual(labels(["[libgomp-a34b3233.so.1+0x1a]", "f"], 0), ["[libgomp.so.1+0x1a]", "f"]);
	assert.deepEqual(labels(["[libx-0123abcd.so]", "[libx-89abcdef.so]"], 0), ["[libx.so] 0123abcd", "[libx.so] 89abcdef"]);
	const random = makeRandom(7),
		words = ["triton_per_fused_", "add", "_", "sgemm", "64x64", "_nn", "at::native::", "reduce_kernel", "<", ">", "(", " "];

	for (let round = 0; round < 300; round++) {
		const names = Array.from({length: 12}, () =>
			Array.from({length: 1 + random(7)}, () => words[random(words.length)]).join(""),
		);
		const made = labels(names);

		names.forEach((a, i) =>
			names.forEach((b, k) => assert.equal(made[i] === made[k], a === b, `${a} and ${b}: ${made[i]}`)),
		);
	}
});

test("names: what all siblings begin with is not seen where room is little", () => {
	const cut = (names, room) => names.map(name => cutName(name, text => text.length <= room, false, sharedLength(names)));

	assert.deepEqual(cut(["elementwise add", "elementwise Gelu"], 7), ["…add", "…Gelu"]);
	assert.deepEqual(cut(["elementwise add", "elementwise Gelu"], 15), ["elementwise add", "…Gelu"]);
	assert.deepEqual(cut(["_call_impl", "_call_method"], 7), ["…impl", "…method"]);
	assert.equal(sharedLength(["elementwise", "elementwise add"]), 0);
	assert.equal(sharedLength(["forward", "forwarded"]), 0);
	assert.equal(sharedLength(["a_b", "a_c"]), 0);
	assert.equal(sharedLength(["alone in the row"]), 0);
});

test("own code: runs of unnamed functions are one frame of their library, with all time", () => {
	const library = {module: "/usr/lib/libx.so.13", role: PACKAGE, folded: "[libx.so.13]"};
	const frames = [
		{name: "main", role: OWN},
		{name: "[libx.so.13+0x10]", ...library},
		{name: "[libx.so.13+0x20]", ...library}, // 2
		{name: "named", ...library},
		{name: "[app+0x30]", module: "/home/me/app", role: OWN}, // 4
		{name: "[app+0x40]", module: "/home/me/app", role: OWN},
		{class: GPU_KERNEL, name: "[GPU_Kernel]k"}, // 6
		{name: `libcudart_static_${"0123456789".repeat(4)}`, module: "/home/me/app", role: PLUMBING, folded: "[libcudart]"},
	];
	const stacks = [
		{outer: 0, frame: 0},
		{outer: 1, frame: 1},
		{outer: 2, frame: 2}, // 3
		{outer: 3, frame: 1},
		{outer: 4, frame: 3}, // 5
		{outer: 1, frame: 2},
		{outer: 6, frame: 3}, // 7
		{outer: 1, frame: 4},
		{outer: 8, frame: 5}, // 9
		{outer: 9, frame: 7},
		{outer: 10, frame: 6, site: 2}, // 11
	];
	const rows = stacks.map((_, i) => ({stack: i + 1, kind: 0, ns: 2 ** i}));
	const figures = [{key: "x", title: "X", columns: [{label: "F", kind: 1}], rows: [[2], [0]]}];
	const weights = [{title: "w", unit: "", note: "", rows: [{stack: 4, value: 7}]}];
	const profile = foldUnnamed(readProfile(encodeProfile({frames, stacks, rows, figures, weights}))),
		{tree, weights: sums} = everything(profile),
		at = profile.frames.name.indexOf("[libx.so.13]", frames.length + 2);

	assert.deepEqual(shape(profile, makeCallees(tree, sums, rankNames(profile.frames))), [
		"",
		2047,
		[
			"main",
			2047,
			["[app+0x30]", 1920, ["[app+0x40]", 1792, ["[libcudart]", 1536, ["[GPU_Kernel]k", 1024]]]],
			["[libx.so.13]", 126, ["named", 80]],
		],
	]);
	assert.deepEqual(profile.frames.facts.get(at), [["unnamed functions", "+0x10 +0x20"]]);
	assert.equal(profile.stacks.run[profile.stacks.of[2]], 3);
	assert.equal(profile.stacks.of[6], profile.stacks.of[4]);
	assert.equal(profile.stacks.site[profile.stacks.of[11]], at);
	assert.deepEqual(profile.figures[0].rows, [[at], [0]]);
	assert.deepEqual([...profile.weights[0].rows.stack], [profile.stacks.of[4]]);
});

test("export: folded stacks of what is shown, each weight once", () => {
	const profile = profileOf([
			[["main", "a;b"], 0, 10],
			[["main", "a;b", "c\nd"], 0, 5],
			[["other", "main"], 0, 3.4],
			[["main"], 0, 0.2],
			[[], 0, 7],
		]),
		{tree, weights} = everything(profile),
		fold = wanted => makeFolded(tree, weights, profile.frames.name, wanted);

	assert.equal(fold(node => node === 0), "main;a:b 10\nmain;a:b;c?d 5\nother;main 3\n");
	assert.equal(fold(node => profile.frames.name[tree.frame[node]] === "other"), "other;main 3\n");
	assert.equal(fold(() => false), "");
});

test("export: nothing of a name is markup", () => {
	assert.equal(escapeXml('<a b="c">&\0\ud800\uffff\u{1f600}'), "&lt;a b=&quot;c&quot;&gt;&amp;\ufffd\ufffd\ufffd\u{1f600}");
	const svg = makeSvg(
		on => {
			on.title = "<script>";
			on.fillStyle = "#123456";
			on.fillRect(1.234, 0, 10, 19);
			on.fillText("</text>", 2, 10);
			return {width: 20, height: 30};
		},
		"#ffffff",
		"a & b",
		"#q=<",
	);

	assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="20" height="30" viewBox="0 0 20 30">/);
	assert.match(svg, /<title>&lt;script&gt;<\/title><rect x="1.23" y="0" width="10" height="19" fill="#123456"\/>/);
	assert.match(svg, /<text x="2" y="10" fill="#123456">&lt;\/text&gt;<\/text>/);
	assert.doesNotMatch(svg, /<script|style=|href/);
	assert.equal(
		makeMarkdown({title: "T_1", head: ["Name", "ns"], rows: [["a|b\n<i> `c` [x](http://y) @me www.z", "5"]]}),
		"## T\\_1\n\n| Name | ns |\n|---|---|\n| a\\|b &lt;i&gt; \\`c\\` \\[x\\](http\\://y) \\@ me www\\.z | 5 |\n",
	);
});

test("format: digits that matter, with units", () => {
	assert.deepEqual([0, 7, 1500, 12.3e6, 999e6, 61e9, 7200e9].map(formatTime), [
		"0",
		"7 ns",
		"1.50 µs",
		"12.3 ms",
		"999 ms",
		"1.02 min",
		"2.00 h",
	]);
	assert.deepEqual([0, 1023, 1536, 5 * 2 ** 30].map(formatBytes), [
		"0 B",
		"1023 B",
		"1.50 KiB",
		"5.00 GiB",
	]);
	assert.deepEqual([1, 1234, 1234567].map(formatCount), ["1", "1,234", "1,234,567"]);
	assert.deepEqual(
		[
			[1, 3],
			[1, 1e9],
			[0, 5],
			[1, 0],
		].map(([a, b]) => formatShare(a, b)),
		["33.3 %", "< 0.01 %", "0 %", "–"],
	);
	assert.equal(formatRate(25e9, 1e9), "25.0 GB/s");
	assert.equal(formatRate(5, 0), "–");
	assert.equal(clip("abcdef", 3), "abc… (6 characters)");
});

test("format: amounts in their unit", () => {
	assert.equal(formatAmount(1500, "nanosecond"), "1.50 µs");
	assert.equal(formatAmount(2047.6, "byte"), "2.00 KiB");
	assert.equal(formatAmount(0.5, "byte"), "1 B");
	assert.equal(formatAmount(1234567, "warp"), "1,234,567 warp");
	assert.equal(formatAmount(12.345, ""), "12.35");
});

test("state: a weight is of the whole run and of all kinds", () => {
	assert.equal(parseState("#weight=dram__bytes.sum&view=tables").weight, "dram__bytes.sum");
	for (const other of ["time=1..2", "idle=GPU%200", "kind=gpu"])
		assert.equal(parseState(`#weight=dram__bytes.sum&${other}`).weight, "");
});

test("state: an address and back; nonsense becomes the default", () => {
	const state = {...DEFAULTS, view: "tables", q: "a&b=c#d %", zoom: "12.5", process: "3"};

	assert.deepEqual(parseState(`#${formatState(state)}`), state);
	assert.equal(formatState(DEFAULTS), "");
	assert.deepEqual(parseState("#view=evil&table=&__proto__=1&q=%zz&toString=1&&="), {
		...DEFAULTS,
		q: "%zz",
	});
});

// A tab that the address cannot name cannot be chosen.
test("state: every table beside the profile can be chosen, and is in a group", () => {
	const keys = ["tables/", "findings/", "model/"].flatMap(folder => {
		const room = new URL(`../../profiler/${folder}`, import.meta.url).pathname;

		return readdirSync(room)
			.filter(name => name.endsWith(".c"))
			.flatMap(name => [
				...readFileSync(room + name, "utf8").matchAll(
					/(?:REPORT_TABLE_NEW|report_table_new)\(\s*"(\w+)"|\.key = "(\w+)",\s*\.title/g,
				),
			])
			.map(([, key, other]) => key ?? other);
	});

	for (const key of ["stalls", "idle_causes", "copied_memory", "kernel_definitions"])
		assert.ok(keys.includes(key), key);
	for (const table of keys) {
		assert.equal(parseState(`#table=${table}`).table, table);
		assert.ok(Object.hasOwn(TABLE_LABELS, table), table);
	}
});

// ---- source ----

const GPU_CODE = 13,
	STALL = 14;

// main > kernel > step > k.cu:12 and k.cuh:3 > reasons
function profileWithSource(sources) {
	const line = (file, number) => ({
		class: GPU_CODE,
		name: `${file}:${number}`,
		file: `/src/${file}`,
		line: number,
	});
	const frames = [
		{class: NATIVE, name: "main"},
		{class: GPU_KERNEL, name: "[GPU_Kernel]k"},
		{class: GPU_CODE, name: "step"},
		line("k.cu", 12),
		line("k.cuh", 3),
		{class: STALL, name: "[selected]"},
		{class: STALL, name: "[stall: long scoreboard]"},
		line("k.cu", 40),
	];
	const stacks = [
		{outer: 0, frame: 0},
		{outer: 1, frame: 1}, // 2: k
		{outer: 2, frame: 3},
		{outer: 3, frame: 5}, // 4: k; k.cu:12; selected
		{outer: 2, frame: 2},
		{outer: 5, frame: 4},
		{outer: 6, frame: 6}, // 7: k; step; k.cuh:3; long scoreboard
		{outer: 5, frame: 3},
		{outer: 8, frame: 6}, // 9: k; step; k.cu:12; long scoreboard
		{outer: 2, frame: 6}, // 10: k; long scoreboard
		{outer: 5, frame: 6}, // 11: k; step; long scoreboard
		{outer: 2, frame: 7},
		{outer: 12, frame: 5}, // 13: k; k.cu:40; selected
	];
	const ns = new Map([[2, 5], [4, 10], [7, 20], [9, 40], [10, 80], [11, 160], [13, 320]]);
	// what splits a kernel's time is no operation
	const rows = [...ns].map(([stack, ns]) => ({stack, kind: 1, ns, count: stack === 2 ? 1 : 0}));

	return readProfile(encodeProfile({frames, stacks, rows, sources}));
}

test("source: the time of a kernel by file, line and reason, each ns once", () => {
	const profile = profileWithSource(),
		passes = new Uint8Array(profile.rows.count).fill(1);
	const kernels = sumLines(profile, profile.stacks, kindsOfFrames(profile.frames), passes);
	const [kernel] = kernels.values(),
		file = kernel.files.get("/src/k.cu");

	assert.deepEqual([...kernels.keys()], [1]);
	assert.equal(kernel.ns, 635);
	assert.equal(kernel.stalls, 630);
	assert.equal(kernel.unplaced.ns, 240);
	assert.deepEqual([...kernel.files.keys()], ["/src/k.cu", "/src/k.cuh"]);
	assert.equal(file.ns, 370);
	assert.deepEqual([...file.lines.get(12).reasons], [[5, 10], [6, 40]]);
	assert.equal(file.lines.get(40).ns, 320);
	assert.deepEqual(sumReasons([kernel.unplaced, ...file.lines.values()]), [[5, 330], [6, 280]]);
	// and all of it is in the sums of frames
	const tree = makeTree(profile.stacks),
		frames = sumFrames(tree, weigh(profile, tree, passes), profile.frames.count);

	assert.deepEqual([...frames.total], [635, 635, 220, 50, 20, 330, 300, 320]);
	// what a filter leaves out is in no sum
	passes.fill(0, 0, 6);
	const [rest] = sumLines(profile, profile.stacks, kindsOfFrames(profile.frames), passes).values();

	assert.deepEqual([rest.ns, rest.stalls, rest.unplaced.ns, rest.files.size], [320, 320, 0, 1]);
	assert.equal(reasonText("[stall: long scoreboard]"), "long scoreboard");
	assert.equal(reasonText("[selected]"), "selected");
	assert.equal(reasonText("[other stalls]"), "other stalls");
});

test("source: lines around those with samples, as far as they are known", () => {
	const lines = (from, to) =>
		Array.from({length: to - from + 1}, (_, i) => `</script>\u2028 ${from + i}`);
	const profile = profileWithSource([
		{
			file: "/src/k.cu",
			hasChanged: true,
			parts: [
				{first: 1, lines: lines(1, 18)},
				{first: 38, lines: lines(38, 80)},
			],
		},
		{file: "/src/k.cuh", state: 1},
	]);
	const [source, none] = profile.sources;
	const [kernel] = sumLines(
		profile,
		profile.stacks,
		kindsOfFrames(profile.frames),
		new Uint8Array(profile.rows.count).fill(1),
	).values();
	const list = listLines(kernel.files.get("/src/k.cu"), source);

	assert.ok(source.hasChanged && !none.hasChanged && none.state === 1 && none.lines.size === 0);
	assert.deepEqual(
		list.map(({line}) => line),
		[...Array.from({length: 18}, (_, i) => i + 1), ...Array.from({length: 23}, (_, i) => i + 38)],
	);
	assert.deepEqual(
		list.filter(({isGap}) => isGap).map(({line}) => line),
		[38],
	);
	assert.deepEqual(
		list.filter(({place}) => place).map(({line, place}) => [line, place.ns]),
		[[12, 50], [40, 320]],
	);
	assert.equal(list[0].text, "</script>\u2028 1");
	assert.deepEqual(listLines(kernel.files.get("/src/k.cuh"), none), [
		{line: 3, text: null, place: kernel.files.get("/src/k.cuh").lines.get(3), isGap: false},
	]);
	for (const count of [1, 3])
		assert.throws(
			() => profileWithSource([{file: "x", parts: [{first: 1, count, lines: ["a", "b"]}]}]),
			/other lines than it says/,
		);
});

test("draw: boxes cover the row, small ones are one", () => {
	const profile = profileOf([
		...Array.from({length: 1000}, (_, i) => [["main", `f${i}`], 0, 1]),
		[["main", "big"], 0, 9000],
	]);
	const {tree, weights} = everything(profile),
		graph = makeCallees(tree, weights, null);
	const {boxes, narrow} = layOut(graph, 0, 0, 10000, 1000, 400),
		rows = indexRows(boxes);

	assert.equal(narrow.count, 1000);
	assert.ok(Math.abs(narrow.part - 1000) < 1e-6);

	assert.equal(rows.length, 3);
	assert.deepEqual(
		rows[2].map(({node, x, width}) => [node > 0, Math.round(x), Math.round(width)]),
		[
			[true, 0, 900],
			[false, 900, 100],
		],
	);
	assert.equal(boxAt(rows, 2, 899).x, 0);
	assert.equal(boxAt(rows, 2, 950).node, -1);
	assert.equal(boxAt(rows, 9, 5), null);
	const zoomed = layOut(graph, 0, 9000, 10000, 1000, 400);

	assert.equal(indexRows(zoomed.boxes)[2].length, 1000);
	assert.deepEqual(zoomed.narrow, {count: 0, part: 0});
	// what is inside a small frame is part of it
	const deep = everything(
		profileOf([
			[["main", "tiny", "inner", "innermost"], 0, 1],
			[["main", "big"], 0, 9999],
		]),
	);
	const {narrow: outermost} = layOut(makeCallees(deep.tree, deep.weights, null), 0, 0, 10000, 100, 9);

	assert.equal(outermost.count, 1);
	assert.ok(Math.abs(outermost.part - 1) < 1e-6);
	assert.equal(ancestor(graph, 2, 1), 1);
	assert.equal(ancestor(graph, 2, 50), 0);
});

test("data: tables beside the profile", () => {
	const figure = {
		key: "launch_shapes",
		title: "Launch shapes",
		leftOut: 2,
		columns: [
			{label: "Kernel", kind: 1},
			{label: "Advice", kind: 7},
			{label: "Time", kind: 3},
		],
		rows: [
			[1, "more blocks", 2 ** 53],
			[0, "", 0],
		],
	};
	const frames = [{name: "f"}, {name: "g"}];

	assert.deepEqual(readProfile(encodeProfile({frames, figures: [figure, figure]})).figures, [
		figure,
		figure,
	]);
	figure.rows[0][0] = 2;
	assert.throws(() => readProfile(encodeProfile({frames, figures: [figure]})), /no frame/);
});

test("data: stacks have other weights", () => {
	const frames = [{class: NATIVE, name: "main"}, {class: GPU_KERNEL, name: "kernel"}, {class: API, name: "cudaMalloc"}],
		stacks = [{outer: 0, frame: 0}, {outer: 1, frame: 1}, {outer: 1, frame: 2}],
		places = [[1, 2, 0, 1, 7]],
		rows = [{stack: 2, kind: 1, ns: 5, count: 10, place: 0}];
	const weight = {title: "x__bytes.sum", unit: "byte", note: "estimated", rows: [{stack: 2, place: 0, count: 10, value: 70}]},
		memory = {title: "memory", unit: "byte", note: "", rows: [{stack: 1, value: 1}, {stack: 3, count: 2, value: 4096}]};
	const profile = readProfile(encodeProfile({frames, stacks, places, rows, weights: [weight, memory]}));
	const sums = profile.weights.map(({rows}) => everything({...profile, rows}).weights);

	assert.deepEqual(profile.weights.map(({title, unit, note}) => [title, unit, note]), [
		["x__bytes.sum", "byte", "estimated"],
		["memory", "byte", ""],
	]);
	assert.deepEqual(Array.from(sums[0].total), [70, 70, 70, 0]);
	assert.deepEqual(Array.from(sums[1].total), [4097, 4097, 0, 4096]);
	assert.deepEqual(Array.from(sums[1].operations), [3, 3, 0, 2]);
	assert.deepEqual(Array.from(everything(profile).weights.total), [5, 5, 5, 0]);
	for (const wrong of [{stack: 4}, {stack: 1, place: 1}])
		assert.throws(
			() => readProfile(encodeProfile({frames, stacks, places, rows, weights: [{...memory, rows: [{value: 1, ...wrong}]}]})),
			/refers to nothing/,
		);
});

test("draw: shades are stable and colours valid", () => {
	assert.equal(shadeOf("f"), shadeOf("f"));
	assert.equal(shiftColour("#102030", 1), "#ffffff");
	assert.equal(shiftColour("#102030", -1), "#000000");
	for (const kind of KINDS)
		for (const colour of [kind.light, kind.dark]) assert.match(colour, /^#[0-9a-f]{6}$/);
	assert.deepEqual(["#ffffff", "#f0c36d", "#00684b", "#000000"].map(textOn), [
		"#000000",
		"#000000",
		"#ffffff",
		"#ffffff",
	]);
});

test("page: one script without imports, allowed by its hash alone", () => {
	// in make's order, by what they import
	const make = readFileSync(new URL("../../Makefile", import.meta.url), "utf8");
	const scripts = make.match(/^page_scripts := ([^]*?)\)$/m)[1].match(/\w+\.js/g);

	assert.deepEqual(
		[...scripts].sort(),
		readdirSync(folder)
			.filter(name => name.endsWith(".js"))
			.sort(),
	);
	scripts.forEach((script, at) => {
		for (const [line] of readFileSync(folder + script, "utf8").matchAll(/^import [^;]*;/gm)) {
			assert.match(line, /^import \{[\w,\s]+\} from "\.\/\w+\.js";$/);
			assert.ok(scripts.indexOf(line.match(/(\w+\.js)/)[1]) < at, `${script}: ${line}`);
		}
	});
	const page = execFileSync(
		`${folder}assemble`,
		[`${folder}index.html`, `${folder}style.css`, ...scripts.map(name => folder + name)],
		{encoding: "utf8"},
	);
	const [, script] = page.match(/<script>([^]*?)<\/script>/),
		[, style] = page.match(/<style>([^]*?)<\/style>/);
	const hash = text => createHash("sha256").update(text).digest("base64");

	new Function(script); // it parses: no name is declared twice
	assert.doesNotMatch(script, /^(import|export) /m);
	assert.doesNotMatch(script, /innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b/);
	assert.ok(page.includes(`script-src 'sha256-${hash(script)}'`));
	assert.ok(page.includes(`style-src 'sha256-${hash(style)}'`));
	assert.match(page, /default-src 'none'/);
	// a namespace is no request
	assert.doesNotMatch(page.replace('xmlns="http://www.w3.org/2000/svg"', ""), /https?:|\bon\w+="|style="/);
	assert.match(page, /<script type="application\/octet-stream" id="data">$/);
});

test("what a report shows is what there is", () => {
	const content = (paths, hasTimeline = false) => contentOf(profileOf(paths), hasTimeline);

	assert.deepEqual(content([[["main"], 0, 1]]), {
		gpu: false,
		kernels: false,
		copies: false,
		threads: false,
		timeline: false,
	});
	// a kernel that CPU time was spun for is no GPU work
	assert.equal(content([[["sync", "[spinning for GPU]", [GPU_KERNEL, "[GPU_Kernel]k"]], 0, 1]]).kernels, false);
	assert.equal(content([[["main", [GPU_KERNEL, "[GPU_Kernel]k"]], 1, 1]]).kernels, true);
	assert.equal(content([[["main", [GPU_KERNEL, "[GPU_Kernel]k"]], 1, 1]]).copies, false);
	assert.equal(content([[[[GPU_WORK, "[GPU_UVM HtoD]"]], 1, 1]]).copies, true);
	assert.equal(content([[["main"], 0, 1]], true).timeline, true);
});

test("hostile names: a search, labels and groups stay bounded", () => {
	// too long for a regular expression: text
	assert.equal(compileSearch("a".repeat(40000)).isPlain, true);
	assert.equal(compileSearch("a".repeat(40000)).test("b"), false);
	// thousands of kernels with one label keep their names
	const names = Array.from({length: 3000}, (_, i) => `[GPU_Kernel]at::native::x_kernel<${i}, float>(float*)`),
		profile = profileOf(names.map(name => [["main", name], 1, 10]));
	const kinds = profile.frames.name.map(name => (name.startsWith("[GPU") ? KINDS.findIndex(({word}) => word === "gpu") : 0));

	assert.equal(new Set(labelFrames(profile.frames, kinds)).size, profile.frames.count);
	// each group has all nodes: too many are not made
	const deep = {count: 100001, parent: Int32Array.from({length: 100001}, (_, i) => i - 1), frame: new Int32Array(100001)};

	assert.equal(groupStacks(deep, new Int32Array(100).fill(100000), Array.from({length: 100}, (_, i) => i)), null);
	assert.equal(groupStacks(deep, new Int32Array(2).fill(100000), [0, 1]).stacks.count, 200003);
});
