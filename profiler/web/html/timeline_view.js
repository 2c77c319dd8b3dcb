// SPDX-License-Identifier: MIT
// Shows the timeline: what ran when, from the whole run down to single kernels.
import {make, makeEntry, makeView, refill, setText} from "./dom.js";
import {listenToPointers, makeCanvasPane} from "./gestures.js";
import {clip, formatCount, formatTime, joinTexts, plural} from "./format.js";
import {OFF_CPU_REASONS, kindNamed, reasonOf} from "./kinds.js";
import {cutName} from "./names.js";
import {placesThatPass} from "./tree.js";
import {faintTextOn, fillBox, fillColumns, makeTextWidth, mixColours, prepareCanvas, showTip, textOn} from "./draw.js";
import {DEFAULTS, PLACE_KEYS, formatRange, parseRange} from "./state.js";
import {SPAN_LAUNCH, operationsOf} from "./timeline.js";
import {countWanted, firstWhere, formatTick, layOutLane, spanAt, tickStep, timesOf} from "./spans.js";
import {busyColumns, stateColumns} from "./busy.js";
import {GROUP, LANE, makeTimelineRows} from "./timeline_rows.js";
import {makeTimelinePanel} from "./timeline_panel.js";

const OVERVIEW = 26, // pixels
	AXIS = 24;
const TICK_ROOM = 120,
	NARROWEST = 20, // ns in the window
	CLICK_REACH = 4, // pixels beside a span that still mean it
	FLOWS = 200, // lines to a launch's operations
	STEPS_SHOWN = 400, // marks
	ADDRESS_MS = 300; // the address follows when moving pauses

export function makeTimelineView(app) {
	const {steps} = app.profile,
		lister = makeTimelineRows(app);
	const head = make("canvas", {class: "head", "aria-hidden": "true"});
	const say = "Timeline: arrow keys move from span to span, w and s zoom, a and d move, m selects time",
		{canvas, sheet, element: scroller, tip, draw, scrollTo} = makeCanvasPane(say, "span-details", drawNow);
	const legend = make("ul", {class: "legend", "aria-label": "Why threads are off the CPU", hidden: true});
	const note = make("p", {class: "deeper", hidden: true});
	const details = make("div", {class: "details", id: "span-details", "aria-live": "polite"});
	const message = make("p", {class: "message", hidden: true});
	const element = makeView("timeline", "Timeline", head, scroller, message, legend, note, details, tip);
	const textWidth = makeTextWidth(canvas.getContext("2d"));
	const reasons = new Map(); // by stack
	let timeline = null,
		rows = [], // lanes and headings, from the top
		listed = null,
		wantedKey = "",
		wanted = new Map(); // by store: how many before each span are wanted; empty: all are
	let from = 0,
		to = 1,
		shownWindow = null;
	let cursor = null, // {lane, i}
		hover = null,
		tipTexts = null;
	let choosing = null; // the time that is being selected: [a, b]
	let addressTimer = 0;
	let overview = null,
		look = null; // the page's colours

	const isSame = (one, other) => one?.i === other?.i && one?.lane === other?.lane;
	const isNarrow = () => scroller.clientWidth < 640;
	const labelWidth = () => (isNarrow() ? 108 : 196);
	const plotWidth = () => Math.max(scroller.clientWidth - labelWidth(), 1);
	const xOf = time => labelWidth() + ((time - from) * plotWidth()) / (to - from);
	const timeAt = x => from + ((x - labelWidth()) * (to - from)) / plotWidth();

	// ---- lanes ----

	function update() {
		const isNew = timeline !== app.timeline,
			isMissing = !app.timeline || app.timeline.spans.count === 0;

		({timeline} = app);
		for (const part of [head, scroller, details]) part.hidden = isMissing;
		setText(message, isMissing ? whyNone() : "");
		setText(note, sayMissing());
		if (isMissing) return;
		if (isNew) {
			overview = null;
			from = timeline.from;
			to = timeline.to;
			reasons.clear();
			fillLegend();
		}
		if (app.state.window !== shownWindow) {
			shownWindow = app.state.window;
			[from, to] = parseRange(shownWindow) ?? [timeline.from, timeline.to];
			clampWindow();
		}
		listRows();
		chooseWanted();
		takeCursor();
		showDetails();
		draw();
	}

	function whyNone() {
		if (!timeline) return app.timelineStatus;
		if (timeline.lost > 0)
			return `The timeline is empty: ${plural(timeline.lost, "event is", "events are")} missing (${timeline.reason}).`;
		return "The timeline is empty: nothing was recorded.";
	}

	function sayMissing() {
		const {lost, reason, outside, summed, spans} = timeline ?? {};
		return joinTexts([
			lost > 0 && spans.count > 0 && `${plural(lost, "event is", "events are")} missing here: ${clip(reason, 200)}`,
			outside > 0 && `${plural(outside, "event was", "events were")} outside of the run: not shown`,
			summed > 0 &&
				`${plural(summed, "short event is", "short events are")} shown as sums of ` +
					"neighbours: their times add up, but each one's place is not known",
		]);
	}

	function listRows() {
		const before = listed;
		listed = lister.update(timeline);
		if (listed === before) return;
		({rows} = listed);
		wanted.rows = null;
		if (cursor && !cursor.lane.store.stack && !listed.rowOf.has(cursor.lane)) cursor = null;
		sheet.style.height = `${Math.max(listed.height, scroller.clientHeight)}px`;
	}

	function toggle(group) {
		lister.toggle(group);
		update();
	}

	// Tells what a search or a filter leaves bright.
	function chooseWanted() {
		if (app.state.q === wantedKey && wanted.rows === rows) return;
		wantedKey = app.state.q;
		wanted = new Map();
		wanted.rows = rows;
		const passes = placesThatPass(app.profile, app.state),
			isFiltered = PLACE_KEYS.some(key => app.state[key] !== "");

		if (!app.matches && !isFiltered) return;
		for (const {lane} of rows) {
			if (!lane || lane.track.type === "idle" || wanted.has(lane.store)) continue;
			const {store} = lane,
				isHere = i => !isFiltered || !store.place || passes(store.place[i]);
			wanted.set(
				store,
				countWanted(store, i => (!app.matches || app.matches[store.frameAt(i)] === 1) && isHere(i)),
			);
		}
	}

	const isWanted = (store, first, end) => {
		const counts = wanted.get(store);
		return !counts || counts[end] > counts[first];
	};

	// Returns the lane of a span, if it passes the filter.
	function laneOf(i) {
		const {ofRecords} = listed,
			lane = ofRecords[firstWhere(0, ofRecords.length, at => ofRecords[at].end > i)];
		return lane && lane.first <= i ? lane : undefined;
	}

	function takeCursor() {
		const i = /^\d+$/.test(app.state.span) ? Number(app.state.span) : -1;

		if (i >= 0 && i < timeline.spans.count) {
			if (cursor?.i !== i || cursor.lane.store !== timeline.spans) {
				const lane = laneOf(i);
				cursor = lane ? {lane, i} : null;
				if (cursor) showRow(cursor.lane);
			}
		} else if (cursor?.lane.store === timeline.spans || app.state.gpu !== "") {
			cursor = null;
		}
	}

	// ---- drawing ----

	function readLook() {
		const css = getComputedStyle(document.documentElement),
			[outline, veil, grid] = app.isDark()
				? ["#ffffff", "rgb(22 22 24 / 62%)", "rgb(255 255 255 / 7%)"]
				: ["#111111", "rgb(255 255 255 / 66%)", "rgb(0 0 0 / 6%)"],
			names = ["text", "faint", "line", "raised", "page", "strong"];
		return {outline, veil, grid, ...Object.fromEntries(names.map(name => [name, css.getPropertyValue(`--${name}`).trim()]))};
	}

	// Returns why a thread is off the CPU.
	function reasonAt(i) {
		const stack = timeline.spans.stack[i];
		if (!reasons.has(stack)) reasons.set(stack, reasonOf(app.profile, app.kinds, stack));
		return reasons.get(stack);
	}

	// Waits have the colour of waits, not that of their call; times off the CPU that of the reason.
	function colourIn({track, store}, i) {
		if (track.type === "waits") return app.colour(kindNamed("wait"));
		return track.type === "off" ? app.colour(reasonAt(i)) : app.colours.of(store.frameAt(i)).fill;
	}

	function fillLegend() {
		const present = new Set();

		for (const {type, first, count} of timeline.tracks)
			for (let i = first; type === "off" && i < first + count; i++) present.add(reasonAt(i));
		legend.hidden = present.size === 0;
		refill(
			legend,
			make("li", {text: "Off the CPU:"}),
			...OFF_CPU_REASONS.filter(reason => present.has(reason)).map(reason => makeEntry(app.colour(reason), reason.label)),
		);
	}

	const nameOfFrame = frame => (frame < 0 ? "[stack not captured]" : app.labels[frame].replace(/^\[GPU_Kernel\](?=.)/, ""));

	// Returns how many events a span is of, if not of one.
	const countOf = ({stack, number}, i) => (stack && number[i] > 1 ? `${formatCount(number[i])} × ` : "");

	// Draws how much of each pixel's time a GPU was busy, or a counter of its state.
	function drawBusy(context, {measure, state, height}, y) {
		const left = labelWidth(),
			width = Math.floor(plotWidth()),
			columns = state ? stateColumns(state, from, to, width) : busyColumns(measure, from, to, width);
		fillBox(context, look.raised, left, y, plotWidth(), height - 4);
		fillColumns(context, app.colour(kindNamed(state ? "wait" : "gpu")), columns, left, y + height - 4, height - 4);
	}

	function drawLane(context, lane, y) {
		const {store} = lane,
			left = labelWidth(),
			box = LANE - 2;
		let runX = -1,
			runEnd = -1,
			runColour = "",
			runAlpha = 0;
		// neighbours that look alike are one box
		const flush = () => {
			if (runEnd <= runX) return;
			context.globalAlpha = runAlpha;
			fillBox(context, runColour, runX, y, runEnd - runX, box);
			runEnd = runX = -1;
		};

		layOutLane(lane, from, to, plotWidth(), (x, width, first, end, share) => {
			const colour = colourIn(lane, end - first > 1 ? (first + end) >> 1 : first),
				isBright = isWanted(store, first, end);
			// density as opacity, in eight steps
			const alpha = (isBright ? 1 : 0.22) * (0.3 + 0.7 * (Math.ceil(share * 8) / 8));
			const at = left + x;

			if (end - first > 1 || width < 8) {
				const right = at + (width > 3 ? width - 0.5 : width);

				if (colour === runColour && alpha === runAlpha && at <= runEnd + 0.01 && width <= 3) {
					runEnd = Math.max(runEnd, right);
					return;
				}
				flush();
				[runX, runEnd, runColour, runAlpha] = [at, right, colour, alpha];
				return;
			}
			flush();
			const fill = mixColours(colour, look.page, alpha);

			context.globalAlpha = 1;
			fillBox(context, fill, at, y, width - 1, box);
			if (width < 22) return;
			const label = cutName(countOf(store, first) + nameOfFrame(store.frameAt(first)), text => textWidth(text) <= width - 9);

			if (!label) return;
			context.fillStyle = isBright ? textOn(fill) : faintTextOn(fill);
			context.fillText(label, at + 4, y + box / 2 + 0.5);
		});
		flush();
		context.globalAlpha = 1;
	}

	const rowsWithin = (top, bottom) => {
		const first = firstWhere(0, rows.length, i => rows[i].y + rows[i].height > top);
		return rows.slice(first, firstWhere(first, rows.length, i => rows[i].y >= bottom));
	};
	const yOf = lane => {
		const row = listed.rowOf.get(lane);
		return row ? row.y - scroller.scrollTop : -1e4;
	};

	function outlineSpan(context, span, thickness) {
		const [start, stop] = timesOf(span).map(xOf),
			left = Math.max(start, labelWidth() - 4),
			width = Math.max(Math.min(stop, scroller.clientWidth + 4) - left, 2);
		context.strokeStyle = look.outline;
		context.lineWidth = thickness;
		context.strokeRect(left - 0.5, yOf(span.lane) - 0.5, width, listed.rowOf.get(span.lane)?.height - 1 || 0);
	}

	// Draws arrows from a launch to its operations.
	function drawFlows(context, span) {
		if (!span || span.lane.store !== timeline.spans) return;
		const {spans} = timeline,
			isLaunch = spans.kind[span.i] === SPAN_LAUNCH,
			launch = isLaunch ? span.i : timeline.launch[span.i],
			lane = launch >= 0 && laneOf(launch);

		if (!lane) return;
		const x = xOf(spans.start[launch] + spans.duration[launch]),
			y = yOf(lane) + LANE / 2;
		const dot = (...at) => {
			context.beginPath();
			context.arc(...at, 2.5, 0, 7);
			context.fill();
		};

		context.strokeStyle = context.fillStyle = look.strong;
		context.lineWidth = 1.5;
		for (const operation of isLaunch ? operationsOf(timeline, launch, FLOWS) : [span.i]) {
			const target = operation === span.i ? span.lane : laneOf(operation),
				endX = xOf(spans.start[operation]),
				bend = Math.max(-4e4, Math.min((endX - x) / 2, 4e4));

			if (!target || Math.abs(endX) > 1e6 || Math.abs(x) > 1e6) continue;
			const endY = yOf(target) + (yOf(target) < y ? LANE - 2 : 0);

			context.beginPath();
			context.moveTo(x, y);
			context.bezierCurveTo(x + bend, y, endX - bend, endY, endX, endY);
			context.stroke();
			dot(endX, endY);
		}
		dot(x, y);
	}

	function drawTimeOutside(context, width, bottom) {
		const range = choosing ?? parseRange(app.state.time);

		if (!range) return;
		const left = labelWidth(),
			a = Math.max(left, Math.min(xOf(range[0]), width)),
			b = Math.max(left, Math.min(xOf(range[1]), width));

		fillBox(context, look.veil, left, 0, a - left, bottom);
		context.fillRect(b, 0, width - b, bottom);
		context.fillStyle = look.strong;
		for (const x of [a, b]) if (x > left && x < width) context.fillRect(x - 0.5, 0, 1, bottom);
	}

	function ticks() {
		const step = tickStep(to - from, plotWidth(), TICK_ROOM),
			list = [];
		for (let time = Math.ceil(from / step) * step; time <= to && time + step > time; time += step) list.push(time);
		return {step, list};
	}

	// Draws where steps of the main loop begin.
	function drawSteps(context, top, bottom) {
		const {start} = steps,
			first = firstWhere(0, start.length, i => start[i] >= from),
			end = firstWhere(first, start.length, i => start[i] > to);

		if (end - first > STEPS_SHOWN) return;
		context.fillStyle = look.text;
		context.globalAlpha = 0.45;
		for (let i = first; i < end; i++) context.fillRect(Math.round(xOf(start[i])), top, 1, bottom - top);
		context.globalAlpha = 1;
	}

	function drawNow() {
		const width = scroller.clientWidth,
			visible = scroller.clientHeight;

		if (!timeline || timeline.spans.count === 0 || width === 0 || visible === 0) return;
		look ??= readLook();
		const context = prepareCanvas(canvas, width, visible),
			left = labelWidth(),
			top = scroller.scrollTop;
		const shown = rowsWithin(top, top + visible);

		context.fillStyle = look.grid;
		for (const time of ticks().list) context.fillRect(Math.round(xOf(time)), 0, 1, visible);
		context.save();
		context.beginPath();
		context.rect(left, 0, width - left, visible);
		context.clip();
		for (const row of shown)
			if (row.measure || row.state) drawBusy(context, row, row.y - top);
			else if (row.lane) drawLane(context, row.lane, row.y - top);
		drawSteps(context, 0, visible);
		drawTimeOutside(context, width, visible);
		drawFlows(context, cursor);
		if (cursor) outlineSpan(context, cursor, 2);
		if (hover && !isSame(hover, cursor)) outlineSpan(context, hover, 1);
		context.restore();
		drawLabels(context, shown, top, width, visible);
		if (rows.length === 0) {
			context.fillStyle = look.faint;
			context.fillText("Nothing passes the filter.", 14, 24);
		}
		drawHead(width);
		pointer.again();
	}

	function drawLabels(context, shown, top, width, visible) {
		const left = labelWidth(),
			indent = isNarrow() ? 12 : 18;

		fillBox(context, look.page, 0, 0, left - 1, visible);
		fillBox(context, look.line, left - 1, 0, 1, visible);
		for (const row of shown) {
			const y = row.y - top;

			if (row.group) {
				fillBox(context, look.raised, 0, y, width, GROUP - 3);
				if (row.y > 0) fillBox(context, look.line, 0, y, width, 1);
				context.fillStyle = look.text;
				context.font = `600 ${context.font}`;
				const label = `${row.group.isOpen ? "▾" : "▸"} ${row.group.label}`,
					fits = text => context.measureText(text).width < width - 24;
				context.fillText(cutName(label, fits), 10, y + GROUP / 2 - 1);
				context.font = context.font.replace(/^600 /, "");
			} else if (row.label) {
				const label = cutName(row.label, text => textWidth(text) < left - indent - 8);
				context.fillStyle = look.faint;
				context.fillText(label, indent, y + LANE / 2 - 0.5);
			}
		}
	}

	// Draws the whole run above, and the axis of the visible time.
	function drawHead(width) {
		const context = prepareCanvas(head, width, OVERVIEW + AXIS),
			left = labelWidth(),
			plot = plotWidth(),
			scale = plot / (timeline.to - timeline.from),
			middle = OVERVIEW + AXIS / 2 - 1;

		if (overview?.width !== plot) overview = {width: plot, strips: makeOverview(Math.floor(plot))};
		context.fillStyle = look.faint;
		context.fillText(app.isPartOfTime ? "this part" : "whole run", 10, OVERVIEW / 2);
		fillBox(context, look.raised, left, 3, plot, OVERVIEW - 6);
		const colour = app.colour(kindNamed(timeline.tracks.some(track => track.type === "gpu") ? "gpu" : "native")),
			tall = (OVERVIEW - 8) / overview.strips.length;
		overview.strips.forEach((strip, k) => fillColumns(context, colour, strip, left, 4 + tall * (k + 1), tall));
		const a = left + (from - timeline.from) * scale,
			b = Math.max(left + (to - timeline.from) * scale, a + 2);

		fillBox(context, look.veil, left, 2, a - left, OVERVIEW - 4);
		context.fillRect(b, 2, left + plot - b, OVERVIEW - 4);
		context.strokeStyle = look.strong;
		context.lineWidth = 1.5;
		context.strokeRect(a + 0.75, 2.75, Math.max(b - a - 1.5, 1), OVERVIEW - 5.5);
		const range = choosing ?? parseRange(app.state.time);

		if (range) {
			context.globalAlpha = 0.22;
			fillBox(context, look.strong, xOf(range[0]), OVERVIEW, xOf(range[1]) - xOf(range[0]), AXIS);
			context.globalAlpha = 1;
		}
		const {step, list} = ticks();

		context.fillStyle = look.faint;
		for (const time of list) {
			const x = Math.round(xOf(time)),
				text = formatTick(time, step, Math.max(Math.abs(from), Math.abs(to)));
			context.fillRect(x, OVERVIEW + AXIS - 6, 1, 6);
			if (x + 4 + context.measureText(text).width <= width) context.fillText(text, x + 4, middle);
		}
		drawSteps(context, OVERVIEW, OVERVIEW + 5);
		// covers the part of the axis that is beside the plot
		fillBox(context, look.page, 0, OVERVIEW, left, AXIS);
		context.fillStyle = look.text;
		context.fillText(formatTime(to - from) + (left < 150 ? "" : " shown"), 10, middle);
		fillBox(context, look.line, 0, OVERVIEW + AXIS - 1, width, 1);
	}

	// Returns by device how busy it was in each pixel of the run; without devices, how much threads computed, of the most.
	function makeOverview(width) {
		const {spans, tracks} = timeline,
			columnsOf = device => busyColumns(lister.measureOf(timeline, device), timeline.from, timeline.to, width),
			scale = (timeline.to - timeline.from) / width,
			sums = new Float32Array(width);

		if (app.devices().length > 0) return app.devices().map(columnsOf);
		for (const {type, first, count} of tracks)
			for (let i = first; type === "samples" && i < first + count; i++) {
				const x = (spans.start[i] - timeline.from) / scale,
					end = Math.min(x + spans.duration[i] / scale, width);
				for (let at = Math.floor(x); at < end; at++) sums[at] += Math.min(end, at + 1) - Math.max(x, at);
			}
		const most = sums.reduce((a, b) => Math.max(a, b), 0);
		return [most > 0 ? sums.map(sum => sum / most) : sums];
	}

	// ---- details ----

	const panel = makeTimelinePanel(app, details, {
		rows: lister,
		colourIn,
		reasonAt,
		nameOfFrame,
		select,
		selectIn(lane, time) {
			enterLane(lane, time);
			zoomTo(cursor);
		},
		zoomTo,
		chooseTime,
	});
	const showDetails = () => panel.show(cursor);

	// Returns a span's name, and what is said of it.
	function tipOf(span) {
		const {lane, i} = span,
			{store, track} = lane,
			isIdle = track.type === "idle",
			outer = track.type === "off" ? app.profile.stacks.parent[store.stack[i]] : 0;
		const texts = [
			formatTime(store.duration[i]),
			`at ${formatTick(store.start[i], 1, Math.max(to, 1))}${isIdle ? `. ${panel.describe(span).text}` : ""}`,
			outer > 0 && `in ${clip(nameOfFrame(app.profile.stacks.frame[outer]), 200)} · ${reasonAt(i).label}`,
		];
		return [isIdle ? "idle" : countOf(store, i) + clip(nameOfFrame(store.frameAt(i)), 200), joinTexts(texts)];
	}

	// ---- navigation ----

	function fitSpan(span) {
		const whole = timeline.to - timeline.from;
		return Math.min(Math.max(span, Math.min(NARROWEST, whole)), whole);
	}

	function clampWindow() {
		const span = fitSpan(to - from);
		from = Math.min(Math.max(from, timeline.from), timeline.to - span);
		to = from + span;
	}

	function setWindow(start, span) {
		from = start;
		to = start + span;
		clampWindow();
		draw();
		clearTimeout(addressTimer);
		addressTimer = setTimeout(keepWindow, ADDRESS_MS);
	}

	// Puts the window into the address; `isSmall`: Back does not lead to the one before.
	function keepWindow(isSmall = true) {
		const isWhole = from <= timeline.from && to >= timeline.to,
			window = isWhole ? "" : formatRange(from, to);
		clearTimeout(addressTimer);
		if (app.state.view !== "timeline" || window === app.state.window) return;
		shownWindow = window;
		app.set({window}, isSmall);
	}

	function stretch(factor, x = labelWidth() + plotWidth() / 2) {
		const at = timeAt(Math.max(x, labelWidth())),
			span = fitSpan((to - from) * factor);
		setWindow(at - ((at - from) / (to - from)) * span, span);
	}

	const move = share => setWindow(from + (to - from) * share, to - from);
	const showWhole = () => setWindow(timeline.from, timeline.to - timeline.from);

	function zoomTo(target) {
		const [start, stop] = timesOf(target),
			span = Math.max(stop - start, NARROWEST / 2);
		keepWindow();
		setWindow(start - span * 0.15, span * 1.3);
		keepWindow(false);
	}

	// Zooms so far that a span is visible.
	function reveal(span) {
		const [start, stop] = timesOf(span);
		if (stop < from || start > to) setWindow((start + stop) / 2 - (to - from) / 2, to - from);
		showRow(span.lane);
	}

	function showRow(lane) {
		if (!listed.rowOf.has(lane) && lister.open(lane.track)) update();
		const row = listed.rowOf.get(lane);
		if (row) scrollTo(row.y - GROUP, row.y + row.height + 5);
	}

	// Selects a span. What was clicked is visible, and stays where it is.
	function setCursor(span, mayMove = true) {
		cursor = span;
		if (span && mayMove) reveal(span);
		const number = span?.lane.store === timeline.spans ? String(span.i) : "";
		if (number !== app.state.span || app.state.gpu !== "") app.set({span: number, gpu: ""}, true);
		showDetails();
		draw();
	}

	function select(i) {
		const lane = laneOf(i);
		if (lane) setCursor({lane, i});
	}

	function follow() {
		if (!cursor || cursor.lane.store !== timeline.spans) return;
		const launch = timeline.launch[cursor.i],
			first = timeline.firstOperation[cursor.i];
		if (launch >= 0) select(launch);
		else if (first >= 0) select(first);
	}

	function moveBeside(step) {
		if (!cursor) return moveRow(0);
		const i = cursor.i + step;
		if (i >= cursor.lane.first && i < cursor.lane.end) setCursor({lane: cursor.lane, i});
	}

	function enterLane(lane, time) {
		const i = spanAt(lane, time, Infinity);
		// the whole lane is visible: take the nearest by position
		const near = firstWhere(lane.first, lane.end, at => lane.store.start[at] > time) - 1;
		if (lane.end > lane.first) setCursor({lane, i: i >= 0 && lane.end - lane.first < 256 ? i : Math.max(near, lane.first)});
	}

	function moveRow(step) {
		const lanes = rows.filter(row => row.lane).map(row => row.lane),
			lane = lanes[cursor ? lanes.indexOf(cursor.lane) + step : 0],
			[a, b] = cursor ? timesOf(cursor) : [from, to];
		if (lane) enterLane(lane, (a + b) / 2);
	}

	// Makes all views show this time: the selected span's, or the visible one.
	function chooseTime() {
		const [a, b] = cursor ? timesOf(cursor) : [from, to];
		setTime(a, Math.max(b, a + 1));
	}

	const setTime = (a, b) => app.set({time: formatRange(a, b)});

	// Moves an end of the chosen time, by a part of the window.
	function moveTime(side, share) {
		const range = parseRange(app.state.time) ?? [from, to];
		range[side] += Math.round((to - from) * share);
		if (range[0] < range[1]) setTime(...range);
	}

	function leave() {
		if (cursor || app.state.gpu !== "") setCursor(null);
		else if (![DEFAULTS.time, ""].includes(app.state.time)) app.set({time: DEFAULTS.time});
		else showWhole();
	}

	// ---- pointer ----

	const yAt = event => event.clientY - canvas.getBoundingClientRect().top + scroller.scrollTop;
	const xAt = event => event.clientX - canvas.getBoundingClientRect().left;

	function spanUnder(event) {
		const x = xAt(event),
			y = yAt(event),
			[row] = rowsWithin(y, y + 1);
		if (!row?.lane || y >= row.y + row.height || x < labelWidth()) return null;
		const i = spanAt(row.lane, timeAt(x), (CLICK_REACH * (to - from)) / plotWidth());
		return i < 0 ? null : {lane: row.lane, i};
	}

	function point(event) {
		const span = event && spanUnder(event);

		if (!isSame(span, hover)) {
			tipTexts = span && tipOf(span);
			draw();
		}
		hover = span;
		tip.hidden = !hover;
		if (hover) showTip(tip, event, ...tipTexts);
	}

	// Shows a place of the run's picture above.
	function centre(x) {
		const time = timeline.from + ((x - labelWidth()) * (timeline.to - timeline.from)) / plotWidth();
		setWindow(time - (to - from) / 2, to - from);
	}

	// Selects what is under the pointer; a double-click, or a second tap, zooms to it.
	function clickAt(event, isAgain) {
		const [{group, device} = {}] = rowsWithin(yAt(event), yAt(event) + 1);
		if (group && (group.device === null || xAt(event) < labelWidth())) return toggle(group);
		const span = spanUnder(event);
		if (isAgain && span !== null && isSame(span, cursor)) return zoomTo(span);
		setCursor(span, false);
		if (!span && (device ?? group?.device) !== undefined) app.set({gpu: device ?? group.device}, true);
	}

	function pan(dx, dy) {
		scroller.scrollTop -= dy;
		setWindow(from - (dx * (to - from)) / plotWidth(), to - from);
	}

	const gestures = {
		drag(word, {x, startX, dx, dy}) {
			if (word === "window") centre(x);
			else if (word === "time") {
				const [a, b] = [timeAt(startX), timeAt(x)].sort((a, b) => a - b);
				choosing = [Math.max(a, timeline.from), Math.min(b, timeline.to)];
				draw();
			} else pan(dx, dy);
		},
		end(word, isClick, target = canvas) {
			const [a, b] = choosing ?? [0, 0];
			choosing = null;
			if (word !== "time") return;
			if (b > a) setTime(a, b);
			else if (isClick && target === head && app.state.time !== DEFAULTS.time) app.set({time: DEFAULTS.time});
		},
		pan,
		stretch,
		zoomsAt: x => x >= labelWidth(),
	};
	const pointer = listenToPointers(canvas, {
		...gestures,
		begin: event => (event.shiftKey ? "time" : "pan"),
		hover: point,
		click: clickAt,
	});

	listenToPointers(head, {
		...gestures,
		begin(event) {
			if (event.offsetY >= OVERVIEW) return "time";
			centre(event.offsetX);
			return "window";
		},
		end: (word, isClick) => gestures.end(word, isClick, head),
	});
	scroller.classList.add("lanes");
	new ResizeObserver(() => {
		if (!timeline) return;
		if (listed) sheet.style.height = `${Math.max(listed.height, scroller.clientHeight)}px`;
		draw();
	}).observe(scroller);

	// ---- keys ----

	function keys(event) {
		if (!timeline || timeline.spans.count === 0) return {};
		return {
			w: () => stretch(0.7),
			"+": () => stretch(0.7),
			s: () => stretch(1 / 0.7),
			"-": () => stretch(1 / 0.7),
			a: () => move(-0.2),
			d: () => move(0.2),
			0: showWhole,
			ArrowLeft: () => (event.shiftKey ? moveTime(1, -0.05) : moveBeside(-1)),
			ArrowRight: () => (event.shiftKey ? moveTime(1, 0.05) : moveBeside(1)),
			ArrowUp: () => moveRow(-1),
			ArrowDown: () => moveRow(1),
			PageDown: () => scroller.scrollBy(0, scroller.clientHeight * 0.8),
			PageUp: () => scroller.scrollBy(0, -scroller.clientHeight * 0.8),
			Enter: () => cursor && zoomTo(cursor),
			m: chooseTime,
			f: follow,
			"[": () => moveTime(0, event.shiftKey ? 0.05 : -0.05),
			"]": () => moveTime(1, 0.05),
			Escape: leave,
		};
	}

	return {
		element,
		update,
		keys,
		leave: pointer.leave,
		recolour() {
			look = null;
			if (!timeline || timeline.spans.count === 0) return;
			fillLegend();
			if (cursor) showDetails();
			draw();
		},
		// for tests: points at what a person would
		boxes() {
			const list = [],
				left = labelWidth();

			for (const {lane, y: top, label} of rows.filter(row => row.lane))
				layOutLane(lane, from, to, plotWidth(), (x, width, first, end) => {
					const {store, track} = lane,
						name = track.type === "idle" ? "idle" : nameOfFrame(store.frameAt(first)),
						[y, count] = [top - scroller.scrollTop, end - first];
					list.push({name, type: track.type, label, x: left + x, y, width, count, isWanted: isWanted(store, first, end)});
				});
			return list;
		},
		window: () => [from, to],
	};
}
