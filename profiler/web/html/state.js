// SPDX-License-Identifier: MIT
// The state of the page, as it stands in the address behind "#": links lead to it, and the back button undoes its changes.

// Keys and their defaults, which are left out of the address; of a list of choices it is the first. Some are of the
// profile (main.js): its steady part, its GPU time and the user's own code where there are such.
const STATE_KEYS = {
	view: ["overview", "flame", "tables", "timeline", "source", "about"],
	kind: ["all", "cpu", "gpu", "wait", "call", "idle"],
	weight: "", // what stacks are drawn by; time
	widths: ["after", "before", "both"], // of a comparison; both: the larger
	shares: ["", "1"], // "1": of a comparison, scaled to the same totals
	changes: ["", "all"], // "all": of a comparison, with noise
	order: ["size", "name"],
	inverted: ["", "1", "2"], // "1": callers inside callees; "2": callers above a frame, callees below
	bottom: ["", "1"], // "1": the root at the bottom
	my: ["", "1"], // "1": others' code folded
	group: "", // what stacks are grouped by: a word of group.js
	zoom: "", // a node
	pick: "", // a node: selected; else that of zoom
	frame: "", // a frame: selected; with `inverted`, the one whose callers are shown
	q: "", // the search
	process: "",
	thread: "",
	device: "",
	stream: "",
	time: "", // "FROM..TO", ns since the command's start: the profile of that time alone
	idle: "", // a device: the profile of the time when it was idle alone
	window: "", // "FROM..TO": what the timeline shows
	span: "", // one of the timeline, selected
	gpu: "", // the device that is selected there: its idle times are listed
	kernel: "", // a frame: whose source is shown
	file: "", // of its source
	line: "", // of the file, to be seen first
	table: "kernels",
	sort: "", // a column; "-" ahead: the smallest first
	columns: ["", "1"], // "1": all of the table, also those without room
};

// Those that choose places.
export const PLACE_KEYS = ["process", "thread", "device", "stream"];

export const DEFAULTS = Object.fromEntries(Object.entries(STATE_KEYS).map(([key, choices]) => [key, [choices].flat()[0]]));

// Shows everything.
export const WHOLE = {kind: "all", time: "", idle: ""};

// Parses "FROM..TO" as two numbers, the smaller first; null if it is invalid.
export function parseRange(text) {
	const found = /^(-?\d{1,16})\.\.(-?\d{1,16})$/.exec(text);
	const [from, to] = found ? [Number(found[1]), Number(found[2])] : [0, 0];
	return from < to ? [from, to] : null;
}

export function formatRange(from, to) {
	return `${Math.floor(from)}..${Math.max(Math.ceil(to), Math.floor(from) + 1)}`;
}

function unescape(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

// Returns allowed values for all keys, whatever a link says.
export function parseState(fragment) {
	const state = {...DEFAULTS},
		given = new Set();

	for (const part of fragment.replace(/^#/, "").split("&")) {
		const at = part.indexOf("=");
		const key = part.slice(0, Math.max(at, 0)),
			value = unescape(part.slice(at + 1));

		if (!Object.hasOwn(STATE_KEYS, key) || (Array.isArray(STATE_KEYS[key]) && !STATE_KEYS[key].includes(value))) continue;
		if (key === "table" && !/^[a-z_]{1,64}$/.test(value)) continue;
		if (["time", "window"].includes(key) && value !== "" && !parseRange(value)) continue;
		state[key] = value;
		given.add(key);
	}
	// weights other than time have no chosen time, and no kinds
	if (["time", "idle", "kind"].some(key => given.has(key) && state[key] !== WHOLE[key])) state.weight = "";
	if (state.weight !== "") Object.assign(state, WHOLE);
	return state;
}

export function formatState(state) {
	return Object.keys(DEFAULTS)
		.filter(key => state[key] !== DEFAULTS[key])
		.map(key => `${key}=${encodeURIComponent(state[key])}`)
		.join("&");
}
