// SPDX-License-Identifier: MIT
// Shows the run: what was measured, what was lost, and what measuring cost.
import {make} from "./dom.js";
import {clip, formatBytes, formatCount, formatShare, formatTime, plural} from "./format.js";

const LONGEST_COMMAND = 20000;

function table(rows, name) {
	return make(
		"table",
		{class: name},
		make(
			"tbody",
			{},
			...rows.map(([label, value]) =>
				make("tr", {}, make("th", {scope: "row", text: label}), make("td", {text: value})),
			),
		),
	);
}

// Tells how many lines of source the file holds: whoever passes the file on passes them on, too.
function sayLines(sources) {
	const lines = sources.reduce((sum, source) => sum + source.lines.size, 0);

	return lines > 0 ? `, and ${plural(lines, "line")} of its source` : "";
}

export function makeAboutView(app) {
	const {profile} = app,
		{facts, losses} = profile;
	const get = name => facts.get(name) ?? 0;
	const element = make("section", {
		class: "view about",
		"aria-label": "About this profile",
		tabindex: "0",
	});
	const times = [
		["CPU", "cpu ns"],
		["GPU", "gpu ns"],
		["Waiting", "wait ns"],
		["In CUDA calls, wall time", "call ns"],
		["Idle GPUs", "idle ns"],
	]
		.filter(([, fact]) => get(fact) > 0)
		.map(([label, fact]) => [label, formatTime(get(fact))]);
	const counts = [
		["CPU samples", "cpu samples"],
		["Kernel launches", "kernel launches"],
		["GPU kernels", "gpu kernels"],
		["GPU operations with the stack of their launch", "matched"],
		["Waits", "waits"],
		["Timed CUDA calls", "timed calls"],
	]
		.filter(([, fact]) => get(fact) > 0)
		.map(([label, fact]) => [label, formatCount(get(fact))]);

	if (get("cpu samples") > 0 && get("sample ns") > 0)
		counts.splice(
			1,
			0,
			["One CPU sample stands for", formatTime(get("sample ns"))],
			["Whole CPU stacks", formatShare(get("whole cpu samples"), get("cpu samples"))],
		);
	if (get("launch stacks") > 0)
		counts.push([
			"Whole launch stacks",
			formatShare(get("whole launch stacks"), get("launch stacks")),
		]);
	if (get("sums") > 0)
		counts.push([
			"CUPTI's own sums that match",
			`${formatCount(get("equal sums"))} of ${formatCount(get("sums"))}`,
		]);
	const devices = new Map();

	for (let i = 0; i < profile.devices.count; i++)
		if (profile.devices.name[i] || !devices.has(profile.devices.label[i]))
			devices.set(profile.devices.label[i], profile.devices.name[i]);
	const biggest = Math.max(...["cpu ns", "gpu ns", "wait ns", "call ns", "idle ns"].map(get));

	element.append(
		make(
			"section",
			{},
			make("h2", {text: "Command"}),
			make("code", {text: clip(facts.get("command"), LONGEST_COMMAND) || "(unknown)"}),
			facts.has("shown")
				? make("p", {text: `Shown with ${clip(facts.get("shown"), LONGEST_COMMAND)}`})
				: null,
		),
		make(
			"section",
			{},
			make("h2", {text: "Time in the profile"}),
			facts.has("weight")
				? make("p", {text: `Stacks are drawn by ${facts.get("weight")}, not by time.`})
				: table(times.length > 0 ? times : [["All", "none"]]),
			!facts.has("weight") && times.length > 1
				? make("p", {
						text: "CPU, GPU and waiting time can overlap, so their sum is not wall time.",
					})
				: null,
			biggest > 2 ** 53 ? make("p", {text: "Sums above 104 days are rounded."}) : null,
		),
		make(
			"section",
			{},
			make("h2", {text: "Measured"}),
			table([
				["Wall time of the command", formatTime(get("elapsed ns"))],
				["CPU time charged to the command", formatTime(get("command cpu ns"))],
				...counts,
				...[...devices].map(([label, name]) => [label, name || "(not described)"]),
				[
					"In this file",
					`${plural(profile.stacks.count - 1, "box", "boxes")}, ${plural(new Set(profile.stacks.frame).size - 1, "frame")}, ` +
						plural(profile.rows.count, "row"),
				],
			]),
		),
		make(
			"section",
			{},
			make("h2", {text: "Lost or incomplete"}),
			losses.length > 0
				? table(
						losses.map(([what, count]) => [what, formatCount(count)]),
						"losses",
					)
				: make("p", {text: "Nothing was lost."}),
		),
		make(
			"section",
			{},
			make("h2", {text: "Cost of measuring"}),
			table([
				...[
					["CPU time in the program, apart from CUPTI", "program cpu ns"],
					["CPU time in the operating system, to take stacks", "kernel cpu ns"],
				]
					.filter(([, fact]) => get(fact) > 0)
					.map(([label, fact]) => [label, formatTime(get(fact))]),
				["CPU time of the profiler, while the command ran", formatTime(get("own cpu ns"))],
				[
					"Peak memory of the profiler, while the command ran",
					formatBytes(get("own memory bytes")),
				],
			]),
		),
		make(
			"section",
			{},
			make("p", {
				text:
					`Written by profile ${facts.get("version")}. This file contains the command, names and ` +
					`paths of its code${sayLines(profile.sources)}.`,
			}),
		),
	);
	return {element, update() {}, key: () => false, recolour() {}};
}
