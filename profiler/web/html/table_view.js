// SPDX-License-Identifier: MIT
// Shows tables that can be sorted. The search filters them, and a row leads to its frame in the
// picture.
import {make, makeChoice, refill} from "./dom.js";
import {
	clip,
	formatBytes,
	formatCount,
	formatNumber,
	formatRate,
	formatShare,
	formatTime,
	plural,
} from "./format.js";
import {KINDS} from "./kinds.js";
import {DEFAULTS} from "./state.js";
import {
	FIGURE_BYTES,
	FIGURE_COUNT,
	FIGURE_FRAME,
	FIGURE_NOTE,
	FIGURE_NUMBER,
	FIGURE_SHARE,
	FIGURE_TEXT,
	FIGURE_THOUSANDTHS,
	FIGURE_TIME,
} from "./data.js";
import {isFiltered, placeOfFrame} from "./details.js";
import {
	tableFunctions,
	tableGpuWork,
	tableLaunchSites,
	tableStreams,
	tableThreads,
} from "./tables.js";

const ROWS_AT_ONCE = 200,
	CELL_LENGTH = 400;

const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

// A column: key, label, value of a row for sorting, and how it is shown. With another weight in
// place of time, times are amounts, and labels name the weight.
const time = (key, label, hint) => ({
	key,
	label,
	hint,
	isAmount: true,
	value: row => row[key],
});
const count = (key, label) => ({
	key,
	label,
	value: row => row[key],
	show: row => formatCount(row[key]),
});
const bytes = (key, label) => ({
	key,
	label,
	value: row => row[key],
	show: row => (row[key] > 0 ? formatBytes(row[key]) : "–"),
});
const text = (key, label) => ({
	key,
	label,
	isText: true,
	value: row => String(row[key]),
	show: row => clip(String(row[key]), CELL_LENGTH),
});
const share = (of, key = "share", label = "Share") => ({
	key,
	label,
	isShare: true,
	value: row => row[of],
	of,
});

// Shows a cell of a table beside the profile, by its kind.
const FIGURES = {
	[FIGURE_TEXT]: text => clip(text, CELL_LENGTH),
	[FIGURE_NOTE]: text => clip(text, CELL_LENGTH),
	[FIGURE_COUNT]: formatCount,
	[FIGURE_TIME]: ns => (ns > 0 ? formatTime(ns) : "–"),
	[FIGURE_BYTES]: bytes => (bytes > 0 ? formatBytes(bytes) : "–"),
	[FIGURE_SHARE]: permille => `${(permille / 10).toFixed(1)} %`,
	[FIGURE_THOUSANDTHS]: number => (number / 1000).toFixed(2),
	[FIGURE_NUMBER]: formatNumber,
};

// Turns a table of the data into one of this view. The frame that a row leads to comes first.
function describeFigures(figure, name) {
	const at = figure.columns.findIndex(column => column.kind === FIGURE_FRAME);
	const columns = figure.columns.map(({label, kind}, i) => ({
		key: String(i),
		label,
		isText: [FIGURE_TEXT, FIGURE_NOTE].includes(kind),
		style: kind === FIGURE_NOTE ? "long" : "word",
		value: row => row.cells[i],
		show: row => FIGURES[kind](row.cells[i]),
	}));

	if (at >= 0) columns.unshift({...name(columns.splice(at, 1)[0].label), style: "wide"});
	return {
		label: figure.title,
		columns,
		rows: () =>
			figure.rows.map(cells => (at >= 0 ? {frame: cells[at], cells} : {cells})),
		searched: row => row.cells.join(" "),
		leftOut: figure.leftOut,
		isFixed: true,
		sort: String(figure.columns.findIndex(({kind}) => [FIGURE_TIME, FIGURE_BYTES].includes(kind))),
		none: `${figure.title}: none`,
	};
}

export function makeTableView(app) {
	const {frames} = app.profile;
	const tabs = make("div", {class: "group", role: "group", "aria-label": "Tables"});
	const area = make("div", {
		class: "table",
		tabindex: "0",
		role: "region",
		"aria-label": "Table",
	});
	const mine = make("div");
	const element = make(
		"section",
		{class: "view", "aria-label": "Tables"},
		make("div", {class: "table-tabs"}, tabs, mine),
		area,
	);
	let shown = ROWS_AT_ONCE,
		shownKey = "";
	const name = label => ({
		key: "name",
		label,
		isText: true,
		isName: true,
		value: row => frames.name[row.frame],
	});

	const classOf = row => frames.workClass[row.frame];
	const TABLES = {
		kernels: {
			label: "GPU kernels",
			columns: [
				name("Kernel"),
				count("operations", "Calls"),
				time("ns", "Total"),
				time("mean", "Mean"),
				share("ns"),
				{...text("class", "Class"), style: "word", value: classOf, show: classOf},
			],
			rows: () => tableGpuWork(app.shown, app.tree, app.kinds, app.passes, "gpu"),
			none: "No GPU kernels are in the profile",
		},
		copies: {
			label: "Copies and sets",
			columns: [
				name("Operation"),
				count("operations", "Operations"),
				bytes("bytes", "Bytes"),
				time("ns", "Total"),
				time("mean", "Mean"),
				{
					key: "rate",
					label: "Rate",
					value: row => (row.ns > 0 ? row.bytes / row.ns : 0),
					show: row => formatRate(row.bytes, row.ns),
				},
				share("ns"),
			],
			rows: () => tableGpuWork(app.shown, app.tree, app.kinds, app.passes, "copy"),
			none: "No other GPU work is in the profile",
		},
		functions: {
			label: "Functions",
			columns: [
				name("Function"),
				time("own", "Own", "Computing in the function itself"),
				share("own", "own-share", "Own share"),
				time("total", "Total", "With all that is inside, once"),
				share("total", "share", "Total share"),
				time("cpu", "CPU", "Computing, with all that is inside"),
				time("gpu", "GPU", "Work that was launched inside"),
				time(
					"wait",
					"Waiting",
					"Of threads, inside; or for work that was launched inside",
				),
			],
			rows: () => tableFunctions(app.kinds, app.sums()),
			whole: () => app.weights.total[0],
			sort: "own",
			none: "No functions are in the profile",
		},
		sites: {
			label: "Launch sites",
			columns: [
				name("Innermost function outside CUDA"),
				count("operations", "Operations"),
				time("ns", "GPU time"),
				bytes("bytes", "Bytes"),
				share("ns"),
			],
			rows: () => tableLaunchSites(app.shown, app.tree, app.passes),
			none: "Nothing was launched",
		},
		threads: {
			label: "Processes and threads",
			columns: [
				text("processName", "Process"),
				text("threadName", "Thread"),
				time("cpu", "CPU"),
				time("gpu", "GPU launched"),
				time("wait", "Waiting"),
				count("operations", "GPU operations"),
			],
			rows: () => tableThreads(app.shown, app.passes),
			select: row => ({
				process: row.process < 0 ? "" : String(row.process),
				thread: row.thread < 0 ? "" : `${row.process}.${row.thread}`,
			}),
			searched: row => `${row.processName} ${row.threadName}`,
			sort: "cpu",
			none: "Processes and threads are not known",
		},
		streams: {
			label: "Devices and streams",
			columns: [
				text("device", "Device"),
				text("stream", "Stream"),
				text("context", "Context"),
				text("processName", "Process"),
				count("operations", "Operations"),
				time("gpu", "GPU"),
				bytes("bytes", "Bytes"),
				share("gpu"),
			],
			rows: () => tableStreams(app.shown, app.passes),
			select: row => ({
				process: String(row.process),
				device: row.device,
				stream: row.stream < 0 ? "" : String(row.stream),
			}),
			searched: row => `${row.device} stream ${row.stream} ${row.processName}`,
			sort: "gpu",
			none: "No work on a device is in the profile",
		},
	};

	const without = {
		kernels: !app.content.kernels,
		copies: !app.content.copies,
		sites: !app.content.gpu,
		streams: !app.content.gpu,
		threads: !app.content.threads,
	};

	for (const [key, isWithout] of Object.entries(without)) if (isWithout) delete TABLES[key];
	for (const figure of app.profile.figures ?? []) TABLES[figure.key] = describeFigures(figure, name);

	function matches(table, row) {
		if (row.frame !== undefined) return !app.matches || app.matches[row.frame];
		return !app.search || app.search.test(table.searched(row));
	}

	function fillTabs() {
		refill(
			tabs,
			...makeChoice(
				Object.entries(TABLES).map(([key, table]) => [key, table.label]),
				Object.hasOwn(TABLES, app.state.table) ? app.state.table : DEFAULTS.table,
				table => app.set({table, sort: ""}),
			),
		);
		refill(mine, app.makeMineButton());
	}

	function select(table, row) {
		if (!table.select && row.frame === undefined) return;
		if (app.state.table === "stalls" && app.views.source?.hasSource(row.frame)) {
			app.set(app.views.source.linkFrom([row.frame]));
			return;
		}
		app.set(
			table.select
				? {...table.select(row), view: "flame", zoom: "", frame: ""}
				: {view: "flame", frame: String(row.frame), inverted: "", zoom: "", q: ""},
		);
	}

	const showAmount = amount => (amount > 0 ? app.amount(amount) : "–");
	const labelOf = column =>
		app.weight && column.isAmount && column.label.startsWith("GPU")
			? clip(app.weight.title, 80)
			: column.label;

	function makeCell(table, column, row, whole) {
		if (column.isName) {
			const place = placeOfFrame(frames, row.frame),
				kind = KINDS[app.kinds[row.frame]],
				swatch = make("i", {title: kind.label});

			swatch.style.backgroundColor = app.colour(kind);
			return make(
				"td",
				{class: `text named ${column.style ?? ""}`},
				swatch,
				make("button", {
					type: "button",
					text: clip(
						frames.name[row.frame].replace(/^\[GPU_Kernel\](?=.)/, ""),
						CELL_LENGTH,
					),
					title:
						app.state.table === "stalls" && app.views.source?.hasSource(row.frame)
							? "Show its source"
							: "Show in the flame graph",
				}),
				place ? make("small", {text: clip(place, CELL_LENGTH)}) : null,
			);
		}
		if (column.isShare) {
			const bar = make("b", {"aria-hidden": "true"});

			bar.style.width = `calc((100% - 20px) * ${whole > 0 ? Math.min(row[column.of] / whole, 1) : 0})`;
			return make("td", {class: "share"}, formatShare(row[column.of], whole), bar);
		}
		return make("td", {
			class: column.isText ? `text ${column.style ?? "short"}` : null,
			text: column.isAmount ? showAmount(row[column.key]) : column.show(row),
		});
	}

	function makeHead(columns, sorted, isUp) {
		return make(
			"thead",
			{},
			make(
				"tr",
				{},
				...columns.map(column =>
					make(
						"th",
						{
							scope: "col",
							class: column.isText ? "text" : null,
							"aria-sort":
								column !== sorted ? null : isUp ? "ascending" : "descending",
						},
						make("button", {
							type: "button",
							text: labelOf(column),
							title: (!app.weight && column.hint) || null,
							on: {
								click: () => {
									const down = column === sorted ? isUp : !column.isText;

									app.set({sort: down ? column.key : `-${column.key}`});
								},
							},
						}),
					),
				),
			),
		);
	}

	function update() {
		const {state} = app,
			table = TABLES[Object.hasOwn(TABLES, state.table) ? state.table : DEFAULTS.table],
			key = [app.filterKey, state.table, state.q, state.sort].join("|");
		const all = table.rows(),
			whole = table.whole
				? table.whole()
				: sum(all, table.columns.find(column => column.isShare)?.of ?? "gpu");
		// leave out columns that say nothing: without a value, or of the only kind of
		// time
		const hasValues = key => all.some(row => row[key] > 0);
		const isMixed = ["cpu", "gpu", "wait"].filter(hasValues).length > 1 || !table.whole;
		const columns = table.columns.filter(({key}) =>
			["cpu", "gpu", "wait"].includes(key)
				? isMixed && hasValues(key)
				: (!["bytes", "rate"].includes(key) || hasValues("bytes")) &&
					(key !== "operations" || hasValues(key)),
		);
		const wanted = state.sort.replace(/^-/, "") || table.sort || "ns";
		const sorted =
			columns.find(column => column.key === wanted) ?? columns.find(column => !column.isText);
		const isUp = state.sort.startsWith("-"),
			sign = isUp ? 1 : -1;
		const rows = all.filter(row => matches(table, row)).map(row => [sorted.value(row), row]);

		if (key !== shownKey) {
			shown = ROWS_AT_ONCE;
			area.scrollTop = 0;
		}
		shownKey = key;
		fillTabs();
		rows.sort(([a, x], [b, y]) =>
			a < b ? -sign : a > b ? sign : (y.total ?? 0) - (x.total ?? 0),
		);
		const body = make(
			"tbody",
			{},
			...rows
				.slice(0, shown)
				.map(([, row]) =>
					make(
						"tr",
						{on: {click: () => select(table, row)}},
						...columns.map(column => makeCell(table, column, row, whole)),
					),
				),
		);

		// if no name can be pressed, press the first cell
		if (table.select)
			for (const row of body.rows)
				row.cells[0].replaceChildren(
					make("button", {
						type: "button",
						text: row.cells[0].textContent,
						title: "Filter by this",
					}),
				);
		refill(
			area,
			rows.length > 0
				? make(
						"table",
						{},
						make("caption", {hidden: true, text: table.label}),
						makeHead(columns, sorted, isUp),
						body,
					)
				: make("p", {
						class: "message",
						text:
							all.length > 0
								? "Nothing matches the search."
								: `${table.none}, or the filter hides them.`,
					}),
		);
		if (table.isFixed && isFiltered(state))
			area.prepend(
				make("div", {
					class: "more",
					text: "The filter does not apply to this table.",
				}),
			);
		if (table.leftOut > 0)
			area.append(
				make("div", {
					class: "more",
					text: `${plural(table.leftOut, "more row")} left out of the report.`,
				}),
			);
		if (rows.length > shown)
			area.append(
				make("div", {class: "more", text: `${plural(rows.length - shown, "more row")}.`}),
			);
		if (rows.length > shown)
			area.lastChild.append(
				make("button", {
					type: "button",
					text: "Show more",
					on: {
						click: () => {
							shown += 5 * ROWS_AT_ONCE;
							update();
						},
					},
				}),
			);
	}

	function key(event) {
		if (event.key !== "o") return false;
		app.toggleMine();
		return true;
	}

	return {element, update, key, recolour: update};
}
