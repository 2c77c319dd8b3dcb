// SPDX-License-Identifier: MIT
// Shows the flame graph: drawing, pointer and keys.
import {make, makeChoice, refill} from "./dom.js";
import {clip, formatShare, plural} from "./format.js";
import {KINDS, isKind} from "./kinds.js";
import {cutName} from "./names.js";
import {makeCallees, outermost, rankNames} from "./tree.js";
import {makeCallers} from "./callers.js";
import {
	ANCESTORS,
	BOX_COLOURS,
	DIM,
	ROWS_MAX,
	SMALLEST,
	ancestor,
	boxAt,
	indexRows,
	layOut,
	makeTextWidth,
	placeTip,
	prepareCanvas,
	shadeOf,
	faintTextOn,
	mixColours,
	shiftColour,
	textOn,
} from "./draw.js";
import {fillDetails} from "./details.js";

const ROW = 20,
	PADDING = 5;
const CLICK_DISTANCE = 5; // pixels that a pointer may move in a click

export function makeFlameView(app) {
	const {frames} = app.profile;
	const tools = make("div", {class: "flame-tools"});
	const legend = make("ul", {class: "legend", "aria-label": "Colours"});
	const canvas = make("canvas", {
		tabindex: "0",
		role: "application",
		"aria-label":
			"Flame graph: arrow keys move from box to box, Enter zooms in, Escape zooms out",
		"aria-describedby": "details",
	});
	const sheet = make("div", {class: "sheet"}, canvas);
	const scroller = make("div", {class: "graph"}, sheet);
	const deeper = make("p", {class: "deeper", hidden: true});
	const details = make("div", {class: "details", id: "details", "aria-live": "polite"});
	const tip = make("div", {class: "tip", hidden: true});
	const element = make(
		"section",
		{class: "view", "aria-label": "Flame graph"},
		tools,
		scroller,
		deeper,
		details,
		tip,
	);
	const context = canvas.getContext("2d");
	const textWidth = makeTextWidth(context),
		colours = new Map();
	let graph = null,
		graphKey = "",
		rank = null;
	let zoom = 0,
		top = 0,
		from = 0,
		to = 0,
		cursor = 0,
		hover = 0;
	let boxes = [],
		rows = [],
		rowCount = 1,
		layoutKey = "",
		hidden = 0,
		narrow = {count: 0, part: 0};
	let drawing = false,
		scrollKey = "";
	const hasIdleThreads = frames.name.map(name => name.startsWith("[idle threads"));

	// ---- the tree that is shown ----

	function update() {
		const {state} = app;
		const focus = state.inverted && state.frame !== "" ? app.frameOf(state.frame) : -1;
		const key = [app.filterKey, state.inverted, state.order, focus].join("|");

		if (key !== graphKey) {
			rank ??= state.order === "name" ? rankNames(frames) : null;
			const order = state.order === "name" ? rank : null;

			graph = state.inverted
				? makeCallers(
						app.tree,
						app.weights,
						focus,
						focus < 0
							? null
							: outermost(app.tree, app.weights, frames.count ? onlyFrame(focus) : [])
									.nodes,
						order,
					)
				: makeCallees(
						app.tree,
						app.weights,
						order,
						app.kinds.map(kind => (isKind(kind, "layer") ? 1 : 0)),
					);
			graphKey = key;
			cursor = hover = 0;
			layoutKey = "";
		}
		const next = graph.nodeOf(state.zoom);

		if (next !== zoom || layoutKey === "") {
			zoom = next;
			resetRange();
			cursor = isInside(cursor, zoom) ? cursor : zoom;
		}
		fillTools();
		fillLegend();
		showDetails();
		lay();
	}

	function onlyFrame(frame) {
		const matches = new Uint8Array(frames.count);

		matches[frame] = 1;
		return matches;
	}

	function isInside(node, outer) {
		return (
			node < graph.total.length &&
			graph.depth[node] >= graph.depth[outer] &&
			ancestor(graph, node, graph.depth[node] - graph.depth[outer]) === outer
		);
	}

	// Returns whether a subtree that only waits for work is one box. Zoom and search open it.
	function isClosed(node) {
		return (
			node > 0 &&
			hasIdleThreads[graph.frame[node]] &&
			!app.state.inverted &&
			app.state.frame === "" &&
			!app.matches &&
			!isInside(zoom, node)
		);
	}

	function resetRange() {
		top = ancestor(graph, zoom, ANCESTORS);
		from = graph.start[zoom];
		to = from + graph.total[zoom];
		layoutKey = "";
	}

	// ---- the bar above ----

	function fillTools() {
		const {state} = app,
			focus = state.inverted && state.frame !== "" ? app.frameOf(state.frame) : -1;
		const group = (label, choices, value, choose) =>
			make(
				"div",
				{class: "group", role: "group", "aria-label": label},
				...makeChoice(choices, value, choose),
			);
		const chips = [];

		if (state.frame !== "")
			chips.push(
				make("button", {
					class: "chip",
					type: "button",
					title: "Show all frames again",
					text: `${focus >= 0 ? "callers of " : "selected: "}${clip(frames.shortName[app.frameOf(state.frame)], 60)} ✕`,
					on: {click: () => app.set({frame: "", zoom: ""})},
				}),
			);
		if (state.zoom !== "")
			chips.push(
				make("button", {
					type: "button",
					text: "Zoom out ✕",
					title: "Escape",
					on: {click: zoomOutAll},
				}),
			);
		refill(
			tools,
			group(
				"What is inside what",
				[
					["", "Callees", "Each caller with its callees inside"],
					["1", "Callers", "Each function with its callers inside (i)"],
				],
				state.inverted,
				inverted => app.set({inverted, zoom: "", frame: ""}),
			),
			group(
				"Order",
				[
					["size", "By time", "The largest first"],
					["name", "By name", "In order of names"],
				],
				state.order,
				order => app.set({order}),
			),
			group(
				"Root",
				[
					["", "Root on top", "An icicle"],
					["1", "Root at the bottom", "A flame"],
				],
				state.bottom,
				bottom => app.set({bottom}),
			),
			app.makeMineButton(),
			...chips,
			legend,
		);
	}

	function fillLegend() {
		const present = new Set(app.tree.frame.subarray(1).map(frame => app.kinds[frame]));

		legend.replaceChildren(
			...KINDS.filter((_, i) => present.has(i)).map(kind => {
				const swatch = make("i");

				swatch.style.backgroundColor = app.colour(kind);
				return make("li", {}, swatch, kind.label);
			}),
		);
	}

	// ---- drawing ----

	function lay() {
		const width = scroller.clientWidth,
			isWhole = app.matches !== null || app.state.frame !== "",
			key = [graphKey, width, from, to, zoom, isWhole].join("|");

		if (width === 0) return;
		if (key !== layoutKey) {
			({boxes, hidden, narrow} = layOut(
				graph,
				top,
				from,
				to,
				width,
				ANCESTORS + ROWS_MAX,
				isClosed,
			));
			rows = indexRows(boxes);
			rowCount = Math.max(rows.length, 1);
			layoutKey = key;
			sayDeeper();
		}
		const height = Math.max(rowCount * ROW, scroller.clientHeight);

		const place = [height, top, app.state.bottom].join("|");

		if (place !== scrollKey) {
			sheet.style.height = `${height}px`;
			scroller.scrollTop = app.state.bottom ? height : 0;
			scrollKey = place;
		}
		draw();
	}

	function sayDeeper() {
		const outer = graph.depth[top],
			texts = [];

		if (outer > 0)
			texts.push(
				`${plural(outer, "frame")} further out: zoom out to see ${outer === 1 ? "it" : "them"}`,
			);
		if (hidden > 0)
			texts.push(
				app.state.inverted
					? "more callers further in: zoom in to see them"
					: `${plural(hidden, "level")} further in: zoom in to see ${hidden === 1 ? "it" : "them"}`,
			);
		if (narrow.count > 0)
			texts.push(
				`${plural(narrow.count, "frame")} narrower than ${SMALLEST} pixels: ` +
					`${app.amount(narrow.part)}, zoom in to see ${narrow.count === 1 ? "it" : "them"}`,
			);
		deeper.textContent = texts.join(" · ");
		deeper.hidden = texts.length === 0;
	}

	function rowTop(row) {
		return app.state.bottom
			? Math.max(rowCount * ROW, scroller.clientHeight) - (row + 1) * ROW
			: row * ROW;
	}

	function rowAt(y) {
		return Math.floor(
			(app.state.bottom ? Math.max(rowCount * ROW, scroller.clientHeight) - 1 - y : y) / ROW,
		);
	}

	function colourOf(frame) {
		let colour = colours.get(frame);

		if (!colour) {
			const fill = shiftColour(
				app.colour(KINDS[app.kinds[frame]]),
				(shadeOf(frames.name[frame]) - 0.5) * 0.22,
			);

			colour = {fill, text: textOn(fill)};
			colours.set(frame, colour);
		}
		return colour;
	}

	function nameOf(node) {
		if (node > 0)
			return (
				(isClosed(node) ? "▸ " : "") +
				(frames.shortName[graph.frame[node]] || frames.name[graph.frame[node]])
			);
		return `all: ${app.amount(graph.total[0])}`;
	}

	function drawBox(box, y, style) {
		const frame = box.node > 0 ? graph.frame[box.node] : -1;
		const dim =
			frame >= 0 &&
			(app.matches ? !app.matches[frame] : style.selected >= 0 && frame !== style.selected);
		const width = Math.max(box.width - (box.width > 3 ? 1 : 0), 0.5);

		context.globalAlpha = box.node < 0 ? DIM : 1;
		const colour =
			frame >= 0
				? colourOf(frame)
				: {fill: box.node < 0 ? style.small : style.root, text: style.text};
		const fill = dim ? mixColours(colour.fill, style.page, DIM) : colour.fill;

		context.fillStyle = fill;
		context.fillRect(box.x, y, width, ROW - 1);
		if (box.node >= 0 && box.width > 20) {
			const label = cutName(
				nameOf(box.node),
				text => textWidth(text) <= box.width - 2 * PADDING,
				frame >= 0 && isKind(app.kinds[frame], "layer"),
			);

			context.fillStyle = dim ? faintTextOn(fill) : colour.text;
			if (label) context.fillText(label, box.x + PADDING, y + ROW / 2);
		}
		context.globalAlpha = 1;
	}

	function outline(box, y, colour, thickness) {
		context.strokeStyle = colour;
		context.lineWidth = thickness;
		context.strokeRect(
			box.x + thickness / 2,
			y + thickness / 2,
			Math.max(box.width - 1 - thickness, 1),
			ROW - 1 - thickness,
		);
	}

	function drawNow() {
		drawing = false;
		const width = scroller.clientWidth,
			height = scroller.clientHeight;

		if (!graph || width === 0 || height === 0) return;
		prepareCanvas(canvas, width, height);
		const style = {
			...BOX_COLOURS[app.isDark() ? "dark" : "light"],
			selected:
				app.state.frame !== "" && !app.state.inverted ? app.frameOf(app.state.frame) : -1,
		};
		const scroll = scroller.scrollTop,
			a = rowAt(scroll),
			b = rowAt(scroll + height);

		for (let row = Math.max(Math.min(a, b), 0); row <= Math.max(a, b); row++) {
			const y = rowTop(row) - scroll;

			for (const box of rows[row] ?? []) {
				drawBox(box, y, style);
				if (box.node > 0 && graph.frame[box.node] === style.selected)
					outline(box, y, style.strong, 1.5);
				if (
					box.node >= 0 &&
					box.node === cursor &&
					(cursor > 0 || document.activeElement === canvas)
				)
					outline(box, y, style.strong, 2);
				else if (box.node > 0 && box.node === hover) outline(box, y, style.strong, 1);
			}
		}
		if (graph.total[0] === 0) {
			const isEmpty = app.profile.rows.count === 0;
			const shown = clip(app.profile.facts.get("shown") ?? "", 200);
			const whyEmpty = app.isPart
				? `Nothing matches what is shown: ${shown}`
				: "The profile is empty.";
			const message = isEmpty ? whyEmpty : app.whyNothing();

			context.fillStyle = style.text;
			context.fillText(message, 14, ROW * 2.5);
		}
	}

	function draw() {
		if (!drawing) requestAnimationFrame(drawNow);
		drawing = true;
	}

	// ---- details ----

	function actionsFor(node) {
		const frame = graph.frame[node],
			actions = [];

		if (node !== zoom)
			actions.push([isClosed(node) ? "Open" : "Zoom in", "Enter", () => zoomTo(node)]);
		if (!app.state.inverted) addSource(actions, kernelPath(node));
		if (node > 0) {
			actions.push(["Callers", "All callers of this frame (c)", () => showCallers(frame)]);
			actions.push([
				"Select all",
				"All boxes of this frame",
				() => app.set({frame: String(frame), inverted: "", zoom: ""}),
			]);
			actions.push([
				"Whole name",
				"Show the name in full",
				() => details.classList.toggle("open"),
			]);
		}
		return actions;
	}

	// Returns the frames up to the kernel around them, from the inside.
	function kernelPath(node) {
		const path = [];

		for (let at = node; at > 0; at = graph.parent[at]) {
			path.push(graph.frame[at]);
			if (!isKind(app.kinds[graph.frame[at]], "stall", "device")) break;
		}
		return path;
	}

	function addSource(actions, path) {
		const link = app.views.source?.linkFrom(path);

		if (link)
			actions.push(["Source", "Its lines, with the stalls of each", () => app.set(link)]);
	}

	function showDetails() {
		const node = hover > 0 ? hover : cursor,
			selected = app.state.frame !== "" && !app.state.inverted;
		const whole = graph.total[0];

		if (selected && node === 0) {
			const frame = app.frameOf(app.state.frame),
				sums = app.sums(),
				actions = [
					["Callers", "All callers of this frame (c)", () => showCallers(frame)],
				];

			addSource(actions, [frame]);
			fillDetails(
				details,
				app,
				frame,
				{
					total: sums.total[frame],
					own: sums.own[frame],
					operations: sums.operations[frame],
					bytes: sums.bytes[frame],
					byKind: sums.byKind.map(list => list[frame]),
				},
				whole,
				app.countBoxes(frame),
				actions,
			);
			return;
		}
		fillDetails(
			details,
			app,
			graph.frame[node],
			{
				total: graph.total[node],
				own: graph.own[node],
				operations: graph.operations[node],
				bytes: graph.bytes[node],
				byKind: graph.byKind.map(list => list[node]),
			},
			whole,
			1,
			actionsFor(node),
		);
	}

	function showTip(event) {
		const node = hover;

		tip.hidden = !(node > 0) || event.pointerType === "touch";
		if (tip.hidden) return;
		tip.replaceChildren(
			make("b", {text: clip(frames.shortName[graph.frame[node]], 200)}),
			make("span", {
				text: `${app.amount(graph.total[node])} · ${formatShare(graph.total[node], graph.total[0])}`,
			}),
		);
		placeTip(tip, event);
	}

	// ---- navigation ----

	function zoomTo(node) {
		cursor = node;
		if (node === zoom) {
			resetRange();
			lay();
			showDetails();
		}
		app.set({zoom: graph.nameOf(node)});
	}

	// Goes to the match that is next in size.
	function moveToMatch(step) {
		if (!app.matches || app.state.inverted) return;
		const {total} = app.weights,
			{nodes} = outermost(app.tree, app.weights, app.matches);

		nodes.sort((a, b) => total[b] - total[a] || a - b);
		const at = nodes.indexOf(zoom),
			next = at < 0 && step < 0 ? nodes.length - 1 : at + step;

		if (nodes.length > 0) zoomTo(nodes[(next + nodes.length) % nodes.length]);
	}

	function zoomOutAll() {
		cursor = 0;
		zoomTo(0);
	}

	// Zooms out to a wider ancestor: one as wide as its child would show an equal picture.
	function zoomOut() {
		let node = graph.parent[zoom];

		while (node > 0 && graph.total[node] === graph.total[zoom]) node = graph.parent[node];
		if (from !== graph.start[zoom] || to !== from + graph.total[zoom]) zoomTo(zoom);
		else if (zoom > 0) zoomTo(node > 0 && graph.total[node] < graph.total[0] ? node : 0);
		else if (app.state.frame !== "") app.set({frame: ""});
		else if (cursor > 0) moveTo(0);
	}

	function showCallers(frame) {
		app.set({inverted: "1", frame: String(frame), zoom: String(frame)});
	}

	function moveTo(node) {
		cursor = node;
		hover = 0;
		const y = rowTop(graph.depth[node] - graph.depth[top]);

		if (y < scroller.scrollTop) scroller.scrollTop = y;
		else if (y + ROW > scroller.scrollTop + scroller.clientHeight)
			scroller.scrollTop = y + ROW - scroller.clientHeight;
		showDetails();
		draw();
	}

	function moveBeside(step) {
		const siblings = cursor > 0 ? Array.from(graph.children(graph.parent[cursor])) : [];
		const next = siblings[siblings.indexOf(cursor) + step];

		if (next !== undefined) moveTo(next);
	}

	function moveIn() {
		const [first] = graph.children(cursor);

		if (isClosed(cursor)) {
			zoomTo(cursor);
			return;
		}
		if (first !== undefined && graph.depth[first] - graph.depth[top] < ANCESTORS + ROWS_MAX)
			moveTo(first);
	}

	function stretch(factor, x) {
		const width = scroller.clientWidth,
			low = graph.start[top],
			high = low + graph.total[top];
		const at = from + ((to - from) * x) / width;
		const span = Math.min(Math.max((to - from) * factor, graph.total[0] * 1e-9, 1), high - low);

		setRange(at - (span * x) / width, span);
	}

	function setRange(start, span) {
		const low = graph.start[top],
			high = low + graph.total[top];

		from = Math.min(Math.max(start, low), high - span);
		to = from + span;
		lay();
	}

	// ---- pointer ----

	const pointers = new Map();
	let moved = false;

	function nodeUnder(event) {
		const area = canvas.getBoundingClientRect();
		const box = boxAt(
			rows,
			rowAt(event.clientY - area.top + scroller.scrollTop),
			event.clientX - area.left,
		);

		return box ? box.node : -1;
	}

	canvas.addEventListener("pointerdown", event => {
		pointers.set(event.pointerId, {
			x: event.clientX,
			y: event.clientY,
			startX: event.clientX,
			startY: event.clientY,
		});
		if (pointers.size === 1) moved = false;
	});
	canvas.addEventListener("pointermove", event => {
		const pointer = pointers.get(event.pointerId);

		if (!pointer) {
			const node = Math.max(nodeUnder(event), 0);

			if (node !== hover) {
				hover = node;
				showDetails();
				draw();
			}
			showTip(event);
			return;
		}
		const last = {...pointer};

		pointer.x = event.clientX;
		pointer.y = event.clientY;
		if (pointers.size === 2) {
			const [other] = [...pointers]
				.filter(([id]) => id !== event.pointerId)
				.map(([, p]) => p);
			const before = Math.abs(last.x - other.x),
				after = Math.abs(pointer.x - other.x);

			moved = true;
			if (before > 8 && after > 8)
				stretch(
					before / after,
					(pointer.x + other.x) / 2 - canvas.getBoundingClientRect().left,
				);
		} else if (moved || Math.abs(pointer.x - pointer.startX) > CLICK_DISTANCE) {
			if (!moved) canvas.setPointerCapture(event.pointerId);
			moved = true;
			tip.hidden = true;
			canvas.classList.add("dragged");
			setRange(from - ((pointer.x - last.x) * (to - from)) / scroller.clientWidth, to - from);
		}
	});
	const release = event => {
		const wasDown = pointers.delete(event.pointerId);

		canvas.classList.remove("dragged");
		if (!wasDown || event.type !== "pointerup" || moved || event.button !== 0) return;
		const node = nodeUnder(event);

		if (node < 0) return;
		if (event.pointerType === "touch" && node !== cursor) moveTo(node);
		else zoomTo(node);
	};
	canvas.addEventListener("pointerup", release);
	canvas.addEventListener("pointercancel", release);
	canvas.addEventListener("pointerleave", () => {
		tip.hidden = true;
		if (hover > 0) {
			hover = 0;
			showDetails();
			draw();
		}
	});
	canvas.addEventListener(
		"wheel",
		event => {
			if (event.ctrlKey || event.metaKey) {
				event.preventDefault();
				stretch(
					Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120),
					event.clientX - canvas.getBoundingClientRect().left,
				);
			} else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
				event.preventDefault();
				setRange(
					from + ((event.deltaX || event.deltaY) * (to - from)) / scroller.clientWidth,
					to - from,
				);
			}
		},
		{passive: false},
	);
	canvas.addEventListener("focus", draw);
	canvas.addEventListener("blur", draw);
	scroller.addEventListener("scroll", draw);
	new ResizeObserver(() => graph && lay()).observe(scroller);

	// ---- keys ----

	function key(event) {
		const inward = app.state.bottom ? "ArrowUp" : "ArrowDown",
			outward = app.state.bottom ? "ArrowDown" : "ArrowUp";
		const actions = {
			[inward]: moveIn,
			[outward]: () =>
				cursor > 0 &&
				moveTo(graph.depth[cursor] > graph.depth[top] ? graph.parent[cursor] : cursor),
			ArrowLeft: () => moveBeside(-1),
			ArrowRight: () => moveBeside(1),
			Enter: () => zoomTo(cursor),
			Escape: zoomOut,
			Backspace: zoomOut,
			"+": () => stretch(0.7, scroller.clientWidth / 2),
			"=": () => stretch(0.7, scroller.clientWidth / 2),
			"-": () => stretch(1 / 0.7, scroller.clientWidth / 2),
			i: () => app.set({inverted: app.state.inverted ? "" : "1", zoom: "", frame: ""}),
			o: app.toggleMine,
			n: () => moveToMatch(1),
			N: () => moveToMatch(-1),
			c: () => (hover || cursor) > 0 && showCallers(graph.frame[hover || cursor]),
		};

		if (!actions[event.key]) return false;
		actions[event.key]();
		return true;
	}

	return {
		element,
		update,
		key,
		recolour() {
			colours.clear();
			fillLegend();
			showDetails();
			draw();
		},
		// for tests: points at what a person would
		boxes: () =>
			boxes
				.filter(box => box.node >= 0)
				.map(box => ({
					name: nameOf(box.node),
					x: box.x,
					width: box.width,
					y: rowTop(box.row) - scroller.scrollTop,
					total: graph.total[box.node],
				})),
	};
}
