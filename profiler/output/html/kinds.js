// SPDX-License-Identifier: MIT
// Kinds of frames, with their colours: blue to orange rather than red to green, and of different
// lightness, so that few are confused by people who see colours differently.

// The order of enum frame_class.
const CLASS_KINDS = ["native", "python", "jit", "os", "api", "nvtx", "gpu", "copy", "wait", "call",
	"place", "mark"];

// In the order of the legend: word, label, colour on white, colour on black.
export const KINDS = [
	["native", "C, C++, other native code", "#f0b95a", "#8f610d"],
	["python", "Python", "#7fb2e5", "#2b6299"],
	["jit", "JIT-compiled", "#efe37a", "#726a12"],
	["os", "Linux kernel", "#e88a63", "#9a4421"],
	["start", "start-up", "#d3d0c8", "#4f4d48"],
	["nvtx", "NVTX range", "#dfa3c9", "#87456d"],
	["api", "CUDA call", "#b5e0f2", "#2f6a7f"],
	["gpu", "GPU kernel", "#3fb98e", "#0b6d4c"],
	["copy", "GPU copy or other work", "#a4dcc3", "#3f6357"],
	["wait", "waiting for GPU", "#b6b1de", "#59538a"],
	["call", "CUDA call, wall time", "#cbb6e6", "#68498f"],
	["place", "process, thread, device", "#c2ccd6", "#414d59"],
	["mark", "about the stack", "#e6e4df", "#3d3c39"],
].map(([word, label, light, dark]) => ({word, label, light, dark}));

const NUMBERS = new Map(KINDS.map((kind, number) => [kind.word, number]));

// A name begins with one of these, and ends there or goes on as a version or a clone.
const START = new RegExp("^(_start|__libc_start_main|__libc_start_main_impl|__libc_start_call_main|" +
	"_dl_start|_dl_start_user|clone|__clone|clone3|__clone3|__clone_internal|start_thread|" +
	"execute_native_thread_routine)([@.]|$)");

// By frame, positions in KINDS.
export function kindsOfFrames(frames) {
	const start = NUMBERS.get("start"), native = NUMBERS.get("native");
	const classes = CLASS_KINDS.map(word => NUMBERS.get(word));

	return Uint8Array.from(frames.class, (number, i) => {
		const kind = classes[number] ?? NUMBERS.get("mark");

		return kind === native && START.test(frames.name[i]) ? start : kind;
	});
}

export function isKind(kind, ...words) {
	return words.includes(KINDS[kind].word);
}
