// SPDX-License-Identifier: MIT
// Kinds of frames, with their colours. Those of the same hue to people who see few hues differ in
// lightness: amber code, a dark kernel of Linux; a pale call of CUDA, a dark kernel of the GPU.

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
	["native", "C, C++, other native code", "#f0c36d", "#d9a94e"],
	["python", "Python", "#6ea6dc", "#5590c8"],
	["jit", "JIT-compiled", "#f4ec9a", "#dcd48a"],
	["os", "Linux kernel", "#a8431c", "#9c3f1c"],
	["start", "start-up", "#cfccc4", "#8b8982"],
	["nvtx", "NVTX range", "#c877ae", "#b8689e"],
	["api", "CUDA call", "#bfe3f5", "#9cc7dc"],
	["gpu", "GPU kernel", "#00684b", "#00704f"],
	["copy", "GPU copy or other work", "#5fb396", "#4d9a80"],
	["wait", "waiting for GPU", "#6f67ad", "#675fa6"],
	["call", "CUDA call, wall time", "#c9b3ea", "#a996cc"],
	["place", "process, thread, device", "#9fb0c0", "#73828f"],
	["mark", "about the stack", "#e9e7e1", "#5c5a55"],
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
