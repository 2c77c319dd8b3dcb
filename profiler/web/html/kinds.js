// SPDX-License-Identifier: MIT
// Kinds of frames, with the colours of pictures (svg/style.css). Colour-blind people can tell them apart, too.

// In the order of the legend: number in enum frame_kind, word, label, colour in the light and in the dark.
export const KINDS = [
	[2, "native", "C, C++, other native code", "#8cd6fa", "#2d6f8c"],
	[3, "python", "Python", "#fbe850", "#d9d04a"],
	[4, "jit", "JIT-compiled", "#bbecc6", "#9dd1ab"],
	[5, "os", "Linux kernel", "#97a0ff", "#5b2d84"],
	[1, "start", "start-up", "#dfe2e7", "#424850"],
	[6, "nvtx", "NVTX range", "#c191a8", "#eeb6db"],
	[7, "operator", "operator", "#e3bfdc", "#bc98c7"],
	[8, "layer", "layer", "#d79ad2", "#e0a0d8"],
	[9, "api", "CUDA call", "#2391be", "#66aefc"],
	[10, "gpu", "GPU kernel", "#f46e33", "#c73a12"],
	[11, "copy", "GPU copy or other work", "#f2b879", "#d99a5f"],
	[12, "device", "device code", "#f79f74", "#a8401f"],
	[13, "stall", "stall reason", "#fcd3bf", "#7a3a24"],
	[14, "wait", "waiting", "#bcc2c9", "#535c66"],
	[15, "call", "CUDA call, wall time", "#8fbbe4", "#345f87"],
	[16, "idle", "idle GPU", "#d4c7e8", "#54456e"],
	[0, "place", "root (--by)", "#aaa48c", "#6e6a58"],
	[17, "mark", "note (unknown or cut stack, compiling)", "#f3f4f6", "#1d2228"],
].map(([number, word, label, light, dark]) => ({number, word, label, light, dark}));

const POSITIONS = new Map(KINDS.map((kind, at) => [kind.word, at]));

// Why a thread is off the CPU, in the order of the legend: word, label, colour in the light and in the dark, text
// of the frame. The first that fits holds; "gpu" is any within a CUDA call.
export const OFF_CPU_REASONS = [
	["run", "waiting for a CPU", "#f5c451", "#a3762a", /^\[runnable/],
	["gpu", "in a CUDA call", "#8fbbe4", "#345f87", /(?!)/],
	["lock", "lock, GIL, condition", "#ef9a9a", "#93403f", /^\[blocked: (futex|GIL|lock)/],
	["net", "network, poll", "#80cbc4", "#2b7069", /socket|: (accept|connect|e?poll|receive|send)/],
	["io", "file, pipe, device, disk", "#a5d08b", "#47702f", /: (read|write|file|disk|sync|io_uring|ioctl)/],
	["memory", "page fault, memory", "#ce9fe0", "#6f4488", /: (page fault|memory)/],
	["sleep", "sleep", "#c9cfd6", "#474f58", /: sleep/],
	["other", "other", "#b5aa97", "#665d4e", /./],
].map(([word, label, light, dark, text]) => ({word, label, light, dark, text}));

// Returns positions in KINDS by frame.
export function kindsOfFrames(frames) {
	const positions = new Map(KINDS.map(({number}, at) => [number, at]));
	return frames.kind.map(number => positions.get(number) ?? POSITIONS.get("mark"));
}

export const kindNamed = word => KINDS[POSITIONS.get(word)];
export const isKind = (kind, ...words) => words.includes(KINDS[kind].word);

// Returns why a thread that left the CPU with a stack of the profile is off it. `kinds` are by frame.
export function reasonOf({frames, stacks}, kinds, stack) {
	const text = frames.name[stacks.frame[stack]] ?? "",
		reason = OFF_CPU_REASONS.find(one => one.text.test(text)) ?? OFF_CPU_REASONS.at(-1);
	for (let at = stacks.parent[stack]; at > 0 && reason.word !== "run"; at = stacks.parent[at])
		if (isKind(kinds[stacks.frame[at]], "api")) return OFF_CPU_REASONS[1];
	return reason;
}
