// SPDX-License-Identifier: MIT
// Shows how busy the GPUs were, and what the CPU did while they were idle.
import {make, makeChoice, refill} from "./dom.js";
import {clip, formatCount, formatShare, formatTime, plural} from "./format.js";
import {KINDS} from "./kinds.js";
import {rowsThatPass, placesThatPass, weigh} from "./tree.js";
import {ROW_CPU} from "./data.js";
import {sumFrames, tableFunctions} from "./tables.js";
import {prepareCanvas} from "./draw.js";
import {fact} from "./details.js";
import {formatRange, parseRange} from "./state.js";
import {SPAN_SAMPLE} from "./timeline.js";
import {formatTick, spansBetween, tickStep} from "./spans.js";
import {gapsBetween, makeMeasure, sliceRows} from "./slices.js";
import {
	MOST_AT_ONCE,
	WORK_COLLECTIVE,
	WORK_COPY,
	busyColumns,
	lanesByDevice,
	longestGaps,
	sumBusy,
} from "./busy.js";

const GAPS_SHOWN = 100,
	FUNCTIONS_SHOWN = 40,
	CHART = 84, // pixels
	LOW_CHART = 40, // of many devices
	FEW_DEVICES = 3,
	CHART_AXIS = 20,
	NAME_HEAD = "Most of it in";

export function makeBusyView(app) {
	const {frames} = app.profile;
	const message = make("p", {class: "message", hidden: true});
	const body = make("div", {class: "busy-body"});
	const element = make(
		"section",
		{class: "view busy", "aria-label": "GPU busy", tabindex: "0"},
		message,
		body,
	);
	let shownKey = "",
		shownTimeline = null,
		charts = [];

	// ---- data ----

	// Returns by device, for the chosen time, sums of what passes the filter, and gaps in
	// which nothing ran.
	function sumDevices(timeline, from, to) {
		const passes = placesThatPass(app.profile, app.state),
			count = app.profile.places.count,
			{place} = timeline.spans,
			isFiltered = ["process", "thread", "stream"].some(part => app.state[part] !== "");
		const passesSpan = isFiltered ? i => passes[place[i] < 0 ? count : place[i]] === 1 : null;
		const devices = [];

		for (const [device, lanes] of lanesByDevice(timeline)) {
			if (app.state.device !== "" && app.state.device !== device) continue;
			const sums = sumBusy(timeline.spans, lanes, from, to, app.workOf, passesSpan);

			if (sums.operations > 0 || !isFiltered)
				devices.push({
					device,
					sums,
					gaps: isFiltered
						? gapsBetween(app.busyOf(device), from, to)
						: gapsBetween(sums, from, to),
					isFiltered,
				});
		}
		return devices;
	}

	// Returns what threads computed in gaps, by function: all samples that pass the filter.
	function sumSamples(gaps) {
		const profile = app.profileOf(
			sliceRows(app.timeline, makeMeasure(gaps), [SPAN_SAMPLE], true),
		);
		const passes = rowsThatPass(profile, {...app.state, device: "", stream: ""}, [ROW_CPU]);
		const weights = weigh(profile, profile.tree, passes);

		return {
			whole: weights.total[0],
			functions: tableFunctions(app.kinds, sumFrames(profile.tree, weights, frames.count, app.spinning))
				.filter(({cpu}) => cpu > 0)
				.sort((a, b) => b.own - a.own || b.total - a.total),
		};
	}

	// Returns the function that computed most in one gap, with its time.
	function topOf(lanes, passes, from, to) {
		const {spans, profile} = app.timeline,
			sums = new Map();
		let whole = 0;

		for (const lane of lanes) {
			const [first, end] = spansBetween(lane, from, to);

			for (let i = first; i < end; i++) {
				const start = spans.start[i],
					isIn = start >= from && start < to,
					// samples count by the moment they were taken, as in
					// sumSamples; sums of several by their part
					ns =
						spans.number[i] === 1
							? isIn * spans.duration[i]
							: Math.min(start + spans.duration[i], to) - Math.max(start, from),
					frame = app.frameAt(spans.stack[i]),
					place = spans.place[i] < 0 ? profile.places.count : spans.place[i];

				if (!(ns > 0) || !passes[place]) continue;
				sums.set(frame, (sums.get(frame) ?? 0) + ns);
				whole += ns;
			}
		}
		const [top] = [...sums].sort(([, a], [, b]) => b - a);

		return top ? {frame: top[0], ns: top[1], whole} : null;
	}

	// ---- pieces of the page ----

	function update() {
		const {timeline, state} = app;
		const key = JSON.stringify(
			["process", "thread", "device", "stream", "time", "gpu", "my"].map(name => state[name]),
		);

		message.hidden = true;
		body.hidden = false;
		if (timeline && key === shownKey && timeline === shownTimeline) {
			charts.forEach(chart => chart());
			return;
		}
		const [first, last] = parseRange(state.time) ?? [-Infinity, Infinity];
		const from = Math.max(first, timeline?.runFrom ?? 0),
			to = Math.max(Math.min(last, timeline?.runTo ?? 0), from);
		const devices = timeline ? sumDevices(timeline, from, to) : [];

		shownKey = key;
		shownTimeline = timeline;
		charts = [];
		if (devices.length === 0) {
			message.hidden = false;
			body.hidden = true;
			message.textContent = timeline ? whyNoDevice(timeline) : app.timelineStatus;
			return;
		}
		const chosen = devices.find(({device}) => device === state.gpu) ?? devices[0];

		refill(
			body,
			make(
				"section",
				{class: "strips"},
				make("h2", {text: "Share of time in which the GPU was busy"}),
				...devices.map(device => makeStrip(device, from, to, devices.length > FEW_DEVICES)),
				makeNotes(timeline, chosen.isFiltered),
			),
			...(devices.length > 1
				? [
						make(
							"div",
							{class: "group choose", role: "group", "aria-label": "Device"},
							...makeChoice(
								devices.map(({device}) => [device, clip(device || "GPU", 40)]),
								chosen.device,
								gpu => app.set({gpu}),
							),
						),
					]
				: []),
			...makeDetails(chosen),
		);
	}

	function whyNoDevice(timeline) {
		if (timeline.tracks.some(track => track.type === "gpu"))
			return "No GPU work passes the filter.";
		return timeline.lost > 0
			? `No GPU work is in the timeline; ${plural(timeline.lost, "event is", "events are")} missing.`
			: "No GPU work is in the timeline.";
	}

	function makeNotes(timeline, isFiltered) {
		const texts = [],
			shown = app.profile.facts.get("shown");

		if (shown) texts.push(`Shown with ${clip(shown, 200)}.`);
		if (isFiltered)
			texts.push(
				"Only work that passes the filter is shown. Idle gaps are gaps of all work.",
			);

		if (timeline.lost > 0)
			texts.push(
				`${plural(timeline.lost, "event is", "events are")} missing: the GPU may have been busy longer.`,
			);
		if (timeline.summed > 0)
			texts.push(
				`${plural(timeline.summed, "short event is", "short events are")} counted as sums of neighbours: ` +
					"the places of gaps between them are not exact.",
			);
		return texts.length > 0 ? make("p", {class: "note", text: texts.join(" ")}) : null;
	}

	function makeStrip({device, sums, isFiltered}, from, to, isLow) {
		const canvas = make("canvas", {
			role: "img",
			"aria-label": `${clip(device || "GPU", 40)}: busy ${formatShare(sums.busy, sums.run)} of the time`,
			title: "Click to see the time in the timeline",
		});
		const measure = makeMeasure(sums),
			number = app.profile.devices.label.indexOf(device);
		const name = number < 0 ? "" : app.profile.devices.name[number];

		canvas.addEventListener("click", event => {
			const area = canvas.getBoundingClientRect(),
				at = from + ((event.clientX - area.left) / area.width) * (to - from);

			app.set({
				view: "timeline",
				window: formatRange(at - (to - from) / 40, at + (to - from) / 40),
			});
		});
		charts.push(() => drawChart(canvas, measure, from, to, isLow ? LOW_CHART : CHART));
		requestAnimationFrame(() =>
			drawChart(canvas, measure, from, to, isLow ? LOW_CHART : CHART),
		);
		return make(
			"div",
			{class: "strip"},
			make(
				"div",
				{class: "strip-head"},
				make("b", {text: clip(device || "GPU", 60)}),
				make("span", {text: clip(name, 80)}),
				make("strong", {text: formatShare(sums.busy, sums.run)}),
				make("span", {
					text: `busy ${formatTime(sums.busy)} · ${isFiltered ? "not" : "idle"} ${formatTime(sums.idle)}`,
				}),
			),
			canvas,
		);
	}

	function drawChart(canvas, measure, from, to, height) {
		const width = Math.floor(canvas.parentElement?.clientWidth ?? 0);

		if (width === 0) return;
		const context = prepareCanvas(canvas, width, height + CHART_AXIS),
			css = getComputedStyle(document.documentElement),
			colour = name => css.getPropertyValue(name).trim();
		const scale = (to - from) / width,
			step = tickStep(to - from, width, 130);

		context.fillStyle = colour("--raised");
		context.fillRect(0, 0, width, height);
		context.fillStyle = app.colour(KINDS.find(kind => kind.word === "gpu"));
		busyColumns(measure, from, to, width).forEach((busy, x) => {
			const high = busy > 0 ? Math.max(busy * height, 1) : 0;

			context.fillRect(x, height - high, 1, high);
		});
		context.fillStyle = colour("--line");
		for (const part of [0, 0.5]) context.fillRect(0, Math.round(height * part), width, 1);
		context.fillRect(0, height, width, 1);
		context.fillStyle = colour("--faint");
		for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
			const x = Math.round((time - from) / scale),
				text = formatTick(time, step, Math.max(Math.abs(from), to));

			context.fillRect(x, height, 1, 5);
			if (x + 4 + context.measureText(text).width <= width)
				context.fillText(text, x + 4, height + CHART_AXIS / 2 + 1);
		}
	}

	const number = (label, value, hint) => {
		const element = fact(label, value);

		if (hint) element.title = hint;
		return element;
	};

	// Names what shares refer to.
	function wholeName() {
		return app.isPartOfTime || app.state.time !== "" ? "time shown" : "run";
	}

	function makeDetails({device, sums, gaps, isFiltered}) {
		const {run} = sums,
			share = ns => `${formatTime(ns)} (${formatShare(ns, run)})`;
		const several = sums.atOnce.reduce((sum, ns, count) => sum + (count > 1 ? ns : 0), 0);
		const overlap = [
			[WORK_COPY, "Copies and sets"],
			[WORK_COLLECTIVE, "Collectives (NCCL)"],
		].filter(([work]) => sums.union[work] > 0);
		const samples = sumSamples(gaps);

		return [
			make(
				"section",
				{},
				make("h2", {text: `${clip(device || "GPU", 60)}: busy and idle`}),
				make(
					"dl",
					{class: "facts"},
					number(wholeName(), formatTime(run)),
					number("busy", share(sums.busy), "At least one operation ran"),
					number(
						isFiltered ? "not busy with it" : "idle",
						share(sums.idle),
						"No operation ran",
					),
					number("operations", formatCount(sums.operations)),
					number("time of all operations", formatTime(sums.ns)),
					number("two or more at once", share(several)),
				),
				makeAtOnce(sums),
			),
			overlap.length > 0
				? make(
						"section",
						{},
						make("h2", {text: "Copies and collectives: hidden or exposed"}),
						make("p", {
							class: "note",
							text: "Hidden: a kernel ran at the same time. Exposed: none did.",
						}),
						makeOverlap(sums, overlap),
					)
				: null,
			make(
				"section",
				{},
				make("h2", {text: "What the CPU did while the GPU was idle"}),
				makeFunctions(device, gaps, samples),
			),
			make("section", {}, make("h2", {text: "Idle gaps"}), makeGaps(gaps)),
		].filter(part => part !== null);
	}

	const cells = (...values) =>
		values.map((value, i) =>
			value instanceof Node
				? value
				: make("td", {class: i === 0 ? "text" : null, text: value}),
		);

	function makeTable(label, heads, lines) {
		return make(
			"div",
			{class: "table", tabindex: "0", role: "region", "aria-label": label},
			make(
				"table",
				{},
				make(
					"thead",
					{},
					make(
						"tr",
						{},
						...heads.map((text, i) =>
							make("th", {
								scope: "col",
								class: i === 0 || text === NAME_HEAD ? "text" : null,
								text,
							}),
						),
					),
				),
				make("tbody", {}, ...lines),
			),
		);
	}

	function shareCell(part, whole) {
		const bar = make("b", {"aria-hidden": "true"});

		bar.style.width = `calc((100% - 20px) * ${whole > 0 ? Math.min(part / whole, 1) : 0})`;
		return make("td", {class: "share"}, formatShare(part, whole), bar);
	}

	// Shows how long how many operations ran at once. Together with idle time this is the
	// whole run.
	function makeAtOnce(sums) {
		const lines = [];

		sums.atOnce.forEach((ns, count) => {
			if (ns === 0) return;
			const label =
				count === 0
					? "none: idle"
					: count === MOST_AT_ONCE
						? `${count} or more operations`
						: plural(count, "operation");

			lines.push(make("tr", {}, ...cells(label, formatTime(ns), shareCell(ns, sums.run))));
		});
		return makeTable(
			"Operations at once",
			["At once", "Time", `Share of the ${wholeName()}`],
			lines,
		);
	}

	function makeOverlap(sums, list) {
		return makeTable(
			"Hidden and exposed time",
			["What", "Time", "Hidden", "Exposed", `Share of the ${wholeName()}`],
			list.map(([work, label]) => {
				const exposed = sums.union[work] - sums.hidden[work];

				return make(
					"tr",
					{},
					...cells(
						label,
						formatTime(sums.union[work]),
						`${formatTime(sums.hidden[work])} (${formatShare(sums.hidden[work], sums.union[work])})`,
						`${formatTime(exposed)} (${formatShare(exposed, sums.union[work])})`,
						shareCell(exposed, sums.run),
					),
				);
			}),
		);
	}

	function nameCell(frame, act, title) {
		const kind = KINDS[app.kinds[frame]],
			swatch = make("i", {title: kind.label});

		swatch.style.backgroundColor = app.colour(kind);
		return make(
			"td",
			{class: "text named"},
			swatch,
			make("button", {
				type: "button",
				title,
				text: clip(frames.name[frame], 300),
				on: {click: act},
			}),
		);
	}

	function makeFunctions(device, gaps, samples) {
		const toFlame = more =>
			app.set({
				view: "flame",
				idle: device,
				kind: "all",
				device: "",
				stream: "",
				zoom: "",
				inverted: "",
				...more,
			});

		if (samples.functions.length === 0)
			return make("p", {
				class: "note",
				text:
					gaps.start.length === 0
						? "The GPU was never idle."
						: "No CPU sample is in that time: threads slept or waited, or the CPU was not sampled.",
			});
		return make(
			"div",
			{},
			make(
				"p",
				{class: "note"},
				`All threads together used ${formatTime(samples.whole)} of CPU in that time. `,
				make("button", {
					type: "button",
					text: "Show as a flame graph",
					on: {click: () => toFlame({frame: ""})},
				}),
			),
			makeTable(
				"Functions while the GPU was idle",
				["Function", "Own", "Own share", "Total"],
				samples.functions.slice(0, FUNCTIONS_SHOWN).map(({frame, own, total}) =>
					make(
						"tr",
						{},
						...cells(
							nameCell(
								frame,
								() => toFlame({frame: String(frame)}),
								"Show in the flame graph of that time",
							),
							own > 0 ? formatTime(own) : "–",
							shareCell(own, samples.whole),
							formatTime(total),
						),
					),
				),
			),
			samples.functions.length > FUNCTIONS_SHOWN
				? make("p", {
						class: "note",
						text: `${plural(samples.functions.length - FUNCTIONS_SHOWN, "more function is", "more functions are")} in the flame graph.`,
					})
				: null,
		);
	}

	function makeGaps(gaps) {
		const lanes = app.timeline.tracks
				.filter(track => track.type === "samples")
				.flatMap(track => track.lanes),
			passes = placesThatPass(app.profile, {...app.state, device: "", stream: ""});
		const whole = gaps.end.reduce((sum, end, i) => sum + end - gaps.start[i], 0),
			chosen = longestGaps(gaps, GAPS_SHOWN);

		if (chosen.length === 0) return make("p", {class: "note", text: "There is none."});
		const listed = chosen.reduce((sum, i) => sum + gaps.end[i] - gaps.start[i], 0);

		return make(
			"div",
			{},
			make("p", {
				class: "note",
				text: `${plural(gaps.start.length, "gap")}, ${formatTime(whole)} in all; the longest ${chosen.length} are ${formatShare(listed, whole)} of it.`,
			}),
			makeTable(
				"Idle gaps, the longest first",
				["Start", "Length", "Share of idle", "CPU in it", NAME_HEAD],
				chosen.map(i => {
					const [from, to] = [gaps.start[i], gaps.end[i]],
						top = topOf(lanes, passes, from, to),
						room = (to - from) / 3;

					return make(
						"tr",
						{},
						...cells(
							make(
								"td",
								{class: "text short"},
								make("button", {
									type: "button",
									title: "Show in the timeline",
									text: formatTick(from, 1000, Math.max(from, 1000)),
									on: {
										click: () =>
											app.set({
												view: "timeline",
												time: formatRange(from, to),
												window: formatRange(
													Math.max(from - room, 0),
													to + room,
												),
												span: "",
											}),
									},
								}),
							),
							formatTime(to - from),
							shareCell(to - from, whole),
							top ? formatTime(top.whole) : "–",
							top && top.frame >= 0
								? nameCell(
										top.frame,
										() =>
											app.set({
												view: "flame",
												time: formatRange(from, to),
												kind: "all",
												device: "",
												stream: "",
												zoom: "",
												inverted: "",
												frame: "",
											}),
										"Show the profile of this gap",
									)
								: make("td", {class: "text", text: top ? "?" : "no sample"}),
						),
					);
				}),
			),
		);
	}

	new ResizeObserver(() => charts.forEach(chart => chart())).observe(element);

	return {
		element,
		update,
		key: () => false,
		recolour() {
			shownKey = "";
			update();
		},
	};
}
