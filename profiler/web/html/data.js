// SPDX-License-Identifier: MIT
// Reads the page's data, as profiler/web/html.c writes it.

export const ROW_CPU = 0,
	ROW_GPU = 1,
	ROW_WAIT = 2,
	ROW_CALL = 3,
	ROW_IDLE = 4,
	ROW_KINDS = 5;
export const UNKNOWN = -1;
const FORMAT = 10;

function decodeBase64(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);

	for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
	return bytes;
}

async function inflate(bytes) {
	const {readable, writable} = new DecompressionStream("gzip"),
		writer = writable.getWriter(),
		chunks = [];
	let size = 0;

	// what is wrong with the bytes is an error of reading, too
	writer.write(bytes).catch(() => {});
	writer.close().catch(() => {});
	const reader = readable.getReader();

	for (let step; !(step = await reader.read()).done; size += step.value.length) chunks.push(step.value);
	const all = new Uint8Array(size);

	for (const chunk of chunks.reverse()) all.set(chunk, (size -= chunk.length));
	return all;
}

export function makeReader(bytes) {
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
	function texts() {
		const lengths = column(number(), Float64Array),
			list = new Array(lengths.length);
		const decoder = new TextDecoder("utf-8", {ignoreBOM: true});

		for (let i = 0; i < lengths.length; i++) {
			if (at + lengths[i] > bytes.length) throw new Error("the data ends too early");
			list[i] = decoder.decode(bytes.subarray(at, (at += lengths[i])));
		}
		return list;
	}

	// A length, then the text.
	function text() {
		const size = number();

		if (at + size > bytes.length) throw new Error("the data ends too early");
		return new TextDecoder().decode(bytes.subarray(at, (at += size)));
	}

	return {number, fill, words, column, texts, text, isAtEnd: () => at === bytes.length};
}

function plusUnknown(list) {
	for (let i = 0; i < list.length; i++) list[i]--;
	return list;
}

function readFacts(reader, texts) {
	const count = reader.number();
	const names = reader.column(count, Uint32Array);
	const values = reader.column(count, Float64Array);

	return Array.from(names, (name, i) => [texts[name - 1], values[i]]);
}

// In the order of enum figure_kind in profiler/tables/report_table.h.
export const FIGURE_TEXT = 0,
	FIGURE_FRAME = 1,
	FIGURE_COUNT = 2,
	FIGURE_TIME = 3,
	FIGURE_BYTES = 4,
	FIGURE_SHARE = 5,
	FIGURE_THOUSANDTHS = 6,
	FIGURE_NOTE = 7,
	FIGURE_NUMBER = 8;

// Reads tables beside the profile: {key, title, leftOut, columns: [{label, kind}], rows}. A row
// is a list of its cells.
function readFigures(reader, text, frameCount) {
	return Array.from({length: reader.number()}, () => {
		const key = text(reader.number()),
			title = text(reader.number()),
			leftOut = reader.number(),
			count = reader.number();
		const labels = Array.from(reader.column(count, Uint32Array), text),
			kinds = reader.column(count, Uint8Array);
		const rows = Array.from({length: reader.number()}, () => []);

		for (const kind of kinds)
			for (const row of rows) {
				const number = reader.number();

				if (kind === FIGURE_FRAME && number >= frameCount)
					throw new Error("a table refers to no frame");
				if (kind === FIGURE_NUMBER) row.push(Number(text(number)));
				else row.push([FIGURE_TEXT, FIGURE_NOTE].includes(kind) ? text(number) : number);
			}
		return {key, title, leftOut, columns: labels.map((label, i) => ({label, kind: kinds[i]})), rows};
	});
}

// Reads the weights that stacks can be drawn by in place of time: [{title, unit, note, rows}].
// Rows are like those of GPU work, with values in place of ns.
function readWeights(reader, text, stackCount, placeCount) {
	return Array.from({length: reader.number()}, () => {
		const title = text(reader.number()),
			unit = text(reader.number()),
			note = text(reader.number()),
			count = reader.number();
		const rows = {
			count,
			stack: reader.column(count, Uint32Array),
			kind: new Uint8Array(count).fill(ROW_GPU),
			place: plusUnknown(reader.column(count, Float64Array)),
			operations: reader.column(count, Float64Array),
			ns: reader.column(count, Float64Array),
			bytes: new Float64Array(count),
		};

		for (let i = 1; i < count; i++) rows.stack[i] += rows.stack[i - 1];
		for (let i = 0; i < count; i++)
			if (rows.stack[i] >= stackCount || rows.place[i] >= placeCount)
				throw new Error("a weight refers to nothing");
		return {title, unit, note, rows};
	});
}

// Reads the source of device code: [{file, state, hasChanged, lines: texts by line number}]. The
// file with most time is first.
function readSources(reader, text) {
	const count = reader.number();
	const names = Array.from(reader.column(count, Uint32Array), text),
		states = reader.column(count, Uint8Array),
		changes = reader.column(count, Uint8Array),
		partCounts = reader.column(count, Uint32Array);
	const columns = () => Array.from(partCounts, parts => reader.column(parts, Uint32Array));
	const firsts = columns(),
		counts = columns();

	return names.map((file, i) => {
		const texts = reader.text().split("\n"),
			lines = new Map();
		let at = 0;

		firsts[i].forEach((first, part) => {
			for (let k = 0; k < counts[i][part] && at < texts.length; k++)
				lines.set(first + k, texts[at++]);
		});
		// nothing follows the last newline
		if (at !== texts.length - 1) throw new Error("a source has other lines than it says");
		return {file, state: states[i], hasChanged: changes[i] !== 0, lines};
	});
}

// Roles of frames for users who look for their own code. In the order of enum code_role in
// profiler/shape/code_role.h; then frames of packages, which library code is folded to.
export const ROLE_OWN = 0,
	ROLE_CALLERS = 1, // that of what calls it: plumbing below a package, else own
	ROLE_KEPT = 2,
	ROLE_KERNEL_MODE = 3,
	ROLE_PACKAGE = 4,
	ROLE_PLUMBING = 5,
	ROLE_FOLDED = 6;

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
	for (const [key, value] of Object.entries({class: 0, kind, line: 0, role: ROLE_FOLDED, folded: -1})) {
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

		if (
			[ROLE_CALLERS, ROLE_PACKAGE, ROLE_PLUMBING].includes(role)
				? frames.folded[i] < 0
				: role > ROLE_FOLDED
		)
			throw new Error("a frame is folded to nothing");
	}
}

// Returns what is known of kernels: a map from a frame to pairs of label and text.
function readFrameFacts(reader, text, frameCount) {
	const count = reader.number(),
		frame = reader.column(count, Uint32Array),
		label = reader.column(count, Uint32Array),
		value = reader.column(count, Uint32Array),
		facts = new Map();

	for (let i = 0; i < count; i++) {
		if (frame[i] >= frameCount) throw new Error("a fact has no frame");
		if (!facts.has(frame[i])) facts.set(frame[i], []);
		facts.get(frame[i]).push([text(label[i]), text(value[i])]);
	}
	return facts;
}

// Reads the steps of the main loop: {start: ns since the command's start, of each and the end of the last one, warmUp: how
// many of them are warm-up}.
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

export function readProfile(bytes) {
	const reader = makeReader(bytes);
	const format = reader.number();

	if (format !== FORMAT) throw new Error(`the data has format ${format}, not ${FORMAT}`);
	const texts = reader.texts();
	const text = number => (number === 0 ? "" : texts[number - 1]);
	const textColumn = count => Array.from(reader.column(count, Uint32Array), text);
	const facts = new Map(readFacts(reader, texts));
	const losses = readFacts(reader, texts);
	let count = reader.number();
	const frames = {
		count,
		class: reader.column(count, Uint8Array),
		name: textColumn(count),
		shortName: textColumn(count),
		file: textColumn(count),
		module: textColumn(count),
		line: reader.column(count, Uint32Array),
		role: reader.column(count, Uint8Array),
		folded: textColumn(count),
		kind: reader.column(count, Uint8Array), // position in FRAME_KINDS of kinds.js
		workClass: textColumn(count), // of kernels
	};

	count = reader.number() + 1;
	const parent = new Int32Array(count),
		frame = new Int32Array(count),
		site = new Int32Array(count).fill(-1); // the frame of a launch site; -1: none

	parent[0] = frame[0] = -1;
	for (let i = 1; i < count; i++) {
		parent[i] = i - reader.number();
		if (!(parent[i] >= 0 && parent[i] < i)) throw new Error("a stack is inside none");
	}
	for (let i = 1; i < count; i++) {
		frame[i] = reader.number();
		if (frame[i] >= frames.count) throw new Error("a stack has no frame");
	}
	for (let i = 1; i < count; i++) {
		site[i] = reader.number() - 1;
		if (site[i] >= frames.count) throw new Error("a launch site has no frame");
	}
	const stacks = {count, parent, frame, site};

	count = reader.number();
	const processes = {
		count,
		number: reader.column(count, Uint32Array),
		pid: reader.column(count, Uint32Array),
		name: textColumn(count),
	};

	count = reader.number();
	const threads = {
		count,
		process: reader.column(count, Uint32Array),
		tid: reader.column(count, Uint32Array),
		name: textColumn(count),
	};

	count = reader.number();
	const devices = {
		count,
		process: reader.column(count, Uint32Array),
		number: reader.column(count, Uint32Array),
		label: textColumn(count),
		name: textColumn(count),
	};

	count = reader.number();
	const part = () => plusUnknown(reader.column(count, Float64Array));
	const places = {
		count,
		process: part(),
		thread: part(),
		device: part(),
		context: part(),
		stream: part(),
	};

	count = reader.number();
	const rows = {
		count,
		stack: reader.column(count, Uint32Array),
		kind: reader.column(count, Uint8Array),
		place: plusUnknown(reader.column(count, Float64Array)),
		operations: reader.column(count, Float64Array),
		ns: reader.column(count, Float64Array),
		bytes: reader.column(count, Float64Array),
	};

	for (let i = 1; i < count; i++) rows.stack[i] += rows.stack[i - 1];
	for (let i = 0; i < count; i++)
		if (
			rows.stack[i] >= stacks.count ||
			rows.kind[i] >= ROW_KINDS ||
			rows.place[i] >= places.count
		)
			throw new Error("a row refers to nothing");
	const weights = readWeights(reader, text, stacks.count, places.count);
	const figures = readFigures(reader, text, frames.count);
	const sources = readSources(reader, text);

	frames.facts = readFrameFacts(reader, text, frames.count);
	const steps = readSteps(reader),
		difference = readDifference(reader, text, rows.count);

	if (!reader.isAtEnd()) throw new Error("the data goes on after its end");
	for (const fact of ["version", "command", "shown", "weight", "weight unit", "weight note"])
		if (facts.has(fact)) facts.set(fact, text(facts.get(fact)));
	addPackages(frames);
	return {facts, losses, frames, stacks, processes, threads, devices, places, rows, weights, figures, sources, steps, difference};
}

export function unpackBytes(text) {
	return inflate(decodeBase64(text.trim()));
}

export async function unpackProfile(text) {
	return readProfile(await unpackBytes(text));
}
