// SPDX-License-Identifier: MIT
// Saves what is shown as a file: the flame graph as a picture or as folded stacks, a table as Markdown.
import {clip, formatCount} from "./format.js";
import {make, makeButton, refill} from "./dom.js";
import {BOX_COLOURS, PICTURE_FONT} from "./draw.js";
import {nodeOfName} from "./tree.js";

const LARGEST = 2e8; // characters of a file
const NAME_CHARACTERS = 1000;
const URL_MS = 60000; // until a download has begun, however slow

const XML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"};

// Replaces what terminals obey, and what turns the direction of text.
function tame(text) {
	return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g, "\ufffd");
}

// Returns a text for XML, without characters that it cannot have.
export function escapeXml(text) {
	return tame(text)
		.replace(/\p{Surrogate}/gu, "\ufffd")
		.replace(/[&<>"]/g, c => XML[c]);
}

const NAMESPACE = ["http", "//www.w3.org/2000/svg"].join(":"); // the page itself names no other place

// Makes a picture of what `paint` draws on a part of a canvas's context, where `title` is for tooltips. It returns its size.
export function makeSvg(paint, ground, title, description) {
	const parts = [],
		round = number => Math.round(number * 100) / 100;
	const put = (on, element) => parts.push(`<g opacity="${on.globalAlpha}"><title>${escapeXml(on.title)}</title>${element}</g>\n`);
	const {width, height} = paint({
		fillStyle: "",
		globalAlpha: 1,
		title: "",
		fillRect(x, y, w, h) {
			put(this, `<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" fill="${this.fillStyle}"/>`);
		},
		fillText(text, x, y) {
			put(this, `<text x="${round(x)}" y="${round(y)}" fill="${this.fillStyle}">${escapeXml(text)}</text>`);
		},
	});

	return `<svg xmlns="${NAMESPACE}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>${escapeXml(title)}</title><desc>${escapeXml(description)}</desc>
<rect width="100%" height="100%" fill="${ground}"/>
<g font-family="${escapeXml(PICTURE_FONT.replace("12px ", ""))}" font-size="12" dominant-baseline="central" xml:space="preserve">
${parts.join("")}</g>
</svg>
`;
}

// Returns a line for each stack with a weight of its own: names from the root on, then the weight. `wanted` is by node.
export function makeFolded(tree, weights, names, wanted) {
	const isInside = new Uint8Array(tree.count),
		lines = [];
	let size = 0;

	for (let i = 0; i < tree.count; i++) {
		const path = [];

		isInside[i] = wanted(i) || isInside[tree.parent[i]] ? 1 : 0;
		if (isInside[i] && Math.round(weights.own[i]) > 0 && i > 0) {
			for (let at = i; at > 0 && size < LARGEST; at = tree.parent[at]) {
				path.push(names[tree.frame[at]].replaceAll(";", ":").replace(/[\r\n]/g, "?"));
				size += path.at(-1).length + 1;
			}
			lines.push(`${path.reverse().join(";")} ${Math.round(weights.own[i])}\n`);
		}
		if (size >= LARGEST) throw new Error(`larger than ${formatCount(LARGEST)} characters`);
	}
	return lines.join("");
}

// Returns a cell of a table: nothing in it is markup, a link or a mention.
function escapeMarkdown(text) {
	return tame(clip(text, NAME_CHARACTERS))
		.replace(/\s/g, " ")
		.replace(/[&<>]/g, c => XML[c])
		.replace(/[\\`*_[\]#!~|$]|:(?=\/)|(?<=www)\./gi, "\\$&")
		.replace(/@(?=\w)/g, "\\@ ");
}

// Turns {title, head, rows} of texts into a table.
export function makeMarkdown({title, head, rows}) {
	const line = cells => `| ${cells.map(escapeMarkdown).join(" | ")} |\n`;
	return `## ${escapeMarkdown(title)}\n\n${line(head)}|${"---|".repeat(head.length)}\n${rows.map(line).join("")}`;
}

// Fills the menu with what can be saved of the view.
export function startExport(app, menu) {
	const list = menu.appendChild(make("div"));
	const save = (name, type, write) => {
		const link = make("a", {download: name, href: URL.createObjectURL(new Blob([write()], {type}))});
		link.click();
		setTimeout(() => URL.revokeObjectURL(link.href), URL_MS);
		menu.open = false;
	};
	const saveOrSay = (button, text, file) => {
		try {
			save(...file);
		} catch (error) {
			button.textContent = `${text}: ${error.message}`;
		}
	};
	const folded = () => {
		const {state, tree, weights, profile} = app,
			zoom = state.inverted ? 0 : nodeOfName(tree, weights, state.zoom),
			frame = state.inverted && state.frame !== "" ? app.frameOf(state.frame) : -1;
		return makeFolded(tree, weights, profile.frames.name, node => (frame >= 0 ? tree.frame[node] === frame : node === zoom));
	};

	menu.addEventListener("toggle", () => {
		const view = app.views[app.state.view],
			ground = BOX_COLOURS[app.isDark() ? "dark" : "light"].page,
			svg = () => makeSvg(view.paint, ground, document.title, location.hash);
		const items = [
			[view.paint, "Flame graph as SVG", "profile.svg", "image/svg+xml", svg],
			[view.paint, "Folded stacks", "profile.folded", "text/plain", folded],
			[view.rowsShown, "Table as Markdown", "profile.md", "text/markdown", () => makeMarkdown(view.rowsShown())],
		];

		const makeItem = ([offered, text, ...file]) =>
			makeButton(text, event => saveOrSay(event.target, text, file), {disabled: !offered});
		refill(list, ...items.map(makeItem));
	});
	// its keys are not the view's
	menu.addEventListener("keydown", event => {
		event.stopPropagation();
		if (event.key === "Escape") menu.open = false;
	});
	menu.addEventListener("focusout", event => {
		if (!menu.contains(event.relatedTarget)) menu.open = false;
	});
}
