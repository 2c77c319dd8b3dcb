// SPDX-License-Identifier: MIT
// The page: state that all views share, and the address that stands for it.
import {make, makeButton, makeChoice, makeGroup, makeSelect, makeSwatch, refill, setText} from "./dom.js";
import {clip, formatAmount, formatShare, formatTime, joinTexts, plural} from "./format.js";
import {ROLE, ROW_CALL, ROW_CPU, ROW_GPU, ROW_IDLE, ROW_WAIT, getOrMake, unpackBytes, unpackProfile} from "./data.js";
import {KINDS, isKind, kindsOfFrames} from "./kinds.js";
import {labelFrames} from "./names.js";
import {compareNaturally, compileSearch, deviceLabels, makeTree, outermost, rowsThatPass, searchFrames, weigh} from "./tree.js";
import {contentOf, placeNames, sumFrames, tableInnermost, tableLaunchSites} from "./tables.js";
import {DEFAULTS, PLACE_KEYS, WHOLE, formatRange, formatState, parseRange, parseState} from "./state.js";
import {SPAN_SAMPLE, linkLaunches, makeTimelineBuilder} from "./timeline.js";
import {foldStacks, foldUnnamed, whyNotFolded} from "./own_code.js";
import {groupStacks, makeGroupings} from "./group.js";
import {ALL_TIME, clipIntervals, gapsBetween, makeMeasure, sliceRows, sliceSteps} from "./slices.js";
import {lanesByDevice, sumBusy, workOfSpan, worksOfFrames} from "./busy.js";
import {makeColours} from "./draw.js";
import {makeDifference} from "./difference.js";
import {makeFlameView} from "./flame_view.js";
import {makeTableView} from "./table_view.js";
import {makeTimelineView} from "./timeline_view.js";
import {makeSourceView} from "./source_view.js";
import {startExport} from "./export.js";
import {makeAboutView} from "./about_view.js";
import {makeOverview} from "./overview_view.js";

const TIME_KINDS = [
	["cpu", "CPU", ROW_CPU],
	["gpu", "GPU", ROW_GPU],
	["wait", "Waiting", ROW_WAIT],
	["call", "CUDA calls", ROW_CALL],
	["idle", "GPU idle", ROW_IDLE],
];
const FILTERS = {process: "All processes", thread: "All threads", device: "All devices", stream: "All streams"};
const KEYS_OF_ROWS = ["time", "idle", "weight", "widths", "shares", "group"]; // of the state: they choose rows
const MOST_CHOICES = 10000; // of a filter; links reach further ones
const TYPING_MS = 120; // a search begins when typing pauses
const WORKING_MS = 12; // without a pause in which the page can respond

const byId = id => document.getElementById(id);

// Dark or light: as the system says, until the user chooses.
function startTheme(changed) {
	const system = matchMedia("(prefers-color-scheme: dark)");
	// a page from a file may have no storage: the choice then lasts as long as the page
	const withStorage = act => {
		try {
			return act(localStorage);
		} catch {
			return null;
		}
	};
	let chosen = withStorage(storage => storage.getItem("profile-theme"));
	const isDark = () => (chosen ? chosen === "dark" : system.matches),
		apply = () => (document.documentElement.dataset.theme = isDark() ? "dark" : "light");

	system.addEventListener("change", () => changed(apply()));
	byId("theme").addEventListener("click", () => {
		chosen = isDark() ? "light" : "dark";
		withStorage(storage => storage.setItem("profile-theme", chosen));
		changed(apply());
	});
	apply();
	return isDark;
}

const NO_ROWS = {count: 0, stack: [], kind: [], place: [], operations: [], ns: [], bytes: []};

function startApp(profile) {
	const views = {},
		element = byId("content");
	// --weight: all rows have the weight in place of time
	const factOf = name => profile.facts.get(name),
		[title, unit, note] = ["weight", "weight unit", "weight note"].map(factOf),
		fixedWeight = profile.facts.has("weight") ? {title, unit, note} : null;
	const kindsPresent = TIME_KINDS.filter(([, , row]) => profile.rows.kind.includes(row));
	const groupings = makeGroupings(profile),
		works = worksOfFrames(profile.frames),
		kinds = kindsOfFrames(profile.frames),
		busyOf = new Map(); // by device, of the whole run
	const withTree = made => ({...made, tree: makeTree(made.stacks)});
	const whole = withTree({stacks: profile.stacks, of: null});
	let folded = null, // the same with others' code folded, once it is wanted
		chosen = profile.rows, // those of the time that is chosen
		grouped = null, // {key, shown}: the last that were
		wholeBySteps = null, // its rows, once they are wanted
		weights = null,
		sums = null;
	const fold = () => (folded ??= withTree(foldStacks(profile.frames, profile.stacks)));
	const whyNotMine = whyNotFolded(profile, fold);
	const shownTree = () => (app.state.my !== "" && whyNotMine === "" ? fold() : whole);
	const shownWith = factOf("shown") ?? "";
	const content = contentOf(profile, document.querySelector("script.timeline") !== null);
	const {steps} = profile,
		steady = [steps.start[steps.warmUp] ?? 0, steps.start.at(-1) ?? 0],
		length = steady[1] - steady[0],
		shownRange = [factOf("shown from ns") ?? 0, factOf("shown to ns") ?? 0];

	// the steady part, GPU time and own code, where there are such
	if (content.timeline && !fixedWeight && length > 0 && (steady[0] > shownRange[0] || steady[1] < shownRange[1]))
		DEFAULTS.time = formatRange(...steady);
	if (DEFAULTS.time !== "") DEFAULTS.window = formatRange(Math.max(steady[0] - length / 20, 0), steady[1] + length / 20);
	if (content.gpu && kindsPresent.length > 1) DEFAULTS.kind = "gpu";
	if (whyNotMine === "") DEFAULTS.my = "1";
	if (fixedWeight) DEFAULTS.view = "flame";
	// without kernels, functions are what there is to see
	if (!content.kernels || (!fixedWeight && !(factOf("gpu ns") > 0))) DEFAULTS.table = "functions";
	const app = {
		profile,
		content, // what of it there is: views and tables without are left out
		shown: profile, // with the rows of the time that is chosen, and the tree's stacks
		timeline: null, // until it has been read
		timelineStatus: "Reading the timeline…", // why there is none
		workOf: i => workOfSpan(works, app.timeline.spans, i),
		tree: whole.tree,
		kinds,
		labels: labelFrames(profile.frames, kinds), // of frames, in little room
		isInTurn: frame => isKind(kinds[frame], "layer") || groupings.step?.inTurn.has(frame) === true, // goes by time
		state: null,
		filterKey: null,
		passes: null,
		// Returns the sums of all nodes, which the overview does without.
		get weights() {
			return (weights ??= weigh(app.shown, app.tree, app.passes));
		},
		search: null,
		matches: null,
		weight: null, // what stacks are drawn by: {title, unit, note}; null: time
		// Formats a time, or an amount of the weight.
		amount: number => (app.weight ? formatAmount(number, app.weight.unit) : formatTime(number)),
		views,
		difference: null, // of a comparison: difference.js
		// True for a slice of the run (slice_print), and for one by time.
		isPart: /^-([cg]pu-only|-(time|process|thread|device|stream|kernel) )/.test(shownWith),
		isPartOfTime: /^(-[cg]pu-only )?--time /.test(shownWith),
		isDark: null,
		colours: null, // of frames
		colour: kind => (app.isDark() ? kind.dark : kind.light),
		frameOf: text => (/^\d+$/.test(text) && +text < profile.frames.count ? +text : 0),
		spinning: profile.frames.name.indexOf("[spinning for GPU]"),
		sums: () => (sums ??= sumFrames(app.tree, app.weights, profile.frames.count, app.spinning)),
		countBoxes(frame) {
			const {total} = app.weights;
			return app.tree.frame.reduce((count, own, i) => count + (own === frame && total[i] > 0), 0);
		},
		// Maps a stack of the profile to its number in the tree that is shown without groups.
		stackOf: stack => shownTree().of?.[stack] ?? stack,
		stackTree: () => shownTree().tree,
		frameAt: stack => shownTree().tree.frame[app.stackOf(stack)],
		// Returns the profile with these rows, as it is shown but for groups; `tree` is that of its stacks.
		profileOf(rows) {
			const {stacks, of, tree} = shownTree();
			return {...profile, stacks, tree, rows: of ? {...rows, stack: Uint32Array.from(rows.stack, i => of[i])} : rows};
		},
		openTable: (table, more = {}) => app.set({view: "tables", table, sort: "", ...more}),
		toggleMine() {
			if (whyNotMine === "") app.set({my: app.state.my === "" ? "1" : "", zoom: "", pick: "", frame: ""});
		},
		// Shows a frame with its callers above and its callees below.
		openFrame(frame, kind = app.state.kind) {
			const changes = {view: "flame", kind, frame: String(frame), inverted: "2", zoom: "", pick: ""},
				unfolded = app.tree.frame.includes(frame) ? {} : {my: ""};
			app.set({...changes, ...unfolded, ...app.difference?.reveal(frame)});
		},
		// Sums up GPU work by what launched it: with own code, by its innermost function.
		launchSites(passes) {
			const isOwn = frame => profile.frames.role[frame] === ROLE.OWN && isKind(app.kinds[frame], "native", "python", "jit");
			return app.state.my === ""
				? tableLaunchSites(app.shown, passes)
				: tableInnermost(app.shown, app.tree, passes, isOwn, app.shown.stacks.site);
		},
		devices: () => [...lanesByDevice(app.timeline).keys()],
		makeSwatch: frame => makeSwatch(app.colour(KINDS[kinds[frame]]), KINDS[kinds[frame]].label),
		// Makes buttons that choose a value of the state. `more` changes with it.
		makeChoice: (label, key, choices, more) =>
			makeGroup(label, choices, app.state[key], value => app.set({[key]: value, ...more})),
		makeMineButton: () =>
			makeButton("My code", app.toggleMine, {
				title: whyNotMine || "Fold others' code into its packages, as --my-code does (o)",
				disabled: whyNotMine !== "",
				"aria-pressed": String(shownTree() !== whole),
			}),
		// Explains why nothing passes the filter.
		whyNothing() {
			if (profile.rows.count === 0)
				return app.isPart ? `Nothing matches what is shown: ${clip(shownWith, 200)}` : "The profile is empty.";
			if (!app.timeline && (app.state.time + app.state.idle !== "" || app.state.group === "step")) return app.timelineStatus;
			return app.weight ? "Nothing that was measured passes the filter." : "No time passes the filter.";
		},
		// Summarises what a device did in the whole run, by its label.
		busyOf(device) {
			const {spans, runFrom, runTo} = app.timeline,
				lanes = () => lanesByDevice(app.timeline).get(device) ?? [];
			return getOrMake(busyOf, device, () => sumBusy(spans, lanes(), runFrom, runTo, app.workOf));
		},
		takeTimeline(timeline, status) {
			app.timeline = timeline;
			app.timelineStatus = status;
			if (timeline) app.filterKey = null;
			update();
		},
		sayTimeline(status) {
			app.timelineStatus = status;
			if (["overview", "timeline"].includes(app.state.view)) views[app.state.view].update();
		},
		// Goes to another state; `isSmall`: without a step for the back button.
		set(changes, isSmall = false) {
			const address = `#${formatState({...app.state, ...changes})}`;
			if (address === (location.hash || "#")) update();
			else if (isSmall) history.replaceState(null, "", address);
			else history.pushState(null, "", address);
			update();
		},
	};

	// ---- the bars ----

	function fillKinds() {
		const kinds = kindsPresent.map(([kind, label]) => [kind, label, `${label} time alone`]),
			choices = [["all", "All", "CPU, GPU and waiting together"], ...kinds],
			isInView = (app.difference ? ["flame"] : ["flame", "tables"]).includes(app.state.view),
			// a part of the time has no idle rows
			choose = kind => app.set({kind, ...(kind === "idle" ? {time: "", idle: ""} : {})});
		byId("kinds").hidden = choices.length < 3 || app.weight !== null || !isInView;
		refill(byId("kinds"), ...makeChoice(choices, app.state.kind, choose));
	}

	const usual = () => ({kind: DEFAULTS.kind, time: DEFAULTS.time, idle: ""});
	const selects = {
		weight: makeSelect(
			"Draw stacks by",
			[["", "By time"], ...profile.weights.map(({title}) => [title, `By ${clip(title, 80)}`])],
			weight => app.set({...(weight === "" ? usual() : WHOLE), weight, zoom: "", pick: ""}),
			{id: "weight", hidden: profile.weights.length === 0},
		),
		group: makeSelect(
			"Group by",
			[["", "No groups"], ...Object.entries(groupings).map(([word, {label}]) => [word, `Group by ${label}`])],
			group => app.set({group, zoom: "", pick: ""}),
			{id: "group", hidden: Object.keys(groupings).length === 0},
		),
	};

	const names = placeNames(profile),
		devices = deviceLabels(profile),
		{process, thread, stream} = profile.places;
	// values of filters, with their labels
	const choiceAt = {
		process: i => process[i] >= 0 && [String(process[i]), names.process(process[i])],
		thread: i => thread[i] >= 0 && [`${process[i]}.${thread[i]}`, names.thread(process[i], thread[i])],
		device: i => devices[i] && [devices[i], devices[i]],
		stream: i => stream[i] >= 0 && [String(stream[i]), `stream ${stream[i]}`],
	};

	for (const [filter, all] of Object.entries(FILTERS)) {
		const found = new Map(Array.from(process, (_, i) => choiceAt[filter](i)).filter(choice => choice)),
			sorted = [...found].sort(([, a], [, b]) => compareNaturally(a, b)).slice(0, MOST_CHOICES),
			choices = [["", all], ...sorted.map(([value, label]) => [value, clip(label, 80)])];
		selects[filter] = makeSelect(`Filter by ${filter}`, choices, value => app.set({[filter]: value}));
	}
	const timeChips = make("span", {class: "chips"}),
		showAll = () => app.set({...Object.fromEntries(PLACE_KEYS.map(key => [key, ""])), ...usual()});

	byId("places").append(
		...Object.values(selects),
		timeChips,
		makeButton("No filter ✕", showAll, {id: "no-filter", hidden: true}),
	);

	// Shows the chosen times, each with a button that removes it.
	function fillTimeChips() {
		const {time, idle} = app.state,
			[from, to] = parseRange(time) ?? [],
			chips = [];

		if (time !== "" && time === DEFAULTS.time) {
			const steady = `steady part: ${formatTime(to - from)}, ${plural(steps.start.length - 1 - steps.warmUp, "step")} ✕`;
			chips.push([app.timeline ? steady : "whole run, until the timeline is read", "Show the whole run", {time: ""}]);
		} else if (time !== "")
			chips.push([`${formatTime(to - from)} from ${formatTime(from)} on ✕`, "Show the whole run", {time: ""}]);
		else if (DEFAULTS.time !== "" && !app.weight)
			chips.push(["whole run", "Show the steady part alone", {time: DEFAULTS.time}]);
		if (idle !== "") chips.push([`while ${clip(idle, 40)} was idle ✕`, "Show busy times, too", {idle: ""}]);
		refill(
			timeChips,
			...chips.map(([text, title, changes]) => makeButton(text, () => app.set(changes), {class: "chip set", title})),
		);
	}

	// Tells what the profile of a part of the time leaves out.
	function sayWhatIsLeftOut() {
		const {view, idle, time, group} = app.state,
			{timeline, weight} = app,
			isOther = ![DEFAULTS.time, ""].includes(time);
		const text = joinTexts(
			[
				weight && `Weight: ${joinTexts([weight.title, weight.note], ", ")}. What has no value is left out.`,
				idle !== "" && "CPU samples of the time in which the GPU was idle, each with the part in it.",
				idle === "" &&
					isOther &&
					"Of this time alone: what lasted longer counts with the part in it. A wait is shown by " +
						"its call, not by what ran at that time; what has no usable times is left out.",
				group === "step" && !weight && "Steps are times of the GPU: what lasted longer counts in each with the part in it.",
				...(app.difference?.say() ?? []),
				group !== "" &&
					grouped?.isTooMany &&
					"These stacks are too many and too deep to be grouped: they are shown without groups.",
			],
			" ",
		);
		const missing = timeline?.lost > 0 && `${plural(timeline.lost, "event is", "events are")} missing from the timeline.`;

		setText(byId("note"), text && ["flame", "tables", "source"].includes(view) ? joinTexts([text, missing], " ") : "");
	}

	function fillFilters() {
		for (const [key, select] of Object.entries(selects)) {
			const value = key === "weight" ? (fixedWeight ? "" : (app.weight?.title ?? "")) : app.state[key];

			// a link may ask for an unknown value: show it, so that it can be removed
			if (![...select.options].some(option => option.value === value))
				select.append(make("option", {value, text: clip(value, 80)}));
			select.value = value;
			select.classList.toggle("set", value !== "");
			if (key in FILTERS) select.hidden = select.options.length < 3 && value === "";
		}
		fillTimeChips();
		sayWhatIsLeftOut();
		const keys = [...PLACE_KEYS, "time", "idle"];
		byId("no-filter").hidden = keys.every(key => [DEFAULTS[key], ""].includes(app.state[key]));
	}

	function fillMatched() {
		const texts = app.search?.isPlain ? ["plain text"] : [];
		if (app.matches && app.state.view === "flame") {
			const {nodes, total} = outermost(app.tree, app.weights, app.matches);
			if (nodes.length === 0) texts.unshift("no match");
			else texts.unshift(formatShare(total, app.weights.total[0]), app.amount(total));
		}
		byId("matched").textContent = texts.join(" · ");
	}

	function fillViews() {
		const choices = Object.entries(views).map(([key, {label}], i) => [key, label, `${label} (${i + 1})`]);
		refill(byId("views"), ...makeChoice(choices, app.state.view, view => app.set({view})));
	}

	// Returns the profile with the chosen rows, grouped. The rows of the whole run come first, so that a time has its nodes.
	function groupChosen(word) {
		const all = word === "step" ? chooseRows({...app.state, time: "", idle: ""}) : profile.rows,
			lists = chosen === all ? [chosen] : [all, chosen],
			shown = app.profileOf(chosen),
			key = [chosen, shown.tree, word];

		if (!grouped || key.some((part, i) => part !== grouped.key[i])) {
			const frames = [],
				stacks = [];

			for (const rows of lists) {
				const moved = app.profileOf(rows).rows.stack;
				for (let i = 0; i < rows.count; i++) {
					frames.push(groupings[word].frameOf(rows.stack[i], rows.place[i], rows.step?.[i]));
					stacks.push(moved[i]);
				}
			}
			const made = groupStacks(shown.stacks, stacks, frames, groupings[word].outer);

			grouped = {key, shown, isTooMany: !made};
			if (made)
				grouped.shown = {
					...profile,
					stacks: made.stacks,
					tree: makeTree(made.stacks),
					rows: {...chosen, stack: made.moved.subarray(stacks.length - chosen.count)},
				};
		}
		return grouped.shown;
	}

	// Returns the rows of the profile, or those of the chosen time.
	function chooseRows(state) {
		const {timeline} = app,
			isIdle = state.idle !== "",
			isWhole = state.time === "" && !isIdle,
			isByStep = state.group === "step" && !app.weight;

		if (app.difference) return app.difference.rowsFor(state);
		if (app.weight && !fixedWeight) return app.weight.rows;
		if (isWhole && !isByStep) return profile.rows;
		if (!timeline) return state.time === DEFAULTS.time && !isIdle && !isByStep ? profile.rows : NO_ROWS;
		if (isWhole && wholeBySteps) return wholeBySteps;
		const [from, to] = parseRange(state.time) ?? [timeline.from, timeline.to],
			gaps = isIdle && gapsBetween(app.busyOf(state.idle), timeline.runFrom, timeline.runTo),
			intervals = isWhole ? ALL_TIME : isIdle ? clipIntervals(gaps, from, to) : {start: [from], end: [to]},
			slice = part => sliceRows(timeline, makeMeasure(part), isIdle ? [SPAN_SAMPLE] : null, isIdle);

		if (!isByStep) return slice(intervals);
		if (!isWhole) return sliceSteps(steps, intervals, slice);
		return (wholeBySteps = sliceSteps(steps, intervals, slice, profile));
	}

	// ---- state changes ----

	function update() {
		const state = parseState(location.hash),
			old = app.state;

		if (profile.frames.count === 0) state.frame = "";
		if (!views[state.view]) state.view = DEFAULTS.view;
		if (!Object.hasOwn(groupings, state.group)) state.group = "";
		app.state = state;
		app.weight = fixedWeight ?? profile.weights.find(({title}) => title === state.weight) ?? null;
		const kinds = TIME_KINDS.filter(([kind]) => ["all", kind].includes(state.kind)).map(([, , row]) => row);
		const filterKey = JSON.stringify([
			app.weight?.title,
			app.timeline !== null,
			...["kind", "my", ...KEYS_OF_ROWS, ...Object.keys(FILTERS)].map(key => state[key]),
		]);

		if (filterKey !== app.filterKey) {
			if (!old || !app.filterKey || KEYS_OF_ROWS.some(key => old[key] !== state[key])) chosen = chooseRows(state);
			app.shown = state.group === "" ? app.profileOf(chosen) : groupChosen(state.group);
			app.tree = app.shown.tree;
			app.filterKey = filterKey;
			app.passes = rowsThatPass(app.shown, state, kinds);
			weights = sums = null;
		}
		if (!old || old.q !== state.q) {
			app.search = compileSearch(state.q);
			app.matches = searchFrames(profile.frames, state.q);
			if (byId("search").value !== state.q) byId("search").value = state.q;
		}
		app.difference?.update();
		fillViews();
		fillKinds();
		fillFilters();
		fillMatched();
		if (!old || old.view !== state.view) {
			if (old) views[old.view].leave?.();
			element.replaceChildren(views[state.view].element);
		}
		views[state.view].update?.();
		// the element that had the focus may be gone
		if (old && old.view !== state.view && document.activeElement === document.body) element.focus({preventScroll: true});
	}

	// ---- the rest of the page ----

	let typing = 0;

	byId("search").addEventListener("input", event => {
		clearTimeout(typing);
		// where a search shows nothing, the flame graph does
		const view = ["overview", "about"].includes(app.state.view) ? "flame" : app.state.view;
		typing = setTimeout(() => app.set({q: event.target.value, view}, view === app.state.view), TYPING_MS);
	});
	const showHelp = () => {
		byId("help").showModal();
		byId("help").scrollTop = 0; // the button at its end has the focus
	};

	byId("help-open").addEventListener("click", showHelp);
	byId("skip").addEventListener("click", event => {
		event.preventDefault(); // the address holds the state
		element.focus();
	});

	function key(event) {
		const {target} = event;

		if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
		if (target === byId("search") && ["Escape", "Enter"].includes(event.key)) {
			clearTimeout(typing);
			app.set({q: event.key === "Enter" ? target.value : ""}, true);
			target.blur();
		}
		if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
		// a focused button keeps its keys
		if (target instanceof HTMLButtonElement && ["Enter", " "].includes(event.key)) return;
		const view = Object.keys(views)[Number(event.key) - 1],
			actions = views[app.state.view].keys?.(event) ?? {},
			action = {"=": "+", Backspace: "Escape"}[event.key] ?? event.key;

		if (event.key === "/") byId("search").focus();
		else if (event.key === "?") showHelp();
		else if (/^[1-9]$/.test(event.key) && view) app.set({view});
		else if (Object.hasOwn(actions, action)) actions[action]();
		else return;
		event.preventDefault();
	}

	app.isDark = startTheme(() => {
		app.colours.clear();
		views[app.state.view].recolour?.();
	});
	app.colours = makeColours(app);
	app.difference = profile.difference ? makeDifference(app) : null;
	if (app.difference) byId("places").before(app.difference.bar);
	views.overview = {label: "Overview", ...makeOverview(app)};
	views.flame = {label: "Flame graph", ...makeFlameView(app)};
	views.tables = {label: "Tables", ...makeTableView(app)};
	if (content.timeline) views.timeline = {label: "Timeline", ...makeTimelineView(app)};
	byId("help-timeline").hidden = !content.timeline;
	if (profile.sources.length > 0) views.source = {label: "Source", ...makeSourceView(app)};
	if (!app.difference) views.about = {label: "About", ...makeAboutView(app)};
	const command = app.difference ? app.difference.title : profile.facts.get("command");

	byId("command").textContent = clip(command, 300);
	setText(byId("shown"), shownWith && `with ${clip(shownWith, 200)}`);
	document.title = command ? `${clip(command, 80)} – profile` : "profile";
	startExport(app, byId("export"));
	addEventListener("keydown", key);
	// a list that was chosen from with the pointer leaves the keys to the view
	let isPointed = false;

	addEventListener("pointerdown", () => (isPointed = true), true);
	addEventListener("keydown", () => (isPointed = false), true);
	addEventListener("change", event => isPointed && event.target instanceof HTMLSelectElement && event.target.blur());
	addEventListener("hashchange", update);
	update();
	return app;
}

// Unpacks the timeline, a part at a time, so that the page stays responsive.
async function readTimeline(app) {
	const parts = [...document.querySelectorAll("script.timeline")];
	const turn = new MessageChannel();
	let since = performance.now();
	const pause = async () => {
		if (performance.now() - since < WORKING_MS) return;
		// a timer would take 4 ms each time
		await new Promise(resolve => {
			turn.port1.onmessage = resolve;
			turn.port2.postMessage(null);
		});
		since = performance.now();
	};

	try {
		if (parts.length === 0) {
			app.takeTimeline(null, "This report has no timeline.");
			return;
		}
		const builder = makeTimelineBuilder(app.profile);

		for (const [i, part] of parts.entries()) {
			const timeline = builder.add(await unpackBytes(part.textContent));

			part.remove();
			if (timeline) {
				app.takeTimeline(timeline, "");
				document.documentElement.dataset.timeline = "shown";
			}
			if (!app.timeline) app.sayTimeline(`Reading the timeline… ${Math.floor((200 * i) / parts.length)} %`);
			await pause();
		}
		builder.end();
		await linkLaunches(app.timeline, pause);
		app.views[app.state.view].update();
	} catch (error) {
		app.takeTimeline(null, `The timeline cannot be shown: ${error.message}. Is the file complete?`);
	} finally {
		document.documentElement.dataset.timeline = "1";
	}
}

async function start() {
	const data = byId("data");

	try {
		const profile = foldUnnamed(await unpackProfile(data.textContent));
		data.remove();
		const app = (document.documentElement.app = startApp(profile));
		document.documentElement.dataset.ready = "1";
		// after the first picture
		requestAnimationFrame(() => setTimeout(() => readTimeline(app)));
	} catch (error) {
		const status = byId("status") ?? byId("content").appendChild(make("p", {id: "status"}));
		status.className = "message warn";
		status.textContent =
			typeof DecompressionStream === "undefined"
				? "This browser is too old for this report: it has no DecompressionStream."
				: `This report cannot be shown: ${error.message}. Is the file complete?`;
		throw error;
	}
}

addEventListener("DOMContentLoaded", start);
