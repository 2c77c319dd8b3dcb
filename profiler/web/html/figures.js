// SPDX-License-Identifier: MIT
// Tables beside the profile, as the table view shows them: the name first, what a row leads to.
import {FIGURE} from "./data.js";
import {formatBytes, formatCount, formatNumber, formatTime, plural} from "./format.js";
import {isKind} from "./kinds.js";

// Tables by group, with their short labels, in the order of the page.
export const TABLE_GROUPS = {
	Changes: {changes: "What changed", totals: "Totals"},
	"GPU work": {
		kernels: "Kernels",
		estimates: "Estimates",
		stack_estimates: "Estimates by stack",
		copies: "Copies and sets",
		sites: "Launch sites",
		kernel_classes: "Classes",
		operators: "Operators",
		layers: "Layers",
		layer_kinds: "Kinds of layers",
		ranges: "NVTX ranges",
		collective_calls: "Collectives by size",
		copied_memory: "Copies by host memory",
		exposed: "Not hidden by kernels",
		kernel_definitions: "Triton’s kernels",
	},
	CPU: {functions: "Functions", waits: "Waits", api_calls: "CUDA calls", cuda_errors: "Failed calls"},
	"Threads, GPUs": {
		threads: "Processes and threads",
		streams: "Devices and streams",
		ranks: "Ranks",
		collectives: "Waits of ranks",
		clocks: "Clocks",
		gpu_state: "State of GPUs",
	},
	"Inside kernels": {launch_shapes: "Launch shapes", hardware_counters: "Hardware counters", stalls: "Stalls"},
	Memory: {
		memory: "Peaks",
		never_freed: "Never freed",
		allocations: "Allocations",
		memory_pools: "Pools",
		caching_allocators: "Caching allocators",
	},
	Findings: {findings: "Findings", gpu_time: "GPU time", steps: "Steps", idle_causes: "Idle GPU time"},
};
export const TABLE_LABELS = Object.assign({}, ...Object.values(TABLE_GROUPS));

// Labels of columns that name a row, the best first; without any, the first column does.
const NAMES = [
	"Allocated by", "Copied by", "Kernel", "Function", "Operator", "Layer", "Kind of layer", "Class", "Collective", "Pool",
	"Held by", "Memory", "What the GPU did",
];
const KEYS = ["Finding", "Cause"]; // words with "_"
const TWINS = ["Use"]; // of a column for people
const UNITS = {Grid: "blocks", Block: "threads", percent: "%"};
const FIGURE_MEASURED = -1; // cells of a metric by label

const dash = (number, format) => (number > 0 ? format(number) : "–");

// Shows a cell by the kind of its column.
const FIGURES = {
	[FIGURE.TEXT]: text => text.replace(/^\[GPU_Kernel\](?=.)/, ""),
	[FIGURE.NOTE]: text => text,
	[FIGURE.COUNT]: formatCount,
	[FIGURE.TIME]: ns => dash(ns, formatTime),
	[FIGURE.BYTES]: bytes => dash(bytes, formatBytes),
	[FIGURE.SHARE]: permille => `${(permille / 10).toFixed(1)} %`,
	[FIGURE.THOUSANDTHS]: number => (number / 1000).toFixed(2),
	[FIGURE.NUMBER]: formatNumber,
	[FIGURE_MEASURED]: metric => (metric ? formatNumber(metric.Mean) : "–"),
};

// Turns rows by kernel and metric into rows of kernels, a metric a column. Of one name, a metric that a row has begins a new one.
export function pivotCounters(figure) {
	const labels = figure.columns.map(({label}) => label),
		metrics = new Map(),
		rows = [];

	for (const cells of figure.rows) {
		const cell = Object.fromEntries(labels.map((label, i) => [label, cells[i]]));
		if (!metrics.has(cell.Metric)) metrics.set(cell.Metric, {unit: cell.Unit, at: metrics.size + 2});
		const {at} = metrics.get(cell.Metric);
		if (rows.at(-1)?.[0] !== cell.Kernel || rows.at(-1)[at]) rows.push([cell.Kernel, cell.Launches]);
		rows.at(-1)[at] = cell;
	}
	return {
		...figure,
		columns: [
			{label: "Kernel", kind: FIGURE.TEXT},
			{label: "Launches", kind: FIGURE.COUNT},
			...Array.from(metrics, ([label, {unit}]) => ({label, unit, kind: FIGURE_MEASURED})),
		],
		rows,
	};
}

// Returns a function that finds the frame of a name, or of a path that begins with one. Host code may be named as its kernel.
function makeFinder(frames, kinds) {
	const found = [new Map(), new Map()];
	for (const names of [frames.shortName, frames.name])
		names.forEach((name, frame) => found[isKind(kinds[frame], "gpu") ? 1 : 0].set(name, frame));
	return (text, isKernel) => found[isKernel ? 1 : 0].get(text.split(" < ")[0]);
}

// Returns a search for the names that a text stands for; "*" stands for a number.
export const searchFor = text => `^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("\\*", "\\d+")}$`;

// Rows of groups lead to a table of their members.
const MEMBERS = {
	kernel_classes: (name, cellOf) => (cellOf("Kernels") > 0 ? {table: "kernels", q: searchFor(name)} : {table: "copies", q: ""}),
	layer_kinds: name => ({table: "layers", q: searchFor(name)}),
};

function describeColumn({label, kind, unit}, i) {
	const show = KEYS.includes(label) ? key => key.replaceAll("_", " ") : FIGURES[kind];
	const sayRange = ({Least, Most, Measured}) =>
		`${formatNumber(Least)} to ${formatNumber(Most)}, in ${plural(Measured, "measured launch", "measured launches")}`;

	return {
		key: String(i),
		label,
		unit: UNITS[unit ?? label] ?? unit,
		isText: kind === FIGURE.TEXT || kind === FIGURE.NOTE,
		value: ({cells}) => (kind === FIGURE_MEASURED ? (cells[i]?.Mean ?? -Infinity) : cells[i]),
		text: ({cells}) => show(cells[i]),
		part: kind === FIGURE.SHARE && (({cells}) => cells[i] / 1000),
		title: ({cells}) => (kind === FIGURE_MEASURED && cells[i] ? sayRange(cells[i]) : null),
	};
}

// Turns tables of the data, the most important rows first, into those of the view. `nameColumn` makes a column of frames' names.
export function describeFigures(figures, frames, kinds, nameColumn) {
	const find = makeFinder(frames, kinds);

	return figures.map(given => {
		const figure = given.key === "hardware_counters" ? pivotCounters(given) : given,
			labels = figure.columns.map(({label}) => label),
			frameAt = figure.columns.findIndex(({kind}) => kind === FIGURE.FRAME),
			label = labels[frameAt] ?? NAMES.find(label => labels.includes(label)) ?? labels[0],
			nameAt = labels.indexOf(label),
			weightAt = figure.columns.findIndex(({kind}) => [FIGURE.TIME, FIGURE.BYTES].includes(kind)),
			columns = figure.columns.map(describeColumn),
			members = MEMBERS[figure.key],
			isFound = columns[nameAt]?.isText && !members;
		const frameOf = cells => (isFound ? find(cells[nameAt], label === "Kernel") : cells[frameAt]);
		const isSorted = figure.rows.every((cells, i) => i === 0 || cells[weightAt] <= figure.rows[i - 1][weightAt]);

		return {
			key: figure.key,
			label: figure.title,
			columns: [
				frameAt >= 0 ? nameColumn(label) : {...columns[nameAt], isName: true},
				...columns.filter((_, i) => i !== nameAt && !TWINS.includes(labels[i])),
			],
			rows: () => figure.rows.map(cells => ({frame: frameOf(cells), cells})),
			select: members && (({cells}) => members(cells[nameAt], label => cells[labels.indexOf(label)])),
			leftOut: figure.leftOut,
			isFixed: true,
			sort: isSorted && weightAt >= 0 ? String(weightAt) : "",
		};
	});
}
