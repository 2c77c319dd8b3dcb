// SPDX-License-Identifier: MIT
// Finds the boxes of a tree that are visible, and where.

import {make} from "./dom.js";
import {KINDS} from "./kinds.js";
import {firstWhere} from "./spans.js";

export const ROWS_MAX = 400; // levels below the zoomed node
export const SMALLEST = 0.6; // pixels; smaller neighbours are one box without a name

export const PICTURE_FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

// Returns the width of texts in a canvas with PICTURE_FONT. Few texts are measured.
export function makeTextWidth(context) {
	const widths = new Float64Array(128).fill(-1);

	return text => {
		let width = 0;

		for (let i = 0; i < text.length; i++) {
			const code = text[i] === "…" ? 127 : text.charCodeAt(i);
			if (code > 127) return context.measureText(text).width;
			if (widths[code] < 0) widths[code] = context.measureText(text[i]).width;
			width += widths[code];
		}
		return width;
	};
}

// Sizes a canvas in CSS pixels, sharp on this screen. Returns its context, empty.
export function prepareCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1,
		context = canvas.getContext("2d");

	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = PICTURE_FONT;
	context.textBaseline = "middle";
	context.textAlign = "left";
	return context;
}

export function fillBox(context, colour, x, y, width, height) {
	context.fillStyle = colour;
	context.fillRect(x, y, width, height);
}

// Draws shares as columns, one pixel each, that stand at `bottom`. Neighbours that are alike are one box.
export function fillColumns(context, colour, shares, left, bottom, height) {
	context.fillStyle = colour;
	for (let x = 0, end; x < shares.length; x = end) {
		const tall = shares[x] > 0 ? Math.max(shares[x] * height, 1) : 0;
		for (end = x + 1; shares[end] === shares[x];) end++;
		if (tall > 0) context.fillRect(left + x, bottom - tall, end - x, tall);
	}
}

// Fills a tip, and places it beside the pointer, within the window.
export function showTip(tip, event, name, text, ...more) {
	tip.hidden = false;
	tip.replaceChildren(make("b", {text: name}), make("span", {text}), ...more);
	const box = tip.getBoundingClientRect();
	tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 6))}px`;
	tip.style.top = `${event.clientY + 20 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
}

// Returns the ancestor `levels` above a node, or the root.
export function ancestor(graph, node, levels) {
	for (; levels > 0 && node > 0; levels--) node = graph.parent[node];
	return node;
}

// Returns boxes {node, x, width, row} for the time range [from, to], `width` pixels wide; row 0 is that of `top`. Small boxes in a
// row become one, with node -1. `hidden` is the number of levels deeper than `rows`. `narrow` is the number of frames in small
// boxes, and their part of the range; frames inside a small frame are not counted again. Nothing is shown inside closed nodes.
export function layOut(graph, top, from, to, width, rows, isClosed = () => false) {
	const boxes = [],
		stack = [top];
	const scale = to > from ? width / (to - from) : 0;
	const narrow = {count: 0, part: 0};
	let hidden = 0;

	while (stack.length > 0) {
		const node = stack.pop(),
			row = graph.depth[node] - graph.depth[top];
		const x = (Math.max(graph.start[node], from) - from) * scale;
		const end = (Math.min(graph.start[node] + graph.total[node], to) - from) * scale;

		if (!(end > x)) continue;
		boxes.push({node, x, width: end - x, row});
		if (isClosed(node)) continue;
		if (row + 1 >= rows) {
			hidden = Math.max(hidden, graph.levelsBelow(node));
			continue;
		}
		const children = graph.children(node);
		let small = null;

		for (let c = 0; c < children.length; c++) {
			const child = children[c];
			const left = (Math.max(graph.start[child], from) - from) * scale;
			const right = (Math.min(graph.start[child] + graph.total[child], to) - from) * scale;

			if (!(right > left)) continue;
			if (right - left >= SMALLEST) {
				stack.push(child);
				small = null;
				continue;
			}
			// a frame that the range cuts is narrow only if all of it is
			if (graph.total[child] * scale < SMALLEST) {
				narrow.count++;
				narrow.part += (right - left) / scale;
			}
			if (small) {
				small.width = right - small.x;
			} else {
				small = {node: -1, x: left, width: right - left, row: row + 1};
				boxes.push(small);
			}
		}
	}
	return {boxes, hidden, narrow};
}

// Lists boxes by row, from left to right, to find the one under the pointer.
export function indexRows(boxes) {
	const rows = [];
	for (const box of boxes) (rows[box.row] ??= []).push(box);
	for (const row of rows) row?.sort((a, b) => a.x - b.x);
	return rows;
}

export function boxAt(rows, row, x) {
	const list = rows[row] ?? [],
		box = list[firstWhere(0, list.length, i => list[i].x > x) - 1];
	return box && x < box.x + Math.max(box.width, 1) ? box : null;
}

// Returns a stable number from 0 to 1 for a text, so that neighbours of one kind differ a little in lightness.
export function shadeOf(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length && i < 64; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return ((hash >>> 0) % 1024) / 1024;
}

const SHADES = 0.24, // from the darkest to the lightest of a kind
	UNKNOWN_COLOUR = "#9a9aa0";

// Colours of everything but frames, and of the page behind the boxes (style.css).
export const BOX_COLOURS = {
	light: {page: "#ffffff", text: "#1d1c1a", small: "#8a8790", root: "#ebe9e4", strong: "#111111"},
	dark: {page: "#161618", text: "#f4f2ee", small: "#8a8790", root: "#3d3c40", strong: "#ffffff"},
};
export const DIM = 0.28; // opacity of boxes that are not wanted

const channels = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));

// Blends "#rrggbb" over another colour with an opacity.
export function mixColours(colour, ground, opacity) {
	const below = channels(ground),
		mixed = channels(colour).map((value, i) => Math.round(value * opacity + below[i] * (1 - opacity)));
	return `#${mixed.map(value => value.toString(16).padStart(2, "0")).join("")}`;
}

// Mixes "#rrggbb" with white (above 0) or black.
export function shiftColour(colour, amount) {
	return mixColours(amount > 0 ? "#ffffff" : "#000000", colour, Math.abs(amount));
}

// Returns the colours of frames, {fill, text} by frame: that of the kind, a little lighter or darker by name. -1: an unknown one.
export function makeColours(app) {
	const colours = new Map();
	const make = frame => {
		const {name} = app.profile.frames,
			shaded = () => shiftColour(app.colour(KINDS[app.kinds[frame]]), (shadeOf(name[frame]) - 0.5) * SHADES),
			fill = frame < 0 ? UNKNOWN_COLOUR : shaded();
		colours.set(frame, {fill, text: textOn(fill)});
		return colours.get(frame);
	};

	return {of: frame => colours.get(frame) ?? make(frame), clear: () => colours.clear()};
}

// Returns the relative luminance by WCAG 2.2 (www.w3.org/TR/WCAG22/#dfn-relative-luminance).
function luminance(colour) {
	const linear = value => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4),
		[red, green, blue] = channels(colour).map(channel => linear(channel / 255));
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// Returns the contrast ratio of two colours, 1 to 21, by WCAG 2.2.
export function contrast(a, b) {
	const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
	return (high + 0.05) / (low + 0.05);
}

export const CONTRAST = 4.5; // of text, at least: WCAG 2.2, level AA

// Returns black or white, whichever reads better on a colour. One of them always has a contrast of at least 4.58.
export function textOn(colour) {
	return contrast(colour, "#000000") >= contrast(colour, "#ffffff") ? "#000000" : "#ffffff";
}

// Returns the faintest readable text colour, for what the search or filter excludes.
export function faintTextOn(colour) {
	const text = textOn(colour);
	for (let opacity = 0.6; opacity < 1; opacity += 0.05) {
		const faint = mixColours(text, colour, opacity);
		if (contrast(faint, colour) >= CONTRAST) return faint;
	}
	return text;
}
