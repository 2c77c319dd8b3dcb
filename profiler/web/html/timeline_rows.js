// SPDX-License-Identifier: MIT
// Lists the rows of the timeline: GPUs with how busy they were and their streams, then threads. A group of
// rows opens and closes.
import {formatShare, plural} from "./format.js";
import {placesThatPass} from "./tree.js";
import {placeNames} from "./tables.js";
import {DEFAULTS} from "./state.js";
import {makeRangeTrack, sumsBefore} from "./timeline.js";
import {gapsBetween, makeMeasure} from "./slices.js";

export const LANE = 19, // pixels, with a line below
	GROUP = 24;
const GAP = 5,
	BUSY = 38,
	FEW = 0.01, // of the time of all threads: the others are in one group
	MOST_RANGES = 4000000, // of a flame chart, at most
	LEVELS = 96;

const TRACK_LABELS = {
		nvtx: "NVTX",
		layers: "Operators, layers",
		calls: "CUDA calls",
		waits: "Waiting",
		off: "Off the CPU",
		samples: "CPU samples",
	},
	TRACK_KINDS = {gpu: "gpu", waits: "wait", off: "wait", samples: "cpu"},
	ALWAYS = ["calls", "nvtx", "layers"],
	THREAD_ORDER = ["nvtx", "layers", "calls", "waits", "off", "samples"],
	REST = "others";

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
		return [label || "GPU", at < 0 ? "" : profile.devices.name[at]].filter(text => text).join(" · ");
	}

	function threadName({process, thread}) {
		const one = names.thread(process, thread),
			all = names.process(process);
		if (process < 0) return "Unknown threads";
		return all === one ? one : `${all} · ${one}`;
	}

	function trackLabel(track, withProcess, withContext) {
		if (track.type !== "gpu") return TRACK_LABELS[track.type];
		return [
			track.stream < 0 ? "no stream" : `stream ${track.stream}`,
			withContext && track.context >= 0 ? `context ${track.context}` : "",
			withProcess ? names.process(track.process) : "",
		]
			.filter(text => text)
			.join(", ");
	}

	// Returns how busy a device was, and a lane of its gaps: {measure, lane, share}.
	function busyLane(timeline, device) {
		if (!busy.has(device)) {
			const sums = app.busyOf(device),
				{start, end} = gapsBetween(sums, timeline.runFrom, timeline.runTo);
			const store = {
				count: start.length,
				start,
				duration: end.map((stop, i) => stop - start[i]),
				number: new Uint8Array(start.length).fill(1),
				frameAt: () => -1,
			};

			store.before = sumsBefore(store);
			busy.set(device, {
				measure: makeMeasure(sums),
				share: formatShare(sums.busy, sums.run),
				lane: {store, track: {type: "idle", device}, first: 0, end: store.count, reach: null},
			});
		}
		return busy.get(device);
	}

	// Returns the lanes of a thread's samples by depth: what is shown of their stacks.
	function flameChart(timeline, track) {
		if (!charts.has(track)) {
			const tree = app.stackTree();

			charts.set(
				track,
				makeRangeTrack(timeline.spans, [track], "samples", {
					outer: tree.parent,
					frame: tree.frame,
					depth: tree.depth,
					most: Math.min(Math.max(Math.floor(MOST_RANGES / Math.max(track.count, 1)), 1), LEVELS),
					of: app.stackOf,
				}),
			);
		}
		return charts.get(track).lanes;
	}

	// Returns groups of tracks that pass the filter: devices, then the busiest process's threads, its main
	// thread first.
	function groupTracks(timeline) {
		const {state} = app,
			passes = placesThatPass(profile, state),
			pids = new Map(Array.from(profile.processes.number, (number, i) => [number, profile.processes.pid[i]]));
		const groups = new Map(),
			spent = new Map(); // by process

		for (const track of timeline.tracks) {
			if (
				!track.places.some(passes) ||
				!(
					[DEFAULTS.kind, "all"].includes(state.kind) ||
					ALWAYS.includes(track.type) ||
					TRACK_KINDS[track.type] === state.kind
				)
			)
				continue;
			const isGpu = track.type === "gpu",
				id = idOf(track);
			const group = groups.get(id) ?? {
				id,
				device: isGpu ? track.device : null,
				label: isGpu ? deviceName(track.device) : threadName(track),
				process: isGpu ? -1 : track.process,
				isMain: !isGpu && track.thread === pids.get(track.process),
				tracks: [],
				ns: 0,
			};

			group.tracks.push(track);
			if (track.type !== "off") group.ns += track.ns; // a thread that sleeps is not busy
			groups.set(id, group);
		}
		const sorted = [...groups.values()];

		for (const {process, ns} of sorted) spent.set(process, (spent.get(process) ?? 0) + ns);
		return sorted.sort((a, b) =>
			a.device !== null || b.device !== null
				? (b.device !== null) - (a.device !== null) || a.label.localeCompare(b.label, "en", {numeric: true})
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
			group.tracks.sort((a, b) =>
				group.device !== null
					? a.process - b.process || a.context - b.context || a.stream - b.stream
					: THREAD_ORDER.indexOf(a.type) - THREAD_ORDER.indexOf(b.type),
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

			if (group.device !== null) {
				const {lane, measure, share} = busyLane(timeline, group.device);
				shown.label += ` · busy ${share} of the run`;
				add({height: GROUP, group: shown});
				add({height: BUSY, lane, measure, label: "Busy", device: group.device});
			} else {
				add({height: GROUP, group: shown});
			}
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
				now = JSON.stringify(["kind", "process", "thread", "device", "stream", "my"].map(name => state[name]));

			if (made?.timeline === timeline && now === key && made.tree === app.stackTree()) return made;
			if (made?.timeline !== timeline) busy = new Map();
			if (made?.tree !== app.stackTree()) charts = new Map();
			key = now;
			made = {...list(timeline), tree: app.stackTree()};
			return made;
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
