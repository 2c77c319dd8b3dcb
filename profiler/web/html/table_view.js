// SPDX-License-Identifier: MIT
// Shows tables that can be sorted. The search filters them, and a row leads to the callers and callees of its frame.
import {make, makeBar, makeButton, makeGroup, makeTable, makeView, refill} from "./dom.js";
import {clip, formatBytes, formatCount, formatRate, formatShare, joinTexts, makeCutter, plural} from "./format.js";
import {ROW_GPU} from "./data.js";
import {isKind} from "./kinds.js";
import {DEFAULTS} from "./state.js";
import {isFiltered, placeOfFrame} from "./details.js";
import {compareNaturally, compareTexts} from "./tree.js";
import {TABLE_GROUPS, TABLE_LABELS, describeFigures} from "./figures.js";
import {sumTime, tableFunctions, tableGpuWork, tableStreams, tableThreads} from "./tables.js";

const ROWS_AT_ONCE = 200,
	CELL_LENGTH = 400,
	TITLE_LENGTH = 2000,
	LABEL = 15, // characters of a column's label that has one line
	LONG = 26, // characters of a text that has more than one line
	PLACE = 22, // characters beside a name
	CHARACTER = 7.55, // pixels of a name's character
	AROUND_NAME = 54, // pixels beside a name
	NAME_WIDTH = 250, // pixels of a name: at least these or this part, where there are
	NAME_PART = 0.3;

export function makeTableView(app) {
	const {frames} = app.profile;
	const tabs = make("div", {class: "tabs"}),
		mine = make("div", {class: "tools"}),
		area = make("div", {class: "table", tabindex: "0", role: "region", "aria-label": "Table"}),
		bar = make("div", {class: "table-tabs"}, tabs, mine),
		element = makeView("tables", "Tables", bar, area);
	let shown = ROWS_AT_ONCE,
		shownKey = "",
		width = 0, // that the columns were chosen for
		whole = 0; // what shares are of

	// ---- columns ----

	// A column: key, label, value of a row for sorting, and its text. With another weight, times are amounts.
	const number = (key, label, format, more) => ({
		key,
		label,
		value: row => row[key],
		text: row => (row[key] > 0 ? format(row[key]) : "–"),
		...more,
	});
	const time = (key, label, hint) => number(key, label, ns => app.amount(ns), {hint, isAmount: true});
	const count = (key, label) => number(key, label, formatCount);
	const bytes = (key, label) => number(key, label, formatBytes);
	const share = (of, key = "share", label = "Share") =>
		number(of, label, ns => formatShare(ns, whole), {key, of, part: row => (whole > 0 ? row[of] / whole : 0)});
	const text = (key, label, value = row => String(row[key])) => ({key, label, isText: true, value, text: value});
	const nameOf = ({frame}) => (isKind(app.kinds[frame], "gpu") ? app.labels[frame] : frames.name[frame]);
	const name = (label, value = nameOf) => ({...text("name", label, value), isName: true});
	const gpuTime = () => sumTime(app.shown, app.passes, ROW_GPU);
	const gpuWork = kind => tableGpuWork(app.shown, app.tree, app.kinds, app.passes, kind),
		{content} = app;
	const TABLES = app.difference?.makeTables(name, text) ?? {
		kernels: content.kernels && {
			columns: [
				name("Kernel"),
				count("operations", "Calls"),
				time("ns", "Total"),
				time("mean", "Mean"),
				share("ns"),
				text("class", "Class", row => frames.workClass[row.frame]),
			],
			rows: () => gpuWork("gpu"),
			whole: gpuTime,
		},
		copies: content.copies && {
			columns: [
				name("Operation"),
				count("operations", "Operations"),
				bytes("bytes", "Bytes"),
				time("ns", "Total"),
				time("mean", "Mean"),
				number("bytes", "Rate", null, {
					key: "rate",
					value: row => row.bytes / row.ns,
					text: row => formatRate(row.bytes, row.ns),
				}),
				share("ns"),
			],
			rows: () => gpuWork("copy"),
			whole: gpuTime,
		},
		sites: content.gpu && {
			columns: [
				name("Innermost function outside CUDA"),
				count("operations", "Operations"),
				time("ns", "GPU time"),
				bytes("bytes", "Bytes"),
				share("ns"),
			],
			rows: () => app.launchSites(app.passes),
		},
		functions: {
			columns: [
				name("Function"),
				time("own", "Own", "Computing in the function itself"),
				share("own", "own-share", "Own share"),
				time("total", "Total", "With all that is inside, once"),
				share("total", "share", "Total share"),
				time("cpu", "CPU", "Computing, with all that is inside"),
				time("gpu", "GPU", "Work that was launched inside"),
				time("wait", "Waiting", "Of threads, inside; or for work that was launched inside"),
			],
			rows: () => tableFunctions(app.kinds, app.sums()),
			whole: () => app.weights.total[0],
			sort: "own",
		},
		threads: content.threads && {
			columns: [
				name("Thread", row => row.threadName),
				text("processName", "Process"),
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
			sort: "cpu",
		},
		streams: content.gpu && {
			columns: [
				name("Stream", row => `${row.device}, stream ${row.stream}`),
				text("context", "Context"),
				text("processName", "Process"),
				count("operations", "Operations"),
				time("gpu", "GPU"),
				bytes("bytes", "Bytes"),
				share("gpu"),
			],
			rows: () => tableStreams(app.shown, app.passes),
			select: row => ({process: String(row.process), device: row.device, stream: row.stream < 0 ? "" : String(row.stream)}),
			sort: "gpu",
		},
	};

	for (const key of Object.keys(TABLES))
		if (TABLES[key]) TABLES[key].label = TABLE_LABELS[key];
		else delete TABLES[key];
	for (const figure of describeFigures(app.profile.figures ?? [], frames, app.kinds, name)) TABLES[figure.key] = figure;

	const keyShown = () => (Object.hasOwn(TABLES, app.state.table) ? app.state.table : DEFAULTS.table);

	// ---- the bar above ----

	function fillTabs() {
		const groups = Object.entries(TABLE_GROUPS).map(([group, labels]) => {
			const keys = Object.keys(labels).filter(key => Object.hasOwn(TABLES, key)),
				whole = key => / \(whole run\)$/.exec(TABLES[key].label) ?? "",
				choices = keys.map(key => [key, labels[key] + whole(key), TABLES[key].label]),
				made = makeGroup(group, choices, keyShown(), table => app.set({table, sort: ""}));
			made.prepend(make("small", {class: "faint", text: group}));
			return keys.length > 0 && made;
		});
		refill(tabs, ...groups);
	}

	function fillTools(hidden) {
		const isAll = app.state.columns !== "",
			label = isAll ? "Fewer columns" : plural(hidden, "more column"),
			toggle = () => app.set({columns: isAll ? "" : "1"}),
			button = makeButton(label, toggle, {"aria-pressed": String(isAll)});
		refill(mine, (hidden > 0 || isAll) && button, app.makeMineButton());
	}

	// ---- rows ----

	// Returns what a click on a row does: [a text, a function]; null for nothing.
	function leadOf(table, row) {
		const {source} = app.views,
			changes = table.select?.(row);

		if (keyShown() === "stalls" && source?.hasSource(row.frame))
			return ["Show its source", () => app.set(source.linkFrom([row.frame]))];
		if (changes?.table) return ["Show what is in it", () => app.set({...changes, sort: ""})];
		if (changes) return ["Filter by this", () => app.set({...changes, view: "flame", zoom: "", frame: ""})];
		if (row.frame === undefined) return null;
		return ["Show its callers and callees", () => app.openFrame(row.frame)];
	}

	// Returns the shown table: rows that match, in order, of `all`, and the columns with values.
	function prepare() {
		const {sort} = app.state,
			table = TABLES[keyShown()],
			all = table.rows(),
			sharesOf = table.columns.find(({of}) => of)?.of;

		whole = table.whole?.() ?? all.reduce((sum, row) => sum + row[sharesOf], 0);
		// times of one kind say nothing that the total does not
		const hasValue = ({text}) => all.some(row => !["", "–"].includes(text(row))),
			isOfKind = ({key}) => table.whole && ["cpu", "gpu", "wait"].includes(key),
			filled = table.columns.filter(column => column.isName || hasValue(column)),
			isMixed = filled.filter(isOfKind).length > 1,
			columns = filled.filter(column => isMixed || !isOfKind(column));
		const wanted = sort.replace(/^-/, "") || (table.sort ?? "ns"),
			sorted = columns.find(column => column.key === wanted) ?? columns.find(column => !table.isFixed && !column.isText),
			sign = sort.startsWith("-") ? 1 : -1,
			compare = sorted?.isText ? compareNaturally : compareTexts;
		const isMatch = row =>
			!app.search || app.matches[row.frame] || columns.some(column => column.isText && app.search.test(column.text(row)));
		const rows = all.filter(isMatch).map(row => [sorted?.value(row) ?? 0, row]);

		rows.sort(([a, x], [b, y]) => sign * compare(a, b) || (y.total ?? 0) - (x.total ?? 0));
		return {table, all, rows: rows.map(([, row]) => row), columns, sorted, isUp: sign > 0};
	}

	const labelOf = column =>
		app.weight && column.isAmount && column.label.startsWith("GPU") ? clip(app.weight.title, 80) : column.label;

	// Returns the texts of the shown table, for export: all its columns, and all rows that match.
	function rowsShown() {
		const {table, rows, columns} = prepare();
		return {
			title: table.label,
			head: columns.map(column => labelOf(column) + (column.unit ? `, ${column.unit}` : "")),
			rows: rows.map(row => columns.map(column => column.text(row))),
		};
	}

	// ---- the table ----

	const placeOf = ({frame}) => (frame === undefined ? "" : (placeOfFrame(frames, frame) ?? ""));

	function makeName(column, row, lead, cut) {
		const name = column.text(row),
			full = row.frame === undefined ? name : frames.name[row.frame],
			place = placeOf(row),
			file = clip(place.split("/").at(-1), CELL_LENGTH),
			text = cut(name);

		return make(
			"td",
			{class: "text name", title: clip(joinTexts([...new Set([name, full, place, lead?.[0]])], "\n"), TITLE_LENGTH)},
			row.frame === undefined ? null : app.makeSwatch(row.frame),
			lead ? make("button", {type: "button", text}) : text,
			name.includes(file) ? null : make("small", {text: file}),
		);
	}

	function makeCell(column, row) {
		const text = column.text(row),
			title = column.title?.(row) ?? (column.isLong ? clip(text, TITLE_LENGTH) : null);

		if (column.part) return make("td", {class: "share"}, text, makeBar(Math.min(column.part(row), 1)));
		return make(
			"td",
			{class: column.isLong ? "text long" : column.isText && "text", title},
			column.isLong ? make("span", {text: clip(text, CELL_LENGTH)}) : text,
		);
	}

	function makeHead(column, sorted, isUp) {
		const label = labelOf(column),
			isLong = label.length > LABEL,
			down = column === sorted ? isUp : !column.isText;
		const button = makeButton("", () => app.set({sort: down ? column.key : `-${column.key}`}), {
			title: !app.weight && column.hint,
			style: {minWidth: isLong ? `${LABEL}ch` : "max-content"},
		});

		// long names of metrics may break
		for (const part of isLong ? label.split(/(?<=[._])/) : [label]) button.append(part, make("wbr"));
		if (column.unit) button.append(make("small", {text: column.unit}));
		return make(
			"th",
			{
				scope: "col",
				class: column.isName ? "text name" : column.isText && "text",
				"aria-sort": column === sorted && (isUp ? "ascending" : "descending"),
			},
			button,
		);
	}

	function makeRow(table, columns, row, cut) {
		const lead = leadOf(table, row);
		const click = event => {
			const {isCollapsed, anchorNode} = getSelection();
			if (lead && (isCollapsed || !event.currentTarget.contains(anchorNode))) lead[1]();
		};
		const cells = columns.map(column => (column.isName ? makeName(column, row, lead, cut) : makeCell(column, row)));
		return make("tr", {class: lead && "leads", on: {click}}, ...cells);
	}

	function build({table, sorted, isUp}, columns, rows, nameWidth) {
		const names = rows.map(row => columns[0].text(row)),
			cut = makeCutter(names, Math.round((nameWidth - AROUND_NAME) / CHARACTER)),
			heads = columns.map(column => makeHead(column, sorted, isUp));

		heads[0].style.minWidth = `${nameWidth}px`;
		return makeTable(
			{"aria-label": table.label, class: columns.some(column => column.isLong) && "wide"},
			heads,
			rows.map(row => makeRow(table, columns, row, cut)),
		);
	}

	// Shows the columns that have room, the first ones. A probe tells how wide each is at least.
	function fit(prepared) {
		const {columns} = prepared,
			rows = prepared.rows.slice(0, shown);
		const lengths = rows.map(row => columns[0].text(row).length + (placeOf(row) ? PLACE : 0)),
			wanted = lengths.reduce((most, length) => Math.max(most, length), 0) * CHARACTER + AROUND_NAME;

		for (const column of columns)
			column.isLong = column.isText && !column.isName && rows.some(row => column.text(row).length > LONG);
		const probe = build(prepared, columns, rows, 0);

		probe.className = "probe";
		refill(area, probe);
		width = area.clientWidth;
		const least = Math.min(wanted, Math.max(NAME_WIDTH, width * NAME_PART), width / 2);
		const [, ...widths] = Array.from(probe.tHead.rows[0].cells, cell => cell.offsetWidth);
		let used = least,
			kept = 0;

		while (kept < widths.length && (app.state.columns || used + widths[kept] <= width)) used += widths[kept++];
		const nameWidth = Math.floor(Math.max(least, Math.min(wanted, width - used + least)));
		refill(area, build(prepared, columns.slice(0, kept + 1), rows, nameWidth));
		fillTools(widths.length - kept);
	}

	function update() {
		const prepared = prepare(),
			{table, all, rows} = prepared,
			{table: name, q, sort} = app.state,
			key = [app.filterKey, name, q, sort].join("|");
		const say = (...children) => make("div", {class: "more"}, ...children);

		if (key !== shownKey) {
			shown = ROWS_AT_ONCE;
			area.scrollTo(0, 0);
		}
		shownKey = key;
		fillTabs();
		if (rows.length > 0) fit(prepared);
		else {
			const why = all.length > 0 ? "Nothing matches the search." : "Nothing is there, or the filter hides it.";
			fillTools(0);
			refill(area, make("p", {class: "message", text: why}));
		}
		if (table.isFixed && isFiltered(app.state)) area.prepend(say("Of the whole run: the filter does not apply to this table."));
		if (table.leftOut > 0) area.append(say(`${plural(table.leftOut, "more row")} left out of the report.`));
		if (rows.length > shown) {
			const showMore = () => {
				shown += 5 * ROWS_AT_ONCE;
				update();
			};
			area.append(say(`${plural(rows.length - shown, "more row")}.`, makeButton("Show more", showMore)));
		}
	}

	new ResizeObserver(() => area.clientWidth > 0 && area.clientWidth !== width && update()).observe(area);
	return {element, update, keys: () => ({o: app.toggleMine}), recolour: update, rowsShown};
}
