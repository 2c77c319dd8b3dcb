// SPDX-License-Identifier: MIT
// Shows the run: what was measured, what was lost, and what measuring cost.
import {make, makeTable, makeView} from "./dom.js";
import {clip, formatBytes, formatCount, formatShare, formatTime, plural} from "./format.js";

const LONGEST_COMMAND = 20000;

function table(rows, name) {
	const makeRow = ([label, value]) => make("tr", {}, make("th", {scope: "row", text: label}), make("td", {text: value}));
	return makeTable({class: name}, null, rows.map(makeRow));
}

// Tells how many lines of source the file holds: whoever passes the file on passes them on, too.
function sayLines(sources) {
	const lines = sources.reduce((sum, source) => sum + source.lines.size, 0);
	return lines > 0 ? `, and ${plural(lines, "line")} of its source` : "";
}

const KINDS_OF_TIME = [
	["CPU", "cpu ns"],
	["GPU", "gpu ns"],
	["Waiting", "wait ns"],
	["In CUDA calls, wall time", "call ns"],
	["Idle GPUs", "idle ns"],
];

export function makeAboutView(app) {
	const {profile} = app,
		{facts, losses, devices} = profile;
	const get = name => facts.get(name) ?? 0,
		paragraph = text => make("p", {text}),
		section = (title, ...parts) => make("section", {}, make("h2", {text: title}), ...parts);
	// rows of what is not 0: [label, fact, how it is shown, another fact that it is a part of]
	const rows = list =>
		list
			.filter(([, fact, , whole = fact]) => get(fact) > 0 || (whole !== fact && get(whole) > 0))
			.map(([label, fact, format = formatCount, whole]) => [label, format(get(fact), get(whole))]);
	const element = makeView("about", "About this profile");
	const times = rows(KINDS_OF_TIME.map(([label, fact]) => [label, fact, formatTime])),
		isSampled = get("cpu samples") > 0 && get("sample ns") > 0,
		labels = new Map(); // names of devices by label

	element.tabIndex = 0;
	for (let i = 0; i < devices.count; i++)
		if (devices.name[i] || !labels.has(devices.label[i])) labels.set(devices.label[i], devices.name[i]);
	const counts = rows([
		["CPU samples", "cpu samples"],
		["One CPU sample stands for", isSampled && "sample ns", formatTime],
		["Whole CPU stacks", isSampled && "whole cpu samples", formatShare, isSampled && "cpu samples"],
		["Kernel launches", "kernel launches"],
		["GPU kernels", "gpu kernels"],
		["GPU operations with the stack of their launch", "matched"],
		["Waits", "waits"],
		["Timed CUDA calls", "timed calls"],
		["Whole launch stacks", "whole launch stacks", formatShare, "launch stacks"],
		["CUPTI's own sums that match", "equal sums", (part, whole) => `${formatCount(part)} of ${formatCount(whole)}`, "sums"],
	]);
	const sizes =
		`${plural(profile.stacks.count - 1, "box", "boxes")}, ${plural(new Set(profile.stacks.frame).size - 1, "frame")}, ` +
		plural(profile.rows.count, "row");

	element.append(
		section(
			"Command",
			make("code", {text: clip(facts.get("command"), LONGEST_COMMAND) || "(unknown)"}),
			facts.has("shown") ? paragraph(`Shown with ${clip(facts.get("shown"), LONGEST_COMMAND)}`) : null,
		),
		section(
			"Time in the profile",
			facts.has("weight")
				? paragraph(`Stacks are drawn by ${facts.get("weight")}, not by time.`)
				: table(times.length > 0 ? times : [["All", "none"]]),
			!facts.has("weight") && times.length > 1
				? paragraph("CPU, GPU and waiting time can overlap, so their sum is not wall time.")
				: null,
			KINDS_OF_TIME.some(([, fact]) => get(fact) > 2 ** 53) ? paragraph("Sums above 104 days are rounded.") : null,
		),
		section(
			"Measured",
			table([
				["Wall time of the command", formatTime(get("elapsed ns"))],
				["CPU time charged to the command", formatTime(get("command cpu ns"))],
				...counts,
				...[...labels].map(([label, name]) => [label, name || "(not described)"]),
				["In this file", sizes],
			]),
		),
		section(
			"Lost or incomplete",
			losses.length > 0
				? table(losses.map(([what, count]) => [what, formatCount(count)]), "losses")
				: paragraph("Nothing was lost."),
		),
		section(
			"Cost of measuring",
			table([
				...rows([
					["CPU time in the program, apart from CUPTI", "program cpu ns", formatTime],
					["CPU time in the operating system, to take stacks", "kernel cpu ns", formatTime],
				]),
				["CPU time of the profiler, while the command ran", formatTime(get("own cpu ns"))],
				["Peak memory of the profiler, while the command ran", formatBytes(get("own memory bytes"))],
			]),
		),
		make(
			"section",
			{},
			paragraph(
				`Written by profile ${facts.get("version")}. This file contains the command, names and ` +
					`paths of its code${sayLines(profile.sources)}.`,
			),
		),
	);
	return {element};
}
