// SPDX-License-Identifier: MIT
// Shows what is known of a box or a frame, below the picture.
import {make, makeButton, refill} from "./dom.js";
import {clip, formatBytes, formatCount, formatShare} from "./format.js";
import {KINDS} from "./kinds.js";

const NAME_LENGTH = 2000;

export function placeOfFrame(frames, frame) {
	if (frames.file[frame]) return frames.line[frame] > 0 ? `${frames.file[frame]}:${frames.line[frame]}` : frames.file[frame];
	return frames.module[frame];
}

export function fact(label, value) {
	return make("div", {}, make("dt", {text: label}), make("dd", {text: value}));
}

// Makes the list of facts, and at its end the buttons: [label, title, act].
export function makeFacts(facts, actions) {
	return make(
		"dl",
		{class: "facts"},
		...facts,
		make("div", {class: "actions"}, ...actions.map(([label, title, act]) => makeButton(label, act, {title}))),
	);
}

const KIND_LABELS = ["CPU", "GPU", "waiting", "in CUDA calls", "GPU idle"];
const COUNT_LABELS = ["samples", "operations", "", "calls", ""]; // a wait is split by what ran

// Returns whether the page shows less than its file has.
export function isFiltered(state) {
	return state.kind !== "all" || ["process", "thread", "device", "stream", "time", "idle"].some(key => state[key] !== "");
}

function sayWhole({state, isPart}) {
	if (isFiltered(state)) return "everything that passes the filter";
	return isPart ? "the part of the run in this file" : "the whole profile";
}

// `sums` is {total, own, operations, bytes, byKind}, of `whole` ns; `occurrences` is the number
// of boxes.
export function fillDetails(element, app, frame, sums, whole, occurrences, actions) {
	const {frames} = app.profile,
		kind = frame < 0 ? null : KINDS[app.kinds[frame]];
	const present = sums.byKind.slice(0, KIND_LABELS.length).map((ns, i) => [KIND_LABELS[i], ns]).filter(([, ns]) => ns > 0);
	const facts = [
		...(app.difference?.facts(sums.byKind) ?? []),
		fact("total", `${app.amount(sums.total)} (${formatShare(sums.total, whole)})`),
		fact("own", `${app.amount(sums.own)} (${formatShare(sums.own, whole)})`),
	];

	if (present.length > 1) facts.push(...present.map(([label, ns]) => fact(label, app.amount(ns))));
	// count and mean mean nothing for mixtures and for parts of waits; parts of kernels have
	// none
	const counted =
		present.length === 1 && sums.operations > 0 && !app.difference ? COUNT_LABELS[KIND_LABELS.indexOf(present[0][0])] : "";

	if (counted) facts.push(fact(counted, formatCount(sums.operations)));
	if (counted && present[0][0] !== "CPU") facts.push(fact("mean", app.amount(sums.total / sums.operations)));
	if (sums.bytes > 0) facts.push(fact("bytes", formatBytes(sums.bytes)));
	for (const [label, text] of frames.facts.get(frame) ?? []) facts.push(fact(label, clip(text, NAME_LENGTH)));
	if (occurrences > 1) facts.push(fact("boxes", formatCount(occurrences)));

	refill(
		element,
		make(
			"div",
			{class: "name"},
			frame < 0 ? null : app.makeSwatch(frame),
			frame < 0 ? "all" : clip(frames.name[frame], NAME_LENGTH),
		),
		make("div", {
			class: "where",
			text:
				frame < 0
					? sayWhole(app)
					: [kind.label, clip(placeOfFrame(frames, frame), NAME_LENGTH)].filter(text => text).join(" · "),
		}),
		makeFacts(facts, actions),
	);
}
