// SPDX-License-Identifier: MIT
// Shows the flame graph, or the sandwich of a frame: callers above, callees below. Panel and keys are about the selected box.
import {make, makeButton, makeEntry, makeView, refill} from "./dom.js";
import {cut} from "./format.js";
import {KINDS, isKind} from "./kinds.js";
import {makeCallees, nextOf, outermost, pathTo, rankNames} from "./tree.js";
import {makeCallers} from "./callers.js";
import {ancestor} from "./draw.js";
import {makeGraphPane} from "./graph_pane.js";
import {fillDetails, lastActions} from "./details.js";

const CRUMBS = 8; // most that are shown of a path, with the outermost two
const UPPER = "^"; // begins names of nodes in the callers of a sandwich

export function makeFlameView(app) {
	const {frames} = app.profile;
	const tools = make("div", {class: "flame-tools"});
	const legend = make("ul", {class: "legend", "aria-label": "Colours"});
	const crumbs = make("div", {class: "crumbs", role: "navigation", "aria-label": "Callers of the selected box"});
	const below = make("p", {class: "deeper"});
	const details = make("div", {class: "details", id: "details", "aria-live": "polite"});
	const isInTurn = app.kinds.map((_, frame) => +app.isInTurn(frame));
	const hasIdleThreads = frames.name.map(name => name.startsWith("[idle threads"));
	const graphs = new Map(); // by prefix of names: that of the pane
	let graphKey = "",
		rank = null,
		rootKey = "";
	const isSandwich = () => app.state.inverted === "2";
	const makePane = (prefix, label, isUp, skipped) => {
		const acts = Object.entries({select, zoom: zoomTo, isClosed, nameOf}),
			hooks = Object.fromEntries(acts.map(([name, act]) => [name, node => act(prefix, node)]));
		return makeGraphPane(app, label, hooks, isUp, skipped);
	};
	const main = makePane("", "Flame graph", () => app.state.bottom !== "" && !isSandwich(), () => (isSandwich() ? 1 : 0)),
		upper = makePane(UPPER, "Callers", () => true, () => 2);
	const panes = [main, upper],
		element = makeView("flame", "Flame graph", tools, crumbs, upper.element, main.element, below, details, main.tip, upper.tip);

	// ---- the trees that are shown ----

	// Splits the name of a node into the prefix of its pane, and the node.
	function nodeOf(name) {
		const prefix = name.startsWith(UPPER) && isSandwich() ? UPPER : "";
		return {prefix, node: graphs.get(prefix).nodeOf(name.replace(UPPER, ""))};
	}

	function makeGraphs() {
		const {state} = app;
		const focus = state.inverted && state.frame !== "" ? app.frameOf(state.frame) : -1;

		if (isSandwich() && focus < 0) state.inverted = "1";
		const key = [app.filterKey, state.inverted, state.order, focus].join("|");

		if (key === graphKey) return;
		rank ??= state.order === "name" ? rankNames(frames) : null;
		const order = state.order === "name" ? rank : null,
			nodes = focus < 0 ? null : outermost(app.tree, app.weights, onlyFrame(focus)).nodes;
		const turned = isCallees => makeCallers(app.tree, app.weights, focus, nodes, order, isCallees);

		graphs.clear();
		if (isSandwich()) graphs.set(UPPER, turned(false)).set("", turned(true));
		else if (state.inverted) graphs.set("", turned(false));
		// groups of layers go by time
		else graphs.set("", makeCallees(app.tree, app.weights, order, state.group === "layer" ? null : isInTurn));
		graphKey = key;
	}

	function update() {
		makeGraphs();
		const {state} = app,
			zoomed = nodeOf(state.zoom),
			picked = selection();
		const showIn = (pane, prefix, root) =>
			pane.show(
				graphs.get(prefix),
				graphKey + prefix,
				zoomed.prefix === prefix && zoomed.node > 0 ? zoomed.node : root,
				picked.prefix === prefix ? picked.node : -1,
			);

		upper.element.hidden = !isSandwich();
		element.classList.toggle("sandwich", isSandwich());
		fillTools();
		fillCrumbs(picked);
		fillLegend();
		showDetails(picked);
		showIn(main, "", isSandwich() ? focusNode("") : 0);
		main.element.style.flex = isSandwich() ? `0 1 ${main.needs() + 2}px` : "";
		if (isSandwich()) showIn(upper, UPPER, focusNode(UPPER));
		if (rootKey !== state.bottom + state.inverted + state.frame) for (const pane of panes) pane.toRoot();
		rootKey = state.bottom + state.inverted + state.frame;
		below.textContent = main.below() || "\u00a0";
	}

	// Returns the node of the sandwich's frame.
	const focusNode = prefix => graphs.get(prefix).children(0)[0] ?? 0;

	// Returns the selected box: what was picked, or what is zoomed.
	function selection() {
		const picked = nodeOf(app.state.pick || app.state.zoom);
		if (isSandwich() && picked.node === 0) return {prefix: "", node: focusNode("")};
		return picked;
	}

	function onlyFrame(frame) {
		const matches = new Uint8Array(frames.count);
		if (frames.count > 0) matches[frame] = 1;
		return matches;
	}

	// Returns whether a subtree that only waits for work is one box. Zoom and search open it.
	function isClosed(prefix, node) {
		const {state} = app,
			graph = graphs.get(prefix);
		if (!hasIdleThreads[graph.frame[node]] || state.inverted || state.frame !== "" || app.matches) return false;
		const zoomed = nodeOf(state.zoom).node,
			levels = graph.depth[zoomed] - graph.depth[node];
		return levels < 0 || ancestor(graph, zoomed, levels) !== node;
	}

	function nameOf(prefix, node) {
		const graph = graphs.get(prefix),
			frame = graph.frame[node];
		if (!(node > 0)) return `all: ${app.amount(graph.total[0])}`;
		const run = app.state.inverted ? 0 : app.tree.run?.[node];
		return `${isClosed(prefix, node) ? "▸ " : ""}${app.labels[frame]}${run > 1 ? ` x ${run}` : ""}`;
	}

	const linkOf = (prefix, node) => {
		const name = graphs.get(prefix).nameOf(node);
		return name === "" ? "" : prefix + name;
	};

	const pathOf = (prefix, node) => pathTo(graphs.get(prefix).parent, node);

	// ---- the bars above ----

	function fillTools() {
		const directions = [
				["", "Callees", "Each caller with its callees inside"],
				["1", "Callers", "Each function with its callers inside (i)"],
				["2", "Sandwich", "Callers above the frame, callees below"],
			].slice(0, isSandwich() ? 3 : 2),
			orders = [["size", "By time", "The largest first"], ["name", "By name", "In order of names"]],
			roots = [["", "Root on top", "An icicle"], ["1", "Root at the bottom", "A flame"]];
		refill(
			tools,
			app.makeChoice("What is inside what", "inverted", directions, {zoom: "", pick: "", frame: ""}),
			app.makeChoice("Order", "order", orders),
			!isSandwich() && app.makeChoice("Root", "bottom", roots),
			app.makeMineButton(),
			legend,
		);
	}

	// Shows the callers of the selected box, each of which can be zoomed in on.
	function fillCrumbs({prefix, node}) {
		const graph = graphs.get(prefix),
			{state} = app,
			path = pathOf(prefix, node),
			left = Math.max(path.length - CRUMBS, 0),
			shown = left > 0 ? [...path.slice(0, 2), -1, ...path.slice(left + 3)] : path;
		const word = {2: "sandwich", 1: "callers"}[state.inverted] ?? "selected",
			frame = `${word}: ${cut(app.labels[app.frameOf(state.frame)] ?? "", 30)} ✕`,
			showAll = () => app.set({frame: "", inverted: isSandwich() ? "" : state.inverted, zoom: "", pick: ""});
		refill(
			crumbs,
			makeButton("all", zoomOutAll, {title: "Show everything"}),
			...shown.map(at =>
				at < 0
					? make("span", {text: `${left + 1} more`})
					: makeButton(cut(nameOf(prefix, at), 40), () => zoomTo(prefix, at), {title: frames.name[graph.frame[at]]}),
			),
			state.frame !== "" && makeButton(frame, showAll, {title: "Show all frames again", class: "chip"}),
			nodeOf(state.zoom).node > 0 && makeButton("Zoom out ✕", zoomOutAll, {title: "Escape", class: "chip"}),
		);
	}

	function fillLegend() {
		const present = new Set(app.tree.frame.subarray(1).map(frame => app.kinds[frame])),
			own = () => KINDS.filter((_, i) => present.has(i)).map(kind => makeEntry(app.colour(kind), kind.label));
		legend.replaceChildren(...(app.difference?.makeLegend() ?? own()));
	}

	// ---- the panel ----

	function actionsFor(prefix, node, frame) {
		if (frame < 0) return [];
		const isMain = !app.state.inverted,
			path = node > 0 ? pathOf(prefix, node).map(at => graphs.get(prefix).frame[at]) : [frame],
			// up to the kernel
			kernel = path.findLastIndex(f => !isKind(app.kinds[f], "stall", "device")),
			link = isMain && app.views.source?.linkFrom(path.slice(Math.max(kernel, 0)).reverse()),
			canZoom = node > 0 && nodeOf(app.state.zoom).node !== node,
			isTurned = prefix !== "" || app.state.inverted === "1",
			stack = (isTurned ? path.toReversed() : path).map(f => frames.name[f]);

		return [
			canZoom && [isClosed(prefix, node) ? "Open" : "Zoom in", "Enter, double-click", () => zoomTo(prefix, node)],
			link && ["Source", "Its lines, with the stalls of each", () => app.set(link)],
			["Sandwich", "All its callers above, all its callees below (c)", () => app.openFrame(frame)],
			["Select all", "All boxes of this frame", () => app.set({frame: String(frame), inverted: "", zoom: "", pick: ""})],
			...lastActions(details, frames.name[frame], node > 0 ? stack : []),
		];
	}

	function showDetails({prefix, node}) {
		const {state} = app,
			graph = graphs.get(prefix),
			// all boxes of a frame, unless one is picked
			isAll = state.frame !== "" && (isSandwich() ? node === focusNode("") && prefix === "" : !state.inverted && node === 0),
			frame = isAll ? app.frameOf(state.frame) : graph.frame[node],
			[sums, at, boxes] = isAll ? [app.sums(), frame, app.countBoxes(frame)] : [graph, node, 1];
		fillDetails(details, app, frame, sums, at, app.weights.total[0], boxes, actionsFor(prefix, isAll ? 0 : node, frame));
	}

	// ---- navigation ----

	function select(prefix, node, isSmall = false) {
		app.set({pick: linkOf(prefix, node)}, isSmall);
	}

	function zoomTo(prefix, node) {
		const name = linkOf(prefix, node);
		if (nodeOf(app.state.zoom).node === node) paneOf(prefix).fit();
		app.set({zoom: name, pick: name});
	}

	const paneOf = prefix => (prefix === UPPER ? upper : main);

	// Goes to the match that is next in size.
	function moveToMatch(step) {
		if (!app.matches || app.state.inverted) return;
		const {total} = app.weights,
			{nodes} = outermost(app.tree, app.weights, app.matches);
		nodes.sort((a, b) => total[b] - total[a] || a - b);
		if (nodes.length > 0) zoomTo("", nextOf(nodes, nodes.indexOf(nodeOf(app.state.zoom).node), step));
		main.reveal(selection().node);
	}

	function zoomOutAll() {
		for (const pane of panes) if (!pane.element.hidden) pane.fit();
		app.set({zoom: "", pick: ""});
	}

	// Zooms out to a wider ancestor: one as wide as its child would show an equal picture.
	function zoomOut() {
		const {prefix, node: zoom} = nodeOf(app.state.zoom),
			graph = graphs.get(prefix);
		let node = graph.parent[zoom];

		while (node > 0 && graph.total[node] === graph.total[zoom]) node = graph.parent[node];
		if (paneOf(prefix).fit()) return;
		if (zoom > 0) zoomTo(prefix, node > 0 && graph.total[node] < graph.total[0] ? node : 0);
		else if (app.state.frame !== "") app.set({frame: "", inverted: isSandwich() ? "" : app.state.inverted, pick: ""});
		else if (app.state.pick !== "") app.set({pick: ""});
	}

	function moveTo(prefix, node) {
		select(prefix, node, true);
		paneOf(prefix).reveal(node);
	}

	function keys() {
		const {prefix, node} = selection(),
			graph = graphs.get(prefix),
			isUp = prefix === UPPER || (app.state.bottom !== "" && !isSandwich());
		const beside = step => {
			const siblings = node > 0 ? Array.from(graph.children(graph.parent[node])) : [],
				next = siblings[siblings.indexOf(node) + step];
			if (next !== undefined) moveTo(prefix, next);
		};
		const moveIn = () => {
			const [first] = graph.children(node);
			if (isClosed(prefix, node)) zoomTo(prefix, node);
			else if (first !== undefined && paneOf(prefix).reaches(first)) moveTo(prefix, first);
		};
		const moveOut = () => {
			if (isSandwich() && node === focusNode(prefix)) {
				const [caller] = graphs.get(UPPER).children(focusNode(UPPER));
				if (prefix === "" && caller !== undefined) moveTo(UPPER, caller);
			} else if (prefix === UPPER && graph.parent[node] === focusNode(UPPER)) {
				moveTo("", focusNode(""));
			} else if (node > 0) moveTo(prefix, graph.parent[node]);
		};
		return {
			[isUp ? "ArrowUp" : "ArrowDown"]: moveIn,
			[isUp ? "ArrowDown" : "ArrowUp"]: moveOut,
			ArrowLeft: () => beside(-1),
			ArrowRight: () => beside(1),
			Enter: () => zoomTo(prefix, node),
			Escape: zoomOut,
			"+": () => paneOf(prefix).stretch(0.7),
			"-": () => paneOf(prefix).stretch(1 / 0.7),
			i: () => app.set({inverted: app.state.inverted ? "" : "1", zoom: "", pick: "", frame: ""}),
			o: app.toggleMine,
			n: () => moveToMatch(1),
			N: () => moveToMatch(-1),
			c: () => node > 0 && app.openFrame(graph.frame[node]),
		};
	}

	return {
		element,
		update,
		keys,
		leave() {
			for (const pane of panes) pane.leave();
		},
		recolour() {
			fillLegend();
			for (const pane of panes) pane.draw();
			if (graphs.size > 0) showDetails(selection());
		},
		// Draws everything that is shown. Returns its size.
		paint(on) {
			const above = isSandwich() ? upper.paint(on, 0) : 0;
			return {width: main.element.clientWidth, height: above + main.paint(on, above)};
		},
		boxes: (isUpper = false) => (isUpper ? upper : main).boxes(),
	};
}
