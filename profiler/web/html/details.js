// SPDX-License-Identifier: MIT
// Shows what is known of a box or a frame, below the picture.
import {copyText, make, makeButton, refill} from "./dom.js";
import {clip, formatBytes, formatCount, formatShare, joinTexts} from "./format.js";
import {KINDS} from "./kinds.js";
import {PLACE_KEYS} from "./state.js";

const NAME_LENGTH = 2000;

export function placeOfFrame(frames, frame) {
	if (frames.file[frame]) return frames.line[frame] > 0 ? `${frames.file[frame]}:${frames.line[frame]}` : frames.file[frame];
	return frames.module[frame];
}

// Fills a panel: a name, a line of texts, facts [label, value, title], buttons [label, title, act]. What is false is left out.
export function fillPanel(element, swatch, name, where, facts, actions, more = null) {
	const shown = facts.filter(([, value]) => value).map(([label, value, title = null]) =>
		make("div", {title}, make("dt", {text: label}), make("dd", {text: value})),
	);
	const buttons = actions.filter(action => action).map(([label, title, act]) => makeButton(label, act, {title}));

	refill(
		element,
		make("div", {class: "name"}, swatch, name),
		make("div", {class: "where", text: joinTexts(where)}),
		make("dl", {class: "facts"}, ...shown, make("div", {class: "actions"}, ...buttons)),
		more,
	);
}

// Returns the buttons that any panel has at its end.
export const lastActions = (element, name, stack) => [
	name && ["Copy name", "Copy the whole name", event => copyText(name, event.target)],
	stack.length > 0 && ["Copy stack", "Copy the names, one a line", event => copyText(stack.join("\n"), event.target)],
	["Copy link", "Copy the address of this view", event => copyText(location.href, event.target)],
	["More", "Show all of this panel, and back", () => element.classList.toggle("open")],
];

const KIND_LABELS = ["CPU", "GPU", "waiting", "in CUDA calls", "GPU idle"];
const COUNT_LABELS = ["samples", "operations", "", "calls", ""]; // a wait is split by what ran

// Returns whether the page shows less than its file has.
export function isFiltered(state) {
	return state.kind !== "all" || [...PLACE_KEYS, "time", "idle"].some(key => state[key] !== "");
}

function sayWhole({state, isPart}) {
	if (isFiltered(state)) return "everything that passes the filter";
	return isPart ? "the part of the run in this file" : "the whole profile";
}

// Shows the entry `at` of `sums`, which are lists, as a part of `whole` ns; `occurrences` is the number of boxes.
export function fillDetails(element, app, frame, sums, at, whole, occurrences, actions) {
	const {frames} = app.profile,
		[total, own, operations, bytes] = [sums.total, sums.own, sums.operations, sums.bytes].map(list => list[at]),
		byKind = sums.byKind.map(list => list[at]),
		present = KIND_LABELS.map((label, i) => [label, byKind[i], COUNT_LABELS[i]]).filter(([, ns]) => ns > 0);
	// count and mean mean nothing for mixtures and for parts of waits; parts of kernels have none
	const [[label, , counted]] = present.length === 1 && operations > 0 && !app.difference ? present : [[]];
	const facts = [
		...(app.difference?.facts(byKind) ?? []),
		["total", `${app.amount(total)} (${formatShare(total, whole)})`],
		["own", `${app.amount(own)} (${formatShare(own, whole)})`],
		...(present.length > 1 ? present.map(([label, ns]) => [label, app.amount(ns)]) : []),
		[counted, counted && formatCount(operations)],
		["mean", counted && label !== "CPU" && app.amount(total / operations)],
		["bytes", bytes > 0 && formatBytes(bytes)],
		...(frames.facts.get(frame) ?? []).map(([label, text]) => [label, clip(text, NAME_LENGTH)]),
		["boxes", occurrences > 1 && formatCount(occurrences)],
	];

	if (frame < 0) fillPanel(element, null, "all", [sayWhole(app)], facts, actions);
	else {
		const where = [KINDS[app.kinds[frame]].label, clip(placeOfFrame(frames, frame), NAME_LENGTH)];
		fillPanel(element, app.makeSwatch(frame), clip(frames.name[frame], NAME_LENGTH), where, facts, actions);
	}
}
