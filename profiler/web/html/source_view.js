// SPDX-License-Identifier: MIT
// Shows the source of kernels, with the time and the stall reasons of each line beside it.
import {make, makeChoice, makeEntry, makeSelect, makeSwatch, makeTable, makeView, refill, setText} from "./dom.js";
import {showTip} from "./draw.js";
import {clip, formatShare, formatTime, joinTexts} from "./format.js";
import {isKind} from "./kinds.js";
import {nextOf} from "./tree.js";
import {SOURCE_STATES, byTime, listLines, reasonText, sumLines, sumReasons} from "./source.js";

// For light and dark: an instruction was issued; then reasons, the longest first; then the others.
const SELECTED = ["#4c9a5f", "#5fae73"];
const REASONS = [
	["#d8562c", "#e0673d"],
	["#2f7fb5", "#5aa3d8"],
	["#e0a92e", "#e3b54c"],
	["#8a5aa8", "#b083cf"],
	["#2aa198", "#3fbab0"],
	["#c2527f", "#d9739b"],
];
const OTHERS = ["#a5a19a", "#77736c"];
const KERNEL_LENGTH = 90,
	TIP_REASONS = 8;

export function makeSourceView(app) {
	const {profile} = app,
		{frames} = profile;
	const select = makeSelect("Kernel", [], kernel => app.set({kernel, file: "", line: ""}));
	const legend = make("ul", {class: "legend", "aria-label": "Stall reasons"});
	const files = make("div", {class: "group", role: "group", "aria-label": "Files"});
	const about = make("p", {class: "about-file"});
	const note = make("p", {class: "about-file warn", hidden: true});
	const area = make("div", {class: "source-text", tabindex: "0", role: "region", "aria-label": "Source"});
	const tip = make("div", {class: "tip", hidden: true});
	const element = makeView(
		"source",
		"Source",
		make("div", {class: "flame-tools"}, select, legend),
		make("div", {class: "table-tabs"}, files),
		about,
		note,
		area,
		tip,
	);
	const sayReason = frame => reasonText(frames.name[frame]);
	const isSelected = frame => sayReason(frame) === "selected";
	const sources = new Map(profile.sources.map(source => [source.file, source]));
	// by the whole run, so that reasons keep their colours
	const everything = sumLines(profile, profile.stacks, app.kinds, new Uint8Array(profile.rows.count).fill(1));
	const placesIn = ({unplaced, files}) => [unplaced, ...[...files.values()].flatMap(file => [...file.lines.values()])];
	const ranked = sumReasons([...everything.values()].flatMap(placesIn))
		.map(([frame]) => frame)
		.filter(frame => !isSelected(frame));
	let kernels = new Map(),
		sumsKey = "",
		shownKey = "",
		hottest = []; // rows with samples, the longest time first

	const isOther = frame => !isSelected(frame) && ranked.indexOf(frame) >= REASONS.length;

	function colourOf(frame) {
		const pair = isSelected(frame) ? SELECTED : (REASONS[ranked.indexOf(frame)] ?? OTHERS);
		return pair[+app.isDark()];
	}

	// Orders reasons as in the legend, the most frequent first, and those without a colour last.
	function inOrder(reasons) {
		const rank = frame => (isSelected(frame) ? -1 : ranked.indexOf(frame));
		return [...reasons].sort(([a], [b]) => rank(a) - rank(b));
	}

	const hasSource = frame => (everything.get(frame)?.files.size ?? 0) > 0;

	// ---- choices ----

	function chosen() {
		const {state} = app,
			list = byTime([...kernels.values()].filter(({stalls}) => stalls > 0)),
			kernel = list.find(({frame}) => String(frame) === state.kernel) ?? list[0] ?? null,
			fileList = kernel ? byTime(kernel.files.values()) : [],
			file = fileList.find(({file}) => file === state.file) ?? fileList[0] ?? null;
		return {list, kernel, fileList, file};
	}

	const kernelName = frame => clip(frames.shortName[frame] || frames.name[frame], KERNEL_LENGTH);
	const baseName = path => clip(path.slice(path.lastIndexOf("/") + 1) || path, KERNEL_LENGTH);

	function fillTools({list, kernel, fileList, file}) {
		const whole = list.reduce((sum, {ns}) => sum + ns, 0);

		select.replaceChildren(
			...list.map(({frame, ns}) => {
				const text = `${kernelName(frame)} · ${formatTime(ns)} (${formatShare(ns, whole)})`;
				return make("option", {value: String(frame), text});
			}),
		);
		select.hidden = list.length === 0;
		if (kernel) select.value = String(kernel.frame);
		const nameOf = ({file, ns}) => `${baseName(file)} · ${formatShare(ns, kernel.ns)}`,
			choices = fileList.map(of => [of.file, nameOf(of), clip(of.file, 1000)]);

		refill(files, ...makeChoice(choices, file?.file, file => app.set({file, line: ""})));
		files.parentElement.hidden = fileList.length < 2;
	}

	function fillLegend(kernel) {
		const reasons = kernel ? sumReasons(placesIn(kernel)) : [],
			others = reasons.filter(([frame]) => isOther(frame)),
			names = others.map(([frame]) => sayReason(frame)),
			entry = (colour, label, ns, title) => makeEntry(colour, `${label} ${formatShare(ns, kernel.ns)}`, title);
		const entries = inOrder(reasons.filter(([frame]) => !isOther(frame))).map(([frame, ns]) =>
			entry(colourOf(frame), sayReason(frame), ns),
		);

		if (others.length > 0) {
			const ns = others.reduce((sum, [, part]) => sum + part, 0);
			entries.push(entry(OTHERS[+app.isDark()], others.length > 1 ? "others" : names[0], ns, names.join(", ")));
		}
		legend.replaceChildren(...entries);
	}

	function fillAbout({kernel, file}) {
		const source = file && sources.get(file.file),
			shareOf = ({ns}) => formatShare(ns, kernel.ns),
			isWhole = source?.state === 0;

		setText(about, joinTexts([
			file && `${clip(file.file, 1000)}: ${formatTime(file.ns)}, ${shareOf(file)} of the kernel’s time`,
			kernel?.unplaced.ns > 0 && `${shareOf(kernel.unplaced)} has no line`,
		]));
		if (!file || (isWhole && !source.hasChanged)) setText(note, "");
		else if (isWhole)
			setText(note, "The source has changed since the program was built or run: lines may differ from those measured.");
		else setText(note, `The source ${SOURCE_STATES[source?.state ?? 1] ?? SOURCE_STATES[1]}: these are lines alone.`);
	}

	// ---- the lines ----

	function describe(place, kernel) {
		const texts = byTime(Array.from(place.reasons, ([frame, ns]) => ({frame, ns}))).map(({frame, ns}) => [
			frame,
			`${sayReason(frame)} ${formatShare(ns, place.ns)}`,
		]);
		return {head: `${formatTime(place.ns)} · ${formatShare(place.ns, kernel.ns)} of the kernel’s time`, reasons: texts};
	}

	function tell(place, kernel, event) {
		const {head, reasons} = describe(place, kernel),
			shown = reasons.slice(0, TIP_REASONS).map(([frame, text]) => make("div", {}, makeSwatch(colourOf(frame)), text)),
			more = reasons.length > TIP_REASONS ? `and ${reasons.length - TIP_REASONS} more` : "";
		showTip(tip, event, `Line ${place.line}`, head, ...shown, more);
	}

	function makeBar(place, kernel, longest) {
		const {head, reasons} = describe(place, kernel),
			label = `${head}: ${reasons.map(([, text]) => text).join(", ")}`,
			makePart = ([frame, ns]) => make("b", {style: {flexGrow: String(ns / place.ns), background: colourOf(frame)}}),
			style = {width: `${(100 * place.ns) / longest}%`};
		return make("div", {class: "reasons", role: "img", "aria-label": label, style}, ...inOrder(place.reasons).map(makePart));
	}

	function makeLine({line, text, place}, kernel, longest) {
		const show = event => tell(place, kernel, event);
		const focus = () => {
			const {left, top} = row.getBoundingClientRect();
			if (row.matches(":focus-visible")) show({clientX: left + 90, clientY: top});
		};
		const row = make(
			"tr",
			place ? {class: "hot", tabindex: "0", on: {pointermove: show, pointerleave: hideTip, focus, blur: hideTip}} : {},
			make("td", {class: "number", text: String(line)}),
			make("td", {class: "part", text: place ? formatShare(place.ns, kernel.ns) : ""}),
			make("td", {class: "split"}, place ? makeBar(place, kernel, longest) : null),
			make("td", {class: "code", text: text ?? ""}),
		);

		if (place) row.style.setProperty("--heat", `${Math.round((30 * place.ns) / longest)}%`);
		return row;
	}

	const hideTip = () => (tip.hidden = true);

	function fillLines({kernel, file}) {
		const lines = file ? listLines(file, sources.get(file.file)) : [];
		const longest = lines.reduce((most, {place}) => Math.max(most, place?.ns ?? 0), 0);
		const rows = [],
			measured = [];

		for (const entry of lines) {
			if (entry.isGap) rows.push(make("tr", {class: "gap"}, make("td", {colspan: "4", text: "⋯"})));
			rows.push(makeLine(entry, kernel, longest));
			if (entry.place) measured.push({ns: entry.place.ns, line: entry.line, row: rows.at(-1)});
		}
		hottest = byTime(measured);
		area.replaceChildren(
			rows.length > 0
				? makeTable({"aria-label": "Source"}, null, rows)
				: make("p", {class: "message", text: whyNothing(kernel)}),
		);
	}

	function whyNothing(kernel) {
		if (app.weight) return "Lines have only time: choose “By time”.";
		if (kernel) return "No lines of this kernel are known: nvcc -lineinfo writes them.";
		return app.state.time + app.state.idle !== ""
			? "A chosen time has kernels as a whole: samples do not say when they were."
			: "No time of kernels with samples passes the filter.";
	}

	const scrollTo = row => (area.scrollTop = row.offsetTop - area.clientHeight / 2);

	// ---- view ----

	function update() {
		if (sumsKey !== app.filterKey) {
			kernels = app.weight ? new Map() : sumLines(app.shown, app.tree, app.kinds, app.passes);
			sumsKey = app.filterKey;
		}
		const what = chosen(),
			key = [what.kernel?.frame, what.file?.file, app.state.line].join("|");

		hideTip();
		fillTools(what);
		fillLegend(what.kernel);
		fillAbout(what);
		fillLines(what);
		if (key !== shownKey && hottest.length > 0)
			scrollTo((hottest.find(({line}) => String(line) === app.state.line) ?? hottest[0]).row);
		shownKey = key;
	}

	// Goes to the line that is next by time.
	function goTo(step) {
		const at = hottest.findIndex(({row}) => row === document.activeElement),
			{row} = nextOf(hottest, at, step);
		scrollTo(row);
		row.focus({preventScroll: true});
	}

	const keys = () => (hottest.length > 0 ? {n: () => goTo(1), N: () => goTo(-1)} : {});

	// Returns the link from a frame, with the frames around it, to its source; null if there is none.
	function linkFrom(path) {
		const kernel = path.find(frame => isKind(app.kinds[frame], "gpu")),
			place = path.find(frame => isKind(app.kinds[frame], "device") && frames.line[frame] > 0);

		if (kernel === undefined || !hasSource(kernel)) return null;
		return {
			view: "source",
			kernel: String(kernel),
			file: place === undefined ? "" : frames.file[place],
			line: place === undefined ? "" : String(frames.line[place]),
		};
	}

	return {element, update, keys, recolour: update, hasSource, linkFrom};
}
