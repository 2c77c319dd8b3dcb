// SPDX-License-Identifier: MIT
// The report of a comparison: amounts before and after, and which changes may be chance.
import {make, makeEntry, refill} from "./dom.js";
import {clip, cut, formatBytes, formatCount, plural} from "./format.js";
import {ROW_CALL, ROW_CPU, ROW_GPU, ROW_KINDS, ROW_WAIT, getOrMake} from "./data.js";
import {isKind} from "./kinds.js";
import {DEFAULTS} from "./state.js";
import {textOn} from "./draw.js";
import {TABLE_LABELS} from "./figures.js";

const BY_CHANCE = 0.05, // of the changes that are called significant
	BOUND = 1.96, // its quantile of the normal distribution, of both sides
	LONGEST = 2000; // characters of a command

// ---- what may be chance: profiler/tables/change.h ----

// Returns the two-sided probability of a normal deviate, within 0.3 %: Börjesson and Sundberg 1979.
export function chanceOf(z) {
	return (0.7979 * Math.exp((-z * z) / 2)) / (0.661 * z + 0.339 * Math.sqrt(z * z + 5.51));
}

// Turn a deviate of Student's t into a normal one, and back: Wallace 1959.
const wallaceFactor = freedom => (8 * freedom + 1) / (8 * freedom + 3);
export const normalOf = (t, freedom) => wallaceFactor(freedom) * Math.sqrt(freedom * Math.log1p((t * t) / freedom));
export const studentOf = (z, freedom) => Math.sqrt(freedom * Math.expm1((z / wallaceFactor(freedom)) ** 2 / freedom));

// Judges a difference of two sides with these numbers of runs. `at` returns a sum of rows' columns: values by run,
// variances of the difference by counting samples and by durations, counts by side. A difference of counts is taken to be
// one sample smaller, for few samples seem more than they are. What ran once a side shows no spread.
export function judge(at, [runsBefore, runsAfter]) {
	const runs = runsBefore + runsAfter,
		counted = at(runs),
		measured = at(runs + 1);
	let before = 0,
		after = 0,
		squares = 0;

	for (let run = 0; run < runs; run++)
		if (run < runsBefore) before += at(run) / runsBefore;
		else after += at(run) / runsAfter;
	for (let run = 0; run < runs; run++) squares += (at(run) - (run < runsBefore ? before : after)) ** 2;
	const difference = Math.abs(after - before) < 0.5 ? 0 : after - before,
		size = Math.abs(difference),
		freedom = runs - 2,
		byCounting = counted > 0 ? Math.max(size - counted / (before + after), 0) / Math.sqrt(counted) : Infinity;
	const change = {before, after, difference, hasBound: true};

	if (freedom > 0) {
		const error = Math.sqrt((squares / freedom) * (1 / runsBefore + 1 / runsAfter));
		change.bound = Math.max(studentOf(BOUND, freedom) * error, BOUND * Math.sqrt(counted));
		change.z = Math.min(normalOf(size / error, freedom), byCounting);
	} else {
		change.bound = BOUND * Math.sqrt(counted + measured);
		change.z = measured > 0 ? size / Math.sqrt(counted + measured) : byCounting;
		change.hasBound = measured === 0 || at(runs + 2) > 1 || at(runs + 3) > 1;
	}
	return change;
}

// Returns the deviate from which on changes are significant, so that 1 in 20 of those is chance: profiler/tables/significance.h.
export function levelOf(changes) {
	const tested = changes.filter(({hasBound, bound}) => hasBound && bound > 0);
	const deviates = tested.map(({difference, z}) => (difference === 0 ? 0 : z)).sort((a, b) => b - a);
	return deviates.findLast((z, i) => chanceOf(z) <= ((i + 1) / deviates.length) * BY_CHANCE) ?? Infinity;
}

export function verdictOf({before, after, difference, bound, hasBound, z}, level) {
	if (difference === 0) return "same";
	if (!hasBound) return "unknown";
	if (bound > 0 && z < level) return "noise";
	if (before < 0.5) return "new";
	if (after < 0.5) return "gone";
	return difference > 0 ? "more" : "less";
}

const isSignificant = ({verdict}) => ["new", "gone", "more", "less"].includes(verdict);

// ---- colours: profiler/shape/change_kind.h and formats/svg/style.css ----

const NO_CHANGE = 4;
export const CHANGE_COLOURS = [
	["new", "#9b0f26", "#ff9c80"],
	["over 50 % more", "#dd6a57", "#bd4530"],
	["10 to 50 % more", "#f4a582", "#97412f"],
	["up to 10 % more", "#fbd9c8", "#63392f"],
	["no change, or noise", "#e3e6ea", "#363d45"],
	["up to 10 % less", "#cfe4f0", "#2c4457"],
	["10 to 50 % less", "#92c5de", "#27567a"],
	["over 50 % less", "#4b9bcb", "#2d70a0"],
	["gone", "#0b4a8a", "#a6d5f5"],
].map(([label, light, dark]) => ({label, light, dark}));

export function changeColour({before, difference, verdict}) {
	const ratio = Math.abs(difference / before),
		strength = verdict === "new" || verdict === "gone" ? 4 : ratio > 0.5 ? 3 : ratio > 0.1 ? 2 : 1;
	return CHANGE_COLOURS[NO_CHANGE - (isSignificant({verdict}) ? Math.sign(difference) * strength : 0)];
}

// ---- rows ----

// Returns the rows of both sides, with `columns` for judge(). With `shares`, each run is scaled to the totals after, by kind.
export function makeChangedRows({rows, difference}, widths, shares) {
	const {sides, values, counts} = difference,
		totalOf = Array.from(rows.kind, kind => (kind === ROW_CALL ? ROW_WAIT : kind)),
		make = value => Float64Array.from({length: rows.count}, (_, i) => value(i)),
		sideOf = run => (run < sides[0].runs ? 0 : 1);
	const totals = values.map(list => {
			const sums = new Float64Array(ROW_KINDS);
			list.forEach((ns, i) => (sums[totalOf[i]] += ns));
			return sums;
		}),
		mean = (lists, side, i) =>
			lists.reduce((sum, list, run) => sum + (sideOf(run) === side ? list[i] / sides[side].runs : 0), 0);
	const factor = (own, total) => (shares && own > 0 && mean(totals, 1, total) > 0 ? mean(totals, 1, total) / own : 1),
		factors = totals.map(own => own.map(factor)),
		sideFactors = [0, 1].map(side => totals[0].map((_, total) => factor(mean(totals, side, total), total)));
	const columns = values.map((list, run) => make(i => list[i] * factors[run][totalOf[i]])),
		variance = key =>
			make(i =>
				counts.reduce((sum, of, side) => sum + ((of[key][i] * sideFactors[side][totalOf[i]]) / sides[side].runs) ** 2, 0),
			);
	const amounts = {
		before: i => mean(columns, 0, i),
		after: i => mean(columns, 1, i),
		both: i => Math.max(mean(columns, 0, i), mean(columns, 1, i)),
	};

	return {
		...rows,
		ns: make(amounts[widths]),
		operations: make(i => counts[0].count[i] + counts[1].count[i]),
		columns: [...columns, variance("sampled"), variance("measured"), counts[0].count, counts[1].count],
	};
}

// Tables: key, kinds of rows, and of frames that they count for: the nearest outward; null: launch sites. The first are all work.
const WORK_TABLES = 4;
const CHANGED_TABLES = [
	["kernels", [ROW_GPU], ["gpu"]],
	["copies", [ROW_GPU], ["copy"]],
	["functions", [ROW_CPU], ["native", "python", "jit", "os", "start", "api"]],
	["waits", [ROW_WAIT, ROW_CALL], null],
	["layers", [ROW_GPU], ["layer"]],
	["operators", [ROW_GPU], ["operator"]],
	["ranges", [ROW_GPU], ["nvtx"]],
	["sites", [ROW_GPU], null],
].map(([key, rowKinds, frameKinds]) => ({key, rowKinds, frameKinds}));

// Returns a table's frames and their sums of columns.
export function sumChanged({rowKinds, frameKinds}, {rows, stacks}, tree, kinds) {
	const near = frameKinds ? new Int32Array(tree.count).fill(-1) : stacks.site,
		sums = new Map();

	for (let i = 1; i < tree.count && frameKinds; i++)
		near[i] = isKind(kinds[tree.frame[i]], ...frameKinds) ? tree.frame[i] : near[tree.parent[i]];
	for (let i = 0; i < rows.count; i++) {
		const frame = near[rows.stack[i]];
		if (frame < 0 || !rowKinds.includes(rows.kind[i])) continue;
		const own = getOrMake(sums, frame, () => new Float64Array(rows.columns.length));
		rows.columns.forEach((column, c) => (own[c] += column[i]));
	}
	return sums;
}

// ---- the page ----

export function makeDifference(app) {
	const {profile} = app,
		{difference, frames} = profile,
		{sides, isNormalized} = difference,
		runs = sides.map(side => side.runs);
	const bar = make("div", {class: "places", role: "group", "aria-label": "Comparison"});
	let rows = null,
		rowsKey = "",
		judged = {key: null}; // of what passes the filter: the picture's level, and tables

	DEFAULTS.view = "overview";
	DEFAULTS.widths = difference.widths;
	const numbers = new Map(frames.name.map((name, frame) => [name, frame]));

	for (const {name, match, variant, on} of difference.variants) {
		const frame = numbers.get(name);
		if (frame === undefined) continue;
		getOrMake(frames.facts, frame, () => []).push([`${["", "before", "after", "both"][on]}, by ${match}`, variant]);
	}

	function judgeAll() {
		const changeAt = node => judge(c => app.weights.byKind[ROW_KINDS + c][node], runs);

		if (judged.key === app.filterKey) return judged;
		const nodes = Array.from({length: app.tree.count - 1}, (_, i) => changeAt(i + 1));
		const tables = CHANGED_TABLES.map(table => ({
			...table,
			rows: Array.from(sumChanged(table, app.shown, app.tree, app.kinds), ([frame, sums]) => ({
				frame,
				kind: TABLE_LABELS[table.key],
				...judge(c => sums[c], runs),
			})),
		}));
		const level = levelOf(tables.flatMap(table => table.rows));

		for (const table of tables) for (const row of table.rows) row.verdict = verdictOf(row, level);
		judged = {key: app.filterKey, nodes, tables, level: levelOf(nodes.filter(({before, after}) => before + after > 0))};
		return judged;
	}

	// Judges sums by kind.
	function changeOf(byKind, level = judgeAll().level) {
		const change = judge(c => byKind(ROW_KINDS + c), runs);
		return {...change, verdict: verdictOf(change, level)};
	}

	// ---- words ----

	const showOf = ({unit = 0}) => [app.amount, bytes => formatBytes(Math.round(bytes)), formatCount][unit];
	const signed = (number, show) => `${number < 0 ? "−" : "+"}${show(Math.abs(number))}`;
	const percent = ({before, difference}) =>
		before > 0 ? `${signed((100 * difference) / before, number => number.toFixed(1))} %` : "";
	const noiseOf = row => (row.hasBound ? showOf(row)(row.bound) : "unknown");
	const sayChange = row => `${signed(row.difference, showOf(row))}${row.before > 0 ? ` (${percent(row)})` : ""}`;
	const sayVerdict = row =>
		({same: "no change", unknown: "noise unknown", noise: `may be noise (${noiseOf(row)})`})[row.verdict] ??
		`beyond noise (${noiseOf(row)})`;
	const saySides = row =>
		`${showOf(row)(row.before)} before, ${showOf(row)(row.after)} after, ${sayChange(row)}, ${sayVerdict(row)}`;
	const isShares = () => isNormalized || app.state.shares !== "";
	const isChosen = row => app.state.changes === "all" || isSignificant(row);
	const tablesBeside = difference.tables.map(({key, rows}) => ({
		key,
		rows: rows
			.filter(row => row.before + row.after > 0)
			.map(row => ({...row, difference: row.after - row.before, hasBound: row.bound >= 0})),
	}));

	// Returns what the overview says first.
	function findings() {
		const [total, ...others] = tablesBeside[0].rows.map(row => `${row.name}: ${saySides(row)}`),
			[largest] = listLargest(),
			of = side =>
				`${clip(side.command, LONGEST) || "(unknown)"}, ${plural(side.runs, difference.isOfSteps ? "step" : "run")}` +
				(side.shown ? `, with ${clip(side.shown, LONGEST)}` : "");

		return [
			`${total ?? "No time"}. ` +
				(largest
					? `The largest change: ${cut(app.labels[largest.frame], 120)}, ${sayChange(largest)}.`
					: "No kernel, function or wait changed by more than noise."),
			...others,
			...sides.map((side, i) => `${["Before", "After"][i]}: ${of(side)}`),
			...(difference.length && !isShares()
				? [`The runs differ in length (${difference.length}), and each row with them; after more work, compare shares.`]
				: []),
			"Noise: chance alone makes a difference larger than this in 1 of 20 rows. So among many rows some exceed it by " +
				"chance: they are called noise, too. Of the rows that are not, at most 1 in 20 is expected to be chance.",
		].map(text => ({Claim: text, Certainty: "", Next: ""}));
	}

	const listLargest = () =>
		judgeAll()
			.tables.slice(0, WORK_TABLES)
			.flatMap(table => table.rows.filter(isChosen))
			.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));

	// Returns what changed most, for makeList() of the overview.
	const lists = () =>
		judgeAll().tables.map(({key, rows}) => {
			const changed = rows.filter(isChosen),
				sayHow = row => (["new", "gone"].includes(row.verdict) ? row.verdict : sayChange(row)),
				sizes = changed.map(row => ({
					frame: row.frame,
					ns: Math.abs(row.difference),
					colour: colour(row),
					text: `${app.amount(row.before)} → ${app.amount(row.after)}, ${sayHow(row)}`,
				})),
				most = sizes.reduce((largest, {ns}) => Math.max(largest, ns), 0);
			return [`${TABLE_LABELS[key]}: ${changed.length} of ${rows.length}`, key, sizes, most, "What changed most"];
		});

	// Makes the tables of the table view, by its columns for names and texts.
	function makeTables(name, text) {
		const column = (key, label, value, show) => ({key, label, value, text: show});
		const table = (first, rows) => ({
			columns: [
				...first,
				column("before", "Before", row => row.before, row => showOf(row)(row.before)),
				column("after", "After", row => row.after, row => showOf(row)(row.after)),
				column("change", "Change", row => Math.abs(row.difference), row => signed(row.difference, showOf(row))),
				column("percent", "Change, %", row => (row.before > 0 ? row.difference / row.before : Infinity), percent),
				column("bound", "Noise", row => row.bound, noiseOf),
				text("verdict", "Verdict"),
			],
			rows: () => rows().filter(isChosen),
			sort: "change",
		});
		const has = ({rowKinds}) => profile.rows.kind.some(kind => rowKinds.includes(kind));
		const tables = {changes: table([name("Name"), text("kind", "Kind")], listLargest)};

		for (const {key, rows} of tablesBeside)
			if (rows.length > 0) tables[key] = table([name("Name", row => row.name)], () => rows);
		if (tables.totals) tables.totals.rows = () => tablesBeside[0].rows;
		for (const {key} of CHANGED_TABLES.filter(has))
			tables[key] = table([name("Name")], () => judgeAll().tables.find(made => made.key === key).rows);
		DEFAULTS.table = "changes";
		return tables;
	}

	// ---- the picture ----

	// Says what has no width: it is only on the other side.
	function sayHidden() {
		const {total} = app.weights,
			side = app.state.widths === "after" ? "before" : "after";
		let count = 0,
			sum = 0;

		judgeAll().nodes.forEach((change, i) => {
			if (total[i + 1] > 0 || !(change[side] > 0)) return;
			count++;
			if (app.tree.parent[i + 1] === 0 || total[app.tree.parent[i + 1]] > 0) sum += change[side];
		});
		return count > 0 ? [`${plural(count, "frame")} of ${app.amount(sum)} only ${side}: other widths show them.`] : [];
	}

	const colour = change => app.colour(changeColour(change));

	return {
		bar,
		title: sides.every(({command}) => command === "") ? "" : sides.map(({command}) => clip(command, 150)).join(" → "),
		makeTables,
		rowsFor({widths, shares}) {
			if (rowsKey !== widths + shares) rows = makeChangedRows(profile, widths, shares !== "");
			rowsKey = widths + shares;
			return rows;
		},
		update() {
			const widths = [
					["after", "After", "Widths are amounts after"],
					["before", "Before", "Widths are amounts before"],
					["both", "Both", "Widths are the larger amounts: frames of both sides are shown"],
				],
				shares = [["", "Times"], ["1", "Shares", "For runs that did more work: scaled to equal totals"]],
				changes = [["", "Significant"], ["all", "All changes", "With what may be noise"]];
			refill(
				bar,
				app.makeChoice("Widths", "widths", widths),
				!isNormalized && app.makeChoice("Amounts", "shares", shares),
				app.makeChoice("Changes", "changes", changes),
			);
		},
		// Says what the picture and the tables are of.
		say: () => [
			...(isShares() ? ["Shares: times are scaled to the same total of each kind (CPU, GPU), that after."] : []),
			...(app.state.view === "flame" ? sayHidden() : []),
			...(app.state.view === "tables" && app.state.changes === "" ? ["What may be noise is left out."] : []),
		],
		findings,
		lists,
		// Returns changes of state that show a frame, which one side may lack, or the filter.
		reveal: frame => (app.sums().total[frame] > 0 ? {} : {widths: "both", kind: "all"}),
		makeLegend: () => CHANGE_COLOURS.map(kind => makeEntry(app.colour(kind), kind.label)),
		colourOf(graph, node) {
			const fill = colour(changeOf(kind => graph.byKind[kind][node], app.state.changes === "all" ? 0 : undefined));
			return {fill, text: textOn(fill)};
		},
		makeTip: (graph, node) => make("span", {text: saySides(changeOf(kind => graph.byKind[kind][node]))}),
		// Returns facts of a box or a frame, by its sums by kind.
		facts(byKind) {
			const change = changeOf(kind => byKind[kind]);
			return [
				["before", app.amount(change.before)],
				["after", app.amount(change.after)],
				["change", `${sayChange(change)}, ${sayVerdict(change)}`],
			];
		},
	};
}
