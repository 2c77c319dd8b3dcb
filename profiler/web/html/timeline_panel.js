// SPDX-License-Identifier: MIT
// Shows what is known of what is selected in the timeline: a span, a gap of a GPU, or a GPU.
import {copyText, make, refill} from "./dom.js";
import {clip, formatBytes, formatCount, formatRate, formatShare, formatTime, plural} from "./format.js";
import {KINDS} from "./kinds.js";
import {placesThatPass} from "./tree.js";
import {fact, makeFacts, placeOfFrame} from "./details.js";
import {formatRange, parseRange} from "./state.js";
import {SPAN_CALL, SPAN_LAUNCH, SPAN_OFF_CPU, SPAN_WAIT, operationsOf} from "./timeline.js";
import {formatTick} from "./spans.js";
import {gapsBetween} from "./slices.js";
import {WORK_COLLECTIVE, WORK_COPY, lanesByDevice, longestGaps, sumBusy} from "./busy.js";
import {lookIntoGap, sayGap} from "./gaps.js";

const STACK_FRAMES = 200,
	GAPS_SHOWN = 100;
const WHAT = [];

WHAT[SPAN_LAUNCH] = "launch";
WHAT[SPAN_WAIT] = "waiting for the GPU";
WHAT[SPAN_CALL] = "CUDA call, wall time";
WHAT[SPAN_OFF_CPU] = "off the CPU";

// `view` is what the timeline offers: rows (timeline_rows.js), colourIn, reasonAt, nameOfFrame, select, selectIn, zoomTo,
// chooseTime.
export function makeTimelinePanel(app, element, view) {
	const {frames, stacks, places, devices} = app.profile,
		{rows, nameOfFrame} = view;
	const frameOf = i => app.frameAt(app.timeline.spans.stack[i]);
	let shownDevice = "";

	// Returns what a gap is, in one sentence, with what lookIntoGap found.
	function describeGap(device, from, to) {
		const {timeline} = app,
			gap = lookIntoGap(timeline, lanesByDevice(timeline).get(device) ?? [], from, to, frameOf);

		return {
			...gap,
			text: sayGap(gap, from, to, frame => clip(nameOfFrame(frame), 120), frameOf, place =>
				clip(rows.threadOf(place), 60),
			),
		};
	}

	function describe({lane: {store, track}, i}) {
		return describeGap(track.device, store.start[i], store.start[i] + store.duration[i]);
	}

	function fill(name, swatch, where, facts, actions, more) {
		refill(
			element,
			make("div", {class: "name"}, swatch, name),
			make("div", {class: "where", text: where.filter(text => text).join(" · ")}),
			makeFacts(facts, actions),
			more,
		);
	}

	// ---- a span ----

	// Returns the frames of a span, the outermost first.
	function stackOf({lane: {store}, i}) {
		const [parent, frame, first] = store.stack
			? [stacks.parent, stacks.frame, store.stack[i]]
			: [app.stackTree().parent, app.stackTree().frame, store.isStack ? store.node[i] : 0];
		const list = [];
		for (let at = first; at > 0 && list.length < STACK_FRAMES; at = parent[at]) list.push(frame[at]);
		return list.reverse();
	}

	function factsOf({lane, i}) {
		const {timeline} = app,
			{store} = lane,
			facts = [
				fact("start", formatTick(store.start[i], 1, Math.max(Math.abs(store.start[i]), 1))),
				fact(store.number[i] > 1 && store.stack ? "time of all" : "duration", formatTime(store.duration[i])),
			];
		const add = (label, value) => facts.push(fact(label, value));

		if (store.number[i] > 1)
			add(store.stack ? "events" : lane.track.type === "samples" ? "samples" : "calls", formatCount(store.number[i]));
		if (!store.stack) return facts;
		const place = store.place[i];

		if (store.shape[i] > 0 && store.shape[i] <= timeline.shapes[0].length) {
			const shape = timeline.shapes.map(column => column[store.shape[i] - 1]);
			add("grid", shape.slice(0, 3).join(" × "));
			add("block", shape.slice(3, 6).join(" × "));
			add("shared memory", `${formatBytes(shape[6] + shape[7])} a block`);
			add("registers", `${shape[8]} a thread`);
		}
		if (store.kind[i] === SPAN_WAIT && store.bytes[i] > 0) {
			add("of it on a CPU", formatTime(store.bytes[i]));
		} else if (store.bytes[i] > 0) {
			add("bytes", formatBytes(store.bytes[i]));
			add("rate", formatRate(store.bytes[i], store.duration[i]));
		}
		if (lane.track.type === "gpu" && place >= 0 && places.stream[place] >= 0) add("stream", String(places.stream[place]));
		if (lane.track.type === "gpu" && place >= 0 && places.thread[place] >= 0)
			add("launched by", clip(rows.threadOf(place), 60));
		if (store.correlation[i] > 0) add("correlation", String(store.correlation[i]));
		if (store.node[i] > 0) add("graph node", String(store.node[i]));
		if (timeline.launch[i] >= 0)
			add("after its launch", formatTime(Math.max(store.start[i] - store.start[timeline.launch[i]], 0)));
		if (store.kind[i] === SPAN_LAUNCH && store.duration[i] === 0) add("return", "unknown");
		return facts;
	}

	const common = span => [
		["Zoom in", "Enter, double-click", () => view.zoomTo(span)],
		["Select its time", "All other views show this time alone (m)", view.chooseTime],
	];

	function actionsOf(span, stack) {
		const {timeline} = app,
			{store} = span.lane,
			{i} = span,
			actions = common(span),
			node = store.stack ? app.stackOf(store.stack[i]) : store.isStack ? store.node[i] : 0;

		if (store.stack && timeline.launch[i] >= 0) actions.push(["Its launch", "f", () => view.select(timeline.launch[i])]);
		const [first, second] = store.stack && store.kind[i] === SPAN_LAUNCH ? operationsOf(timeline, i, 2) : [];

		if (first !== undefined)
			actions.push([second === undefined ? "Its operation" : "Its first operation", "f", () => view.select(first)]);
		if (node > 0)
			actions.push([
				"In the flame graph",
				"The stack there",
				() => app.set({view: "flame", group: "", zoom: String(node), pick: "", inverted: "", frame: "", kind: "all"}),
			]);
		if (store.frameAt(i) >= 0)
			actions.push(
				["Callers, callees", "The sandwich of this frame", () => app.openFrame(store.frameAt(i))],
				["Copy name", "The whole name", event => copyText(frames.name[store.frameAt(i)], event.target)],
			);
		if (stack.length > 1)
			actions.push(["Copy stack", "A frame on each line", event => copyText(stack.map(at => frames.name[at]).join("\n"), event.target)]);
		actions.push(["Copy link", "The address of this view", event => copyText(location.href, event.target)]);
		actions.push(["More", "Show name and stack in full", () => element.classList.toggle("open")]);
		return actions;
	}

	function showSpan(span) {
		const {lane, i} = span,
			{store, track} = lane,
			frame = store.frameAt(i),
			kind = frame < 0 ? null : KINDS[app.kinds[frame]],
			swatch = make("i", {title: kind?.label ?? null}),
			stack = stackOf(span);

		swatch.style.backgroundColor = view.colourIn(lane, i).fill;
		fill(
			frame < 0 ? "[stack not captured]" : clip(frames.name[frame], 2000),
			swatch,
			[
				(store.stack && WHAT[store.kind[i]]) || (kind?.label ?? ""),
				track.type === "off" ? view.reasonAt(i).label : "",
				track.type === "gpu"
					? `${clip(rows.deviceName(track.device), 80)}, ${rows.trackLabel(track, true, true)}`
					: clip(rows.threadName(track), 120),
				frame < 0 ? "" : clip(placeOfFrame(frames, frame), 300),
			],
			factsOf(span),
			actionsOf(span, stack),
			stack.length > 1 ? make("div", {class: "stack", text: stack.map(at => clip(nameOfFrame(at), 120)).join(" › ")}) : null,
		);
	}

	// ---- a gap ----

	function showGap(span) {
		const {store, track} = span.lane,
			[from, to] = [store.start[span.i], store.start[span.i] + store.duration[span.i]],
			{next, launch, text} = describe(span);

		fill(
			`${clip(rows.deviceName(track.device), 80)}: idle for ${formatTime(to - from)}`,
			null,
			[text],
			[fact("start", formatTick(from, 1, Math.max(Math.abs(from), 1))), fact("duration", formatTime(to - from))],
			[
				...common(span),
				...(next >= 0 ? [["What came next", "The operation that ended it", () => view.select(next)]] : []),
				...(launch >= 0 ? [["Its launch", "The call that launched that", () => view.select(launch)]] : []),
				[
					"Profile of this gap",
					"The flame graph of its time",
					() => app.set({view: "flame", time: formatRange(from, to), kind: "all", zoom: "", pick: "", inverted: "", frame: ""}),
				],
				["All gaps", "Those of this GPU, the longest first", () => app.set({gpu: track.device, span: ""})],
			],
			null,
		);
	}

	// ---- a GPU ----

	// Returns sums of what passes the filter in the chosen time, and all gaps there.
	function sumDevice(device) {
		const {timeline, state} = app,
			passes = placesThatPass(app.profile, state),
			{place} = timeline.spans,
			isFiltered = ["process", "thread", "stream"].some(part => state[part] !== "");
		const [first, last] = parseRange(state.time) ?? [-Infinity, Infinity],
			from = Math.max(first, timeline.runFrom),
			to = Math.max(Math.min(last, timeline.runTo), from);
		const sums = sumBusy(
			timeline.spans,
			lanesByDevice(timeline).get(device),
			from,
			to,
			app.workOf,
			isFiltered ? i => passes[place[i] < 0 ? places.count : place[i]] === 1 : null,
		);

		return {sums, isFiltered, gaps: gapsBetween(app.busyOf(device), from, to)};
	}

	function factsOfDevice(sums, isFiltered) {
		const share = ns => `${formatTime(ns)} (${formatShare(ns, sums.run)})`,
			several = sums.atOnce.reduce((sum, ns, count) => sum + (count > 1 ? ns : 0), 0);
		const exposed = [
			[WORK_COPY, "copies and sets"],
			[WORK_COLLECTIVE, "collectives (NCCL)"],
		]
			.filter(([work]) => sums.union[work] > 0)
			.map(([work, label]) => {
				const ns = sums.union[work] - sums.hidden[work],
					element = fact(label, `${formatTime(sums.union[work])}, exposed ${share(ns)}`);
				element.title = "Exposed: no kernel that computes ran at the same time";
				return element;
			});

		return [
			fact(app.isPartOfTime || app.state.time !== "" ? "time shown" : "run", formatTime(sums.run)),
			fact("busy", share(sums.busy)),
			fact(isFiltered ? "not busy with it" : "idle", share(sums.idle)),
			fact("operations", formatCount(sums.operations)),
			fact("time of all operations", formatTime(sums.ns)),
			fact("two or more at once", share(several)),
			...exposed,
		];
	}

	function makeGaps(device, gaps) {
		const whole = gaps.end.reduce((sum, end, i) => sum + end - gaps.start[i], 0),
			chosen = longestGaps(gaps, GAPS_SHOWN),
			lane = rows.gapsOf(app.timeline, device);
		const cell = (text, type = null) => make("td", {class: type, text});

		return make(
			"div",
			{class: "table"},
			make(
				"table",
				{"aria-label": "Idle gaps, the longest first"},
				make(
					"thead",
					{},
					make("tr", {}, ...["Idle from", "For", "Share of idle", "What the next launcher did"].map((text, i) =>
						make("th", {scope: "col", class: i === 3 ? "text" : null, text}))),
				),
				make(
					"tbody",
					{},
					...chosen.map(k => {
						const [from, to] = [gaps.start[k], gaps.end[k]];

						return make(
							"tr",
							{on: {click: () => view.selectIn(lane, from)}},
							make("td", {}, make("button", {type: "button", text: formatTick(from, 1000, Math.max(from, 1000))})),
							cell(formatTime(to - from)),
							cell(formatShare(to - from, whole)),
							cell(describeGap(device, from, to).text, "text long"),
						);
					}),
				),
			),
		);
	}

	function showDevice(device) {
		const {timeline, state} = app,
			key = JSON.stringify([device, state.time, state.process, state.thread, state.stream, state.my, timeline.isLinked]);

		if (key === shownDevice) return;
		const {sums, isFiltered, gaps} = sumDevice(device),
			shown = app.profile.facts.get("shown");

		fill(
			clip(rows.deviceName(device), 120),
			null,
			[
				shown ? `Shown with ${clip(shown, 200)}` : "",
				isFiltered ? "Only work that passes the filter is counted; gaps are of all work" : "",
				gaps.start.length > 0 ? `${plural(gaps.start.length, "gap")}, the longest below` : "never idle",
			],
			factsOfDevice(sums, isFiltered),
			[
				[
					"Flame graph while idle",
					"What all threads computed while this GPU was idle",
					() => app.set({view: "flame", idle: device, kind: "all", device: "", stream: "", zoom: "", pick: "", inverted: "", frame: ""}),
				],
				["More", "Make this panel higher, and back", () => element.classList.toggle("open")],
			],
			makeGaps(device, gaps),
		);
		shownDevice = key;
	}

	function showHint() {
		const {timeline} = app,
			isTouch = matchMedia("(pointer: coarse)").matches;

		refill(
			element,
			make("p", {
				class: "hint",
				text:
					`${plural(timeline.events, "event")} in ${formatTime(timeline.runTo - timeline.runFrom)}. ` +
					(isTouch
						? "Pinch to zoom, drag to move; drag along the axis to choose a time for all views; tap for details."
						: "Wheel, w and s zoom; drag, a and d move; drag along the axis, or with Shift, to choose a time " +
							"for all views. Click a span, a gap, or a GPU's heading for details, double-click to zoom in."),
			}),
		);
	}

	return {
		describe,
		// `span` is what is selected; null: the device of the state, if any.
		show(span) {
			const device = app.state.gpu;

			if (!span && lanesByDevice(app.timeline).has(device)) {
				showDevice(device);
				return;
			}
			shownDevice = "";
			if (!span) showHint();
			else if (span.lane.track.type === "idle") showGap(span);
			else showSpan(span);
		},
	};
}
