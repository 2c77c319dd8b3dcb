// SPDX-License-Identifier: MIT
// The timeline in a browser, and what it does to the other views.
import assert from "node:assert/strict";
import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, beforeEach, test} from "node:test";
import {pathToFileURL} from "node:url";
import {openChromium} from "./chromium.mjs";
import {makePage} from "../html/made_page.mjs";
import {makeTraining} from "../html/made_timeline.mjs";

const folder = mkdtempSync(join(tmpdir(), "profile-timeline-"));
const page = readFileSync(process.env.REPORT_PAGE ?? "build/profiler/web/page.html", "utf8");
const MANY = Number(process.env.TIMELINE_EVENTS ?? 5000000);
const training = makeTraining({events: 20000, gpus: 2});
const HOSTILE = [
	"</script><script>window.hacked=1</script>",
	"<img src=x onerror=window.hacked=1>",
	"\u2028'\"`&lt;",
	"<".repeat(1 << 20),
	"\u202egnp.exe",
];
let browser;

// Three spans whose places are known: a launch, a kernel and a sample.
const small = {
	facts: {command: "./app", "elapsed ns": 1000000, "cpu ns": 1, "gpu ns": 1},
	frames: [
		{name: "main", role: 0},
		{name: "tokenize", role: 4, folded: "[libwords.so]"},
		{class: 4, name: "cudaLaunchKernel"},
		{class: 6, name: "[GPU_Kernel]gemm(float*)", shortName: "gemm"},
		{class: 6, name: "[GPU_Kernel]softmax(float*)", shortName: "softmax"},
	],
	stacks: [
		{outer: 0, frame: 0},
		{outer: 1, frame: 1},
		{outer: 1, frame: 2},
		{outer: 3, frame: 3},
		{outer: 3, frame: 4},
	],
	places: [
		[0, 1, -1, -1, -1],
		[0, 1, 0, 1, 7],
	],
	processes: [{number: 0, pid: 1, name: "app 1"}],
	threads: [{process: 0, tid: 1, name: "main 1"}],
	devices: [{process: 0, number: 0, label: "GPU 0", name: "Made-up"}],
	rows: [
		{stack: 2, kind: 0, place: 0, ns: 300000},
		{stack: 4, kind: 1, place: 1, ns: 200000},
		{stack: 5, kind: 1, place: 1, ns: 100000},
	],
	timeline: {
		records: [
			{kind: 1, place: 0, start: 100000, duration: 50000, stack: 3, correlation: 5},
			{
				kind: 2,
				place: 1,
				start: 200000,
				duration: 200000,
				stack: 4,
				correlation: 5,
				shape: 1,
			},
			{kind: 2, place: 1, start: 700000, duration: 100000, stack: 5, correlation: 6},
			{kind: 0, place: 0, start: 450000, duration: 300000, stack: 2},
		],
		shapes: [[32, 2, 1, 128, 1, 1, 16, 1008, 40]],
	},
};

const PAGES = {
	small,
	linked: {
		...small,
		timeline: {
			...small.timeline,
			records: [
				...small.timeline.records,
				{kind: 1, place: 0, start: 650000, duration: 5000, stack: 3, correlation: 9},
				{kind: 4, place: 0, start: 640000, duration: 10000, stack: 3},
				{kind: 1, place: 0, start: 660000, duration: 5000, stack: 3, correlation: 6},
			],
		},
	},
	// blocked within the launch, then for a CPU, then until after the end
	off: {
		...small,
		frames: [...small.frames, ...["[blocked: poll]", "[runnable]", "[blocked: futex]"].map(name => ({class: 8, name}))],
		stacks: [...small.stacks, {outer: 3, frame: 5}, {outer: 3, frame: 6}, {outer: 2, frame: 7}],
		timeline: {
			...small.timeline,
			records: [
				...small.timeline.records,
				{kind: 5, place: 0, start: 100000, duration: 40000, stack: 6},
				{kind: 5, place: 0, start: 140000, duration: 60000, stack: 7},
				{kind: 5, place: 0, start: 800000, duration: 300000, stack: 8},
			],
		},
	},
	training,
	steps: {...small, steps: [200000, 300000, 500000], warmUp: 1},
	none: {...small, timeline: null},
	lost: {...small, timeline: {records: [], lost: 12, reason: "No space left on device"}},
	summed: {
		...small,
		timeline: {
			sums: [{kind: 2, place: 1, start: 100, duration: 700000, stack: 4, number: 5000}],
			summed: 5000,
			lost: 3,
			reason: "No space left on device",
		},
	},
	cpu: {
		...small,
		timeline: {records: small.timeline.records.filter(({kind}) => kind === 0)},
	},
	cpu_only: {
		...small,
		rows: small.rows.filter(({kind}) => kind === 0),
		timeline: {records: small.timeline.records.filter(({kind}) => kind === 0)},
	},
	hostile: {
		...small,
		facts: {...small.facts, command: HOSTILE[0]},
		frames: small.frames.map((frame, i) => ({
			...frame,
			name: HOSTILE[i],
			shortName: HOSTILE[i],
			file: HOSTILE[1],
		})),
		processes: [{number: 0, pid: 1, name: HOSTILE[1]}],
		threads: [{process: 0, tid: 1, name: HOSTILE[3]}],
		devices: [{process: 0, number: 0, label: HOSTILE[1], name: HOSTILE[0]}],
	},
	order: {
		...small,
		processes: [
			{number: 0, pid: 10, name: "idle 10"},
			{number: 1, pid: 20, name: "busy 20"},
		],
		threads: [
			{process: 0, tid: 10, name: "main 10"},
			{process: 1, tid: 19, name: "worker 19"},
			{process: 1, tid: 20, name: "main 20"},
		],
		places: [
			[0, 10, -1, -1, -1],
			[1, 19, -1, -1, -1],
			[1, 20, -1, -1, -1],
		],
		rows: [],
		timeline: {
			records: [300, 5000, 100].map((duration, place) => ({
				kind: 0,
				place,
				start: 1000 * (place + 1),
				duration,
				stack: 2,
			})),
		},
	},
	threads: {
		...small,
		threads: Array.from({length: 3000}, (_, i) => ({process: 0, tid: i, name: `worker ${i}`})),
		places: Array.from({length: 3000}, (_, i) => [0, i, -1, -1, -1]),
		rows: [],
		timeline: {
			records: Array.from({length: 60000}, (_, i) => ({
				kind: i % 2 ? 0 : 1,
				place: i % 3000,
				start: i * 10,
				duration: 5000,
				stack: i % 2 ? 2 : 3,
			})),
		},
	},
};

// All of the profile, unless the fragment says other: GPU time and own code alone are the default.
const BASE = "#view=flame&kind=all&my=&time=";
const address = (name, fragment = "") =>
	`${pathToFileURL(join(folder, `${name}.html`))}${BASE}${fragment.replace("#", "&")}`;
const texts = selector =>
	browser.evaluate(
		`Array.from(document.querySelectorAll(${JSON.stringify(selector)}), e => e.textContent)`,
	);
const click = text =>
	browser.evaluate(`[...document.querySelectorAll("button")].find(b =>
	b.offsetParent && b.textContent.startsWith(${JSON.stringify(text)})).click()`);
// What the address has besides BASE.
const hash = async () =>
	(await browser.evaluate("decodeURIComponent(location.hash)"))
		.replace(/(?<=[#&])(view=flame|kind=all|my=|time=)(&|$)/g, "")
		.replace(/[#&]$/, "");
const nextFrame = () =>
	browser.evaluate("new Promise(done => requestAnimationFrame(() => done()))");
const shown = () => browser.evaluate("document.documentElement.app.views.timeline.window()");
const total = () => browser.evaluate("document.documentElement.app.weights.total[0]");

async function boxes() {
	await nextFrame();
	return (await browser.evaluate("document.documentElement.app.views.timeline.boxes()")).filter(
		box => box.type !== "idle",
	);
}

async function gaps() {
	await nextFrame();
	return (await browser.evaluate("document.documentElement.app.views.timeline.boxes()")).filter(
		box => box.type === "idle",
	);
}

async function open(name, fragment) {
	await browser.open(address(name, fragment));
	await browser.until('document.documentElement.dataset.timeline === "1"', 60);
}

const areaOf = selector =>
	browser.evaluate(
		`(() => { const r = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`,
	);
const ROWS = ".lanes canvas",
	HEAD = "canvas.head";

async function pointAt(name) {
	const box = (await boxes()).find(other => other.name === name),
		[left, top] = await areaOf(ROWS);

	assert.ok(box, `no box ${name}`);
	return [left + box.x + box.width / 2, top + box.y + 9];
}

const mouse = (type, x, y, more = {}) =>
	browser.send("Input.dispatchMouseEvent", {
		type,
		x,
		y,
		button: "left",
		buttons: 1,
		clickCount: 1,
		...more,
	});

async function drag(x, y, toX, toY, modifiers = 0) {
	await mouse("mousePressed", x, y, {modifiers});
	for (let i = 1; i <= 5; i++)
		await mouse("mouseMoved", x + ((toX - x) * i) / 5, y + ((toY - y) * i) / 5, {modifiers});
	await mouse("mouseReleased", toX, toY, {modifiers});
}

// Where a time of the page "small" is, in the whole run; once two frames agree, for on a loaded machine
// the boxes may be those of the layout before.
async function xAt(time) {
	let place, before;

	do {
		const [left, , width] = await areaOf(HEAD),
			{x} = (await boxes()).find(box => box.name === "gemm"),
			labels = (x - 0.2 * width) / 0.8;

		before = place;
		place = left + labels + ((width - labels) * time) / 1e6;
	} while (place !== before);
	return place;
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

test("each event is in the row of its stream or thread", async () => {
	await open("small", "#view=timeline");
	assert.deepEqual(
		(await boxes()).map(({name, type, label, count}) => [name, type, label, count]),
		[
			["gemm", "gpu", "stream 7", 1],
			["softmax", "gpu", "stream 7", 1],
			["cudaLaunchKernel", "calls", "CUDA calls", 1],
			["main", "samples", "CPU samples", 1],
			["tokenize", "samples", "", 1],
		],
	);
	await open("training", "#view=timeline");
	assert.deepEqual(
		[...new Set((await boxes()).map(({type, label}) => `${type} ${label}`))].sort(),
		[
			"calls ",
			"calls CUDA calls",
			"gpu stream 13",
			"gpu stream 20",
			"gpu stream 7",
			"nvtx ",
			"nvtx NVTX",
			"samples ",
			"samples CPU samples",
			"waits Waiting",
		],
	);
	noProblems();
});

test("processes by their time, each with its main thread first", async () => {
	await open("order", "#view=timeline");
	const [first, second, third] = (await boxes())
		.filter(box => box.name === "tokenize")
		.sort((a, b) => a.y - b.y)
		.map(({x}) => x);

	assert.ok(first > second && second > third, `${first} ${second} ${third}`);
	noProblems();
});

test("a click says what an event is, and leads to its launch and back", async () => {
	await open("small", "#view=timeline");
	await browser.click(...(await pointAt("gemm")));
	const details = (await texts("#span-details")).join();

	for (const part of [
		"[GPU_Kernel]gemm(float*)",
		"GPU 0 · Made-up, stream 7",
		"duration200 µs",
		"grid32 × 2 × 1",
		"block128 × 1 × 1",
		"shared memory1.00 KiB",
		"registers40",
		"correlation5",
		"launched bymain 1",
		"after its launch100 µs",
		"main › cudaLaunchKernel › gemm",
	])
		assert.ok(details.includes(part), `${part}: ${details}`);
	const kernel = await hash();

	assert.match(kernel, /span=\d/);
	await click("Its launch");
	assert.match((await texts("#span-details .name")).join(), /cudaLaunchKernel/);
	await browser.key("f");
	assert.equal(await hash(), kernel);
	await open("small", kernel);
	assert.match((await texts("#span-details .name")).join(), /gemm/);
	await click("In the flame graph");
	assert.match(await hash(), /^#zoom=4/);
	noProblems();
});

test("hovering shows a tip alone; a click selects, and the selection stays", async () => {
	const selected = () => texts("#span-details .name"),
		tip = () => texts(".timeline .tip:not([hidden])");

	await open("small", "#view=timeline");
	const [, , , height] = await areaOf("#span-details");

	await browser.move(...(await pointAt("softmax")));
	await browser.until('document.querySelector(".timeline .tip:not([hidden])")');
	assert.match((await tip()).join(), /softmax100 µs · at 0\.700/);
	assert.deepEqual(await selected(), []);
	const before = await boxes();

	await browser.click(...(await pointAt("softmax")));
	assert.match((await selected()).join(), /softmax/);
	assert.deepEqual(await boxes(), before, "nothing moves under the pointer");
	assert.equal((await areaOf("#span-details"))[3], height);
	// its buttons can be reached: what is on the way there changes nothing
	await browser.move(...(await pointAt("tokenize")));
	await browser.until('document.querySelector(".timeline .tip").textContent.startsWith("tokenize")');
	assert.match((await selected()).join(), /softmax/);
	await browser.key("m");
	assert.match(await hash(), /time=700000\.\.800000/);
	noProblems();
});

test("after each change of the view, the tip is of what is under the pointer then", async () => {
	await open("small", "#view=timeline&window=150000..450000");
	const tip = async () => {
		await boxes();
		return texts(".timeline .tip:not([hidden]) b");
	};

	await browser.move(...(await pointAt("gemm")));
	await browser.until('document.querySelector(".timeline .tip:not([hidden])")');
	for (const [key, name] of [
		["d", "softmax"],
		["a", "gemm"],
		["d", "softmax"],
	]) {
		for (let i = 0; i < 7; i++) await browser.key(key);
		assert.deepEqual(await tip(), [name]);
	}
	for (let i = 0; i < 3; i++) await browser.key("d");
	assert.deepEqual(await tip(), [], "there is nothing behind softmax");
	// nothing is selected: keys mean what is shown
	await browser.key("Enter");
	await browser.key("m");
	assert.match(await hash(), /time=7\d{5}\.\.1000000/);
	noProblems();
});

test("time off the CPU is in the thread's row, in colours by reason, with a legend", async () => {
	await open("off", "#view=timeline");
	const row = (await boxes()).filter(box => box.type === "off"),
		// of the canvas at the upper edge of each box
		colours = await browser.evaluate(`(() => {
			const scale = devicePixelRatio, canvas = document.querySelector(${JSON.stringify(ROWS)});
			const {data} = canvas.getContext("2d").getImageData(0, ${row[0].y + 2} * scale, canvas.width, 1);

			return ${JSON.stringify(row.map(({x}) => x + 2))}.map(x => [...data.slice(4 * Math.round(x * scale)).slice(0, 3)].join());
		})()`);

	assert.deepEqual(row.map(({name, label}) => [name, label]), [
		["[blocked: poll]", "Off the CPU"],
		["[runnable]", "Off the CPU"],
		["[blocked: futex]", "Off the CPU"],
	]);
	assert.equal(new Set(colours).size, 3, colours);
	assert.deepEqual(await texts(".timeline .legend:not([hidden]) li"), [
		"Off the CPU:", "waiting for a CPU", "in a CUDA call", "lock, GIL, condition",
	]);
	await browser.move(...(await pointAt("[blocked: futex]")));
	await browser.until('document.querySelector(".timeline .tip:not([hidden])")');
	assert.match((await texts(".timeline .tip")).join(), /^\[blocked: futex\]300 µs · at 0\.800.* · in tokenize · lock, GIL, condition$/);
	await browser.click(...(await pointAt("[blocked: poll]")));
	assert.match((await texts("#span-details")).join(), /off the CPU · in a CUDA call · .*duration40.0 µs.*main › cudaLaunchKernel › \[blocked: poll\]/);
	const before = await hash();

	await browser.key("Enter");
	assert.notEqual(await hash(), before);
	await browser.evaluate("history.back()");
	await browser.until(`!location.hash.includes("window=")`);
	assert.equal(await hash(), before);
	// it is in no sum
	await open("off", "#view=flame&time=100000..1000000");
	assert.equal(await total(), 600000);
	await open("small", "#view=timeline");
	assert.deepEqual(await texts(".timeline .legend:not([hidden]) li"), []);
	noProblems();
});

test("a double-click zooms to what was clicked, and Back undoes it", async () => {
	await open("small", "#view=timeline");
	const [x, y] = await pointAt("softmax");

	await browser.click(x, y);
	await mouse("mousePressed", x, y, {clickCount: 2});
	await mouse("mouseReleased", x, y, {clickCount: 2});
	const [from, to] = await shown();

	assert.ok(from > 650000 && from < 700000 && to > 800000 && to < 850000, `${from} ${to}`);
	assert.match((await texts("#span-details .name")).join(), /softmax/);
	await browser.evaluate("history.back()");
	await browser.until("document.documentElement.app.views.timeline.window()[0] === 0");
	assert.deepEqual(await shown(), [0, 1000000]);
	noProblems();
});

test("the wheel, keys and dragging change what is shown, and so does the address", async () => {
	await open("small", "#view=timeline");
	assert.deepEqual(await shown(), [0, 1000000]);
	const [x, y] = await pointAt("gemm"),
		before = (await boxes()).find(box => box.name === "gemm");

	await browser.send("Input.dispatchMouseEvent", {
		type: "mouseWheel",
		x,
		y,
		deltaX: 0,
		deltaY: -200,
	});
	await browser.until("document.documentElement.app.views.timeline.window()[1] < 1000000");
	let after = (await boxes()).find(box => box.name === "gemm");

	assert.ok(after.width > before.width);
	assert.ok(
		Math.abs(after.x + after.width / 2 - before.x - before.width / 2) < 2,
		"what the pointer is on stays there",
	);
	await browser.until('location.hash.includes("window=")');
	const [a, b] = await shown();

	await browser.key("d");
	assert.ok((await shown())[0] > a);
	await browser.key("a");
	assert.ok(Math.abs((await shown())[0] - a) < 2);
	await browser.key("w");
	assert.ok((await shown())[1] - (await shown())[0] < b - a);
	await browser.key("s");
	assert.ok(Math.abs((await shown())[1] - b) < 2);
	await drag(600, y + 200, 700, y + 200);
	assert.ok((await shown())[0] < a, "what is dragged to the right was on the left");
	await browser.key("0");
	assert.deepEqual(await shown(), [0, 1000000]);
	for (let i = 0; i < 60; i++) await browser.key("+");
	assert.ok((await shown())[1] - (await shown())[0] <= 20.001, "single nanoseconds");
	await browser.key("Escape");
	assert.deepEqual(await shown(), [0, 1000000]);
	await open("small", "#view=timeline&window=150000..450000");
	assert.deepEqual(await shown(), [150000, 450000]);
	after = (await boxes()).find(box => box.name === "gemm");
	assert.ok(after.width > before.width * 3);
	noProblems();
});

test("keys go from event to event", async () => {
	await open("small", "#view=timeline");
	await browser.evaluate(`document.querySelector(${JSON.stringify(ROWS)}).focus()`);
	const name = async () => (await texts("#span-details .name")).join();

	for (const [key, expected] of [
		["ArrowDown", /GPU 0 · Made-up: idle for 300 µs/],
		["ArrowRight", /idle for 200 µs/],
		["ArrowLeft", /idle for 300 µs/],
		["ArrowDown", /softmax/],
		["ArrowLeft", /gemm/],
		["ArrowRight", /softmax/],
		["ArrowDown", /cudaLaunchKernel/],
		["ArrowDown", /main/],
		["ArrowDown", /tokenize/],
	]) {
		await browser.key(key);
		assert.match(await name(), expected);
	}
	await browser.key("Enter");
	const [from, to] = await shown();

	assert.ok(from > 400000 && from < 450000 && to > 750000 && to < 800000, `${from} ${to}`);
	await browser.key("Escape");
	assert.doesNotMatch(await hash(), /span=/);
	noProblems();
});

test("a chosen time: the flame graph, tables and GPUs show that time alone", async () => {
	await open("small", "#view=timeline");
	const [, top] = await areaOf(HEAD);

	// along the axis: half of the kernel, none of the sample
	await drag(await xAt(300000), top + 38, await xAt(420000), top + 38);
	const [, from, to] = /time=(\d+)\.\.(\d+)/.exec(await hash()).map(Number);

	assert.ok(Math.abs(from - 300000) < 2000 && Math.abs(to - 420000) < 2000, `${from} ${to}`);
	assert.equal(await total(), 400000 - from);
	await browser.key("2");
	assert.equal(
		(await browser.evaluate("document.documentElement.app.views.flame.boxes()"))[0].total,
		400000 - from,
	);
	assert.match((await texts("#note")).join(), /this time alone.*wait/);
	await browser.key("3");
	assert.deepEqual((await texts(".table tbody .name")).length, 1);
	await browser.key("4");
	await browser.evaluate('document.documentElement.app.set({gpu: "GPU 0"})');
	assert.ok(
		(await texts("#span-details .facts")).join().includes(`time shown${((to - from) / 1e3).toFixed(0)} µs`),
	);
	await browser.key("Escape");
	await browser.key("Escape");
	assert.doesNotMatch(await hash(), /time=/);
	assert.equal(await total(), 600000);
	// with Shift, anywhere
	const [left, rowsTop] = await areaOf(ROWS);

	await drag(await xAt(460000), rowsTop + 300, await xAt(560000), rowsTop + 300, 8);
	assert.ok(Math.abs((await total()) - 100000) < 4000, `${left}`);
	await browser.key("Escape");
	// and by keys
	await browser.click(...(await pointAt("softmax")));
	await browser.key("m");
	assert.match(await hash(), /time=700000\.\.800000/);
	assert.equal(await total(), 150000);
	await browser.key("]");
	assert.match(await hash(), /time=700000\.\.850000/);
	await browser.key("2");
	await click("150 µs from 700 µs on");
	assert.equal(await total(), 600000);
	await open("small", "#time=700000..800000");
	assert.equal(await total(), 150000);
	noProblems();
});

test("the profile of any time is the sum of its events' parts", async () => {
	await open("training");
	const elapsed = training.facts["elapsed ns"];

	for (const [a, b] of [
		[0, 1],
		[0.1, 0.4],
		[0.33, 0.3301],
	]) {
		const from = Math.round(elapsed * a),
			to = Math.round(elapsed * b);
		const expected = training.timeline.records
			.filter(({kind}) => kind !== 1)
			.reduce(
				(sum, {start, duration}) =>
					sum + Math.max(Math.min(start + duration, to) - Math.max(start, from), 0),
				0,
			);

		await browser.evaluate(`document.documentElement.app.set({time: "${from}..${to}"})`);
		assert.equal(await total(), expected);
	}
	noProblems();
});

test("search and filters apply", async () => {
	await open("small", "#view=timeline");
	await browser.key("/");
	await browser.type("soft");
	await browser.until('location.hash.includes("q=soft")');
	assert.deepEqual(
		(await boxes()).filter(box => box.isWanted).map(box => box.name),
		["softmax"],
	);
	await open("training", "#view=timeline&device=GPU%201");
	assert.deepEqual([...new Set((await boxes()).map(box => box.type))], ["gpu"]);
	const labels = (await boxes()).map(box => box.label);

	assert.equal(new Set(labels).size, 3);
	await open("training", "#view=timeline&thread=0.101");
	assert.equal((await boxes()).filter(box => box.label === "Waiting").length > 0, true);
	assert.ok((await boxes()).every(box => box.type !== "gpu" || box.isWanted));
	await open("training", "#view=timeline&kind=cpu");
	assert.deepEqual([...new Set((await boxes()).map(box => box.type))].sort(), [
		"calls",
		"nvtx",
		"samples",
	]);
	await open("training", "#view=timeline&stream=99");
	assert.deepEqual(await boxes(), []);
	noProblems();
});

test("a GPU's row: how much of it was busy, and what the next launcher did in its gaps", async () => {
	await open("linked", "#view=timeline&my=");
	const lane = (await gaps()).map(({x, width}) => [x, width]),
		kernels = (await boxes()).filter(box => box.type === "gpu");

	assert.equal(lane.length, 3);
	assert.ok(Math.abs(lane[1][0] - (kernels[0].x + kernels[0].width)) < 2, "the gap is between the kernels");
	// its heading selects it
	const [left, top] = await areaOf(ROWS);

	await browser.click(left + 60, top + 40);
	assert.match(await hash(), /gpu=GPU 0/);
	const facts = (await texts("#span-details .facts")).join();

	for (const part of [
		"run1.00 ms",
		"busy300 µs (30.0 %)",
		"idle700 µs (70.0 %)",
		"operations2",
		"time of all operations300 µs",
		"two or more at once0",
	])
		assert.ok(facts.includes(part), `${part}: ${facts}`);
	assert.deepEqual(await texts("#span-details tbody tr"), [
		"400 µs300 µs42.9 %main 1, which launched softmax next, computed for 210 µs (mostly tokenize); " +
			"was in CUDA calls for 15.0 µs (mostly cudaLaunchKernel); that launch came 40.0 µs before the gap's end.",
		"0 µs200 µs28.6 %main 1, which launched gemm next, has no sample in that time; that launch came 100 µs before the gap's end.",
		"800 µs200 µs28.6 %Nothing ran on it afterwards.",
	]);
	await browser.evaluate('document.querySelector("#span-details tbody button").click()');
	const [from, to] = await shown();

	assert.ok(from > 300000 && from < 400000 && to > 700000 && to < 800000, `${from} ${to}`);
	assert.match((await texts("#span-details .where")).join(), /which launched softmax next, computed/);
	await click("What came next");
	assert.match((await texts("#span-details .name")).join(), /softmax/);
	// others' code folded
	await open("linked", "#view=timeline&gpu=GPU%200&my=1");
	assert.match((await texts("#span-details tbody tr"))[0], /computed for 210 µs \(mostly \[libwords\.so\]\)/);
	// hovering a gap tells, too
	await open("small", "#view=timeline");
	const gap = (await gaps())[2];

	await browser.move(left + gap.x + gap.width / 2, top + gap.y + 20);
	await browser.until('document.querySelector(".timeline .tip:not([hidden])")');
	assert.match((await texts(".timeline .tip")).join(), /^idle200 µs.*Nothing ran on it afterwards/);
	await open("training", "#view=timeline&gpu=GPU%201");
	assert.match((await texts("#span-details .facts")).join(), /copies and sets9\.\d+ ms, exposed/);
	assert.match((await texts("#span-details .facts")).join(), /collectives \(NCCL\)\d+\.\d ms, exposed/);
	noProblems();
});

test("idle times lead to the flame graph", async () => {
	await open("small", "#view=timeline&gpu=GPU%200");
	await click("Flame graph while idle");
	assert.match(await hash(), /idle=GPU 0/);
	assert.equal(await total(), 300000);
	assert.match((await texts("#note")).join(), /idle/);
	await click("while GPU 0 was idle");
	assert.equal(await total(), 600000);
	await open("small", "#view=timeline");
	const [, middle] = await gaps(),
		[left, top] = await areaOf(ROWS);

	await browser.click(left + middle.x + middle.width / 2, top + middle.y + 20);
	await click("Profile of this gap");
	assert.match(await hash(), /time=400000\.\.700000/);
	assert.equal(await total(), 250000);
	noProblems();
});

test("headings open and close; what is selected is opened", async () => {
	await open("small", "#view=timeline");
	const types = async () => [...new Set((await boxes()).map(box => box.type))];

	assert.deepEqual(await types(), ["gpu", "calls", "samples"]);
	await browser.click(...(await pointAt("gemm")));
	const calls = (await boxes()).find(box => box.type === "calls"),
		[left, top] = await areaOf(ROWS);

	await browser.click(left + 40, top + calls.y - 12);
	assert.deepEqual(await types(), ["gpu"]);
	assert.match((await texts("#span-details .name")).join(), /gemm/);
	await click("Its launch");
	assert.deepEqual(await types(), ["gpu", "calls", "samples"]);
	assert.match((await texts("#span-details .name")).join(), /cudaLaunchKernel/);
	noProblems();
});

test("what is missing is said", async () => {
	const said = () => texts(".timeline .message:not([hidden]), .timeline .deeper:not([hidden])");

	// what the file does not have is no view of it; old links lead to the first one
	await open("none", "#view=timeline");
	assert.deepEqual(await texts("nav button"), ["Overview", "Flame graph", "Tables", "About"]);
	assert.deepEqual(await texts('nav button[aria-pressed="true"]'), ["Overview"]);
	await open("lost", "#view=timeline");
	assert.match((await said()).join(), /empty: 12 events are missing \(No space left on device\)/);
	await open("cpu_only", "#view=timeline");
	assert.deepEqual(await texts("nav button"), ["Overview", "Flame graph", "Tables", "Timeline", "About"]);
	await open("cpu", "#view=timeline");
	assert.equal((await boxes()).length, 2);
	await open("summed", "#view=timeline");
	assert.match(
		(await said()).join(),
		/3 events are missing.*5,000 short events are shown as sums/,
	);
	await browser.click(...(await pointAt("gemm")));
	assert.match((await texts("#span-details")).join(), /time of all700 µs.*events5,000/);
	noProblems();
	const whole = makePage(page, training);

	writeFileSync(join(folder, "cut.html"), whole.slice(0, whole.length - 3000));
	await open("cut");
	assert.ok((await total()) > 0, "the rest of the report is there");
	await browser.key("4");
	assert.match((await said()).join(), /cannot be shown.*complete/);
});

test("names are text, whatever they hold", async () => {
	for (const fragment of [
		"#view=timeline",
		"#view=timeline&window=150000..250000&span=0",
		"#view=timeline&span=99999&time=5..2&window=x",
		`#view=timeline&gpu=${encodeURIComponent(HOSTILE[1])}`,
		"#view=timeline&gpu=%3Cscript%3E&idle=%3Cimg%20src=x%20onerror=window.hacked=1%3E",
	]) {
		await open("hostile", fragment);
		await boxes().catch(() => []);
		assert.equal(await browser.evaluate("window.hacked"), undefined);
		assert.equal(
			await browser.evaluate('document.querySelectorAll("img, iframe, main script").length'),
			0,
		);
		assert.equal(
			await browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
			true,
			fragment,
		);
	}
	noProblems();
});

test("3,000 threads", async () => {
	await open("threads", "#view=timeline");
	// none has as much as 1 % of the time: they are one line, which opens
	assert.deepEqual(await boxes(), []);
	const [left, top] = await areaOf(ROWS);

	await browser.click(left + 60, top + 10);
	assert.equal(new Set((await boxes()).filter(box => box.name !== "main").map(box => box.y)).size, 3000);
	await browser.evaluate('document.querySelector(".lanes").scrollTop = 1e6');
	assert.ok((await boxes()).some(box => box.y > 0 && box.y < 500));
	await open("threads", "#view=timeline&thread=0.77");
	assert.equal(new Set((await boxes()).filter(box => box.name !== "main").map(box => box.y)).size, 1);
	noProblems();
});

test("fingers: drag moves, two zoom, a tap selects; narrow and dark", async () => {
	await browser.show({width: 390, height: 800, ratio: 2, dark: true, touch: true});
	await open("small", "#view=timeline");
	const touch = (type, ...points) =>
		browser.send("Input.dispatchTouchEvent", {
			type,
			touchPoints: points.map(([x, id, y = 400]) => ({x, y, id})),
		});

	await touch("touchStart", [200, 0]);
	await touch("touchStart", [200, 0], [260, 1]);
	await touch("touchMove", [180, 0], [280, 1]);
	await touch("touchMove", [140, 0], [330, 1]);
	await touch("touchEnd");
	const [a, b] = await shown();

	assert.ok(b - a < 600000, `${b - a}`);
	await touch("touchStart", [200, 0]);
	for (const x of [190, 170, 150]) await touch("touchMove", [x, 0]);
	await touch("touchEnd");
	assert.ok((await shown())[0] > a);
	await browser.evaluate("document.documentElement.app.set({window: ''})");
	const [x, y] = await pointAt("gemm");

	await touch("touchStart", [x, 0, y]);
	await touch("touchEnd");
	await browser.until('location.hash.includes("span=")');
	for (const fragment of ["#view=timeline&span=1", "#view=timeline&gpu=GPU%200"]) {
		await open("training", fragment);
		assert.equal(
			await browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
			true,
			fragment,
		);
	}
	noProblems();
});

test("each control has a name", async () => {
	for (const fragment of ["#view=timeline&span=1", "#view=timeline&gpu=GPU%200"]) {
		await open("training", fragment);
		const {nodes} = await browser.send("Accessibility.getFullAXTree");
		const nameless = nodes.filter(
			node =>
				!node.ignored &&
				["button", "combobox", "searchbox", "application", "region", "img"].includes(
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

// Pans for some frames, and says how many a second there were.
const pan = key =>
	browser.evaluate(`(async () => {
		const press = () => document.querySelector(${JSON.stringify(ROWS)}).dispatchEvent(
			new KeyboardEvent("keydown", {key: ${JSON.stringify(key)}, bubbles: true}));
		const start = performance.now();

		for (let i = 0; i < 40; i++) {
			press();
			await new Promise(requestAnimationFrame);
		}
		return 40000 / (performance.now() - start);
	})()`);

test(`${MANY} events: all of them are there`, async t => {
	const many = makeTraining({events: MANY, gpus: 8}),
		path = join(folder, "many.html");

	writeFileSync(path, makePage(page, many));
	await browser.open(address("many"));
	const first = await browser.evaluate("performance.now()");

	await browser.until('document.documentElement.dataset.timeline === "1"', 120);
	const read = await browser.evaluate("performance.now()");

	assert.equal(
		await browser.evaluate("document.documentElement.app.timeline.events"),
		many.timeline.records.length,
	);
	await browser.evaluate('document.documentElement.app.set({view: "timeline"})');
	// as many as have pixels, of the rows in sight
	const drawn = (await boxes()).filter(({y}) => y > -24 && y < 800).length;

	assert.ok(drawn > 1000 && drawn < 60000, `${drawn} boxes`);
	const speeds = {};

	for (const [name, keys] of [
		["whole", []],
		["100 ms", Array(17).fill("w")],
		["1 ms", Array(30).fill("w")],
	]) {
		await browser.key("0");
		for (const key of keys) await browser.key(key);
		speeds[name] = Math.round(Math.min(await pan("a"), await pan("d")));
	}
	t.diagnostic(
		`measured: ${(statSync(path).size / 1e6).toFixed(1)} MB; first picture after ${Math.round(first)} ms, ` +
			`timeline after ${Math.round(read)} ms; frames a second: ${JSON.stringify(speeds)}`,
	);
	noProblems();
});

test("groups: by step, each time once; of a chosen time, too", async () => {
	const roots = async () => {
		await nextFrame();
		const [all, ...rest] = await browser.evaluate("document.documentElement.app.views.flame.boxes()");

		return rest.filter(({y}) => y === all.y + 20).sort((a, b) => a.x - b.x).map(({name, total}) => [name, total]);
	};

	await open("steps", "#group=step");
	assert.deepEqual(await roots(), [["step 1, warm-up", 100000], ["step 2", 150000], ["[outside of steps]", 350000]]);
	assert.match((await texts("#note"))[0], /^Steps are times of the GPU/);
	await browser.evaluate('document.documentElement.app.set({kind: "gpu"})');
	assert.deepEqual(await roots(), [["step 1, warm-up", 100000], ["step 2", 100000], ["[outside of steps]", 100000]]);
	await browser.evaluate('document.documentElement.app.set({time: "250000..600000"})');
	assert.deepEqual(await roots(), [["step 1, warm-up", 50000], ["step 2", 100000]]);
	await browser.evaluate('document.documentElement.app.set({group: ""})');
	assert.equal(await total(), 150000);
	await open("small", "#group=step");
	assert.equal((await roots())[0][0], "main"); // without steps
	noProblems();
});
