// SPDX-License-Identifier: MIT
// The report in a browser: every view, with what a person does there. make test-browser
import assert from "node:assert/strict";
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, beforeEach, test} from "node:test";
import {pathToFileURL} from "node:url";
import {openChromium} from "./chromium.mjs";
import {makeBigProfile, makePage} from "../html/made_page.mjs";

const folder = mkdtempSync(join(tmpdir(), "profile-report-"));
const page = readFileSync(process.env.REPORT_PAGE ?? "build/profiler/web/page.html", "utf8");
const NATIVE = 0,
	API = 4,
	GPU_KERNEL = 6,
	GPU_WORK = 7,
	GPU_CODE = 13,
	STALL = 14;
let browser;

const HOSTILE = [
	"</script><script>window.hacked=1</script>",
	"<img src=x onerror=window.hacked=1>",
	"\u2028\u2029",
	"'\"`&lt;",
	"<".repeat(1 << 20),
	"javascript:window.hacked=1",
	"\u202egnp.exe",
	Buffer.from([0x80, 0xff, 0xfe]),
	"__proto__",
	"constructor",
];

const PAGES = {
	pools: {
		facts: {command: "./pools"},
		frames: [
			{name: "[idle threads of pools]"},
			{name: "next_task"},
			{name: "[blocked: futex]"},
			{name: "main"},
		],
		stacks: [
			{outer: 0, frame: 0},
			{outer: 1, frame: 1},
			{outer: 2, frame: 2},
			{outer: 0, frame: 3},
		],
		rows: [
			{stack: 3, kind: 2, ns: 80},
			{stack: 4, kind: 0, ns: 20},
		],
	},
	unnamed: {
		facts: {"elapsed ns": 1000, "shown to ns": 1000},
		frames: [
			{name: "main", role: 0},
			...[1, 2, 3].map(i => ({
				name: `[libx-0123abcd.so.1+0x${i}]`,
				module: "/usr/lib/libx-0123abcd.so.1",
				role: 4,
				folded: "[libx.so]",
			})),
			...["nn", "nt"].map(layout => ({
				class: GPU_KERNEL,
				name: `[GPU_Kernel]sm80_xmma_gemm_f32f32_f32f32_f32_${layout}_n_tilesize64x64x8_stage3`,
			})),
		],
		stacks: [0, 1, 2, 3, 4, 4].map((outer, frame) => ({outer, frame})),
		places: [[0, 1, 0, 1, 7]],
		rows: [
			{stack: 4, kind: 0, place: 0, ns: 10},
			{stack: 5, kind: 1, place: 0, ns: 20},
			{stack: 6, kind: 1, place: 0, ns: 30},
		],
		timeline: {
			records: [
				{kind: 2, place: 0, start: 100, duration: 20, stack: 5},
				{kind: 2, place: 0, start: 200, duration: 30, stack: 6},
			],
		},
	},
	unsampled: {
		facts: {"cpu ns": 70e6, "sample ns": 20e6},
		frames: [{name: "main"}, {name: "[not sampled]"}],
		stacks: [
			{outer: 0, frame: 0},
			{outer: 0, frame: 1},
		],
		rows: [
			{stack: 1, kind: 0, ns: 40e6, count: 2},
			{stack: 2, kind: 0, ns: 30e6, count: 0},
		],
	},
	small: {
		facts: {
			command: "./app --fast",
			"elapsed ns": 5e9,
			"cpu ns": 60,
			"gpu ns": 140,
			"wait ns": 33,
			"idle ns": 22,
			"own cpu ns": 1e6,
			"program cpu ns": 3e6,
		},
		losses: {"CPU samples dropped": 12},
		frames: [
			{name: "main", module: "/bin/app"},
			{name: "tokenize"},
			{name: "forward"},
			{class: API, name: "cudaLaunchKernel"},
			{
				class: GPU_KERNEL,
				name: "[GPU_Kernel]gemm<float, 64>(float*)",
				shortName: "gemm<float, 64>",
				workClass: "GEMM",
			},
			{class: GPU_WORK, name: "[GPU_Memcpy HtoD]"},
		],
		stacks: [
			{outer: 0, frame: 0},
			{outer: 1, frame: 1},
			{outer: 1, frame: 2},
			{outer: 3, frame: 3},
			{outer: 4, frame: 4, site: 2},
			{outer: 1, frame: 5, site: 0},
		],
		processes: [
			{number: 0, pid: 1, name: "app 1"},
			{number: 1, pid: 2, name: "app 2"},
		],
		threads: [
			{process: 0, tid: 1, name: "main 1"},
			{process: 1, tid: 2, name: "helper 2"},
		],
		devices: [{process: 0, number: 0, label: "GPU 0", name: "Made-up"}],
		places: [
			[0, 1, -1, -1, -1],
			[1, 2, -1, -1, -1],
			[0, 1, 0, 1, 7],
		],
		rows: [
			{stack: 2, kind: 0, place: 0, ns: 40, count: 2},
			{stack: 2, kind: 0, place: 1, ns: 20},
			{stack: 5, kind: 1, place: 2, ns: 100, count: 10},
			{stack: 6, kind: 1, place: 2, ns: 40, bytes: 4000},
		],
		figures: [
			{
				key: "launch_shapes",
				title: "Launch shapes",
				leftOut: 3,
				columns: [
					{label: "Calls", kind: 2},
					{label: "Time", kind: 3},
					{label: "Occupancy", kind: 5},
					{label: "Waves", kind: 6},
					{label: "Kernel", kind: 1},
					{label: "Advice", kind: 7},
				],
				rows: [
					[1, 100, 500, 1250, 4, "<img src=x onerror=alert(1)>"],
					[2, 7, 1000, 10, 4, ""],
				],
			},
			{
				key: "kernel_classes",
				title: "GPU work by class",
				columns: [
					{label: "Time", kind: 3},
					{label: "Kernels", kind: 2},
					{label: "Class", kind: 0},
				],
				rows: [
					[100, 1, "GEMM"],
					[40, 0, "memcpy and memset"],
				],
			},
			{
				key: "layers",
				title: "GPU work by layer",
				columns: [
					{label: "Own time", kind: 3},
					{label: "Layer", kind: 0},
				],
				rows: [
					[30, "[blocks.0.mlp]"],
					[20, "[blocks.0.mlp.1]"],
					[10, "[blocks.11.mlp]"],
				],
			},
			{
				key: "layer_kinds",
				title: "GPU work by kind of layer",
				columns: [
					{label: "Own time", kind: 3},
					{label: "Kind of layer", kind: 0},
				],
				rows: [[40, "[blocks.*.mlp]"]],
			},
			{
				key: "api_calls",
				title: "CUDA calls",
				columns: [
					{label: "Function", kind: 0},
					...Array.from({length: 30}, (_, i) => ({label: `Figure ${i}`, kind: i % 2 ? 5 : 2})),
				],
				rows: ["cudaLaunchKernel", "cuModuleUnload"].map(name => [name, ...Array(30).fill(1)]),
			},
			{
				key: "hardware_counters",
				title: "Hardware counters",
				columns: [
					{label: "Mean", kind: 8},
					{label: "Least", kind: 8},
					{label: "Most", kind: 8},
					{label: "Unit", kind: 0},
					{label: "Measured", kind: 2},
					{label: "Launches", kind: 2},
					{label: "Metric", kind: 0},
					{label: "Kernel", kind: 0},
				],
				rows: [
					["0.1847", "0.17", "0.19", "percent", 4, 9, "sm__throughput.avg.pct", "gemm<float, 64>"],
					["13280", "13270", "13290", "byte", 4, 9, "dram__bytes.sum", "gemm<float, 64>"],
					["5", "5", "5", "byte", 1, 2, "dram__bytes.sum", "gemm<float, 64>"], // another of this name
				],
			},
		],
	},
	mine: {
		facts: {"elapsed ns": 1000, "shown to ns": 1000},
		frames: [
			{name: "_start", role: 5, folded: "[start]"},
			{class: 1, name: "main (train.py)", shortName: "main", role: 0},
			{class: 1, name: "call (module.py)", shortName: "call", role: 4, folded: "[torch]"},
			{class: 1, name: "forward (train.py)", shortName: "forward", role: 0},
			{name: "at::mm", module: "/opt/lib/libtorch.so", role: 4, folded: "[torch]"},
			{class: API, name: "cudaLaunchKernel"},
			{class: GPU_KERNEL, name: "[GPU_Kernel]gemm", shortName: "gemm"},
		],
		stacks: [0, 1, 2, 3, 2, 4, 5, 6].map((frame, outer) => ({outer, frame, site: 2})),
		places: [
			[0, 1, -1, -1, -1],
			[0, 1, 0, 1, 7],
		],
		rows: [
			{stack: 1, kind: 0, place: 0, ns: 10},
			{stack: 5, kind: 0, place: 0, ns: 20},
			{stack: 6, kind: 0, place: 0, ns: 30},
			{stack: 8, kind: 1, place: 1, ns: 40},
		],
		timeline: {
			records: [
				{kind: 0, place: 0, start: 100, duration: 20, stack: 5},
				{kind: 0, place: 0, start: 200, duration: 30, stack: 6},
				{kind: 2, place: 1, start: 300, duration: 40, stack: 8},
			],
		},
	},
	source: {
		frames: [
			{name: "main"},
			{class: GPU_KERNEL, name: "[GPU_Kernel]tiny", shortName: "tiny"},
			{class: GPU_KERNEL, name: "[GPU_Kernel]huge", shortName: "huge"},
			{class: GPU_CODE, name: "k.cu:300", file: "/src/k.cu", line: 300},
			{class: GPU_CODE, name: "k.cu:12", file: "/src/k.cu", line: 12},
			{class: GPU_CODE, name: "gone.cuh:7", file: HOSTILE[1], line: 7},
			{class: STALL, name: "[selected]"},
			{class: STALL, name: "[stall: long scoreboard]"},
			{class: STALL, name: HOSTILE[0]},
		],
		stacks: [
			{outer: 0, frame: 0},
			{outer: 1, frame: 1}, // 2: tiny
			{outer: 2, frame: 4},
			{outer: 3, frame: 6}, // 4: line 12, selected
			{outer: 1, frame: 2},
			{outer: 5, frame: 3},
			{outer: 6, frame: 7}, // 7: line 300, long scoreboard
			{outer: 6, frame: 8}, // 8: line 300, and a reason that is none
			{outer: 5, frame: 4},
			{outer: 9, frame: 7}, // 10: line 12
			{outer: 5, frame: 5},
			{outer: 11, frame: 7}, // 12: of a file that is not there
		],
		rows: [
			[4, 10],
			[7, 500],
			[8, 100],
			[10, 150],
			[12, 250],
		].map(([stack, ns]) => ({stack, kind: 1, ns, count: 0})),
		figures: [
			{
				key: "stalls",
				title: "Stalls",
				columns: [
					{label: "Time", kind: 3},
					{label: "Kernel", kind: 1},
				],
				rows: [
					[500, 2],
					[10, 1],
				],
			},
		],
		sources: [
			{
				file: "/src/k.cu",
				hasChanged: true,
				parts: [
					{first: 1, lines: Array.from({length: 32}, (_, i) => `\tline ${i + 1}`)},
					{
						first: 280,
						lines: Array.from({length: 41}, (_, i) => HOSTILE[i] ?? `x ${i}`).map(
							line => String(line).slice(0, 2000),
						),
					},
				],
			},
			{file: HOSTILE[1], state: 1},
		],
	},
	folded: {
		facts: {folded: 1},
		frames: [{name: "main"}],
		stacks: [{outer: 0, frame: 0}],
		rows: [{stack: 1, kind: 0, ns: 5}],
	},
	compared: {
		facts: {command: "./new"},
		frames: [
			{name: "main", role: 0},
			{name: "parse"},
			{class: GPU_KERNEL, name: "[GPU_Kernel]gemm<64>(float*)", shortName: "gemm<64>"},
			{class: GPU_KERNEL, name: HOSTILE[1]},
			{class: GPU_KERNEL, name: "[GPU_Kernel]late", shortName: "late"},
			{name: "quiet"},
		],
		stacks: [
			{outer: 0, frame: 0},
			{outer: 1, frame: 1},
			...[2, 3, 4].map(frame => ({outer: 1, frame, site: 0})),
			{outer: 1, frame: 5},
		],
		rows: [2, 3, 4, 5, 6].map(stack => ({stack, kind: stack === 2 || stack === 6 ? 0 : 1, ns: 0})),
		difference: {
			sides: [
				{
					command: HOSTILE[0],
					counts: [
						{count: 100, sampled: 10e6},
						{count: 50, measured: 1e6},
						{count: 50, measured: 1e6},
						{},
						{count: 9, sampled: 3e6},
					],
				},
				{
					command: "./new",
					shown: HOSTILE[1],
					counts: [
						{count: 400, sampled: 20e6},
						{count: 50, measured: 1e6},
						{},
						{count: 50, measured: 1e6},
						{count: 10, sampled: 3.2e6},
					],
				},
			],
			length: "CPU time",
			values: [
				[100e6, 80e6, 40e6, 0, 9e6],
				[400e6, 20e6, 0, 60e6, 10e6],
			],
			variants: [{name: "[GPU_Kernel]gemm<64>(float*)", match: "template", variant: HOSTILE[2], on: 1}],
			tables: [
				{
					key: "totals",
					rows: [
						{name: "GPU time", before: 120e6, after: 80e6, bound: 3e6, verdict: 6},
						{name: "memory at the peak", unit: 1, before: 0, after: 2048, bound: 1, verdict: 3},
					],
				},
				{
					key: "cuda_errors",
					rows: [
						{name: HOSTILE[3], unit: 2, before: 1, after: 3, bound: 1, verdict: 5},
						{name: "equal", unit: 2, before: 1, after: 1, bound: 1, verdict: 0},
					],
				},
			],
		},
	},
	empty: {},
	part: {facts: {command: "./app", shown: "--time 20..23"}},
	viewed: {facts: {command: "./app", shown: "--my-code --trim-to --time"}},
	hostile: {
		facts: {command: HOSTILE[0]},
		losses: {[HOSTILE[1]]: 1},
		frames: HOSTILE.map((name, i) => ({
			name,
			file: HOSTILE[1],
			module: HOSTILE[0],
			...(i % 2 === 0 ? {role: 4, folded: name} : {role: 0}),
		})),
		stacks: HOSTILE.map((_, frame) => ({outer: 0, frame, site: frame})),
		places: [
			[0, 1, 0, 0, 0],
			[1, 2, 1, 0, 1],
		],
		processes: [
			{number: 0, pid: 1, name: HOSTILE[0]},
			{number: 1, pid: 2, name: HOSTILE[4]},
		],
		threads: [
			{process: 0, tid: 1, name: HOSTILE[1]},
			{process: 1, tid: 2, name: HOSTILE[1]},
		],
		devices: [{process: 0, number: 0, label: HOSTILE[1], name: HOSTILE[0]}],
		rows: HOSTILE.map((_, i) => ({stack: i + 1, kind: i % 4, place: i % 2, ns: 100 + i})),
	},
	deep: {
		frames: [{name: "f"}, {name: "g"}],
		stacks: Array.from({length: 100000}, (_, i) => ({outer: i, frame: i % 2})),
		rows: [{stack: 100000, kind: 0, ns: 5}],
	},
	big: makeBigProfile(200000),
};

// All of the profile as a flame graph, unless the fragment says other: the overview is first, with GPU
// time and own code alone.
const BASE = "#view=flame&kind=all&my=&time=";
const plainAddress = (name, fragment = "") =>
	`${pathToFileURL(join(folder, `${name}.html`))}${fragment}`;
const address = (name, fragment = "") => plainAddress(name, `${BASE}${fragment.replace("#", "&")}`);
const texts = selector =>
	browser.evaluate(
		`Array.from(document.querySelectorAll(${JSON.stringify(selector)}), e => e.textContent)`,
	);
const click = text =>
	browser.evaluate(`(() => { const found = [...document.querySelectorAll("button")].find(b =>
	b.offsetParent && b.textContent.startsWith(${JSON.stringify(text)})); found.click(); })()`);
const boxes = () =>
	browser.evaluate(
		"new Promise(done => requestAnimationFrame(() => done(document.documentElement.app.views.flame.boxes())))",
	);
// What the address has besides BASE.
const hash = async () =>
	(await browser.evaluate("decodeURIComponent(location.hash)"))
		.replace(/(?<=[#&])(view=flame|kind=all|my=|time=)(&|$)/g, "")
		.replace(/[#&]$/, "");
const CANVAS = ".graph:not([hidden]) canvas";
const focusCanvas = () => browser.evaluate(`document.querySelector("${CANVAS}").focus()`);

async function doubleClick(x, y) {
	for (const clickCount of [1, 2])
		for (const type of ["mousePressed", "mouseReleased"])
			await browser.send("Input.dispatchMouseEvent", {type, x, y, button: "left", clickCount});
}

// The middle of a box, where the pointer would be.
async function pointAt(name) {
	const box = (await boxes()).find(other => other.name === name);
	const area = await browser.evaluate(
		'(() => { const r = document.querySelector(".graph:not([hidden]) canvas").getBoundingClientRect(); return [r.left, r.top]; })()',
	);

	assert.ok(box, `no box ${name}`);
	return [area[0] + box.x + Math.min(box.width, 200) / 2, area[1] + box.y + 10];
}

before(async () => {
	for (const [name, profile] of Object.entries(PAGES))
		writeFileSync(join(folder, `${name}.html`), makePage(page, profile));
	browser = await openChromium(process.env.CHROMIUM ?? "chromium");
});

beforeEach(async () => {
	browser.problems.length = 0;
	await browser.show({width: 1200, height: 800});
});

after(async () => {
	await browser?.close();
	rmSync(folder, {recursive: true, force: true});
});

function noProblems() {
	assert.deepEqual(browser.problems, []);
}

test("the flame graph has a box for each frame", async () => {
	await browser.open(address("small"));
	const found = await boxes();

	assert.deepEqual(found.map(box => [box.name, box.total]).sort(), [
		["[GPU_Memcpy HtoD]", 40],
		["all: 200 ns", 200],
		["cudaLaunchKernel", 100],
		["forward", 100],
		["gemm<float, 64>", 100],
		["main", 200],
		["tokenize", 60],
	]);
	assert.equal(await browser.evaluate("document.title"), "./app --fast – profile");
	noProblems();
});

test("a click selects, a double-click zooms in, Escape and the back button zoom out", async () => {
	await browser.open(address("small"));
	await browser.click(...(await pointAt("tokenize")));
	assert.equal(await hash(), "#pick=2");
	assert.equal((await boxes()).length, 7);
	assert.deepEqual(await texts(".details .name"), ["tokenize"]);
	assert.deepEqual(await texts(".crumbs button"), ["all", "main", "tokenize"]);
	// another one is only pointed at
	await browser.move(...(await pointAt("forward")));
	assert.deepEqual(await texts(".details .name"), ["tokenize"]);
	await browser.evaluate("history.back()");
	await browser.until('document.querySelector(".details .name").textContent === "all"');
	await doubleClick(...(await pointAt("tokenize")));
	assert.equal(await hash(), "#zoom=2&pick=2");
	assert.deepEqual((await boxes()).map(box => box.name).sort(), [
		"all: 200 ns",
		"main",
		"tokenize",
	]);
	await browser.key("Escape");
	assert.equal(await hash(), "");
	assert.equal((await boxes()).length, 7);
	await browser.evaluate("history.back()");
	await browser.until('location.hash.includes("zoom=2")');
	await browser.until("document.documentElement.app.views.flame.boxes().length === 3");
	noProblems();
});

test("a comparison begins with what changed, and shows noise on request", async () => {
	const rows = async () =>
		(await texts(".table tbody tr")).map(text => text.replace(/\s+/g, " "));
	const names = () => texts(".table tbody td.name button");

	await browser.open(plainAddress("compared"));
	assert.match((await texts("#findings h2")).join(), /^GPU time: 120 ms before, 80.0 ms after, −40.0 ms \(−33.3 %\), beyond noise/);
	assert.match((await texts("#findings h2")).join(), /The largest change: parse, \+300 ms \(\+300.0 %\)/);
	const said = await texts("#findings li");

	assert.ok(said.includes("memory at the peak: 0 B before, 2.00 KiB after, +2.00 KiB, beyond noise (0 B)"));
	assert.ok(said.includes(`Before: ${HOSTILE[0]}, 1 run`));
	assert.ok(said.includes(`After: ./new, 1 run, with ${HOSTILE[1]}`));
	assert.ok(said.some(text => text.includes("differ in length (CPU time)")));
	assert.deepEqual(await texts(".lists h3"), ["Kernels: 3 of 3", "Functions: 1 of 2", "Launch sites: 1 of 1"]);
	assert.match((await texts(".lists li")).join(), /gemm<64>80.0 ms → 20.0 ms, −60.0 ms \(−75.0 %\)/);
	await click("All changes");
	assert.ok((await texts(".lists h3")).includes("Functions: 2 of 2"));
	await click("Significant");
	await click("Functions: 1 of 2");
	assert.deepEqual(await names(), ["parse"]);
	await click("What changed");
	assert.deepEqual(await names(), ["parse", "gemm<64>", "late", HOSTILE[1]]);
	assert.match((await rows())[0], /Functions100 ms400 ms\+300 ms\+300.0 %.*more$/);
	assert.match((await rows())[3], /40.0 ms0−40.0 ms−100.0 %.*gone$/);
	await click("All changes");
	assert.deepEqual((await names()).at(-1), "quiet");
	assert.match((await rows()).at(-1), /noise$/);
	// beside stacks: bytes and numbers
	await click("Totals");
	assert.match((await rows()).join(), /memory at the peak0 B2.00 KiB\+2.00 KiB0 Bnew/);
	await click("Failed calls");
	assert.equal((await rows()).length, 2);
	await click("Significant");
	assert.match((await rows()).join(), /13\+2\+200.0 %0more/);
	noProblems();
});

test("a comparison's picture has widths of a side, colours of changes, and says both amounts", async () => {
	const names = async () => (await boxes()).map(({name}) => name).sort();

	await browser.open(plainAddress("compared", "#view=flame&kind=all"));
	assert.ok(!(await names()).includes(HOSTILE[1]) && (await names()).includes("late"));
	assert.ok((await texts("#note")).join().startsWith("1 frame of 40.0 ms only before"));
	await click("Before");
	assert.ok((await names()).includes(HOSTILE[1]) && !(await names()).includes("late"));
	await click("Both");
	assert.ok((await names()).includes(HOSTILE[1]) && (await names()).includes("late"));
	assert.equal((await texts("#note")).join(), "");
	await browser.move(...(await pointAt("gemm<64>")));
	await browser.until('document.querySelector(".tip")?.textContent.includes("80.0 ms before, 20.0 ms after, −60.0 ms (−75.0 %)")');
	await browser.click(...(await pointAt("gemm<64>")));
	const facts = (await texts(".details .facts div")).join(" ");

	for (const fact of ["before80.0 ms", "after20.0 ms", "change−60.0 ms (−75.0 %), beyond noise", `before, by template${HOSTILE[2]}`])
		assert.ok(facts.includes(fact), facts);
	const fills = await browser.evaluate(`(() => {
		const {app} = document.documentElement, found = {};
		const graph = {byKind: app.weights.byKind};
		for (let i = 2; i < app.tree.count; i++) found[app.profile.frames.name[app.tree.frame[i]]] = app.difference.colourOf(graph, i).fill;
		return found; })()`);

	assert.deepEqual(fills, {
		parse: "#dd6a57",
		"[GPU_Kernel]gemm<64>(float*)": "#4b9bcb",
		[HOSTILE[1]]: "#0b4a8a",
		"[GPU_Kernel]late": "#9b0f26",
		quiet: "#e3e6ea",
	});
	assert.deepEqual((await texts(".legend li")).slice(0, 2), ["new", "over 50 % more"]);
	// callers are judged, too; and shares
	await click("Callers");
	await browser.move(...(await pointAt("late")));
	await browser.until('document.querySelector(".tip")?.textContent.includes("0 before, 60.0 ms after, +60.0 ms")');
	await click("Shares");
	await browser.until('document.querySelector("#note").textContent.includes("Shares:")');
	await browser.move(...(await pointAt("gemm<64>")));
	await browser.until('document.querySelector(".tip")?.textContent.includes("53.3 ms before, 20.0 ms after")');
	noProblems();
});

test("a row of a comparison leads to its box, also if one side or the kind of time lacks it", async () => {
	for (const [table, row, name] of [
		["kernels", "<img", HOSTILE[1]],
		["functions", "parse", "parse"],
	]) {
		await browser.open(plainAddress("compared", `#view=tables&table=${table}`));
		await click(row);
		await browser.until('location.hash.includes("view=flame") && location.hash.includes("widths=both")');
		assert.ok((await boxes()).some(box => box.name === name));
	}
	noProblems();
});

test("threads that only wait for work are one box, which opens and closes", async () => {
	const names = async () => (await boxes()).map(box => box.name).sort();
	const closed = ["all: 100 ns", "main", "▸ [idle threads of pools]"],
		idle = ["[blocked: futex]", "[idle threads of pools]", "all: 100 ns", "next_task"];

	await browser.open(address("pools"));
	assert.deepEqual(await names(), closed);
	await doubleClick(...(await pointAt("▸ [idle threads of pools]")));
	assert.deepEqual(await names(), idle);
	await browser.key("Escape");
	assert.deepEqual(await names(), closed);
	// by keys: the first box is it, and inside is what was closed
	await focusCanvas();
	for (const key of ["Home", "ArrowDown", "ArrowDown"]) await browser.key(key);
	assert.deepEqual(await names(), idle);
	// what is searched is seen
	await browser.key("Escape");
	await browser.key("/");
	await browser.type("futex");
	await browser.until('location.hash.includes("&q=")');
	assert.deepEqual(await names(), [...idle, "main"].sort());
	noProblems();
});

test("hovering says what a box is, and a click tells more", async () => {
	await browser.open(address("small"));
	await browser.click(...(await pointAt("gemm<float, 64>")));
	await browser.until(
		'document.querySelector(".details .name").textContent.includes("gemm<float, 64>(float*)")',
	);
	const facts = (await texts(".details .facts div")).join(" ");

	for (const fact of ["total100 ns (50.0 %)", "own100 ns", "operations10", "mean10 ns"])
		assert.ok(facts.includes(fact), facts);
	assert.match((await texts(".tip")).join(), /gemm<float, 64>100 ns · 50.0 %/);
	noProblems();
});

test("only samples are counted as samples", async () => {
	const factsOf = async box => {
		await browser.click(...(await pointAt(box)));
		await browser.until(
			`document.querySelector(".details .name").textContent.includes(${JSON.stringify(box.split(":")[0])})`,
		);
		return texts(".details .facts div");
	};

	await browser.open(address("unsampled"));
	assert.ok((await factsOf("all: 70.0 ms")).includes("samples2"));
	assert.ok((await factsOf("main")).includes("samples2"));
	assert.deepEqual(
		(await factsOf("[not sampled]")).filter(fact => /sample|operation/.test(fact)),
		[],
	);
	noProblems();
});

test("keys go from box to box", async () => {
	await browser.open(address("small"));
	await focusCanvas();
	for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"]) await browser.key(key);
	assert.equal(await hash(), "#zoom=2&pick=2");
	await browser.key("Backspace");
	assert.equal(await hash(), "");
	await browser.key("3");
	assert.equal(await hash(), "#view=tables");
	await browser.key("?");
	assert.equal(await browser.evaluate('document.getElementById("help").open'), true);
	await click("Close");
	assert.equal(await browser.evaluate('document.getElementById("help").open'), false);
	await browser.key("/");
	assert.equal(await browser.evaluate("document.activeElement.id"), "search");
	noProblems();
});

test("keys and the wheel stretch, dragging moves", async () => {
	await browser.open(address("small"));
	const width = async name => (await boxes()).find(box => box.name === name)?.width;
	const before = await width("tokenize"),
		[x, y] = await pointAt("tokenize");

	await focusCanvas();
	await browser.key("+");
	const stretched = await width("tokenize");

	assert.ok(stretched > before, `${stretched}`);
	await browser.send("Input.dispatchMouseEvent", {
		type: "mouseWheel",
		x,
		y,
		deltaX: 0,
		deltaY: -100,
		modifiers: 2,
	});
	await browser.until(
		`document.documentElement.app.views.flame.boxes().find(box => box.name === "tokenize").width > ${stretched}`,
	);
	const {x: left} = (await boxes()).find(box => box.name === "tokenize");
	const mouse = (type, to) =>
		browser.send("Input.dispatchMouseEvent", {
			type,
			x: to,
			y,
			button: "left",
			buttons: 1,
			clickCount: 1,
		});

	await mouse("mousePressed", 600);
	for (let to = 600; to >= 0; to -= 100) await mouse("mouseMoved", to);
	await mouse("mouseReleased", 0);
	assert.ok((await boxes()).find(box => box.name === "tokenize").x < left);
	assert.equal(await hash(), "");
	await browser.key("Escape");
	assert.equal(await width("tokenize"), before);
	noProblems();
});

test("a search says its share", async () => {
	await browser.open(address("small"));
	await browser.key("/");
	await browser.type("forward|gemm");
	await browser.until('location.hash.includes("&q=")');
	assert.deepEqual(await texts("#matched"), ["50.0 % · 100 ns"]);
	await browser.key("Escape");
	assert.equal(await hash(), "");
	await browser.key("/");
	await browser.type("gemm<float, 64>(");
	await browser.until('document.getElementById("matched").textContent === "50.0 % · 100 ns · plain text"');
	noProblems();
});

test("n and N go from match to match, the largest first", async () => {
	await browser.open(address("small"));
	await browser.key("/");
	await browser.type("tokenize|gemm");
	await browser.key("Enter", "\r");
	// a pointer at rest has no say
	await browser.move(...(await pointAt("main")));
	for (const [key, zoom] of [
		["n", 5],
		["n", 2],
		["n", 5],
		["N", 2],
	]) {
		await browser.key(key);
		assert.match(await hash(), new RegExp(`(^#|&)zoom=${zoom}&pick=${zoom}(&|$)`));
	}
	await browser.key("Escape");
	await browser.key("N");
	assert.match(await hash(), /(^#|&)zoom=2(&|$)/);
	noProblems();
});

test("a part of a run says so", async () => {
	await browser.open(address("part"));
	assert.deepEqual(await texts("#shown:not([hidden])"), ["with --time 20..23"]);
	assert.deepEqual(await texts(".where"), ["the part of the run in this file"]);
	await browser.open(address("viewed"));
	assert.deepEqual(await texts("#shown:not([hidden])"), ["with --my-code --trim-to --time"]);
	assert.deepEqual(await texts(".where"), ["the whole profile"]);
	await browser.open(address("small"));
	assert.deepEqual(await texts("#shown:not([hidden])"), []);
	assert.deepEqual(await texts(".where"), ["the whole profile"]);
	await browser.open(address("small", "#kind=gpu"));
	assert.deepEqual(await texts(".where"), ["everything that passes the filter"]);
	noProblems();
});

test("what measuring cost is all there", async () => {
	await browser.open(address("small", "#view=about"));
	const text = await browser.evaluate("document.body.textContent");

	assert.match(text, /CPU time in the program, apart from CUPTI3\.00 ms/);
	assert.match(text, /CPU time of the profiler, while the command ran1\.00 ms/);
	assert.doesNotMatch(text, /CPU time in the kernel/);
	noProblems();
});

test("callers inside callees", async () => {
	await browser.open(address("small", "#inverted=1"));
	const names = (await boxes()).map(box => [box.name, box.total]);

	assert.deepEqual(
		names
			.filter(([name]) => name === "main")
			.map(([, total]) => total)
			.sort(),
		[100, 40, 60],
	);
	await click("Callees");
	assert.equal(await hash(), "");
	noProblems();
});

test("sandwich: callers above, callees below, of a box and of a row of a table", async () => {
	const upper = () =>
		browser.evaluate(
			"new Promise(done => requestAnimationFrame(() => done(document.documentElement.app.views.flame.boxes(true))))",
		);
	const names = async list => (await list()).map(box => `${box.name} ${box.total}`);

	await browser.open(address("small", "#zoom=3"));
	await focusCanvas();
	await browser.key("c");
	assert.equal(await hash(), "#inverted=2&frame=2");
	assert.deepEqual(await names(upper), ["main 100"]);
	assert.deepEqual(await names(boxes), ["forward 100", "cudaLaunchKernel 100", "gemm<float, 64> 100"]);
	assert.deepEqual(await texts(".details .name"), ["forward"]);
	// the keys go from the frame to both sides
	await browser.evaluate('document.activeElement.blur()');
	await browser.key("ArrowUp");
	assert.deepEqual(await texts(".details .name"), ["main"]);
	await browser.key("ArrowDown");
	await browser.key("ArrowDown");
	assert.deepEqual(await texts(".details .name"), ["cudaLaunchKernel"]);
	await browser.key("Escape");
	assert.equal(await hash(), "");
	// from the overview, in the kind and with the filters that are shown
	await browser.open(plainAddress("small"));
	await click("gemm<float, 64>");
	assert.equal(await hash(), "#inverted=2&frame=4");
	assert.deepEqual(await names(upper), ["cudaLaunchKernel 100", "forward 100", "main 100"]);
	noProblems();
});

test("overview: what took most, each with a way to more", async () => {
	await browser.open(plainAddress("small"));
	assert.deepEqual(await texts("nav button[aria-pressed=true]"), ["Overview"]);
	assert.deepEqual(await texts(".overview h3"), ["GPU kernels", "Launched by", "On the CPU"]);
	assert.deepEqual(await texts(".overview .top li span"), [
		"100 ns · 71.4 %",
		"100 ns · 71.4 %",
		"40 ns · 28.6 %",
		"60 ns · 100.0 %",
	]);
	await click("Launched by");
	assert.equal(await hash(), "#view=tables&table=sites");
	await browser.open(plainAddress("small"));
	// what took CPU time is shown by CPU time
	await click("tokenize");
	assert.equal(await hash(), "#kind=cpu&inverted=2&frame=1");
	assert.deepEqual((await boxes()).map(box => `${box.name} ${box.total}`), ["tokenize 60"]);
	await browser.open(plainAddress("small"));
	// a search leads to where it shows something
	await browser.key("/");
	await browser.type("gemm");
	await browser.until('location.hash.includes("view=flame") && location.hash.includes("q=gemm")');
	await browser.open(plainAddress("small"));
	await click("Lost or incomplete: 12 CPU samples dropped");
	assert.equal(await hash(), "#view=about");
	await browser.open(plainAddress("empty"));
	await browser.open(plainAddress("hostile"));
	assert.equal(await browser.evaluate("window.hacked"), undefined);
	noProblems();
});

test("my code: others' is folded, and no time is lost", async () => {
	const sizes = async () => (await boxes()).map(box => `${box.name} ${box.total}`).sort();

	await browser.open(address("mine"));
	assert.equal((await boxes()).length, 9);
	await click("My code");
	assert.equal(await hash(), "");
	const folded = [
		"[start] 10",
		"[torch] 90",
		"all: 100 ns 100",
		"cudaLaunchKernel 40",
		"forward 90",
		"gemm 40",
		"main 90",
	];

	assert.deepEqual(await sizes(), folded);
	assert.deepEqual(await texts('button[aria-pressed="true"]'), [
		"Flame graph",
		"All",
		"Callees",
		"By time",
		"Root on top",
		"My code",
	]);
	await browser.evaluate("history.back()");
	await browser.until("document.documentElement.app.views.flame.boxes().length === 9");
	await browser.key("o");
	assert.deepEqual(await sizes(), folded);
	// by a link
	await browser.open(address("mine", "#my=1"));
	assert.deepEqual(await sizes(), folded);
	await browser.open(address("mine", "#inverted=1&my=1"));
	assert.deepEqual(
		(await sizes()).filter(size => size.startsWith("[torch]")),
		["[torch] 40", "[torch] 50"],
	);
	// tables
	await browser.open(address("mine", "#my=1&view=tables&table=sites"));
	assert.match((await texts(".table tbody td")).join(), /^forward \(train.py\),1,40 ns/);
	await browser.key("o");
	assert.match((await texts(".table tbody td")).join(), /^call \(module.py\),1,40 ns/);
	await browser.key("o");
	await click("Functions");
	assert.match((await texts(".table tbody td")).join(), /^\[torch\],50 ns,50.0 %,90 ns/);
	// the chosen time alone
	await browser.open(address("mine", "#my=1&time=110..320"));
	await browser.until('document.documentElement.dataset.timeline === "1"');
	assert.deepEqual(await sizes(), [
		"[torch] 60",
		"all: 60 ns 60",
		"cudaLaunchKernel 20",
		"forward 60",
		"gemm 20",
		"main 60",
	]);
	// from a kernel of the timeline to its stack, which is another one here
	await browser.open(address("mine", "#my=1&view=timeline&span=2"));
	await browser.until('document.documentElement.dataset.timeline === "1"');
	await click("In the flame graph");
	assert.equal((await boxes()).at(-1).name, "gemm");
	noProblems();
});

test("my code: where nothing can be folded, the button says why", async () => {
	for (const [name, reason] of [
		["folded", /made with --my-code/],
		["small", /The profile has no code below the run's working directory/],
		["empty", /The profile has no code below the run's working directory/],
	]) {
		await browser.open(address(name, "#my=1"));
		const button = await browser.evaluate(
			`(() => { const b = [...document.querySelectorAll("button")].find(b => b.textContent === "My code");
			return [b.disabled, b.title, b.getAttribute("aria-pressed")]; })()`,
		);

		assert.equal(button[0], true);
		assert.match(button[1], reason);
		assert.equal(button[2], "false");
		await browser.key("o");
		assert.equal(await hash(), "#my=1");
	}
	assert.equal((await boxes()).length, 0);
	await browser.open(address("hostile", "#my=1"));
	assert.equal((await boxes())[0].total, 1045);
	assert.equal(await browser.evaluate("window.hacked"), undefined);
	noProblems();
});

test("filters: kinds of time, processes, devices", async () => {
	await browser.open(address("small"));
	await click("CPU");
	assert.equal((await boxes())[0].total, 60);
	await browser.evaluate(
		`(() => { const s = document.querySelector('select[aria-label="Filter by process"]'); s.value = "1"; s.dispatchEvent(new Event("change")); })()`,
	);
	assert.equal(await hash(), "#kind=cpu&process=1");
	assert.equal((await boxes())[0].total, 20);
	await click("No filter");
	assert.equal((await boxes())[0].total, 140); // GPU time is the default
	await browser.open(address("small", "#device=GPU%200"));
	assert.equal((await boxes())[0].total, 140);
	await browser.open(address("small", "#process=77"));
	assert.deepEqual(await boxes(), []);
	noProblems();
});

test("unnamed functions are one box; kernels have short labels, and their names in the panel", async () => {
	const shown = async () => (await boxes()).slice(1).map(({name, total}) => [name, total]).sort();

	await browser.open(address("unnamed"));
	assert.deepEqual(await shown(), [
		["[libx.so.1] x 3", 60],
		["gemm nn 64x64x8", 20],
		["gemm nt 64x64x8", 30],
		["main", 60],
	]);
	await browser.click(...(await pointAt("gemm nt 64x64x8")));
	assert.match((await texts(".details .name")).join(), /^\[GPU_Kernel\]sm80_xmma_gemm_.*stage3$/);
	await browser.click(...(await pointAt("[libx.so.1] x 3")));
	assert.match((await texts(".facts")).join(), /unnamed functions\+0x1 \+0x2 \+0x3/);
	await browser.open(address("unnamed", "#time=200..300"));
	await browser.until('document.documentElement.dataset.timeline === "1"');
	assert.deepEqual(await shown(), [
		["[libx.so.1] x 3", 30],
		["gemm nt 64x64x8", 30],
		["main", 30],
	]);
	noProblems();
});

test("export: the flame graph as a picture and as stacks, a table as Markdown", async () => {
	const saved = async (label, name) => {
		const at = join(folder, "saved", name);

		rmSync(at, {force: true});
		await browser.evaluate('document.querySelector("#export summary").click()');
		await browser.until(`[...document.querySelectorAll("#export button")].some(b => b.textContent === "${label}")`);
		await click(label);
		for (let i = 0; i < 200 && !existsSync(at); i++) await new Promise(resolve => setTimeout(resolve, 50));
		assert.equal(await browser.evaluate('document.getElementById("export").open'), false);
		return readFileSync(at, "utf8");
	};
	const disabled = async () => {
		await browser.evaluate('document.querySelector("#export summary").click()');
		await browser.until('document.querySelector("#export button")');
		return texts("#export button:disabled");
	};

	await browser.send("Page.setDownloadBehavior", {behavior: "allow", downloadPath: join(folder, "saved")});
	await browser.open(address("small", "#group=thread&kind=cpu"));
	assert.equal(
		await saved("Folded stacks", "profile.folded"),
		"main 1 of app 1;main;tokenize 40\nhelper 2 of app 2;main;tokenize 20\n",
	);
	await browser.open(address("small", "#inverted=2&frame=2"));
	assert.equal(
		await saved("Folded stacks", "profile.folded"),
		"main;forward;cudaLaunchKernel;[GPU_Kernel]gemm<float, 64>(float*) 100\n",
	);
	const svg = await saved("Flame graph as SVG", "profile.svg");

	for (const name of ["main", "forward", "gemm&lt;float, 64&gt;"]) assert.ok(svg.includes(`>${name}</text>`), name);
	await browser.open(address("hostile"));
	writeFileSync(join(folder, "hostile.svg"), await saved("Flame graph as SVG", "profile.svg"));
	assert.deepEqual(await disabled(), ["Table as Markdown"]);
	assert.equal(await browser.evaluate("document.documentElement.app.state.zoom"), "");
	await browser.open(address("small", "#view=tables&table=copies"));
	assert.match(await saved("Table as Markdown", "profile.md"), /^## .*\n\n\| .*\|\n\|---\|.*\n\| .*HtoD.* 100 GB\/s \|/);
	assert.deepEqual(await disabled(), ["Flame graph as SVG", "Folded stacks"]);
	noProblems();
	await browser.send("Page.navigate", {url: pathToFileURL(join(folder, "hostile.svg")).href});
	await browser.until('document.readyState === "complete" && document.documentElement.localName === "svg"');
	assert.equal(await browser.evaluate("document.querySelector('script, img, parsererror')"), null);
	assert.equal(await browser.evaluate("window.hacked"), undefined);
	noProblems();
});

test("groups: beside filters, own code and search; all time is there once", async () => {
	const groupBy = value =>
		browser.evaluate(
			`(() => { const s = document.querySelector('select[aria-label="Group by"]'); s.value = "${value}"; s.dispatchEvent(new Event("change")); })()`,
		);
	const roots = async () => {
		const [all, ...rest] = await boxes();

		return rest
			.filter(({y}) => y === all.y + 20)
			.sort((a, b) => a.x - b.x)
			.map(({name, total}) => [name, total]);
	};

	await browser.open(address("small"));
	await groupBy("thread");
	assert.equal(await hash(), "#group=thread");
	assert.deepEqual(await roots(), [
		["main 1 of app 1", 180],
		["helper 2 of app 2", 20],
	]);
	await click("CPU");
	assert.deepEqual(await roots(), [
		["main 1 of app 1", 40],
		["helper 2 of app 2", 20],
	]);
	await browser.evaluate("document.documentElement.app.set({q: 'helper'})");
	assert.deepEqual(await texts("#matched"), ["33.3 % · 20 ns"]);
	await groupBy("stream");
	assert.deepEqual(await roots(), [["[no stream]", 60]]);
	await browser.open(address("small", "#group=stream&view=tables"));
	assert.ok((await texts(".table tbody td")).includes("100 ns"));
	await browser.open(address("mine", "#group=package"));
	const before = await roots();

	await click("My code");
	assert.deepEqual(await roots(), before);
	assert.ok(before.some(([name]) => name === "[torch]"));
	await browser.open(address("mine", "#group=package&time=100..120"));
	await browser.until("document.documentElement.dataset.timeline");
	assert.deepEqual(await roots(), [["[torch]", 20]]);
	await browser.open(address("small", "#group=nonsense"));
	assert.equal((await boxes())[0].total, 200);
	noProblems();
});

test("every table, the name first; a row leads to its frame", async () => {
	const cells = () => texts(".table tbody td");
	const clickRow = number => browser.evaluate(`document.querySelectorAll(".table tbody tr")[${number}].click()`);

	await browser.open(address("small", "#view=tables"));
	assert.deepEqual(await cells(), ["gemm<float, 64>", "10", "100 ns", "10 ns", "71.4 %", "GEMM"]);
	assert.match(
		await browser.evaluate('document.querySelector("td.name").title'),
		/^gemm<float, 64>\n\[GPU_Kernel\]gemm<float, 64>\(float\*\)\nShow its callers and callees$/,
	);
	await click("Copies and sets");
	assert.deepEqual(await cells(), [
		"[GPU_Memcpy HtoD]",
		"1",
		"3.91 KiB",
		"40 ns",
		"40 ns",
		"100 GB/s",
		"28.6 %",
	]);
	await click("Launch sites");
	assert.deepEqual(await texts(".table tbody td.name"), ["forward", "mainapp"]);
	await click("Processes and threads");
	assert.deepEqual(await texts(".table tbody td.text"), ["main 1", "app 1", "helper 2", "app 2"]);
	await clickRow(1);
	assert.equal(await hash(), "#process=1&thread=1.2&table=threads");
	await browser.open(address("small", "#view=tables&table=streams"));
	assert.deepEqual((await cells()).slice(0, 3), ["GPU 0, stream 7", "1", "app 1"]);
	await click("Functions");
	assert.deepEqual((await cells()).slice(0, 5), ["tokenize", "60 ns", "30.0 %", "60 ns", "30.0 %"]);
	await browser.evaluate('document.querySelector("thead button").click()');
	assert.equal(await browser.evaluate('document.querySelector("th[aria-sort]").textContent'), "Function");
	await browser.open(address("small", "#view=tables&table=launch_shapes"));
	assert.deepEqual((await cells()).slice(0, 6), [
		"gemm<float, 64>",
		"1",
		"100 ns",
		"50.0 %",
		"1.25",
		"<img src=x onerror=alert(1)>",
	]);
	assert.match((await texts(".table")).join(), /3 more rows left out/);
	assert.doesNotMatch((await texts(".table")).join(), /does not apply/);
	await clickRow(0);
	assert.match(await hash(), /^#.*frame=4&table=launch_shapes$/);
	assert.match((await texts(".chip")).join(), /gemm<float, 64>/);
	await browser.open(address("small", "#view=tables&table=launch_shapes&kind=cpu"));
	assert.match((await texts(".table")).join(), /the filter does not apply to this table/);
	await browser.open(address("small", "#view=tables&table=kernels&kind=cpu"));
	assert.match((await texts(".table")).join(), /Nothing is there, or the filter hides it/);
	noProblems();
});

test("tables: those of what there is, in groups", async () => {
	const tabs = () => texts(".tabs button");

	await browser.open(address("small", "#view=tables"));
	assert.deepEqual(await texts(".tabs .group"), [
		"GPU workKernelsCopies and setsLaunch sitesClassesLayersKinds of layers",
		"CPUFunctionsCUDA calls",
		"Threads, GPUsProcesses and threadsDevices and streams",
		"Inside kernelsLaunch shapesHardware counters",
	]);
	await browser.open(address("empty", "#view=tables&table=kernels"));
	assert.deepEqual(await tabs(), ["Functions"]);
	// old links lead to what there is
	await browser.open(address("unsampled", "#view=tables&table=streams"));
	assert.deepEqual(await tabs(), ["Functions"]);
	assert.deepEqual(await texts('.tabs button[aria-pressed="true"]'), ["Functions"]);
	assert.deepEqual(await texts("nav button"), ["Overview", "Flame graph", "Tables", "About"]);
	await browser.open(address("unsampled", "#view=about"));
	assert.doesNotMatch((await texts(".about")).join(), /GPU|[Ww]aiting/);
	await browser.open(address("pools", "#view=tables&table=launch_shapes"));
	assert.match((await texts(".table th")).join(), /Function/);
	noProblems();
});

test("tables: a class leads to its kernels, a kind of layers to its layers, a name to its frame", async () => {
	const open = async (table, row) => {
		await browser.open(address("small", `#view=tables&table=${table}`));
		await browser.evaluate(`document.querySelectorAll("tbody tr")[${row}].click()`);
	};

	await open("kernel_classes", 0);
	assert.equal(await hash(), "#view=tables&q=^GEMM$");
	assert.deepEqual(await texts("td.name"), ["gemm<float, 64>"]);
	await open("kernel_classes", 1);
	assert.equal(await hash(), "#view=tables&table=copies");
	await open("layer_kinds", 0);
	assert.deepEqual(await texts("td.name"), ["[blocks.0.mlp]", "[blocks.11.mlp]"]);
	// a call of the program is known, another is not
	await open("api_calls", 1);
	assert.equal(await hash(), "#view=tables&table=api_calls");
	await open("api_calls", 0);
	assert.match(await hash(), /frame=3&table=api_calls$/);
	noProblems();
});

test("tables: counters have a row for a kernel", async () => {
	await browser.open(address("small", "#view=tables&table=hardware_counters"));
	assert.deepEqual(await texts(".table th"), ["Kernel", "Launches", "sm__throughput.avg.pct%", "dram__bytes.sumbyte"]);
	assert.deepEqual(await texts(".table tbody tr"), ["gemm<float, 64>90.1813,280", "gemm<float, 64>2–5"]);
	assert.equal(
		await browser.evaluate('document.querySelectorAll(".table td")[2].title'),
		"0.17 to 0.19, in 4 measured launches",
	);
	assert.deepEqual(await browser.evaluate("document.documentElement.app.views.tables.rowsShown()"), {
		title: "Hardware counters",
		head: ["Kernel", "Launches", "sm__throughput.avg.pct, %", "dram__bytes.sum, byte"],
		rows: [
			["gemm<float, 64>", "9", "0.18", "13,280"],
			["gemm<float, 64>", "2", "–", "5"],
		],
	});
	noProblems();
});

test("tables: columns without room are behind a button, and the name stays in sight", async () => {
	const isCut = () =>
		browser.evaluate('(({scrollWidth, clientWidth}) => scrollWidth > clientWidth)(document.querySelector(".table"))');

	for (const width of [1280, 420]) {
		await browser.show({width, height: 600});
		await browser.open(address("small", "#view=tables&table=api_calls"));
		assert.equal(await isCut(), false, width);
		const [more] = await texts(".table-tabs .tools button");

		assert.match(more, /^\d+ more columns?$/);
		const {head, rows} = await browser.evaluate("document.documentElement.app.views.tables.rowsShown()");

		assert.deepEqual([head.length, rows.length], [31, 2]);
		await click(more);
		assert.match(await hash(), /columns=1$/);
		assert.equal(await isCut(), true);
		await browser.evaluate('document.querySelector(".table").scrollTo(9999, 0)');
		assert.equal(await browser.evaluate('document.querySelector("td.name").getBoundingClientRect().left'), 0);
		// nothing is over the name
		assert.equal(
			await browser.evaluate(`(() => { const {right, top} = document.querySelector("td.name").getBoundingClientRect();
				return Array.from({length: Math.floor(right)}, (_, x) => document.elementFromPoint(x, top + 5))
					.every(element => element.closest("td").classList.contains("name")); })()`),
			true,
		);
		await click("Fewer columns");
		assert.equal(await isCut(), false);
	}
	// the window becomes wider
	const count = () => browser.evaluate('document.querySelectorAll(".table th").length');
	const narrow = await count();

	await browser.show({width: 1900, height: 600});
	await browser.until(`document.querySelectorAll(".table th").length > ${narrow}`);
	noProblems();
});

test("no table is out of the window", async () => {
	await browser.show({width: 760, height: 600});
	await browser.open(address("small", "#view=tables"));
	const last = `Math.max(...[...document.querySelectorAll(".table-tabs button")]
		.map(button => button.getBoundingClientRect().right))`;

	assert.ok((await browser.evaluate(last)) <= 760);
	noProblems();
});

test("about: the run and its losses", async () => {
	await browser.open(address("small", "#view=about"));
	const [text] = await texts(".about");

	for (const part of [
		"./app --fast",
		"5.00 s",
		"Waiting33 ns", // for whatever
		"Idle GPUs22 ns",
		"CPU samples dropped",
		"12",
		"Made-up",
		"profile 0.0.0",
	])
		assert.ok(text.includes(part), `${part}: ${text}`);
	noProblems();
});

test("names are text, whatever they hold", async () => {
	for (const fragment of [
		"",
		"#inverted=1",
		"#view=tables&table=functions",
		"#view=tables&table=threads",
		"#view=tables&table=streams",
		"#view=about",
		"#q=%3Cscript%3E&process=%3Cimg%20src=x%20onerror=window.hacked=1%3E",
	]) {
		await browser.open(address("hostile", fragment));
		await boxes().catch(() => []);
		assert.equal(await browser.evaluate("window.hacked"), undefined);
		assert.equal(
			await browser.evaluate('document.querySelectorAll("img, iframe, main script").length'),
			0,
		);
		assert.equal(
			await browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
			true,
		);
	}
	await browser.open(address("hostile", "#zoom=5"));
	assert.match((await texts(".details .name")).join(), /1,048,576 characters/);
	noProblems();
});

test("the policy forbids what is not the page's own", async () => {
	await browser.open(address("small"));
	await browser.evaluate(
		'(() => { const s = document.createElement("script"); s.textContent = "window.hacked = 1"; document.body.append(s); })()',
	);
	assert.equal(await browser.evaluate("window.hacked"), undefined);
	assert.equal(
		await browser.evaluate('fetch("http://127.0.0.1:9/").then(() => "sent", () => "refused")'),
		"refused",
	);
	assert.ok(
		browser.problems.length >= 2 &&
			browser.problems.every(text => /Content Security Policy|127\.0\.0\.1/.test(text)),
		browser.problems.join(),
	);
});

test("an empty profile and a damaged file say so", async () => {
	await browser.open(address("empty"));
	for (const fragment of ["#view=tables", "#view=about", "#inverted=1", "#inverted=2&frame=5", "#frame=5"])
		await browser.open(address("empty", fragment));
	noProblems();
	writeFileSync(
		join(folder, "cut.html"),
		makePage(page, PAGES.small).replace(/.{40}<\/script>\n<\/body>/, "</script></body>"),
	);
	await browser.open(address("cut"));
	assert.match((await texts("#status")).join(), /cannot be shown.*complete/);
});

test("100,000 frames deep: what is not drawn is said", async () => {
	await browser.open(address("deep"));
	assert.ok((await boxes()).length <= 401);
	assert.match((await texts(".deeper")).join(), /levels further in/);
	await browser.open(address("deep", "#zoom=50000"));
	assert.match((await texts(".deeper")).join(), /49,600 frames further out.*levels further in/);
	await browser.open(address("deep", "#inverted=1"));
	await browser.open(address("deep", "#view=tables&table=functions"));
	noProblems();
});

test("200,000 nodes: every view, narrow and wide, dark and light", async () => {
	for (const size of [
		{width: 1400, height: 900},
		{width: 390, height: 800, ratio: 2, dark: true, touch: true},
	]) {
		await browser.show(size);
		for (const fragment of [
			"",
			"#inverted=1",
			"#my=1",
			"#my=1&inverted=1",
			"#order=name&bottom=1",
			"#kind=gpu&q=kernel",
			"#view=tables",
			"#view=tables&table=functions",
			"#view=tables&table=sites",
			"#view=about",
		]) {
			await browser.open(address("big", fragment));
			assert.equal(
				await browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
				true,
				fragment,
			);
		}
	}
	noProblems();
});

test("dark and light: as the system, or as chosen", async () => {
	await browser.show({width: 1200, height: 800, dark: true});
	await browser.open(address("small"));
	assert.equal(await browser.evaluate("document.documentElement.dataset.theme"), "dark");
	await browser.evaluate('document.getElementById("theme").click()');
	assert.equal(await browser.evaluate("document.documentElement.dataset.theme"), "light");
	await browser.evaluate("localStorage.clear()");
	noProblems();
});

test("fingers: a tap selects, another zooms in, two stretch", async () => {
	await browser.show({width: 390, height: 800, ratio: 2, touch: true});
	await browser.open(address("small"));
	const [x, y] = await pointAt("tokenize");
	const touch = (type, ...points) =>
		browser.send("Input.dispatchTouchEvent", {
			type,
			touchPoints: points.map(([px, id]) => ({x: px, y, id})),
		});

	await touch("touchStart", [x, 0]);
	await touch("touchEnd");
	assert.equal(await hash(), "#pick=2");
	assert.match((await texts(".details .name")).join(), /tokenize/);
	await touch("touchStart", [x, 0]);
	await touch("touchEnd");
	await browser.until('location.hash.includes("zoom=2")');
	await click("Zoom out");
	await touch("touchStart", [100, 0]);
	await touch("touchStart", [100, 0], [200, 1]);
	await touch("touchMove", [100, 0], [250, 1]);
	await touch("touchMove", [50, 0], [250, 1]);
	await touch("touchEnd");
	assert.equal(await hash(), "");
	await browser.until(
		"document.documentElement.app.views.flame.boxes().every(box => box.total < 200 || box.width >= 389)",
	);
	const wide = (await boxes()).find(box => box.name === "cudaLaunchKernel");

	assert.ok(wide.width > 210, JSON.stringify(wide));
	noProblems();
});

test("each control has a name", async () => {
	for (const fragment of ["", "#view=tables", "#view=about"]) {
		await browser.open(address("small", fragment));
		const {nodes} = await browser.send("Accessibility.getFullAXTree");
		const nameless = nodes.filter(
			node =>
				!node.ignored &&
				["button", "combobox", "searchbox", "application", "region", "dialog"].includes(
					node.role?.value,
				) &&
				!node.name?.value,
		);

		assert.deepEqual(
			nameless.map(node => node.role.value),
			[],
		);
	}
	noProblems();
});

test("source: a kernel's lines with their share and reasons, the hottest in sight", async () => {
	await browser.open(address("source", "#view=source"));
	assert.deepEqual(await texts(".source option"), [
		"huge · 1.00 µs (99.0 %)",
		"tiny · 10 ns (0.99 %)",
	]);
	assert.equal((await texts(".source .group button")).length, 2);
	assert.deepEqual(await texts(".source .legend li"), [
		"long scoreboard 90.0 %",
		`${HOSTILE[0]} 10.0 %`,
	]);
	// line 300 has most time, and is where the eye is
	assert.deepEqual(await texts(".source .hot .number"), ["12", "300"]);
	assert.deepEqual(await texts(".source .hot .part"), ["15.0 %", "60.0 %"]);
	assert.deepEqual(await texts(".source .gap"), ["⋯"]);
	assert.ok(
		await browser.evaluate(`(() => {
		const area = document.querySelector(".source-text").getBoundingClientRect(),
			row = [...document.querySelectorAll(".source .hot")].at(-1).getBoundingClientRect();
		return row.top > area.top + 100 && row.bottom < area.bottom - 100; })()`),
	);
	assert.match((await texts(".about-file.warn")).join(), /has changed since/);
	// whatever the text is, it is text
	assert.ok((await texts(".source .code")).includes(HOSTILE[0]));
	assert.equal(await browser.evaluate("window.hacked"), undefined);
	// the pointer shows the reasons
	const [x, y] = await browser.evaluate(`(() => { const r = [...document.querySelectorAll(".source .hot")]
		.at(-1).getBoundingClientRect(); return [r.left + 300, r.top + 9]; })()`);

	await browser.move(x, y);
	assert.deepEqual(await texts(".source .tip div"), [
		"long scoreboard 83.3 %",
		`${HOSTILE[0]} 16.7 %`,
	]);
	// n goes to the next by time
	await browser.key("n");
	await browser.key("n");
	assert.equal(
		await browser.evaluate('document.activeElement.querySelector(".number").textContent'),
		"12",
	);
	// a file that is not there has lines alone
	await browser.evaluate('document.querySelectorAll(".source .group button")[1].click()');
	assert.deepEqual(await texts(".source .number"), ["7"]);
	assert.match((await texts(".about-file.warn")).join(), /was not found where/);
	assert.deepEqual(browser.problems, []);
});

test("source: from the table of stalls, and from a box", async () => {
	await browser.open(address("source", "#view=tables&table=stalls"));
	await click("tiny");
	assert.match(await hash(), /view=source&kernel=1&table=stalls$/);
	assert.deepEqual(await texts(".source .hot .number"), ["12"]);
	await browser.open(address("source"));
	await browser.click(...(await pointAt("k.cu:300")));
	assert.deepEqual(await texts(".details dt"), ["total", "own"]);
	await browser.evaluate(
		'[...document.querySelectorAll(".details button")].find(b => b.textContent === "Source").click()',
	);
	assert.match(await hash(), /view=source&pick=6&kernel=2&file=\/src\/k.cu&line=300/);
	// a report without lines has no such view
	await browser.open(address("small", "#view=source"));
	assert.ok(!(await texts("nav button")).includes("Source"));
	assert.deepEqual(await texts('nav button[aria-pressed="true"]'), ["Overview"]);
	assert.deepEqual(browser.problems, []);
});
