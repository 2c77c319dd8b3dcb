// SPDX-License-Identifier: MIT
// Computes sums by frame and by place, for tables.
import {ROW_CPU, ROW_GPU, ROW_IDLE, ROW_WAIT, ROW_CALL, getOrMake} from "./data.js";
import {isKind, kindsOfFrames} from "./kinds.js";
import {deviceLabels} from "./tree.js";

const FUNCTION_KINDS = ["native", "python", "jit", "os", "start", "nvtx", "operator", "layer", "api"];

// Tells what the whole profile has, by any of its weights. Views and tables without data are left out.
export function contentOf(profile, hasTimeline) {
	const {places, frames, rows, weights = []} = profile;
	const gpu = [rows, ...weights.map(weight => weight.rows)].some(list => list.kind.includes(ROW_GPU));
	const kinds = gpu ? Array.from(kindsOfFrames(frames)) : [];

	return {
		gpu,
		kernels: kinds.some(kind => isKind(kind, "gpu")),
		copies: kinds.some(kind => isKind(kind, "copy")),
		threads: Array.from(places.process).some(process => process >= 0),
		timeline: hasTimeline,
	};
}

// Sums up by frame: own time, and `total` with all inside it. Time below `spinning` is own time of the frame around, which waited.
export function sumFrames(tree, weights, frameCount, spinning = -1) {
	const make = () => new Float64Array(frameCount);
	const sums = {own: make(), total: make(), operations: make(), bytes: make(), byKind: weights.byKind.map(make), ownWait: make()};
	const open = new Uint32Array(frameCount); // how often a frame is on the path
	const stack = [];
	let spins = 0; // how many of the path are `spinning`

	const pushChildren = node => {
		for (let c = tree.first[node]; c < tree.first[node + 1]; c++)
			// parts of a kernel have time, but no operations
			if (weights.operations[tree.list[c]] > 0 || weights.total[tree.list[c]] > 0) stack.push(tree.list[c]);
	};

	pushChildren(0);
	while (stack.length > 0) {
		const top = stack.pop();

		if (top < 0) {
			// everything inside it was visited
			open[tree.frame[-top]]--;
			if (tree.frame[-top] === spinning) spins--;
			continue;
		}
		const frame = tree.frame[top];

		if (frame === spinning && spins++ === 0 && tree.parent[top] > 0)
			sums.own[tree.frame[tree.parent[top]]] += weights.total[top];
		if (spins === 0) sums.own[frame] += weights.own[top];
		sums.ownWait[frame] += weights.ownByKind[ROW_WAIT][top] + weights.ownByKind[ROW_IDLE][top];
		if (open[frame]++ === 0) {
			sums.total[frame] += weights.total[top];
			sums.operations[frame] += weights.operations[top];
			sums.bytes[frame] += weights.bytes[top];
			weights.byKind.forEach((list, kind) => (sums.byKind[kind][frame] += list[top]));
		}
		stack.push(-top);
		pushChildren(top);
	}
	return sums;
}

// Returns the stack without what is below a kernel, whose time it is: by --stalls, or a wait for another rank.
function workNode(tree, kinds, node) {
	let at = node;
	if (node <= 0 || !isKind(kinds[tree.frame[node]], "stall", "wait")) return node;
	while (at > 0 && !isKind(kinds[tree.frame[at]], "gpu")) at = tree.parent[at];
	return at > 0 ? at : node;
}

const SUM_OF_KIND = ["cpu", "gpu", "wait", "wait", null];

// Returns the time of all rows that pass; of one kind, if that is given.
export function sumTime({rows}, passes, kind = null) {
	return rows.ns.reduce((sum, ns, i) => sum + (passes[i] && (kind === null || rows.kind[i] === kind) ? ns : 0), 0);
}

// Sums up the rows that pass, by what `keyOf` returns for a row; null for none. `describe` returns
// what the sum of a key begins with. Idle time is of a device, not of a thread.
function sumRows({rows}, passes, keyOf, describe) {
	const sums = new Map();

	for (let i = 0; i < rows.count; i++) {
		const key = passes[i] ? keyOf(i) : null;

		if (key === null) continue;
		const sum = getOrMake(sums, key, () => ({cpu: 0, gpu: 0, wait: 0, operations: 0, bytes: 0, ...describe(key, i)})),
			kind = SUM_OF_KIND[rows.kind[i]];

		if (kind) sum[kind] += rows.ns[i];
		if (rows.kind[i] !== ROW_GPU) continue;
		sum.operations += rows.operations[i];
		sum.bytes += rows.bytes[i];
	}
	return [...sums.values()];
}

// Sums up GPU work by the frame that `frameOf` returns for a row; below 0: none.
function sumGpuWork(profile, passes, frameOf) {
	const workOf = i => {
		const frame = profile.rows.kind[i] === ROW_GPU ? frameOf(i) : -1;
		return frame < 0 ? null : frame;
	};
	const sums = sumRows(profile, passes, workOf, frame => ({frame}));
	return sums.map(({frame, operations, gpu: ns, bytes}) => ({frame, operations, ns, bytes, mean: ns / operations}));
}

// Sums up GPU work by the innermost frame around it that is wanted, else by that of `otherwise`, by stack, if it is given.
export function tableInnermost(profile, tree, passes, isWanted, otherwise = null) {
	const inner = new Int32Array(tree.count).fill(-1); // by node
	for (let i = 1; i < tree.count; i++) inner[i] = isWanted(tree.frame[i]) ? tree.frame[i] : inner[tree.parent[i]];
	return sumGpuWork(profile, passes, i => {
		const at = profile.rows.stack[i];
		return inner[at] < 0 && otherwise ? otherwise[at] : inner[at];
	});
}

// Sums up GPU work that ends at a frame of this kind: kernels ("gpu") or the rest ("copy").
export function tableGpuWork(profile, tree, kinds, passes, kind) {
	return sumGpuWork(profile, passes, i => {
		const frame = tree.frame[workNode(tree, kinds, profile.rows.stack[i])];
		return frame >= 0 && isKind(kinds[frame], kind) ? frame : -1;
	});
}

// Sums up GPU work by the function that launched it, which the data has for each stack.
export function tableLaunchSites(profile, passes) {
	return sumGpuWork(profile, passes, i => profile.stacks.site[profile.rows.stack[i]]);
}

// Sums up CPU time by the function that it was spent in.
export function tableOnCpu(profile, tree, kinds, passes) {
	const {rows} = profile;
	const functionOf = i => {
		const frame = tree.frame[rows.stack[i]];
		return rows.kind[i] === ROW_CPU && frame >= 0 && isKind(kinds[frame], ...FUNCTION_KINDS) ? frame : null;
	};
	return sumRows(profile, passes, functionOf, frame => ({frame})).map(({frame, cpu}) => ({frame, ns: cpu}));
}

// Lists functions. Waiting time is no function's own: its stack ends where the work that ran was launched.
export function tableFunctions(kinds, sums) {
	const list = [];

	for (let frame = 0; frame < kinds.length; frame++)
		if (isKind(kinds[frame], ...FUNCTION_KINDS) && sums.operations[frame] > 0)
			list.push({
				frame,
				own: sums.own[frame] - sums.ownWait[frame],
				total: sums.total[frame],
				cpu: sums.byKind[ROW_CPU][frame],
				gpu: sums.byKind[ROW_GPU][frame],
				wait: sums.byKind[ROW_WAIT][frame] + sums.byKind[ROW_CALL][frame],
			});
	return list;
}

// Returns the names of numbers in places.
export function placeNames(profile) {
	const {processes, threads} = profile,
		processNames = new Map(Array.from(processes.number, (number, i) => [number, processes.name[i]])),
		threadNames = new Map(Array.from(threads.tid, (tid, i) => [`${threads.process[i]}.${tid}`, threads.name[i]]));
	return {
		process: number => (number < 0 ? "[unknown process]" : (processNames.get(number) ?? `[process ${number}]`)),
		thread: (process, tid) => (tid < 0 ? "[no thread]" : (threadNames.get(`${process}.${tid}`) ?? `thread ${tid}`)),
	};
}

// Sums up by parts of places that are wanted. `describe` returns what else is known of a place.
function sumByPlace(profile, passes, parts, isWanted, describe) {
	const {places, rows} = profile,
		names = placeNames(profile);
	const keyOf = at => (at >= 0 && isWanted(at) ? parts.map(part => places[part][at]).join(".") : null);
	const describeAt = at => {
		const own = Object.fromEntries(parts.map(part => [part, places[part][at]]));
		return {...own, processName: names.process(places.process[at]), ...describe(at, names)};
	};
	return sumRows(profile, passes, i => keyOf(rows.place[i]), (_, i) => describeAt(rows.place[i]));
}

export function tableThreads(profile, passes) {
	const {process, thread} = profile.places,
		describe = (at, names) => ({threadName: names.thread(process[at], thread[at])});
	return sumByPlace(profile, passes, ["process", "thread"], () => true, describe);
}

export function tableStreams(profile, passes) {
	const {device} = profile.places,
		labels = deviceLabels(profile),
		hasDevice = at => device[at] >= 0;
	return sumByPlace(profile, passes, ["process", "device", "context", "stream"], hasDevice, at => ({device: labels[at]}));
}
