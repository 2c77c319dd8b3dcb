// SPDX-License-Identifier: MIT
// Kinds of frames, with the colours of pictures (svg/style.css). Colour-blind people can tell
// them apart, too.

// In the order of enum frame_kind.
const FRAME_KINDS = [
	"place",
	"start",
	"native",
	"python",
	"jit",
	"os",
	"nvtx",
	"operator",
	"layer",
	"api",
	"gpu",
	"copy",
	"device",
	"stall",
	"wait",
	"call",
	"idle",
	"mark",
];

// In the order of the legend: word, label, colour in the light and in the dark.
export const KINDS = [
	["native", "C, C++, other native code", "#8cd6fa", "#2d6f8c"],
	["python", "Python", "#fbe850", "#d9d04a"],
	["jit", "JIT-compiled", "#bbecc6", "#9dd1ab"],
	["os", "Linux kernel", "#97a0ff", "#5b2d84"],
	["start", "start-up", "#dfe2e7", "#424850"],
	["nvtx", "NVTX range", "#c191a8", "#eeb6db"],
	["operator", "operator", "#e3bfdc", "#bc98c7"],
	["layer", "layer", "#d79ad2", "#e0a0d8"],
	["api", "CUDA call", "#2391be", "#66aefc"],
	["gpu", "GPU kernel", "#f46e33", "#c73a12"],
	["copy", "GPU copy or other work", "#f2b879", "#d99a5f"],
	["device", "device code", "#f79f74", "#a8401f"],
	["stall", "stall reason", "#fcd3bf", "#7a3a24"],
	["wait", "waiting", "#bcc2c9", "#535c66"],
	["call", "CUDA call, wall time", "#8fbbe4", "#345f87"],
	["idle", "idle GPU", "#d4c7e8", "#54456e"],
	["place", "root (--by)", "#aaa48c", "#6e6a58"],
	["mark", "note (unknown or cut stack, compiling)", "#f3f4f6", "#1d2228"],
].map(([word, label, light, dark]) => ({word, label, light, dark}));

const NUMBERS = new Map(KINDS.map((kind, number) => [kind.word, number]));

// Returns positions in KINDS by frame.
export function kindsOfFrames(frames) {
	const kinds = FRAME_KINDS.map(word => NUMBERS.get(word));

	return frames.kind.map(number => kinds[number] ?? NUMBERS.get("mark"));
}

export function kindNamed(word) {
	return KINDS[NUMBERS.get(word)];
}

export function isKind(kind, ...words) {
	return words.includes(KINDS[kind].word);
}
