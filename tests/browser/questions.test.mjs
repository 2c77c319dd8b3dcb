// SPDX-License-Identifier: MIT
// Three questions that people open a report with, asked of runs on an H200 whose answers are known. Each
// is answered in at most two clicks. SCREENSHOTS=FOLDER keeps a picture of each answer, in light and dark.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {pathToFileURL} from "node:url";
import {openChromium} from "./chromium.mjs";

const folder = mkdtempSync(join(tmpdir(), "profile-questions-"));
let browser;

function makeReport(name, ...options) {
	const path = join(folder, `${name}.html`);

	execFileSync("./profile", ["-q", ...options, "-o", path]);
	return pathToFileURL(path).href;
}

const capture = name => `tests/captures/${name}.profile`;
const texts = selector =>
	browser.evaluate(
		`Array.from(document.querySelectorAll(${JSON.stringify(selector)}), e => e.textContent)`,
	);

async function open(url) {
	await browser.show({width: 1280, height: 900});
	await browser.open(url);
	await browser.until('document.documentElement.dataset.timeline === "1"');
}

async function click(selector) {
	const [x, y] = await browser.evaluate(`(() => {
		const found = document.querySelector(${JSON.stringify(selector)});
		found.scrollIntoView({block: "center"});
		const r = found.getBoundingClientRect();
		return [r.left + Math.min(r.width / 2, 60), r.top + r.height / 2]; })()`);

	await browser.click(x, y);
}

async function keep(name) {
	if (!process.env.SCREENSHOTS) return;
	for (const width of [1280, 1920])
		for (const dark of [false, true]) {
			await browser.show({width, height: 900, dark});
			await new Promise(resolve => setTimeout(resolve, 300));
			await browser.screenshot(
				join(process.env.SCREENSHOTS, `${name}-${width}-${dark ? "dark" : "light"}.png`),
			);
		}
	await browser.show({width: 1280, height: 900});
}

before(async () => {
	browser = await openChromium(process.env.CHROMIUM ?? "chromium");
});

after(async () => {
	await browser?.close();
	rmSync(folder, {recursive: true, force: true});
});

test("why is my step slow: the first view says it, a click shows where", async () => {
	await open(makeReport("slow", "--from", capture("options/h200_cpp_all")));
	assert.match((await texts("h2"))[0], /waiting for host code between launches, 30\.1 % of the steps/);
	assert.match((await texts(".uses li")).join(), /waiting for host code between launches12\.6 ms · 30\.1 %/);
	await keep("slow");
	// the reason, and the function that the GPU waits for
	const reasons = await texts(".overview section:last-of-type .top li");

	assert.match(reasons[0], /host code: model::train_step10\.4 ms · 24\.9 %/);
	await click(".overview section:last-of-type .top li button");
	assert.match(await browser.evaluate("location.hash"), /view=timeline&.*window=\d+\.\.\d+/);
	await keep("slow-gap");
	assert.deepEqual(browser.problems, []);
});

test("which of my functions launches the dearest kernel: one click on it", async () => {
	const upper = () =>
		browser.evaluate(
			"new Promise(done => requestAnimationFrame(() => done(document.documentElement.app.views.flame.boxes(true).map(box => box.name))))",
		);

	await open(makeReport("dear", "--from", capture("h200_cpp")));
	assert.match((await texts(".lists .top li"))[0], /^model::softmax_forward<float>/);
	await click(".lists .top li button");
	assert.match((await texts(".details .name"))[0], /softmax_forward<float>/);
	assert.ok((await upper()).includes("model::train_step"), (await upper()).join());
	await keep("dear");
	// inside a CUDA graph: the layers that it is in
	await open(makeReport("graph", "--from", capture("h200_layers_graph")));
	await keep("graph");
	await click(".lists .top li button");
	for (const block of [0, 1, 2, 3])
		assert.ok((await upper()).some(name => name.startsWith(`[blocks.${block}.mlp`)), `block ${block}`);
	await keep("graph-layers");
	assert.deepEqual(browser.problems, []);
});

test("what changed since yesterday: the first view says it, a click shows where", async () => {
	const [before, after_] = ["h200_torch_eager", "h200_torch_compile"].map(capture);

	await browser.show({width: 1280, height: 900});
	await browser.open(makeReport("changed", "--diff", before, after_));
	assert.match((await texts("h2"))[0], /^GPU time: 33\.7 ms before, 108 ms after, \+74\.4 ms \(\+220\.6 %\), beyond noise/);
	assert.match((await texts(".lists .top li"))[0], /^elementwise Fill0 → 53\.2 ms, new/);
	await keep("changed");
	await click(".lists .top li button");
	assert.match(await browser.evaluate("location.hash"), /view=flame/);
	assert.match((await texts(".details")).join(), /before0.*after53\.2 ms/s);
	await keep("changed-kernel");
	assert.deepEqual(browser.problems, []);
});
