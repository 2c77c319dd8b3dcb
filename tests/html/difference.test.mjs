// SPDX-License-Identifier: MIT
// The report of a comparison, without a browser: node --test tests/html
import assert from "node:assert/strict";
import {test} from "node:test";
import {encodeProfile, makeRandom} from "./made_page.mjs";
import {readProfile} from "../../profiler/web/html/data.js";
import {kindsOfFrames} from "../../profiler/web/html/kinds.js";
import {makeTree, weigh} from "../../profiler/web/html/tree.js";
import {
	CHANGE_COLOURS,
	chanceOf,
	changeColour,
	judge,
	levelOf,
	makeChangedRows,
	normalOf,
	studentOf,
	sumChanged,
	verdictOf,
} from "../../profiler/web/html/difference.js";

const near = (got, wanted, part, what) =>
	assert.ok(Math.abs(got - wanted) <= part * Math.abs(wanted), `${what}: ${got}, not ${wanted}`);

// One run a side: values before and after, variances by counting and by durations, counts.
const judgeTwo = (before, after, counted, measured, counts = [9, 9]) => {
	const sums = [before, after, counted, measured, ...counts];

	return judge(i => sums[i], [1, 1]);
};

test("difference: probabilities and quantiles are near those of tables", () => {
	for (const [z, p] of [
		[0, 1],
		[0.6745, 0.5],
		[1.96, 0.05],
		[2.5758, 0.01],
		[3.2905, 0.001],
		[5.3267, 1e-7],
	])
		near(chanceOf(z), p, 0.005, `chance of ${z}`);
	// Student's t, 2.5 % on each side
	for (const [freedom, t] of [
		[2, 4.303],
		[4, 2.776],
		[10, 2.228],
		[62, 1.999],
	]) {
		near(studentOf(1.96, freedom), t, 0.045, `t of ${freedom}`);
		near(normalOf(studentOf(1.3, freedom), freedom), 1.3, 1e-9, "back");
	}
	assert.equal(normalOf(Infinity, 2), Infinity);
});

test("difference: few samples are no change, many are", () => {
	// exact tests of counts say 0.0625, 0.031, 0.0167: profiler/tables/significance.h
	assert.ok(chanceOf(judgeTwo(0, 5, 5, 0).z) > 0.05);
	assert.ok(chanceOf(judgeTwo(0, 6, 6, 0).z) < 0.05);
	near(chanceOf(judgeTwo(10, 25, 35, 0).z), 0.0167, 0.1, "10 and 25");
	// in units of a sample of 20 ms
	near(judgeTwo(10 * 2e7, 25 * 2e7, 35 * 4e14, 0).z, judgeTwo(10, 25, 35, 0).z, 1e-9, "scaled");
	near(judgeTwo(100, 400, 500, 0).bound, 1.96 * Math.sqrt(500), 1e-9, "bound");
});

test("difference: what is exact is no chance, and what ran once says nothing", () => {
	const exact = judgeTwo(1000, 1001, 0, 0),
		once = judgeTwo(1000, 5000, 0, 1e6, [1, 1]);

	assert.equal(verdictOf(exact, Infinity), "more");
	assert.equal(verdictOf(judgeTwo(1000, 1000, 0, 0), 0), "same");
	assert.equal(verdictOf(once, 0), "unknown");
	assert.equal(verdictOf(judgeTwo(1000, 5000, 0, 1e6, [1, 2]), 3.9), "more");
	assert.equal(verdictOf(judgeTwo(1000, 5000, 0, 1e6, [1, 2]), 4.1), "noise");
	assert.equal(verdictOf(judgeTwo(0, 5000, 0, 1e6), 2), "new");
	assert.equal(verdictOf(judgeTwo(5000, 0, 0, 1e6), 2), "gone");
	assert.equal(verdictOf(judgeTwo(5000, 100, 0, 1e6), 2), "less");
});

test("difference: several runs show their spread", () => {
	const of = (values, runs, counted = 0) => judge(i => [...values, counted, 0, 9, 9][i], runs);
	const two = of([100000, 104000, 104000, 110000], [2, 2]);

	assert.deepEqual([two.before, two.after, two.difference], [102000, 107000, 5000]);
	near(two.bound, 15514, 0.045, "as the test of --diff says");
	assert.equal(verdictOf(of([5, 5, 7, 7], [2, 2]), Infinity), "more");
	// equal runs of samples vary by counting all the same
	assert.equal(verdictOf(of([5, 5, 7, 7], [2, 2], 6), 1.96), "noise");
	near(of([5, 5, 7, 7], [2, 2], 6).bound, 1.96 * Math.sqrt(6), 1e-9, "bound");
});

test("difference: among many rows of noise, one in twenty comparisons finds any", () => {
	const random = makeRandom(7);
	let found = 0;

	for (let i = 0; i < 200; i++) {
		// the sum of 12 uniform numbers has a variance of 1
		const rows = Array.from({length: 100}, () => {
			let sum = -6;

			for (let k = 0; k < 12; k++) sum += (random(1 << 20) + 0.5) / (1 << 20);
			return judgeTwo(1000, 1000 + 100 * sum, 0, 1e4);
		});

		found += levelOf(rows) < Infinity ? 1 : 0;
	}
	assert.ok(found > 0 && found <= 20, `${found} of 200`);
	// a real change is found beside them, and lowers the level for others
	const rows = [judgeTwo(1000, 1900, 0, 1e4), ...Array.from({length: 99}, () => judgeTwo(1000, 1001, 0, 1e4))];

	near(levelOf(rows), 9, 1e-9, "level");
	assert.equal(levelOf(rows.slice(1)), Infinity);
	assert.equal(levelOf([]), Infinity);
});

test("difference: colours diverge by how much changed", () => {
	const labelOf = (before, after, verdict) =>
		changeColour({before, difference: after - before, verdict}).label;

	assert.equal(labelOf(0, 5, "new"), "new");
	assert.equal(labelOf(5, 0, "gone"), "gone");
	assert.equal(labelOf(100, 160, "more"), "over 50 % more");
	assert.equal(labelOf(100, 120, "more"), "10 to 50 % more");
	assert.equal(labelOf(100, 105, "more"), "up to 10 % more");
	assert.equal(labelOf(100, 95, "less"), "up to 10 % less");
	assert.equal(labelOf(100, 80, "less"), "10 to 50 % less");
	assert.equal(labelOf(100, 20, "less"), "over 50 % less");
	for (const verdict of ["noise", "same", "unknown"])
		assert.equal(labelOf(100, 900, verdict), "no change, or noise");
	assert.equal(new Set(CHANGE_COLOURS.map(({light}) => light)).size, 9);
});

// main computes 100 and then 300, and launches: a kernel alone before, and one after, in a layer.
const MADE = {
	frames: [
		{name: "main"},
		{class: 6, name: "[GPU_Kernel]old"},
		{class: 6, name: "[GPU_Kernel]new"},
		{name: "[layer]", class: 18, kind: 8},
	],
	stacks: [
		{outer: 0, frame: 0},
		{outer: 1, frame: 1, site: 0},
		{outer: 1, frame: 3},
		{outer: 3, frame: 2, site: 0},
	],
	rows: [
		{stack: 1, kind: 0, ns: 300},
		{stack: 2, kind: 1, ns: 0},
		{stack: 4, kind: 1, ns: 60},
	],
	difference: {
		sides: [
			{
				runs: 1,
				command: "./old",
				counts: [{count: 10, sampled: 32}, {count: 4, measured: 2}, {}],
			},
			{
				runs: 2,
				command: "./new",
				shown: "--time 1..2",
				counts: [{count: 60, sampled: 80}, {}, {count: 8, measured: 4}],
			},
		],
		flags: 5,
		length: "CPU time",
		values: [
			[100, 30, 0],
			[280, 0, 50],
			[320, 0, 70],
		],
		variants: [{name: "[GPU_Kernel]new", match: "template", variant: "[GPU_Kernel]new<1>", on: 1}],
		tables: [{key: "totals", rows: [{name: "CPU time", before: 100, after: 300, bound: 0, verdict: 5}]}],
	},
};

test("difference: what was encoded is read again", () => {
	const {difference} = readProfile(encodeProfile(MADE));

	assert.deepEqual(difference.sides[1], {runs: 2, command: "./new", shown: "--time 1..2"});
	assert.deepEqual(
		[difference.isOfSteps, difference.isNormalized, difference.widths, difference.length],
		[true, false, "before", "CPU time"],
	);
	assert.deepEqual(
		difference.values.map(list => [...list]),
		MADE.difference.values,
	);
	assert.deepEqual([...difference.counts[1].count], [60, 0, 8]);
	assert.deepEqual([...difference.counts[0].sampled], [32, 0, 0]);
	assert.deepEqual([...difference.counts[1].measured], [0, 0, 4]);
	assert.deepEqual(difference.variants, MADE.difference.variants);
	assert.deepEqual(difference.tables[0].rows, [
		{name: "CPU time", unit: 0, before: 100, after: 300, bound: -1, verdict: "more"},
	]);
	assert.equal(readProfile(encodeProfile({})).difference, null);
});

test("difference: rows have the widths of a side, or of the larger", () => {
	const profile = readProfile(encodeProfile(MADE)),
		nsOf = widths => [...makeChangedRows(profile, widths, false).ns];

	assert.deepEqual(nsOf("before"), [100, 30, 0]);
	assert.deepEqual(nsOf("after"), [300, 0, 60]);
	assert.deepEqual(nsOf("both"), [300, 30, 60]);
	const {columns} = makeChangedRows(profile, "after", false);

	// variances are those of the difference of means
	assert.deepEqual([...columns[3]], [32 ** 2 + 80 ** 2 / 4, 0, 0]);
	assert.deepEqual([...columns[4]], [0, 2 ** 2, 4 ** 2 / 4]);
});

test("difference: shares have the same total of each kind, and vary likewise", () => {
	const profile = readProfile(encodeProfile(MADE)),
		{columns} = makeChangedRows(profile, "after", true);

	// CPU: to 300 on average; GPU: to 60
	assert.deepEqual(
		columns.slice(0, 3).map(list => Array.from(list, Math.round)),
		[
			[300, 60, 0],
			[300, 0, 60],
			[300, 0, 60],
		],
	);
	near(columns[3][0], (32 * 3) ** 2 + 80 ** 2 / 4, 1e-9, "CPU");
	near(columns[4][1], (2 * 2) ** 2, 1e-9, "GPU");
});

test("difference: sums of nodes and of tables", () => {
	const profile = readProfile(encodeProfile(MADE)),
		shown = {...profile, rows: makeChangedRows(profile, "after", false)},
		tree = makeTree(profile.stacks),
		kinds = kindsOfFrames(profile.frames);
	const sumsOf = (rowKinds, frameKinds) =>
		Array.from(sumChanged({rowKinds, frameKinds}, shown, tree, kinds), ([frame, sums]) => [
			profile.frames.name[frame],
			...sums.slice(0, 3),
		]);

	assert.deepEqual(
		weigh(shown, tree, [1, 1, 1]).byKind.slice(5, 8).map(list => [...list]),
		[
			[130, 130, 30, 0, 0],
			[330, 330, 0, 50, 50],
			[390, 390, 0, 70, 70],
		],
	);
	assert.deepEqual(sumsOf([1], ["gpu"]), [
		["[GPU_Kernel]old", 30, 0, 0],
		["[GPU_Kernel]new", 0, 50, 70],
	]);
	assert.deepEqual(sumsOf([1], ["layer"]), [["[layer]", 0, 50, 70]]);
	assert.deepEqual(sumsOf([1], null), [["main", 30, 50, 70]]); // launch sites
	assert.deepEqual(sumsOf([0], ["native"]), [["main", 100, 280, 320]]);
});
