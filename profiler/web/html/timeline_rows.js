// SPDX-License-Identifier: MIT
// Lists the rows of the timeline: GPUs with how busy they were and their streams, then threads. A group of rows opens and closes.
import {getOrMake} from "./data.js";
import {formatShare, joinTexts, plural} from "./format.js";
import {compareNaturally, placesThatPass} from "./tree.js";
import {placeNames} from "./tables.js";
import {DEFAULTS, PLACE_KEYS} from "./state.js";
import {makeRangeTrack, sumsBefore} from "./timeline.js";
import {gapsBetween, makeMeasure} from "./slices.js";

export const LANE = 19, // pixels, with a line below
	GROUP = 24;
const GAP = 5,
	BUSY = 38,
	FEW = 0.01, // of the time of all threads: the others are in one group
	MOST_RANGES = 4000000, // of a flame chart, at most
	LEVELS = 96;

// Tracks in order: type, label, kind of time; those without a kind are always there.
const TRACKS = [
		["nvtx", "NVTX"],
		["layers", "Operators, layers"],
		["calls", "CUDA calls"],
		["waits", "Waiting", "wait"],
		["off", "Off the CPU", "wait"],
		["samples", "CPU samples", "cpu"],
		["gpu", "GPU", "gpu"],
	].map(([type, label, kind]) => ({type, label, kind})),
	REST = "others";
const orderOf = ({type}) => TRACKS.findIndex(known => known.type === type);

export function makeTimelineRows(app) {
	const {profile} = app,
		{places} = profile,
		names = placeNames(profile);
	const toggled = new Set(); // groups that are not as they begin
	let made = null, // for a timeline: rows, and lanes that are computed
		key = "",
		busy = new Map(), // by device
		charts = new Map(); // flame charts, by track

	const idOf = track => (track.device === undefined ? `${track.process}.${track.thread}` : `gpu ${track.device}`);

	function toggle({id}) {
		if (!toggled.delete(id)) toggled.add(id);
		key = "";
	}

	function deviceName(label) {
		const at = profile.devices.label.indexOf(label);
		return joinTexts([label || "GPU", profile.devices.name[at]]);
	}

	function threadName({process, thread}) {
		const one = names.thread(process, thread),
			all = names.process(process);
		if (process < 0) return "Unknown threads";
		return all === one ? one : `${all} · ${one}`;
	}

	function trackLabel(track, withProcess, withContext) {
		if (track.type !== "gpu") return TRACKS[orderOf(track)].label;
		const texts = [
			track.stream < 0 ? "no stream" : `stream ${track.stream}`,
			withContext && track.context >= 0 && `context ${track.context}`,
			withProcess && names.process(track.process),
		];
		return joinTexts(texts, ", ");
	}

	// Returns how busy a device was, and a lane of its gaps: {measure, lane, share}.
	function makeBusy(timeline, device) {
		const sums = app.busyOf(device),
			{start, end} = gapsBetween(sums, timeline.runFrom, timeline.runTo),
			count = start.length,
			duration = end.map((stop, i) => stop - start[i]),
			store = {count, start, duration, number: new Uint8Array(count).fill(1), frameAt: () => -1};

		store.before = sumsBefore(store);
		return {
			measure: makeMeasure(sums),
			share: formatShare(sums.busy, sums.run),
			lane: {store, track: {type: "idle", device}, first: 0, end: count, reach: null},
		};
	}

	const busyLane = (timeline, device) => getOrMake(busy, device, () => makeBusy(timeline, device));

	// Returns the lanes of a thread's samples by depth: what is shown of their stacks.
	function flameChart(timeline, track) {
		const {parent: outer, frame, depth} = app.stackTree(),
			most = Math.min(Math.max(Math.floor(MOST_RANGES / Math.max(track.count, 1)), 1), LEVELS),
			make = () => makeRangeTrack(timeline.spans, [track], "samples", {outer, frame, depth, most, of: app.stackOf});
		return getOrMake(charts, track, make).lanes;
	}

	// Returns groups of tracks that pass the filter: devices, then the busiest process's threads, its main thread first.
	function groupTracks(timeline) {
		const {state} = app,
			passes = placesThatPass(profile, state),
			pids = new Map(Array.from(profile.processes.number, (number, i) => [number, profile.processes.pid[i]]));
		const groups = new Map(),
			spent = new Map(); // by process

		for (const track of timeline.tracks) {
			const {kind} = TRACKS[orderOf(track)],
				isWanted = [DEFAULTS.kind, "all", kind].includes(state.kind) || kind === undefined;
			if (!isWanted || !track.places.some(passes)) continue;
			const isGpu = track.type === "gpu",
				id = idOf(track);
			const group = getOrMake(groups, id, () => ({
				id,
				device: isGpu ? track.device : null,
				label: isGpu ? deviceName(track.device) : threadName(track),
				process: isGpu ? -1 : track.process,
				isMain: !isGpu && track.thread === pids.get(track.process),
				tracks: [],
				ns: 0,
			}));

			group.tracks.push(track);
			if (track.type !== "off") group.ns += track.ns; // a thread that sleeps is not busy
		}
		const sorted = [...groups.values()];

		for (const {process, ns} of sorted) spent.set(process, (spent.get(process) ?? 0) + ns);
		return sorted.sort((a, b) =>
			a.device !== null || b.device !== null
				? (b.device !== null) - (a.device !== null) || compareNaturally(a.label, b.label)
				: spent.get(b.process) - spent.get(a.process) || a.process - b.process || b.isMain - a.isMain || b.ns - a.ns,
		);
	}

	function list(timeline) {
		const groups = groupTracks(timeline),
			threads = groups.filter(({device}) => device === null),
			whole = threads.reduce((sum, {ns}) => sum + ns, 0),
			isFew = group => group.device === null && group.ns < whole * FEW,
			few = threads.length > 2 ? threads.filter(isFew) : [];
		const gpuTracks = timeline.tracks.filter(track => track.type === "gpu"),
			isSeveral = of => new Set(of).size > 1,
			withProcess = isSeveral(timeline.tracks.map(track => track.process)),
			withContext = isSeveral(gpuTracks.map(track => `${track.process}.${track.context}`));
		const rows = [],
			closed = new Map(); // by group of tracks: what has to be opened
		let height = 0;
		const add = row => {
			rows.push({y: height, ...row});
			height += row.height;
		};
		const addTracks = group => {
			group.tracks.sort(
				(a, b) => orderOf(a) - orderOf(b) || a.process - b.process || a.context - b.context || a.stream - b.stream,
			);
			for (const track of group.tracks) {
				(track.type === "samples" ? flameChart(timeline, track) : track.lanes).forEach((lane, i) =>
					add({height: LANE, lane, label: i > 0 ? "" : trackLabel(track, withProcess, withContext)}),
				);
				height += GAP;
			}
		};
		const addGroup = (group, isClosed) => {
			const shown = {...group, isOpen: isClosed === toggled.has(group.id)};

			const {lane, measure, share} = group.device === null ? {} : busyLane(timeline, group.device);
			if (lane) shown.label += ` · busy ${share} of the run`;
			add({height: GROUP, group: shown});
			if (lane) add({height: BUSY, lane, measure, label: "Busy", device: group.device});
			if (lane)
				for (const state of profile.states.filter(({device}) => device === group.device))
					add({height: BUSY, state, label: state.name.replace(")", `) to ${state.most}`)});
			if (shown.isOpen) addTracks(group);
			else closed.set(group.id, group);
			return shown.isOpen;
		};

		for (const group of groups) if (!few.includes(group)) addGroup(group, false);
		const others = {id: REST, device: null, label: `${plural(few.length, "thread")} under 1 % of the time`, tracks: []};

		if (few.length > 0 && addGroup(others, true)) few.forEach(group => addGroup(group, false));
		else few.forEach(({id}) => closed.set(id, others));
		const lanes = rows.filter(row => row.lane);

		return {
			timeline,
			rows,
			height: height + GAP,
			closed,
			rowOf: new Map(lanes.map(row => [row.lane, row])),
			// those of records, in order of their numbers
			ofRecords: groups
				.flatMap(group => group.tracks)
				.flatMap(track => (track.first < 0 ? [] : track.lanes))
				.sort((a, b) => a.first - b.first),
		};
	}

	return {
		deviceName,
		threadName,
		trackLabel,
		threadOf: place => (place < 0 ? "an unknown thread" : names.thread(places.process[place], places.thread[place])),
		measureOf: (timeline, device) => busyLane(timeline, device).measure,
		gapsOf: (timeline, device) => busyLane(timeline, device).lane,
		// Returns {rows, height, rowOf, ofRecords} of a timeline, as the state says.
		update(timeline) {
			const {state} = app,
				now = JSON.stringify(["kind", "my", ...PLACE_KEYS].map(name => state[name]));
			if (made?.timeline === timeline && now === key && made.tree === app.stackTree()) return made;
			if (made?.timeline !== timeline) busy = new Map();
			if (made?.tree !== app.stackTree()) charts = new Map();
			key = now;
			return (made = {...list(timeline), tree: app.stackTree()});
		},
		toggle,
		// Opens what a track is in. Returns false if it is open.
		open(track) {
			const group = made.closed.get(idOf(track));
			if (group) toggle(group);
			return group !== undefined;
		},
	};
}
