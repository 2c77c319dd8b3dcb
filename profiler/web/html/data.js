// SPDX-License-Identifier: MIT
// Reads the page's data, as profiler/web/html.c writes it.

export const ROW_CPU = 0,
	ROW_GPU = 1,
	ROW_WAIT = 2,
	ROW_CALL = 3,
	ROW_IDLE = 4,
	ROW_KINDS = 5;
export const UNKNOWN = -1;
const FORMAT = 11;

// Returns what a map has for a key: what `make` returns, unless it has something.
export function getOrMake(map, key, make) {
	if (!map.has(key)) map.set(key, make());
	return map.get(key);
}

// Returns lists of items by key.
export function groupBy(items, keyOf) {
	const groups = new Map();
	for (const item of items) getOrMake(groups, keyOf(item), () => []).push(item);
	return groups;
}

function decodeBase64(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
	return bytes;
}

async function inflate(bytes) {
	const {readable, writable} = new DecompressionStream("gzip"),
		writer = writable.getWriter();

	// what is wrong with the bytes is an error of reading, too
	writer.write(bytes).catch(() => {});
	writer.close().catch(() => {});
	return new Uint8Array(await new Response(readable).arrayBuffer());
}

export function makeReader(bytes) {
	const decoder = new TextDecoder("utf-8", {ignoreBOM: true});
	let at = 0;

	// Reads a number. Above 2^53 it is the nearest one that JavaScript has.
	function number() {
		let value = 0,
			scale = 1;

		for (;;) {
			if (at >= bytes.length) throw new Error("the data ends too early");
			const byte = bytes[at++];
			value += (byte & 127) * scale;
			if (byte < 128) return value;
			scale *= 128;
		}
	}

	// Reads numbers into a list of zeros at [from, end). Returns the largest. There are millions. Lists of more than four
	// types would take eight times as long: they are Float64Array and Uint32Array.
	function fill(list, from, end) {
		let next = at,
			most = 0;

		for (let i = from; i < end; i++) {
			let byte = bytes[next++],
				value = byte & 127;

			for (let scale = 128; byte >= 128; scale *= 128) {
				byte = bytes[next++];
				value += (byte & 127) * scale;
			}
			if (byte === undefined) throw new Error("the data ends too early");
			// zeros are not written: of a column of zeros, no memory is touched
			if (value === 0) continue;
			list[i] = value;
			if (value > most) most = value;
		}
		at = next;
		return most;
	}

	// Returns numbers of four bytes each, the lowest first, as nearly all computers have them. They are not copied.
	function words(count) {
		const from = at;
		at += 4 * count;
		if (at > bytes.length) throw new Error("the data ends too early");
		return new Uint32Array(bytes.buffer, bytes.byteOffset + from, count);
	}

	function column(count, List) {
		const list = new Float64Array(count);
		fill(list, 0, count);
		return List === Float64Array ? list : new List(list);
	}

	// Texts may hold any bytes. What is not UTF-8 becomes U+FFFD.
	function decode(size) {
		if (at + size > bytes.length) throw new Error("the data ends too early");
		return decoder.decode(bytes.subarray(at, (at += size)));
	}

	function texts() {
		const lengths = column(number(), Float64Array),
			list = new Array(lengths.length);
		for (let i = 0; i < lengths.length; i++) list[i] = decode(lengths[i]);
		return list;
	}

	// A length, then the text.
	const text = () => decode(number());

	return {number, fill, words, column, texts, text, isAtEnd: () => at === bytes.length};
}

// Returns what reads columns and tables: each kind of column by the number of its rows.
function makeColumns(reader, list) {
	const text = number => (number === 0 ? "" : list[number - 1]),
		numbers = List => count => reader.column(count, List),
		words = numbers(Uint32Array),
		reals = numbers(Float64Array);

	return {
		text,
		bytes: numbers(Uint8Array),
		words,
		reals,
		texts: count => Array.from(words(count), text),
		orUnknown: count => reals(count).map(number => number - 1),
		// Reads a number of rows, and columns by name.
		table(columns) {
			const count = reader.number(),
				entries = Object.entries(columns).map(([name, read]) => [name, read(count)]);
			return {count, ...Object.fromEntries(entries)};
		},
	};
}

function readFacts({table, texts, reals}) {
	const {name, value} = table({name: texts, value: reals});
	return name.map((text, i) => [text, value[i]]);
}

// In the order of enum figure_kind in profiler/tables/report_table.h.
export const FIGURE = {TEXT: 0, FRAME: 1, COUNT: 2, TIME: 3, BYTES: 4, SHARE: 5, THOUSANDTHS: 6, NOTE: 7, NUMBER: 8};

// Reads tables beside the profile: {key, title, leftOut, columns: [{label, kind}], rows}. A row is a list of its cells.
function readFigures({number}, {text, table, texts, bytes}, frameCount) {
	return Array.from({length: number()}, () => {
		const key = text(number()),
			title = text(number()),
			leftOut = number(),
			{label, kind} = table({label: texts, kind: bytes});
		const rows = Array.from({length: number()}, () => []);

		for (const one of kind)
			for (const row of rows) {
				const cell = number();
				if (one === FIGURE.FRAME && cell >= frameCount) throw new Error("a table refers to no frame");
				if (one === FIGURE.NUMBER) row.push(Number(text(cell)));
				else row.push([FIGURE.TEXT, FIGURE.NOTE].includes(one) ? text(cell) : cell);
			}
		return {key, title, leftOut, columns: label.map((text, i) => ({label: text, kind: kind[i]})), rows};
	});
}

// Adds up the differences of rows' stacks.
function finishRows(rows, stacks, places) {
	for (let i = 1; i < rows.count; i++) rows.stack[i] += rows.stack[i - 1];
	for (let i = 0; i < rows.count; i++)
		if (rows.stack[i] >= stacks.count || rows.kind[i] >= ROW_KINDS || rows.place[i] >= places.count)
			throw new Error("a row refers to nothing");
	return rows;
}

// Reads the weights that stacks can be drawn by: [{title, unit, note, rows}]. Rows are as of GPU work, with values in place of ns.
function readWeights({number}, {text, table, words, reals, orUnknown}, stacks, places) {
	return Array.from({length: number()}, () => ({
		title: text(number()),
		unit: text(number()),
		note: text(number()),
		rows: finishRows(
			table({
				stack: words,
				kind: count => new Uint8Array(count).fill(ROW_GPU),
				place: orUnknown,
				operations: reals,
				ns: reals,
				bytes: count => new Float64Array(count),
			}),
			stacks,
			places,
		),
	}));
}

// Reads the source of device code: [{file, state, hasChanged, lines: texts by line number}]. The file with most time is first.
function readSources(reader, {table, texts, bytes, words}) {
	const {file, state, hasChanged, parts} = table({file: texts, state: bytes, hasChanged: bytes, parts: words});
	const columns = () => Array.from(parts, words),
		firsts = columns(),
		counts = columns();

	return file.map((name, i) => {
		const list = reader.text().split("\n"),
			lines = new Map();
		let at = 0;

		firsts[i].forEach((first, part) => {
			for (let k = 0; k < counts[i][part] && at < list.length; k++) lines.set(first + k, list[at++]);
		});
		// nothing follows the last newline
		if (at !== list.length - 1) throw new Error("a source has other lines than it says");
		return {file: name, state: state[i], hasChanged: hasChanged[i] !== 0, lines};
	});
}

// Roles of frames, by enum code_role in profiler/shape/code_role.h; then that of packages, which library code is folded to.
export const ROLE = {
	OWN: 0,
	CALLERS: 1, // that of what calls it: plumbing below a package, else own
	KEPT: 2,
	KERNEL_MODE: 3,
	PACKAGE: 4,
	PLUMBING: 5,
	FOLDED: 6,
};

// From enum frame_kind in profiler/shape/frame_kind.h.
const KIND_NATIVE = 2,
	KIND_PYTHON = 3;

const PYTHON_FOLDER = /\/(site|dist)-packages\/|\/lib(64)?\/python[2-9][\d.t]*\//;

function isOfPython(frames, i, text) {
	if (frames.kind[i] === KIND_PYTHON || text === "[python]") return true;
	return frames.kind[i] === KIND_NATIVE && !text.includes(".so") && PYTHON_FOLDER.test(frames.module[i]);
}

// Adds frames without a place behind all others. Returns their numbers by text.
export function addFrames(frames, texts, kind) {
	const numbers = new Map();

	for (const text of texts) {
		numbers.set(text, frames.count++);
		frames.name.push(text);
		frames.shortName.push(text);
		frames.file.push("");
		frames.module.push("");
	}
	for (const [key, value] of Object.entries({class: 0, kind, line: 0, role: ROLE.FOLDED, folded: -1})) {
		const longer = new frames[key].constructor(frames.count).fill(value);
		longer.set(frames[key]);
		frames[key] = longer;
	}
	return numbers;
}

// Adds a frame for each text that frames are folded to. Sets `folded` to its number, or -1 for frames that stay.
function addPackages(frames) {
	const texts = frames.folded,
		ofPython = new Set(texts.filter((text, i) => isOfPython(frames, i, text))); // as code_role_is_python says

	frames.folded = new Int32Array(frames.count);
	const numbers = addFrames(frames, new Set(texts.filter(text => text !== "")), KIND_NATIVE);

	for (const [text, number] of numbers) if (ofPython.has(text)) frames.kind[number] = KIND_PYTHON;
	frames.folded = Int32Array.from(frames.name, (_, i) => numbers.get(texts[i]) ?? -1);
	for (let i = 0; i < frames.count; i++) {
		const role = frames.role[i];
		if ([ROLE.CALLERS, ROLE.PACKAGE, ROLE.PLUMBING].includes(role) ? frames.folded[i] < 0 : role > ROLE.FOLDED)
			throw new Error("a frame is folded to nothing");
	}
}

// Returns what is known of kernels: a map from a frame to pairs of label and text.
function readFrameFacts({table, words, texts}, frameCount) {
	const {frame, label, value} = table({frame: words, label: texts, value: texts}),
		facts = new Map();
	frame.forEach((of, i) => {
		if (of >= frameCount) throw new Error("a fact has no frame");
		getOrMake(facts, of, () => []).push([label[i], value[i]]);
	});
	return facts;
}

// Reads counters of devices' state: [{device, name, start: ns since the command's start, value, most}].
function readStates({table, texts, words, reals}) {
	const {device, name} = table({device: texts, name: texts}),
		{counter, start, value} = table({counter: words, start: reals, value: reals}),
		states = device.map((label, i) => ({device: label, name: name[i], start: [], value: [], most: 0}));
	counter.forEach((at, i) => {
		const state = states[at];
		if (!state) throw new Error("a value is of no counter");
		state.start.push(start[i] * 1e6);
		state.value.push(value[i]);
		state.most = Math.max(state.most, value[i]);
	});
	return states.filter(({most}) => most > 0);
}

// Reads the steps of the main loop: {start: ns of each, and the end of the last one, warmUp: how many are warm-up}.
function readSteps(reader) {
	const start = reader.column(reader.number(), Float64Array);
	for (let i = 1; i < start.length; i++) start[i] += start[i - 1];
	return {start, warmUp: reader.number()};
}

// From enum change_verdict in profiler/tables/change.h.
export const VERDICTS = ["same", "noise", "unknown", "new", "gone", "more", "less"];

// Reads what a comparison has besides: profiler/web/html_difference.h. Null: the report is of one run.
function readDifference(reader, text, rowCount) {
	const {number} = reader,
		readText = () => text(number()),
		list = read => Array.from({length: number()}, read),
		column = () => reader.column(rowCount, Float64Array);
	const readChange = () => ({
		name: readText(),
		unit: number(),
		before: number(),
		after: number(),
		bound: number() - 1,
		verdict: VERDICTS[number()],
	});
	const readSide = runs => ({runs, command: readText(), shown: readText()});
	const before = number();

	if (before === 0) return null;
	const sides = [readSide(before), readSide(number())],
		flags = number();

	return {
		sides,
		isOfSteps: (flags & 1) > 0,
		isNormalized: (flags & 2) > 0,
		widths: flags & 4 ? "before" : "after",
		length: readText(),
		values: Array.from({length: before + sides[1].runs}, column), // by run
		counts: sides.map(() => ({count: column(), sampled: column(), measured: column()})),
		variants: list(() => ({name: readText(), match: readText(), variant: readText(), on: number()})),
		tables: list(() => ({key: readText(), rows: list(readChange)})),
	};
}

export function readProfile(data) {
	const reader = makeReader(data);
	const format = reader.number();

	if (format !== FORMAT) throw new Error(`the data has format ${format}, not ${FORMAT}`);
	const columns = makeColumns(reader, reader.texts()),
		{text, table, bytes, words, reals, texts, orUnknown} = columns;
	const facts = new Map(readFacts(columns)),
		losses = readFacts(columns);
	const frames = table({
		class: bytes,
		name: texts,
		shortName: texts,
		file: texts,
		module: texts,
		line: words,
		role: bytes,
		folded: texts,
		kind: bytes, // number of KINDS in kinds.js
		workClass: texts, // of kernels
	});
	const given = table({outer: words, frame: words, site: words}),
		count = given.count + 1,
		column = () => new Int32Array(count).fill(-1),
		stacks = {count, parent: column(), frame: column(), site: column()}; // of a launch site, the frame; -1: none

	for (let i = 1; i < count; i++) {
		stacks.parent[i] = i - given.outer[i - 1];
		stacks.frame[i] = given.frame[i - 1];
		stacks.site[i] = given.site[i - 1] - 1;
		if (!(stacks.parent[i] >= 0 && stacks.parent[i] < i)) throw new Error("a stack is inside none");
		if (!(stacks.frame[i] >= 0 && stacks.frame[i] < frames.count)) throw new Error("a stack has no frame");
		if (stacks.site[i] >= frames.count) throw new Error("a launch site has no frame");
	}
	const processes = table({number: words, pid: words, name: texts}),
		threads = table({process: words, tid: words, name: texts}),
		devices = table({process: words, number: words, label: texts, name: texts}),
		places = table({process: orUnknown, thread: orUnknown, device: orUnknown, context: orUnknown, stream: orUnknown});
	const rows = finishRows(
			table({stack: words, kind: bytes, place: orUnknown, operations: reals, ns: reals, bytes: reals}),
			stacks,
			places,
		),
		weights = readWeights(reader, columns, stacks, places),
		figures = readFigures(reader, columns, frames.count),
		sources = readSources(reader, columns);

	frames.facts = readFrameFacts(columns, frames.count);
	const steps = readSteps(reader),
		states = readStates(columns),
		difference = readDifference(reader, text, rows.count);

	if (!reader.isAtEnd()) throw new Error("the data goes on after its end");
	for (const fact of ["version", "command", "shown", "weight", "weight unit", "weight note"])
		if (facts.has(fact)) facts.set(fact, text(facts.get(fact)));
	addPackages(frames);
	return {facts, losses, frames, stacks, processes, threads, devices, places, rows, weights, figures, sources, steps, states, difference};
}

export function unpackBytes(text) {
	return inflate(decodeBase64(text.trim()));
}

export async function unpackProfile(text) {
	return readProfile(await unpackBytes(text));
}
