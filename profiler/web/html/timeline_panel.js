// SPDX-License-Identifier: MIT
// Shows what is known of what is selected in the timeline: a span, a gap of a GPU, or a GPU.
import {make, makeSwatch, makeTable, refill} from "./dom.js";
import {clip, formatBytes, formatCount, formatRate, formatShare, formatTime, plural} from "./format.js";
import {KINDS} from "./kinds.js";
import {pathTo, placesThatPass} from "./tree.js";
import {fillPanel, lastActions, placeOfFrame} from "./details.js";
import {formatRange, parseRange} from "./state.js";
import {SPAN_CALL, SPAN_LAUNCH, SPAN_OFF_CPU, SPAN_WAIT, operationsOf} from "./timeline.js";
import {formatTick, timesOf} from "./spans.js";
import {gapsBetween} from "./slices.js";
import {WORK_COLLECTIVE, WORK_COPY, lanesByDevice, longestGaps, sumBusy} from "./busy.js";
import {lookIntoGap, sayGap} from "./gaps.js";

const STACK_FRAMES = 200,
	GAPS_SHOWN = 100,
	WHAT = {
		[SPAN_LAUNCH]: "launch",
		[SPAN_WAIT]: "waiting for the GPU",
		[SPAN_CALL]: "CUDA call, wall time",
		[SPAN_OFF_CPU]: "off the CPU",
	};

// `view` is what the timeline offers: {rows, colourIn, reasonAt, nameOfFrame, select, selectIn, zoomTo, chooseTime}.
export function makeTimelinePanel(app, element, view) {
	const {frames, stacks, places} = app.profile,
		{rows, nameOfFrame} = view,
		frameOf = i => app.frameAt(app.timeline.spans.stack[i]),
		nameIn = frame => clip(nameOfFrame(frame), 120),
		threadOf = place => clip(rows.threadOf(place), 60);
	let shownDevice = "";

	// Returns what a gap is, in one sentence, with what lookIntoGap found.
	function describeGap(device, from, to) {
		const {timeline} = app,
			gap = lookIntoGap(timeline, lanesByDevice(timeline).get(device) ?? [], from, to, frameOf);
		return {...gap, text: sayGap(gap, from, to, nameIn, frameOf, threadOf)};
	}

	const describe = span => describeGap(span.lane.track.device, ...timesOf(span));

	// ---- a span ----

	// Returns the frames of a span, the outermost first.
	function stackOf({lane: {store}, i}) {
		const {parent, frame} = store.stack ? stacks : app.stackTree(),
			path = pathTo(parent, store.stack ? store.stack[i] : store.isStack ? store.node[i] : 0);
		return path.slice(-STACK_FRAMES).map(at => frame[at]);
	}

	function factsOf({lane: {store, track}, i}) {
		const {timeline} = app,
			{stack, start, duration, number} = store,
			isSum = number[i] > 1;
		const facts = [
			["start", formatTick(start[i], 1)],
			[isSum && stack ? "time of all" : "duration", formatTime(duration[i])],
			[stack ? "events" : track.type === "samples" ? "samples" : "calls", isSum && formatCount(number[i])],
		];
		if (!stack) return facts;
		const {shape, kind, bytes, correlation, node} = store,
			place = track.type === "gpu" ? store.place[i] : -1,
			dims = timeline.shapes.map(column => column[shape[i] - 1]),
			isShaped = shape[i] > 0 && shape[i] <= timeline.shapes[0].length,
			isWait = kind[i] === SPAN_WAIT,
			launch = timeline.launch[i];

		return [
			...facts,
			["grid", isShaped && dims.slice(0, 3).join(" × ")],
			["block", isShaped && dims.slice(3, 6).join(" × ")],
			["shared memory", isShaped && `${formatBytes(dims[6] + dims[7])} a block`],
			["registers", isShaped && `${dims[8]} a thread`],
			["of it on a CPU", isWait && bytes[i] > 0 && formatTime(bytes[i])],
			["bytes", !isWait && bytes[i] > 0 && formatBytes(bytes[i])],
			["rate", !isWait && bytes[i] > 0 && formatRate(bytes[i], duration[i])],
			["stream", places.stream[place] >= 0 && String(places.stream[place])],
			["launched by", places.thread[place] >= 0 && threadOf(place)],
			["correlation", correlation[i] > 0 && String(correlation[i])],
			["graph node", node[i] > 0 && String(node[i])],
			["after its launch", launch >= 0 && formatTime(Math.max(start[i] - start[launch], 0))],
			["return", kind[i] === SPAN_LAUNCH && duration[i] === 0 && "unknown"],
		];
	}

	const common = span => [
		["Zoom in", "Enter, double-click", () => view.zoomTo(span)],
		["Select its time", "All other views show this time alone (m)", view.chooseTime],
	];
	const showIn = changes => app.set({view: "flame", kind: "all", zoom: "", pick: "", inverted: "", frame: "", ...changes});

	function actionsOf(span, stack) {
		const {timeline} = app,
			{store} = span.lane,
			{i} = span,
			frame = store.frameAt(i),
			node = store.stack ? app.stackOf(store.stack[i]) : store.isStack ? store.node[i] : 0,
			launch = store.stack ? timeline.launch[i] : -1,
			[first, second] = store.stack && store.kind[i] === SPAN_LAUNCH ? operationsOf(timeline, i, 2) : [];

		return [
			...common(span),
			launch >= 0 && ["Its launch", "f", () => view.select(launch)],
			first >= 0 && [second === undefined ? "Its operation" : "Its first operation", "f", () => view.select(first)],
			node > 0 && ["In the flame graph", "The stack there", () => showIn({group: "", zoom: String(node)})],
			frame >= 0 && ["Callers, callees", "The sandwich of this frame", () => app.openFrame(frame)],
			...lastActions(element, frames.name[frame], stack.map(at => frames.name[at])),
		];
	}

	function showSpan(span) {
		const {lane, i} = span,
			{store, track} = lane,
			frame = store.frameAt(i),
			kind = KINDS[app.kinds[frame]],
			stack = stackOf(span);

		fillPanel(
			element,
			makeSwatch(view.colourIn(lane, i), kind?.label),
			frame < 0 ? "[stack not captured]" : clip(frames.name[frame], 2000),
			[
				(store.stack && WHAT[store.kind[i]]) || kind?.label,
				track.type === "off" && view.reasonAt(i).label,
				track.type === "gpu"
					? `${clip(rows.deviceName(track.device), 80)}, ${rows.trackLabel(track, true, true)}`
					: clip(rows.threadName(track), 120),
				frame >= 0 && clip(placeOfFrame(frames, frame), 300),
			],
			factsOf(span),
			actionsOf(span, stack),
			stack.length > 1 ? make("div", {class: "stack", text: stack.map(nameIn).join(" › ")}) : null,
		);
	}

	// ---- a gap ----

	function showGap(span) {
		const {device} = span.lane.track,
			[from, to] = timesOf(span),
			{next, launch, text} = describe(span);
		const name = `${clip(rows.deviceName(device), 80)}: idle for ${formatTime(to - from)}`,
			facts = [["start", formatTick(from, 1)], ["duration", formatTime(to - from)]];

		fillPanel(element, null, name, [text], facts, [
			...common(span),
			next >= 0 && ["What came next", "The operation that ended it", () => view.select(next)],
			launch >= 0 && ["Its launch", "The call that launched that", () => view.select(launch)],
			["Profile of this gap", "The flame graph of its time", () => showIn({time: formatRange(from, to)})],
			["All gaps", "Those of this GPU, the longest first", () => app.set({gpu: device, span: ""})],
		]);
	}

	// ---- a GPU ----

	// Returns sums of what passes the filter in the chosen time, and all gaps there.
	function sumDevice(device) {
		const {timeline, state} = app,
			{spans, runFrom, runTo} = timeline,
			passes = placesThatPass(app.profile, state),
			isFiltered = ["process", "thread", "stream"].some(part => state[part] !== ""),
			isIn = isFiltered ? i => passes(spans.place[i]) : null;
		const [first, last] = parseRange(state.time) ?? [runFrom, runTo],
			from = Math.max(first, runFrom),
			to = Math.max(Math.min(last, runTo), from),
			sums = sumBusy(spans, lanesByDevice(timeline).get(device), from, to, app.workOf, isIn);

		return {sums, isFiltered, gaps: gapsBetween(app.busyOf(device), from, to)};
	}

	function factsOfDevice({run, busy, idle, operations, ns, atOnce, union, hidden}, isFiltered) {
		const share = part => `${formatTime(part)} (${formatShare(part, run)})`,
			exposed = work => union[work] > 0 && `${formatTime(union[work])}, exposed ${share(union[work] - hidden[work])}`,
			hint = "Exposed: no kernel that computes ran at the same time";

		return [
			[app.isPartOfTime || app.state.time !== "" ? "time shown" : "run", formatTime(run)],
			["busy", share(busy)],
			[isFiltered ? "not busy with it" : "idle", share(idle)],
			["operations", formatCount(operations)],
			["time of all operations", formatTime(ns)],
			["two or more at once", share(atOnce.slice(2).reduce((sum, part) => sum + part, 0))],
			["copies and sets", exposed(WORK_COPY), hint],
			["collectives (NCCL)", exposed(WORK_COLLECTIVE), hint],
		];
	}

	function makeGaps(device, {start, end}) {
		const whole = end.reduce((sum, to, i) => sum + to - start[i], 0),
			lane = rows.gapsOf(app.timeline, device),
			labels = ["Idle from", "For", "Share of idle", "What the next launcher did"],
			head = labels.map((text, i) => make("th", {scope: "col", class: i === 3 && "text", text})),
			cell = (text, type = null) => make("td", {class: type, text});
		const makeRow = (from, to) =>
			make(
				"tr",
				{on: {click: () => view.selectIn(lane, from)}},
				make("td", {}, make("button", {type: "button", text: formatTick(from, 1000)})),
				cell(formatTime(to - from)),
				cell(formatShare(to - from, whole)),
				cell(describeGap(device, from, to).text, "text long"),
			);
		const made = longestGaps({start, end}, GAPS_SHOWN).map(k => makeRow(start[k], end[k]));

		return make("div", {class: "table"}, makeTable({"aria-label": "Idle gaps, the longest first"}, head, made));
	}

	function showDevice(device) {
		const {timeline, state} = app,
			key = JSON.stringify([device, state.time, state.process, state.thread, state.stream, state.my, timeline.isLinked]);
		if (key === shownDevice) return;
		const {sums, isFiltered, gaps} = sumDevice(device),
			shown = app.profile.facts.get("shown"),
			showIdle = () => showIn({idle: device, device: "", stream: ""});

		fillPanel(
			element,
			null,
			clip(rows.deviceName(device), 120),
			[
				shown && `Shown with ${clip(shown, 200)}`,
				isFiltered && "Only work that passes the filter is counted; gaps are of all work",
				gaps.start.length > 0 ? `${plural(gaps.start.length, "gap")}, the longest below` : "never idle",
			],
			factsOfDevice(sums, isFiltered),
			[
				["Flame graph while idle", "What all threads computed while this GPU was idle", showIdle],
				...lastActions(element, "", []),
			],
			makeGaps(device, gaps),
		);
		shownDevice = key;
	}

	function showHint() {
		const {events, runFrom, runTo} = app.timeline,
			text = matchMedia("(pointer: coarse)").matches
				? "Pinch to zoom, drag to move; drag along the axis to choose a time for all views; tap for details."
				: "Wheel, w and s zoom; drag, a and d move; drag along the axis, or with Shift, to choose a time " +
					"for all views. Click a span, a gap, or a GPU's heading for details, double-click to zoom in.";
		refill(element, make("p", {class: "hint", text: `${plural(events, "event")} in ${formatTime(runTo - runFrom)}. ${text}`}));
	}

	return {
		describe,
		// `span` is what is selected; null: the device of the state, if any.
		show(span) {
			const device = app.state.gpu;
			if (!span && lanesByDevice(app.timeline).has(device)) return showDevice(device);
			shownDevice = "";
			if (!span) return showHint();
			return span.lane.track.type === "idle" ? showGap(span) : showSpan(span);
		},
	};
}
