// SPDX-License-Identifier: MIT
// Shows the verdict, what GPUs did, and what took most. Each part leads to a view that is filtered for it.
import {make, makeBar, makeButton, makeSwatch, makeView, refill} from "./dom.js";
import {clip, formatCount, formatShare, formatTime, joinTexts, plural} from "./format.js";
import {ROW_CPU, ROW_GPU, getOrMake} from "./data.js";
import {isKind, kindNamed} from "./kinds.js";
import {DEFAULTS, formatRange, parseRange} from "./state.js";
import {rowsThatPass} from "./tree.js";
import {sumTime, tableGpuWork, tableInnermost, tableOnCpu} from "./tables.js";
import {busyColumns} from "./busy.js";
import {searchFor} from "./figures.js";
import {makeMeasure} from "./slices.js";
import {fillColumns, prepareCanvas} from "./draw.js";

const FINDINGS = 6, // besides the verdict
	ROWS = 6, // of a list
	STRIPS = 4, // GPUs
	STRIP_HEIGHT = 46,
	STEPS_DRAWN = 400;

// Kinds of frames whose colours stand for what a GPU did, by word of the table gpu_time; others are idle.
const USE_KINDS = {computing: "gpu", exposed_copies: "copy"};

// Reads a table of the profile: a list of objects by label, empty if there is none.
function readFigure(profile, key) {
	const figure = (profile.figures ?? []).find(table => table.key === key);
	return (figure?.rows ?? []).map(row => Object.fromEntries(figure.columns.map(({label}, i) => [label, row[i]])));
}

export function makeOverview(app) {
	const {profile} = app,
		{frames} = profile;
	const element = makeView("overview", "Overview"),
		strips = make("div", {class: "strips"});
	const goToTime = (from, to) => app.set({view: "timeline", window: formatRange(Math.max(from, 0), to)});
	const makeLink = (text, act, title = null, name = "link") => makeButton(text, act, {title, class: name});
	const sayShare = (ns, permille) => `${formatTime(ns)} · ${(permille / 10).toFixed(1)} %`;
	let shownKey = "";

	element.tabIndex = 0;

	// Makes a part of the view: its title, and a list with the parts of each item.
	function makePart(title, name, items, bar = null) {
		const list = items.map(parts => make("li", {}, ...parts));
		return make("section", {}, make("h3", {}, title), bar, make("ol", {class: name}, ...list));
	}

	// ---- the verdict ----

	// Leads to where a finding is: to its time.
	function goTo({Finding: kind, From: from, To: to}) {
		if (kind === "kernel") app.openTable("kernels");
		else if (kind === "launch_site") app.openTable("sites");
		else if (!app.content.timeline || !(to > from)) app.set({view: "flame"});
		else if (kind === "start_up") app.set({view: "flame", kind: "all", time: formatRange(from, to)});
		else goToTime(from, to);
	}

	function makeVerdict() {
		const [verdict, ...others] = app.difference?.findings() ?? readFigure(profile, "findings"),
			titleOf = finding => joinTexts([finding.Certainty, finding.Next], "; next: ");
		const makeItem = finding => {
			const {Claim: text, From: from, To: to} = finding,
				title = titleOf(finding);
			return make("li", {}, to > from ? makeLink(text, () => goTo(finding), title) : make("span", {text, title}));
		};

		if (!verdict) return null;
		return make(
			"section",
			{id: "findings"},
			make("h2", {text: verdict.Claim, title: titleOf(verdict)}),
			make("ul", {}, ...others.slice(0, app.difference ? Infinity : FINDINGS).map(makeItem)),
		);
	}

	// ---- what GPUs did ----

	// Draws the uses of one GPU as a bar, and lists them.
	function makeUse(device, uses, isSteady) {
		const [part, share] = isSteady ? ["Steady part", "Share"] : ["Whole run", "Share of run"],
			present = uses.filter(use => use[part] > 0),
			bar = make("div", {class: "use-bar", "aria-hidden": "true"}),
			all = present.reduce((sum, use) => sum + use[part], 0);
		const swatch = (use, i) => {
			const word = USE_KINDS[use.Use],
				colour = app.colour(kindNamed(word ?? "idle")),
				[width, next] = [2 + (i % 3), 5 + (i % 3)].map(pixels => `${pixels}px`);
			// what is idle differs in density
			const lines = `${45 + 45 * i}deg, ${colour} 0 ${width}, var(--page) ${width} ${next}`;
			return makeSwatch(word ? colour : `repeating-linear-gradient(${lines})`);
		};

		bar.append(...present.map(swatch));
		present.forEach((use, i) => (bar.children[i].style.flexGrow = use[part] / all));
		return makePart(
			`What ${device} did, ${isSteady ? "in the steady part" : "in the whole run"}`,
			"uses",
			present.map((use, i) => [
				swatch(use, i),
				makeLink(use["What the GPU did"], () =>
					USE_KINDS[use.Use] ? app.set({view: "flame", kind: "gpu", device}) : app.openTable("idle_causes"),
				),
				make("span", {text: sayShare(use[part], use[share])}),
			]),
			bar,
		);
	}

	// Returns true for a part that is not the steady one: what GPUs did then is in the timeline alone.
	const isOtherTime = () => !["", DEFAULTS.time].includes(app.state.time) || app.state.idle !== "";

	function makeUses() {
		const rows = readFigure(profile, "gpu_time"),
			devices = [...new Set(rows.map(row => row.GPU))].slice(0, STRIPS),
			isSteady = app.state.time !== "";
		if (isOtherTime()) return [];
		return devices.map(device => makeUse(device, rows.filter(row => row.GPU === device), isSteady));
	}

	// ---- strips: how busy each GPU was, with steps ----

	function drawStrip(canvas, device, from, to) {
		const width = canvas.parentElement.clientWidth,
			context = prepareCanvas(canvas, width, STRIP_HEIGHT),
			columns = busyColumns(makeMeasure(app.busyOf(device)), from, to, width),
			{start} = profile.steps,
			step = Math.ceil(start.length / STEPS_DRAWN);

		fillColumns(context, app.colour(kindNamed("gpu")), columns, 0, STRIP_HEIGHT, STRIP_HEIGHT - 6);
		context.fillStyle = app.isDark() ? "#ffffff" : "#111111";
		for (let i = 0; i < start.length; i += step) {
			const x = ((start[i] - from) / (to - from)) * width;
			if (x >= 0 && x < width) context.fillRect(Math.floor(x), 0, 1, 5);
		}
	}

	function fillStrips() {
		if (!app.timeline) return strips.replaceChildren(make("p", {class: "faint", text: app.timelineStatus}));
		const [from, to] = parseRange(app.state.time) ?? [app.timeline.runFrom, app.timeline.runTo],
			devices = app.devices().slice(0, STRIPS);
		const click = event => {
			const at = from + ((to - from) * event.offsetX) / event.target.clientWidth,
				half = (to - from) / 20;
			goToTime(at - half, at + half);
		};
		const range = `from ${formatTime(from)} to ${formatTime(to)}${profile.steps.start.length > 0 ? "; marks are steps" : ""}`;
		const title = "Show this in the timeline";
		const figures = devices.map(device =>
			make(
				"figure",
				{},
				make("figcaption", {text: `${device}: how busy it was, ${range}`}),
				make("canvas", {title, "aria-label": `How busy ${device} was`, role: "img", on: {click}}),
			),
		);

		strips.replaceChildren(...figures);
		if (to > from && strips.clientWidth > 0)
			figures.forEach((figure, i) => drawStrip(figure.lastChild, devices[i], from, to));
	}

	// ---- lists ----

	// Makes a list of what took most, {frame, ns, operations, name, act}; `table` has all. Without `act` a row leads to a sandwich.
	function makeList(title, table, rows, whole, hint, kind = app.state.kind) {
		if (rows.length === 0) return null;
		rows.sort((a, b) => b.ns - a.ns);
		return makePart(
			makeLink(title, () => app.openTable(table, {kind}), `${hint}; all of them`),
			"top",
			rows.slice(0, ROWS).map(({frame, ns, operations, name, act, text, colour = ""}) => [
				app.makeSwatch(frame),
				makeLink(
					clip(name ?? app.labels[frame], 200).replace(/^\[GPU_Kernel\](?=.)/, ""),
					act ?? (() => app.openFrame(frame, kind)),
					name ?? `${clip(frames.name[frame], 1000)}\nIts callers and callees`,
					"link name",
				),
				make("span", {
					text: text ?? `${app.amount(ns)} · ${formatShare(ns, whole)}`,
					title: operations > 0 && plural(operations, "operation"),
				}),
				makeBar(whole > 0 ? ns / whole : 0, {background: colour}),
			]),
		);
	}

	// Sums up layers whose paths differ in numbers only: [blocks.*.mlp]. Such a row leads to a search.
	function sumKinds(layers) {
		const kinds = new Map();

		for (const {frame, ns, operations} of layers) {
			const name = frames.name[frame].replace(/\d+/g, "*"),
				q = searchFor(name),
				act = () => (q.length < 1000 ? app.set({view: "flame", q}) : app.openFrame(frame)),
				kind = getOrMake(kinds, name, () => ({frame, ns: 0, operations: 0, name, act}));
			kind.ns += ns;
			kind.operations += operations;
		}
		return [...kinds.values()];
	}

	function makeLists() {
		if (app.difference) return app.difference.lists().map(list => makeList(...list));
		const {shown, tree, kinds, state} = app,
			gpu = rowsThatPass(shown, state, [ROW_GPU]),
			cpu = rowsThatPass(shown, state, [ROW_CPU]),
			gpuNs = sumTime(shown, gpu),
			cpuNs = sumTime(shown, cpu),
			onCpu = tableOnCpu(shown, tree, kinds, cpu);
		const innermost = word => tableInnermost(shown, tree, gpu, frame => isKind(kinds[frame], word));

		return [
			makeList("GPU kernels", "kernels", tableGpuWork(shown, tree, kinds, gpu, "gpu"), gpuNs, "GPU time"),
			makeList("Layers", "layer_kinds", sumKinds(innermost("layer")), gpuNs, "GPU time by innermost layer"),
			makeList("Operators", "operators", innermost("operator"), gpuNs, "GPU time by innermost operator"),
			makeList("Launched by", "sites", app.launchSites(gpu), gpuNs, "GPU time by the function that launched it"),
			makeList("On the CPU", "functions", onCpu, cpuNs, "CPU time in the function itself", "cpu"),
		];
	}

	// Returns true if no GPU computed for half of the steady part.
	const isMostlyIdle = () => readFigure(profile, "gpu_time").every(row => row.Use !== "computing" || row.Share < 500);

	function makeIdle() {
		const rows = readFigure(profile, "idle_causes").slice(0, ROWS);

		if (rows.length === 0 || isOtherTime()) return null;
		const part = DEFAULTS.time === "" ? "from their first work to their last" : "in the steady part";
		// a reason is spread over gaps that have others, too: then the longest gap is no place to look
		const goToGaps = ({At: at, Longest: longest, Time: ns, Gaps: gaps}) =>
			gaps > 0 && longest <= ns ? goToTime(at - 2 * longest, at + 3 * longest) : app.openTable("idle_causes");

		return makePart(
			`Why GPUs were idle, ${part}`,
			"top",
			rows.map(row => [
				makeLink(
					`${row.Cause.replaceAll("_", " ")}${row.Function ? `: ${clip(row.Function, 160)}` : ""}`,
					() => goToGaps(row),
					`${plural(row.Gaps, "gap")}, the longest ${formatTime(row.Longest)}: in the timeline`,
				),
				make("span", {text: sayShare(row.Time, row.Share)}),
			]),
		);
	}

	function makeLosses() {
		if (app.difference) return null; // the warnings of --diff tell what each side lost
		const lost = profile.losses.map(([what, count]) => `${formatCount(count)} ${what}`).join("; "),
			text = lost ? `Lost or incomplete: ${lost}` : "Complete: nothing was lost.";
		return make("p", {class: "faint"}, makeLink(text, () => app.set({view: "about"})));
	}

	function update() {
		const key = [app.filterKey, app.timelineStatus, app.isDark(), app.state.changes].join("|"),
			hasStrips = app.content.timeline && app.content.gpu;

		if (key === shownKey && element.clientWidth > 0) return;
		shownKey = key;
		const lists = isMostlyIdle() ? [makeIdle(), ...makeLists()] : [...makeLists(), makeIdle()],
			parts = [makeVerdict(), ...makeUses(), hasStrips && strips, make("div", {class: "lists"}, ...lists), makeLosses()];
		refill(element, make("div", {class: "overview-body"}, ...parts));
		if (hasStrips) fillStrips();
	}

	new ResizeObserver(() => strips.isConnected && fillStrips()).observe(element);
	return {
		element,
		update,
		recolour() {
			shownKey = "";
			update();
		},
	};
}
