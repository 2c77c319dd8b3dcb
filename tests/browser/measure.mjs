// SPDX-License-Identifier: MIT
// measure.mjs NAME=FOLDER...: measures the page of checkouts (build/profiler/web/page.html of each FOLDER, with
// the made-up profiles of its tests), one after the other in each round, and prints medians: the first picture
// of 200,000 nodes, a timeline of 5 million events, frames a second while it moves. ROUNDS, TIMELINE_EVENTS.
import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join, resolve} from "node:path";
import {pathToFileURL} from "node:url";
import {openChromium} from "./chromium.mjs";

const EVENTS = Number(process.env.TIMELINE_EVENTS ?? 5000000),
	NODES = 200000,
	ROUNDS = Number(process.env.ROUNDS ?? 5),
	FRAMES = 40;
const folder = mkdtempSync(join(tmpdir(), "profile-measure-"));
// keeps when the page said that it is ready, by its own clock; polling would come late
const WATCH = `new MutationObserver(() => {
	const {ready, timeline} = document.documentElement.dataset, at = performance.now();

	if (ready && !window.readyAt) {
		window.readyAt = at;
		requestAnimationFrame(() => (window.pictureAt = performance.now()));
	}
	if (timeline) window.timelineAt ??= at;
	if (timeline === "1") window.linkedAt ??= at;
}).observe(document, {attributes: true, subtree: true, attributeFilter: ["data-ready", "data-timeline"]})`;

async function writePages(checkout, name) {
	const load = file => import(pathToFileURL(resolve(checkout, "tests/html", file)));
	const [{makeBigProfile, makePage}, {makeTraining}] = [await load("made_page.mjs"), await load("made_timeline.mjs")];
	const page = readFileSync(join(checkout, "build/profiler/web/page.html"), "utf8");
	const write = (what, profile) => {
		const path = join(folder, `${name}-${what}.html`);

		writeFileSync(path, makePage(page, profile));
		return path;
	};

	return {
		nodes: write("nodes", makeBigProfile(NODES)),
		events: write("events", makeTraining({events: EVENTS, gpus: 8})),
	};
}

// Pans for some frames, and says how many a second there were.
const pan = (browser, key) =>
	browser.evaluate(`(async () => {
		const start = performance.now();

		for (let i = 0; i < ${FRAMES}; i++) {
			document.querySelector(".lanes canvas").dispatchEvent(
				new KeyboardEvent("keydown", {key: ${JSON.stringify(key)}, bubbles: true}));
			await new Promise(requestAnimationFrame);
		}
		return ${FRAMES} * 1000 / (performance.now() - start);
	})()`);

async function measure({nodes, events}) {
	const browser = await openChromium(process.env.CHROMIUM ?? "chromium");

	try {
		const found = {};

		await browser.send("Page.addScriptToEvaluateOnNewDocument", {source: WATCH});
		await browser.show({width: 1200, height: 800});
		await browser.open(pathToFileURL(nodes).href);
		await browser.until("window.pictureAt > 0");
		found["first picture of nodes, ms"] = await browser.evaluate("pictureAt");
		// in a view that does without a timeline: what an overview draws of it is not counted
		await browser.open(`${pathToFileURL(events).href}#view=flame`);
		await browser.until("window.linkedAt > 0", 240);
		found["first picture beside events, ms"] = await browser.evaluate("pictureAt");
		found["timeline ready, ms"] = await browser.evaluate("timelineAt");
		found["launches linked, ms"] = await browser.evaluate("linkedAt");
		await browser.evaluate('document.documentElement.app.set({view: "timeline"})');
		for (const [name, presses] of [
			["whole run", 0],
			["100 ms", 17],
			["1 ms", 30],
		]) {
			await browser.key("0");
			for (let i = 0; i < presses; i++) await browser.key("w");
			found[`frames a second, ${name}`] = Math.min(await pan(browser, "a"), await pan(browser, "d"));
		}
		return found;
	} finally {
		await browser.close();
	}
}

const median = list => list.sort((a, b) => a - b)[list.length >> 1];

try {
	const checkouts = process.argv.slice(2).map(text => text.split(/=(.*)/)),
		pages = new Map(),
		all = new Map();

	for (const [name, path] of checkouts) {
		pages.set(name, await writePages(path, name));
		console.log(`${name}: ${path}, ${(statSync(pages.get(name).events).size / 1e6).toFixed(1)} MB of ${EVENTS} events`);
	}
	for (let round = 0; round < ROUNDS; round++)
		for (const [name] of checkouts)
			for (const [what, value] of Object.entries(await measure(pages.get(name)))) {
				const of = all.get(what) ?? new Map();

				all.set(what, of.set(name, [...(of.get(name) ?? []), value]));
			}
	for (const [what, of] of all)
		console.log(
			`${what}: ${[...of].map(([name, list]) => `${name} ${median(list).toFixed(0)} (${Math.min(...list).toFixed(0)} to ${Math.max(...list).toFixed(0)})`).join(", ")}`,
		);
} finally {
	rmSync(folder, {recursive: true, force: true});
}
