// SPDX-License-Identifier: MIT
// Draws a graph of frames on a canvas, and finds the box under the pointer. The view decides what is selected and zoomed.
import {getOrMake} from "./data.js";
import {listenToPointers, makeCanvasPane} from "./gestures.js";
import {cut, formatShare, joinTexts, plural} from "./format.js";
import {KINDS, isKind} from "./kinds.js";
import {cutName, sharedLength} from "./names.js";
import {
	BOX_COLOURS, DIM, ROWS_MAX, SMALLEST, ancestor, boxAt, faintTextOn, indexRows, layOut, makeTextWidth, mixColours,
	prepareCanvas, showTip,
} from "./draw.js";

const ROW = 20,
	PADDING = 5;

// `hooks` are by node: {select, zoom, isClosed, nameOf}; `isUp`: the root is at the bottom; `skipped`: rows there that are hidden.
export function makeGraphPane(app, label, hooks, isUp, skipped = () => 0) {
	const {frames} = app.profile;
	const say = `${label}: arrow keys move from box to box, Enter zooms in, Escape zooms out`,
		{canvas, sheet, element, tip, draw, scrollTo} = makeCanvasPane(say, "details", drawNow);
	const context = canvas.getContext("2d");
	const textWidth = makeTextWidth(context),
		shared = new Map(); // by the box around
	let graph = null,
		graphKey = "",
		zoom = 0,
		selected = 0,
		hover = 0,
		top = 0,
		from = 0,
		to = 0;
	let boxes = [],
		rows = [],
		layoutKey = "",
		below = "";

	// Shows a graph; `key` tells it from others. Rows stay where they are.
	function show(next, key, zoomed, picked) {
		if (key !== graphKey) {
			graph = next;
			graphKey = key;
			layoutKey = "";
			shared.clear();
		}
		selected = picked;
		if (zoomed !== zoom || layoutKey === "") {
			zoom = zoomed;
			resetRange();
		}
		lay();
	}

	function resetRange() {
		top = ancestor(graph, zoom, graph.depth[zoom] <= ROWS_MAX ? graph.depth[zoom] : ROWS_MAX);
		from = graph.start[zoom];
		to = from + graph.total[zoom];
		layoutKey = "";
	}

	// ---- layout ----

	function lay() {
		const width = element.clientWidth,
			isWhole = app.matches !== null || app.state.frame !== "",
			key = [graphKey, width, from, to, zoom, isWhole].join("|");

		if (width === 0 || !graph) return;
		if (key !== layoutKey) {
			const depth = graph.depth[zoom] - graph.depth[top] + ROWS_MAX,
				laid = layOut(graph, top, from, to, width, depth, hooks.isClosed);
			boxes = laid.boxes;
			rows = indexRows(boxes);
			layoutKey = key;
			below = sayBelow(laid);
		}
		const place = element.scrollTop,
			isNew = sheet.style.height === "";

		sheet.style.height = `${height()}px`;
		element.scrollTop = isNew && isUp() ? height() : place;
		draw();
	}

	const height = () => Math.max((rows.length - skipped()) * ROW, element.clientHeight);

	// Tells what is not drawn.
	function sayBelow({hidden, narrow}) {
		const outer = graph.depth[top],
			{count} = narrow,
			zoomIn = of => `zoom in to see ${of === 1 ? "it" : "them"}`,
			levels = graph.isEndless ? "more" : plural(hidden, "level");
		return joinTexts([
			outer > 0 && `${plural(outer, "frame")} further out: zoom out to see ${outer === 1 ? "it" : "them"}`,
			hidden > 0 && `${levels} further in: ${zoomIn(graph.isEndless ? 2 : hidden)}`,
			count > 0 && `${plural(count, "frame")} narrower than ${SMALLEST} pixels: ${app.amount(narrow.part)}, ${zoomIn(count)}`,
		]);
	}

	const rowTop = row => (isUp() ? height() - (row - skipped() + 1) * ROW : (row - skipped()) * ROW);
	const rowAt = y => Math.floor((isUp() ? height() - 1 - y : y) / ROW) + skipped();

	// ---- drawing ----

	// Returns how many characters of its label a box shares with all siblings.
	function sharedBy(node) {
		const outer = graph.parent[node],
			labels = () => Array.from(graph.children(outer), child => app.labels[graph.frame[child]]);
		return node <= 0 || hooks.isClosed(node) ? 0 : getOrMake(shared, outer, () => sharedLength(labels()));
	}

	function drawBox(box, y, style, on = context) {
		const frame = box.node > 0 ? graph.frame[box.node] : -1;
		const dim = frame >= 0 && (app.matches ? !app.matches[frame] : style.frame >= 0 && frame !== style.frame);
		const width = Math.max(box.width - (box.width > 3 ? 1 : 0), 0.5);

		on.globalAlpha = box.node < 0 ? DIM : 1;
		const colour =
			frame >= 0
				? (app.difference?.colourOf(graph, box.node) ?? app.colours.of(frame))
				: {fill: box.node < 0 ? style.small : style.root, text: style.text};
		const fill = dim ? mixColours(colour.fill, style.page, DIM) : colour.fill;

		on.fillStyle = fill;
		on.fillRect(box.x, y, width, ROW - 1);
		if (box.node >= 0 && box.width > 20) {
			const text = cutName(
				hooks.nameOf(box.node),
				name => textWidth(name) <= box.width - 2 * PADDING,
				frame >= 0 && isKind(app.kinds[frame], "layer"),
				sharedBy(box.node),
			);

			on.fillStyle = dim ? faintTextOn(fill) : colour.text;
			if (text) on.fillText(text, box.x + PADDING, y + ROW / 2);
		}
		on.globalAlpha = 1;
	}

	function outline(box, y, colour, thickness) {
		context.strokeStyle = colour;
		context.lineWidth = thickness;
		context.strokeRect(box.x + thickness / 2, y + thickness / 2, Math.max(box.width - 1 - thickness, 1), ROW - 1 - thickness);
	}

	const styleNow = () => ({
		...BOX_COLOURS[app.isDark() ? "dark" : "light"],
		frame: app.state.frame !== "" && !app.state.inverted ? app.frameOf(app.state.frame) : -1,
	});

	function drawNow() {
		const width = element.clientWidth,
			seen = element.clientHeight;

		if (!graph || width === 0 || seen === 0) return;
		prepareCanvas(canvas, width, seen);
		const style = styleNow();
		const scroll = element.scrollTop,
			[a, b] = [rowAt(scroll), rowAt(scroll + seen)].sort((x, y) => x - y);

		for (let row = Math.max(a, skipped()); row <= b; row++) {
			const y = rowTop(row) - scroll;

			for (const box of rows[row] ?? []) {
				drawBox(box, y, style);
				if (box.node > 0 && graph.frame[box.node] === style.frame) outline(box, y, style.strong, 1.5);
				if (box.node >= 0 && box.node === selected && (selected > 0 || document.activeElement === canvas))
					outline(box, y, style.strong, 2);
				else if (box.node > 0 && box.node === hover) outline(box, y, style.strong, 1);
			}
		}
		if (graph.total[0] === 0) {
			context.fillStyle = style.text;
			context.fillText(app.whyNothing(), 14, ROW * 2.5);
		}
		pointer.again();
	}

	// ---- pointer ----

	function nodeUnder(event) {
		const area = canvas.getBoundingClientRect();
		const row = rowAt(event.clientY - area.top + element.scrollTop);
		const box = row < skipped() ? null : boxAt(rows, row, event.clientX - area.left);
		return box ? box.node : -1;
	}

	function point(event) {
		const node = event ? Math.max(nodeUnder(event), 0) : 0;

		if (node !== hover) draw();
		hover = node;
		tip.hidden = hover === 0;
		if (tip.hidden) return;
		const frame = graph.frame[hover],
			[total, own] = [graph.total[hover], graph.own[hover]];
		const text = joinTexts([
			`${app.amount(total)} · ${formatShare(total, graph.total[0])}`,
			own > 0 && own < total && `own ${app.amount(own)}`,
			KINDS[app.kinds[frame]].label,
		]);
		const name = cut(frames.shortName[frame] || frames.name[frame], 200);
		showTip(tip, event, name, text, app.difference?.makeTip(graph, hover) ?? "");
	}

	function stretch(factor, x = element.clientWidth / 2) {
		const width = element.clientWidth,
			all = graph.total[top];
		const at = from + ((to - from) * x) / width;
		const span = Math.min(Math.max((to - from) * factor, graph.total[0] * 1e-9, 1), all);
		setRange(at - (span * x) / width, span);
	}

	function setRange(start, span) {
		const low = graph.start[top],
			high = low + graph.total[top];
		from = Math.min(Math.max(start, low), high - span);
		to = from + span;
		lay();
	}

	const pan = dx => setRange(from - (dx * (to - from)) / element.clientWidth, to - from);
	const pointer = listenToPointers(canvas, {
		hover: point,
		drag: (word, {dx}) => pan(dx),
		pan,
		stretch,
		click(event, isAgain) {
			const node = nodeUnder(event);
			if (node < 0) return;
			if (isAgain && node === selected) hooks.zoom(node);
			else hooks.select(node);
		},
	});

	new ResizeObserver(() => graph && lay()).observe(element);

	return {
		element, tip, show, stretch,
		leave: pointer.leave,
		below: () => below,
		// Returns the pixels that all rows take.
		needs: () => (rows.length - skipped()) * ROW,
		// Shows all of the zoomed box again. Returns false if nothing else was shown.
		fit() {
			const wasCut = from !== graph.start[zoom] || to !== from + graph.total[zoom];
			if (wasCut) resetRange();
			if (wasCut) lay();
			return wasCut;
		},
		reveal(node) {
			const y = rowTop(graph.depth[node] - graph.depth[top]);
			scrollTo(y, y + ROW);
		},
		// Returns true if the level of a node is drawn.
		reaches: node => graph.depth[node] < graph.depth[zoom] + ROWS_MAX,
		toRoot() {
			element.scrollTop = isUp() ? height() : 0;
		},
		draw,
		// Draws all rows below `y` on something else than the canvas, which takes titles. Returns their height.
		paint(on, y) {
			const style = styleNow(),
				size = (rows.length - skipped()) * ROW,
				above = isUp() ? height() - size : 0;

			for (const box of boxes) {
				if (box.row < skipped()) continue;
				on.title =
					box.node > 0 ? `${cut(frames.name[graph.frame[box.node]], 1000)}: ${app.amount(graph.total[box.node])}` : "";
				drawBox(box, y + rowTop(box.row) - above, style, on);
			}
			return size;
		},
		// for tests: points at what a person would
		boxes() {
			const shown = boxes.filter(({node, row}) => node >= 0 && row >= skipped()),
				yOf = row => rowTop(row) - element.scrollTop,
				totalOf = node => graph.total[node];
			return shown.map(({node, x, width, row}) => ({name: hooks.nameOf(node), x, width, y: yOf(row), total: totalOf(node)}));
		},
	};
}
