// SPDX-License-Identifier: MIT
// The page: what all views share, and the address that says what is shown.
import {make, makeChoice, refill} from "./dom.js";
import {clip, formatShare, formatTime} from "./format.js";
import {ROW_CALL, ROW_CPU, ROW_GPU, ROW_WAIT, unpackProfile} from "./data.js";
import {kindsOfFrames} from "./kinds.js";
import {
	compileSearch,
	deviceLabels,
	makeTree,
	outermost,
	rowsThatPass,
	searchFrames,
	weigh,
} from "./tree.js";
import {placeNames, sumFrames} from "./tables.js";
import {formatState, parseState} from "./state.js";
import {makeFlameView} from "./flame_view.js";
import {makeTableView} from "./table_view.js";
import {makeAboutView} from "./about_view.js";

const TIME_KINDS = [
	["cpu", "CPU", ROW_CPU],
	["gpu", "GPU", ROW_GPU],
	["wait", "Waiting", ROW_WAIT],
	["call", "CUDA calls", ROW_CALL],
];
const FILTERS = ["process", "thread", "device", "stream"];
const TYPING_MS = 120; // a search begins when typing pauses

function byId(id) {
	return document.getElementById(id);
}

// Dark or light: as the system says, until someone chooses.
function startTheme(changed) {
	const system = matchMedia("(prefers-color-scheme: dark)");
	let chosen = null;

	try {
		chosen = localStorage.getItem("profile-theme");
	} catch {
		// a page from a file may have no storage: the choice lasts as long as the page
	}
	const isDark = () => (chosen ? chosen === "dark" : system.matches);
	const apply = () => {
		document.documentElement.dataset.theme = isDark() ? "dark" : "light";
		changed();
	};

	system.addEventListener("change", apply);
	byId("theme").addEventListener("click", () => {
		chosen = isDark() ? "light" : "dark";
		try {
			localStorage.setItem("profile-theme", chosen);
		} catch {
			// as above
		}
		apply();
	});
	document.documentElement.dataset.theme = isDark() ? "dark" : "light";
	return isDark;
}

function startApp(profile) {
	const views = {},
		element = byId("content");
	const kindsPresent = TIME_KINDS.filter(([, , row]) => profile.rows.kind.includes(row));
	let sums = null;
	const app = {
		profile,
		tree: makeTree(profile.stacks),
		kinds: kindsOfFrames(profile.frames),
		state: null,
		filterKey: null,
		passes: null,
		weights: null,
		search: null,
		matches: null,
		views,
		isDark: null,
		colour: kind => (app.isDark() ? kind.dark : kind.light),
		frameOf: text => (/^\d+$/.test(text) && +text < profile.frames.count ? +text : 0),
		sums: () => (sums ??= sumFrames(app.tree, app.weights, profile.frames.count)),
		countBoxes(frame) {
			let count = 0;

			for (let i = 1; i < app.tree.count; i++)
				count += app.tree.frame[i] === frame && app.weights.total[i] > 0 ? 1 : 0;
			return count;
		},
		// Goes to another state; `isSmall`: not a step for the back button.
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
		const choices = [
			["all", "All", "CPU, GPU and waiting together"],
			...kindsPresent.map(([kind, label]) => [kind, label, `${label} time alone`]),
		];

		byId("kinds").hidden = choices.length < 3;
		refill(byId("kinds"), ...makeChoice(choices, app.state.kind, kind => app.set({kind})));
	}

	// By filter: values and their labels.
	function listChoices() {
		const {places} = profile,
			names = placeNames(profile),
			labels = deviceLabels(profile);
		const choices = {
			process: new Map(),
			thread: new Map(),
			device: new Map(),
			stream: new Map(),
		};

		for (let i = 0; i < places.count; i++) {
			const process = places.process[i],
				thread = places.thread[i];

			if (process >= 0) choices.process.set(String(process), names.process(process));
			if (thread >= 0)
				choices.thread.set(`${process}.${thread}`, names.thread(process, thread));
			if (labels[i]) choices.device.set(labels[i], labels[i]);
			if (places.stream[i] >= 0)
				choices.stream.set(String(places.stream[i]), `stream ${places.stream[i]}`);
		}
		return choices;
	}

	const choices = listChoices();
	const selects = FILTERS.map(filter => {
		const all = {
			process: "All processes",
			thread: "All threads",
			device: "All devices",
			stream: "All streams",
		}[filter];
		const sorted = [...choices[filter]].sort(([, a], [, b]) =>
			a.localeCompare(b, "en", {numeric: true}),
		);

		return make(
			"select",
			{
				"aria-label": `Filter by ${filter}`,
				hidden: sorted.length < 2,
				on: {change: event => app.set({[filter]: event.target.value})},
			},
			make("option", {value: "", text: all}),
			...sorted.map(([value, label]) => make("option", {value, text: clip(label, 80)})),
		);
	});

	byId("places").append(
		...selects,
		make("button", {
			type: "button",
			id: "no-filter",
			text: "No filter ✕",
			hidden: true,
			on: {
				click: () =>
					app.set({process: "", thread: "", device: "", stream: "", kind: "all"}),
			},
		}),
	);

	function fillFilters() {
		FILTERS.forEach((filter, i) => {
			const select = selects[i],
				value = app.state[filter];

			// a link may ask for what is not there: it is shown, and can be taken away
			if (value !== "" && ![...select.options].some(option => option.value === value))
				select.append(make("option", {value, text: clip(value, 80)}));
			select.value = value;
			select.classList.toggle("set", value !== "");
			select.hidden = select.options.length < 3 && value === "";
		});
		byId("no-filter").hidden = FILTERS.every(filter => app.state[filter] === "");
	}

	function fillMatched() {
		const whole = app.weights.total[0];

		if (!app.matches) {
			byId("matched").textContent = "";
			return;
		}
		const {nodes, total} = outermost(app.tree, app.weights, app.matches);

		byId("matched").textContent =
			nodes.length === 0 ? "no match" : `${formatShare(total, whole)} · ${formatTime(total)}`;
	}

	function fillViews() {
		refill(
			byId("views"),
			...makeChoice(
				Object.entries(views).map(([key, {label}], i) => [
					key,
					label,
					`${label} (${i + 1})`,
				]),
				app.state.view,
				view => app.set({view}),
			),
		);
	}

	// ---- one state to the next ----

	function update() {
		const state = parseState(location.hash),
			old = app.state;

		app.state = state;
		const kinds = TIME_KINDS.filter(
			([kind]) => state.kind === "all" || kind === state.kind,
		).map(([, , row]) => row);
		const filterKey = JSON.stringify([state.kind, ...FILTERS.map(filter => state[filter])]);

		if (filterKey !== app.filterKey) {
			app.filterKey = filterKey;
			app.passes = rowsThatPass(profile, state, kinds);
			app.weights = weigh(profile, app.tree, app.passes);
			sums = null;
		}
		if (!old || old.q !== state.q) {
			app.search = compileSearch(state.q);
			app.matches = searchFrames(profile.frames, state.q);
			if (byId("search").value !== state.q) byId("search").value = state.q;
		}
		fillViews();
		fillKinds();
		fillFilters();
		fillMatched();
		if (!old || old.view !== state.view) element.replaceChildren(views[state.view].element);
		views[state.view].update();
		// what had the focus may be gone
		if (old && old.view !== state.view && document.activeElement === document.body)
			element.focus({preventScroll: true});
	}

	// ---- the rest of the page ----

	let typing = 0;

	byId("search").addEventListener("input", event => {
		clearTimeout(typing);
		typing = setTimeout(() => app.set({q: event.target.value}, true), TYPING_MS);
	});
	byId("help-open").addEventListener("click", () => byId("help").showModal());
	byId("skip").addEventListener("click", event => {
		event.preventDefault(); // the address holds the state
		element.focus();
	});

	function key(event) {
		const inText =
			event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;

		if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
		if (inText) {
			if (event.key === "Escape" && event.target === byId("search")) {
				clearTimeout(typing);
				app.set({q: ""}, true);
				event.target.blur();
			}
			return;
		}
		// a focused button keeps its keys
		if (event.target instanceof HTMLButtonElement && ["Enter", " "].includes(event.key)) return;
		const view = Object.keys(views)[Number(event.key) - 1];

		if (event.key === "/") byId("search").focus();
		else if (event.key === "?") byId("help").showModal();
		else if (/^[1-9]$/.test(event.key) && view) app.set({view});
		else if (!views[app.state.view].key(event)) return;
		event.preventDefault();
	}

	app.isDark = startTheme(() => views[app.state.view].recolour());
	views.flame = {label: "Flame graph", ...makeFlameView(app)};
	views.tables = {label: "Tables", ...makeTableView(app)};
	views.about = {label: "About", ...makeAboutView(app)};
	const command = profile.facts.get("command");

	byId("command").textContent = clip(command, 300);
	document.title = command ? `${clip(command, 80)} – profile` : "profile";
	addEventListener("keydown", key);
	addEventListener("hashchange", update);
	update();
	return app;
}

async function start() {
	const data = byId("data");

	try {
		const profile = await unpackProfile(data.textContent);

		data.remove();
		document.documentElement.app = startApp(profile);
		document.documentElement.dataset.ready = "1";
	} catch (error) {
		const status = byId("status") ?? byId("content").appendChild(make("p", {id: "status"}));

		status.className = "error";
		status.textContent =
			typeof DecompressionStream === "undefined"
				? "This browser is too old for this report: it has no DecompressionStream."
				: `This report cannot be shown: ${error.message}. Is the file complete?`;
		throw error;
	}
}

addEventListener("DOMContentLoaded", start);
