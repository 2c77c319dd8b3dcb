// SPDX-License-Identifier: MIT
// Labels of frames, which tell them apart in little room.
import {groupBy} from "./data.js";
import {KINDS} from "./kinds.js";
import {firstWhere} from "./spans.js";

const LONGEST_NAME = 400; // no box has room for more
const LONGEST_READ = 4096; // characters of a kernel's name

// Returns the text with its outermost template arguments as "<…>": "f<…>::g". A text with unpaired brackets, as "operator<", stays.
// So do brackets that follow no name: "<module>", "<T as U>::f".
export function elideArguments(text) {
	let result = "",
		depth = 0;

	for (const c of text) {
		if (c === "<" && depth === 0 && !/\w$/.test(result)) return text;
		if (c === "<" && depth++ === 0) result += "<…>";
		if (depth === 0) result += c;
		if (c === ">" && --depth < 0) return text;
	}
	return depth === 0 ? result : text;
}

// Returns where nested names begin: after each "::" outside of brackets.
function partStarts(text) {
	const starts = [];
	let depth = 0;

	for (let i = 0; i < text.length; i++) {
		if ("<({".includes(text[i])) depth++;
		else if (">)}".includes(text[i])) depth--;
		else if (depth === 0 && text.startsWith("::", i)) starts.push((i += 2));
	}
	return starts;
}

// Returns where the parts of a layer's path begin: "[layers.18.mlp]".
function layerStarts(text) {
	return Array.from(text.matchAll(/\.(?=.)/gs), dot => dot.index + 1);
}

// Returns the longest beginning that passes `fits`. It ends at the end of a word if one is near.
function cutTail(text, fits) {
	let low = firstWhere(0, text.length, at => !fits(`${text.slice(0, at + 1)}…`));

	if (fits(text)) return text;
	if (low < 2) return "";
	// do not split a surrogate pair
	if (/[\ud800-\udbff]/.test(text[low - 1])) low--;
	const word = text.slice(0, low).search(/[^A-Za-z0-9][A-Za-z0-9]*$/);

	if (word > 0 && low - word <= 4 && /[A-Za-z0-9]/.test(text[low] ?? "")) low = word;
	text = text.slice(0, low).trimEnd();
	return /^_*$/.test(text) ? "" : `${text}…`; // "__…" tells nothing
}

// Returns the best form of a name that fits, or "" if no useful one does. The prefix of a range or an operator goes first:
// "op:aten::mm", not "op::run". Then of a layer's path the outer parts. `shared` characters are those of all siblings.
export function cutName(name, fits, isLayer = false, shared = 0) {
	let text = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;

	if (fits(text)) return text;
	if (shared > 0) {
		const own = text.slice(shared);
		if (fits(`…${own}`)) return `…${own}`;
		if (!isLayer) text = own;
	}
	// "forward (model.py:42)": only the function
	const place = text.search(/ \([^()]*\)$/);

	if (place > 0) {
		text = text.slice(0, place);
		if (fits(text)) return text;
	}
	text = text.replace(/^(nvtx|op):(?=[^:])/, "");
	const plain = elideArguments(text);

	if (fits(plain)) return plain;
	const starts = isLayer ? layerStarts(plain) : partStarts(plain);

	for (const start of starts) {
		const inner = `…${plain.slice(start)}`;
		if (fits(inner)) return inner;
	}
	const last = starts.length > 0 ? plain.slice(starts.at(-1)) : plain;

	return cutTail(last.endsWith("<…>") ? last.slice(0, -3) : last, fits);
}

// ---- kernels of libraries ----

const OPERATIONS = /^(?:[a-z]?gemm\w*|fprop|bprop|dgrad|wgrad|scudnn|nvjet|sdpa|flash|fmha)$|(?:gemm|fprop|dgrad|wgrad)$/;
const NUMBER_TYPES = /^(?:tf32|bf16|f16|f64|e[45]m[23]|[isu]8)/;
const LIBRARY = /^(?:at|at_cuda_detail|cub|thrust|cublas\w*|cudnn\w*|cutlass\w*|(?:pytorch_)?flash)::|^elementwise_kernel_with_index</;
const OF_FUNCTOR = /^(?:[a-z]+_)?elementwise|^reduce$|^multi_tensor_apply$/;
// what templates take besides the functor
const NO_FUNCTOR =
	/^(?:float|double|int|long|short|unsigned|char|bool|array|Half|BFloat16|ReduceOp|func_wrapper_t|gpu_kernel_impl\w*|\w*Metadata|[AB]?(?:Unary|Binary|Ternary|Pointwise)(?:Op)?(?:Scalar)?(?:List|Tensor)?Functor)$/;

// Tells a name that lists its tiles, of cuBLAS, CUTLASS or cuDNN: "gemm bf16 nn 128x128x64"; or returns "".
function tellTiles(name) {
	const words = name.split("_"),
		at = words.findIndex(word => /^(?:tilesize)?\d+x\d+/.test(word)),
		[tile] = /\d+x\d+(?:x\d+)?/.exec(words[at]) ?? [""];
	const depth = /^\d+x\d+$/.test(tile) ? /^(\d+)x\d+$/.exec(words[at + 1])?.[1] : null; // with the number of stages
	const operations = words.filter(word => OPERATIONS.test(word)).map(word => word.replace(/^[a-z]\d+/, ""));

	if (operations.length === 0 || tile === "") return "";
	return [
		...operations,
		{cutlassF: "forward", cutlassB: "backward"}[words[1]],
		words.map(word => NUMBER_TYPES.exec(word)?.[0]).find(number => number),
		words.find(word => /^[nt]{2,3}$/i.test(word)),
		depth ? `${tile}x${depth}` : tile,
	]
		.filter(part => part)
		.join(" ");
}

// Returns what a kernel of a library computes, in few words, or its name.
export function tellKernel(name, shortName) {
	const plain = name.slice(0, LONGEST_READ).replace(/^\[GPU_Kernel\]/, "").replaceAll("(anonymous namespace)::", "");
	const wrapped = /^cutlass\w*::(?:Kernel2?|device_kernel)<([\w:]+)/.exec(plain)?.[1],
		[head] = /^[\w:]*/.exec(wrapped ?? plain),
		fused = /^triton_[a-z]+_fused_+(.+)/.exec(head);
	const tiles = head.includes(":") ? "" : tellTiles(head);

	if (fused) return `triton ${fused[1]}`;
	if (tiles) return tiles;
	if (!LIBRARY.test(plain)) return shortName;
	const parts = (/\bFlashAttn\w+/.exec(plain)?.[0] ?? head).replace(/::kernel$/, "").split("::"),
		sizes = /traits<(\d+), (\d+), (\d+)/.exec(plain),
		base = parts.at(-1).replace(/_?[Kk]ernel(?=_|$)/, "");
	const functor =
		OF_FUNCTOR.test(base) &&
		plain.slice(head.length).match(/\b[A-Za-z_]\w*\b(?!::)/g)?.find(word => !NO_FUNCTOR.test(word));
	const short =
		functor &&
		functor.replace(/^CUDAFunctor(?:OnSelf)?_|(?:_?[Ff]unctor|(?:CUDA|_)?[Kk]ernel(?:Impl|_cuda)?|Ops?|_cuda(?:_out)?)$/g, "");

	return [
		base.replace(/^(?:vectorized|unrolled)_(?=elementwise)/, "") || shortName,
		short || functor,
		sizes && sizes.slice(1).join("x"),
	]
		.filter(part => part)
		.join(" ");
}

// ---- labels ----

const MOST_TOLD_APART = 200; // names with one label; more keep their names

// Lists frames by their label, where several names have it.
function sameLabels(frames, labels, chosen) {
	const by = groupBy(chosen, i => labels[i]);
	return [...by.values()].filter(list => list.some(i => frames.name[i] !== frames.name[list[0]]));
}

// Adds to equal labels the first words that not all of their names have, as many as tell them apart.
function tellApart(frames, labels, list) {
	const words = list.map(i => new Set(frames.name[i].slice(0, LONGEST_READ).match(/[A-Za-z0-9]+/g))),
		own = words
			.map(set => [...set].filter(word => words.some(other => !other.has(word))))
			.map(some => [...some.filter(word => /^[A-Za-z]/.test(word)), ...some.filter(word => /^[0-9]/.test(word))]),
		most = Math.max(...own.map(some => some.length)),
		names = new Set(list.map(i => frames.name[i])).size;

	for (let count = 1; count <= most; count++) {
		const longer = list.map((i, k) => [labels[i], ...own[k].slice(0, count)].join(" "));
		if (new Set(longer).size < names) continue;
		return list.forEach((i, k) => (labels[i] = longer[k]));
	}
}

// Returns labels of frames: short names; what kernels compute; libraries without their hash. Equal labels of those are of one name.
export function labelFrames(frames, kinds) {
	const chosen = [];
	const labels = frames.shortName.map((short, i) => {
		const name = short || frames.name[i];

		if (KINDS[kinds[i]].word === "gpu") {
			chosen.push(i);
			return tellKernel(frames.name[i], name);
		}
		if (!/^\[.{0,200}\.so/.test(name)) return name;
		chosen.push(i);
		return name.replace(/-[0-9a-f]{8,40}(?=\.so)/, "");
	});

	for (const list of sameLabels(frames, labels, chosen)) if (list.length <= MOST_TOLD_APART) tellApart(frames, labels, list);
	for (const list of sameLabels(frames, labels, chosen)) for (const i of list) labels[i] = frames.name[i];
	return labels;
}

// Returns how many characters all labels begin with that need not be seen: whole words, or 0.
export function sharedLength(labels) {
	const first = labels[0].slice(0, LONGEST_NAME);
	let length = labels.length > 1 ? first.length : 0;
	for (const label of labels) while (!label.startsWith(first.slice(0, length))) length--;
	length = first.slice(0, length).replace(/[A-Za-z0-9]*$/, "").length;
	return length > 3 && labels.every(label => label.length > length) ? length : 0;
}
