// SPDX-License-Identifier: MIT
// Kinds of frames, with their colours: those of pictures (svg/style.css), which people who see few
// hues can tell apart, too.

// The order of enum frame_class.
const CLASS_KINDS = [
	"native",
	"python",
	"jit",
	"os",
	"api",
	"nvtx",
	"gpu",
	"copy",
	"wait",
	"call",
	"place",
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
	["api", "CUDA call", "#2391be", "#66aefc"],
	["gpu", "GPU kernel", "#f46e33", "#c73a12"],
	["copy", "GPU copy or other work", "#f2b879", "#d99a5f"],
	["wait", "waiting for GPU", "#bcc2c9", "#535c66"],
	["call", "CUDA call, wall time", "#8fbbe4", "#345f87"],
	["place", "process, thread, device", "#aaa48c", "#6e6a58"],
	["mark", "note (cut or unknown stack)", "#f3f4f6", "#1d2228"],
].map(([word, label, light, dark]) => ({word, label, light, dark}));

const NUMBERS = new Map(KINDS.map((kind, number) => [kind.word, number]));

// A name begins with one of these, and ends there or goes on as a version or a clone.
const START = new RegExp(
	"^(_start|__libc_start_main|__libc_start_main_impl|__libc_start_call_main|" +
		"_dl_start|_dl_start_user|clone|__clone|clone3|__clone3|__clone_internal|start_thread|" +
		"execute_native_thread_routine)([@.]|$)",
);

// By frame, positions in KINDS.
export function kindsOfFrames(frames) {
	const start = NUMBERS.get("start"),
		native = NUMBERS.get("native");
	const classes = CLASS_KINDS.map(word => NUMBERS.get(word));

	return Uint8Array.from(frames.class, (number, i) => {
		const kind = classes[number] ?? NUMBERS.get("mark");

		return kind === native && START.test(frames.name[i]) ? start : kind;
	});
}

export function isKind(kind, ...words) {
	return words.includes(KINDS[kind].word);
}
