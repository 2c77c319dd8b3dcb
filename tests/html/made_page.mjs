// SPDX-License-Identifier: MIT
// Profiles that are made up, in the form that profiler/web/html.c writes.
import {gzipSync} from "node:zlib";

function encodeNumber(bytes, number) {
	for (; number >= 128; number = Math.floor(number / 128)) bytes.push((number % 128) + 128);
	bytes.push(number);
}

// The usual enum frame_kind of each enum frame_class.
const KINDS_OF_CLASSES = [2, 3, 4, 5, 9, 6, 10, 11, 14, 15, 0, 17, 2, 12, 13, 16, 3, 7, 8];

// What profiler/web/html.c would write: data() of the page. Frames are {class, name, shortName,
// file, module, line, role, folded, workClass}, stacks {outer, frame, site} from number 1 on, rows {stack, kind, place, count, ns,
// bytes} in order of their stacks, places lists of 5 numbers, -1 for unknown.
export function encodeProfile({
	facts = {},
	losses = {},
	frames = [],
	stacks = [],
	processes = [],
	threads = [],
	devices = [],
	places = [],
	rows = [],
	weights = [],
	figures = [],
	sources = [],
	kernels = [],
	steps = [],
	warmUp = 0,
	states = [],
	difference = null,
}) {
	const texts = [],
		numbers = new Map(),
		chunks = [],
		body = [];
	const text = value => {
		if (value === undefined || value === null || value === "") return 0;
		if (!numbers.has(value)) {
			texts.push(Buffer.isBuffer(value) ? value : Buffer.from(value));
			numbers.set(value, texts.length);
		}
		return numbers.get(value);
	};
	const number = value => encodeNumber(body, value);
	const table = (list, ...columns) => {
		number(list.length);
		for (const column of columns) list.forEach((row, i) => number(column(row, i)));
	};
	const allFacts = {version: "0.0.0", command: "made up", ...facts};

	table(
		Object.entries(allFacts),
		([name]) => text(name),
		([, value]) => (typeof value === "string" ? text(value) : value),
	);
	table(
		Object.entries(losses),
		([name]) => text(name),
		([, value]) => value,
	);
	table(
		frames,
		f => f.class ?? 0,
		f => text(f.name),
		f => text(f.shortName ?? f.name),
		f => text(f.file),
		f => text(f.module),
		f => f.line ?? 0,
		f => f.role ?? 2,
		f => text(f.folded),
		f => f.kind ?? KINDS_OF_CLASSES[f.class ?? 0],
		f => text(f.workClass),
	);
	table(
		stacks,
		(s, i) => i + 1 - s.outer,
		s => s.frame,
		s => (s.site ?? -1) + 1,
	);
	table(
		processes,
		p => p.number,
		p => p.pid,
		p => text(p.name),
	);
	table(
		threads,
		t => t.process,
		t => t.tid,
		t => text(t.name),
	);
	table(
		devices,
		d => d.process,
		d => d.number,
		d => text(d.label),
		d => text(d.name),
	);
	table(places, ...[0, 1, 2, 3, 4].map(part => place => place[part] + 1));
	table(
		rows,
		(r, i) => r.stack - (i > 0 ? rows[i - 1].stack : 0),
		r => r.kind,
		r => (r.place ?? -1) + 1,
		r => r.count ?? 1,
		r => r.ns,
		r => r.bytes ?? 0,
	);

	// {title, unit, note, rows of {stack, place, count, value}}
	number(weights.length);
	for (const weight of weights) {
		for (const key of ["title", "unit", "note"]) number(text(weight[key]));
		table(
			weight.rows,
			(r, i) => r.stack - (i > 0 ? weight.rows[i - 1].stack : 0),
			r => (r.place ?? -1) + 1,
			r => r.count ?? 1,
			r => r.value,
		);
	}

	// {key, title, leftOut, columns: [{label, kind}], rows of cells}
	number(figures.length);
	for (const figure of figures) {
		number(text(figure.key));
		number(text(figure.title));
		number(figure.leftOut ?? 0);
		table(
			figure.columns,
			c => text(c.label),
			c => c.kind,
		);
		table(
			figure.rows,
			...figure.columns.map(
				(c, i) => row => (typeof row[i] === "number" ? row[i] : text(row[i])),
			),
		);
	}

	// {file, state, hasChanged, parts: [{first, lines}]}
	table(
		sources,
		s => text(s.file),
		s => s.state ?? 0,
		s => (s.hasChanged ? 1 : 0),
		s => (s.parts ?? []).length,
	);
	for (const column of [part => part.first, part => part.count ?? part.lines.length])
		for (const {parts = []} of sources) for (const part of parts) number(column(part));
	for (const {parts = []} of sources) {
		const bytes = Buffer.from(
			parts.flatMap(({lines}) => lines.map(line => `${line}\n`)).join(""),
		);

		number(bytes.length);
		for (const byte of bytes) body.push(byte);
	}

	// {frame, label, text}
	table(
		kernels,
		k => k.frame,
		k => text(k.label),
		k => text(k.text),
	);

	// positions of steps
	number(steps.length);
	steps.forEach((at, i) => number(at - (steps[i - 1] ?? 0)));
	number(warmUp);

	// {device, name, values: [[ms, value]]}
	table(
		states,
		s => text(s.device),
		s => text(s.name),
	);
	table(
		states.flatMap(({values, counter}, i) => values.map(value => [counter ?? i, ...value])),
		([counter]) => counter,
		([, ms]) => ms,
		([, , value]) => value,
	);

	// {sides: [{runs, command, shown, counts}], flags, length, values by run, variants, tables}. Counts are by row:
	// {count, sampled, measured}.
	if (difference) {
		const {sides, flags = 0, length, values, variants = [], tables: list = []} = difference;

		for (const side of sides) {
			number(side.runs ?? 1);
			number(text(side.command));
			number(text(side.shown));
		}
		number(flags);
		number(text(length));
		values.flat().forEach(number);
		for (const {counts} of sides)
			for (const key of ["count", "sampled", "measured"]) counts.forEach(row => number(row[key] ?? 0));
		number(variants.length);
		for (const variant of variants) {
			for (const key of ["name", "match", "variant"]) number(text(variant[key]));
			number(variant.on);
		}
		number(list.length);
		for (const {key: table, rows: cells} of list) {
			number(text(table));
			number(cells.length);
			for (const row of cells) {
				number(text(row.name));
				number(row.unit ?? 0);
				for (const key of ["before", "after", "bound", "verdict"]) number(row[key]);
			}
		}
	} else number(0);

	const head = [];

	encodeNumber(head, 11);
	encodeNumber(head, texts.length);
	texts.forEach(value => encodeNumber(head, value.length));
	chunks.push(Buffer.from(head), ...texts, Buffer.from(body));
	return Buffer.concat(chunks);
}

// ---- the timeline: profiler/web/html_timeline.h ----

const signed = number => (number >= 0 ? number * 2 : -number * 2 - 1);

const LARGE = 2 ** 32 - 1;

// Numbers in a buffer that grows: parts may have millions.
function makeWriter() {
	let buffer = Buffer.alloc(1 << 16),
		size = 0;

	return {
		number(number) {
			if (size + 16 > buffer.length)
				buffer = Buffer.concat([buffer, Buffer.alloc(buffer.length)]);
			for (; number >= 128; number = Math.floor(number / 128))
				buffer[size++] = (number % 128) + 128;
			buffer[size++] = number;
		},
		// four bytes, the lowest first; all bits for what does not fit
		word(number) {
			if (size + 16 > buffer.length)
				buffer = Buffer.concat([buffer, Buffer.alloc(buffer.length)]);
			size = buffer.writeUInt32LE(Math.min(number, LARGE), size);
		},
		bytes: () => buffer.subarray(0, size),
	};
}

const LANES = 4,
	TYPES = [0, 1, 2, 3, 1, 4]; // of tracks, by kind

// Returns records and sums {kind, place, start, duration, stack, correlation, node, bytes, shape, number of a sum} in
// the order of the page, each {record, flags}.
function orderSpans(records, sums, places) {
	const tracks = new Map();

	for (const [isSum, list] of [records, sums].entries())
		for (const record of list) {
			const place = places[record.place] ?? [-1, -1, -1, -1, -1],
				parts = record.kind === 2 ? [place[0], ...place.slice(2)] : place.slice(0, 2),
				key = `${TYPES[record.kind]} ${parts}`;

			if (!tracks.has(key)) tracks.set(key, []);
			tracks.get(key).push({record, isSum, lane: 0, flags: isSum ? 8 : 0});
		}
	return [...tracks.values()].flatMap(track => {
		const free = Array(LANES).fill(-Infinity),
			most = [1, 2].includes(TYPES[track[0].record.kind]) ? LANES : 1,
			lanes = Array.from({length: LANES}, () => []);
		const hasPlaces = track.some(({record}) => record.place !== track[0].record.place);
		let isCrowded = false;

		track.sort((a, b) => a.record.start - b.record.start || b.record.duration - a.record.duration);
		for (const span of track) {
			const {start, duration} = span.record;

			while (free[span.lane] > start + Math.min(duration / 4, 1000) && span.lane + 1 < most) span.lane++;
			isCrowded ||= start + duration < free[span.lane];
			free[span.lane] = Math.max(free[span.lane], start + duration);
			lanes[span.lane].push(span);
			if (hasPlaces) span.flags |= 16;
		}
		lanes.forEach((lane, k) => {
			if (lane.length > 0) lane[0].flags |= k === 0 ? 3 : 2;
			if (isCrowded && k + 1 === most) for (const span of lane) span.flags |= 4;
		});
		return lanes.flat();
	});
}

// A part of spans.
export function encodeSpans(spans) {
	const writer = makeWriter(),
		runs = [];

	spans.forEach((span, i) => {
		const last = spans[i - 1],
			begins =
				!last || span.flags & 3 || span.isSum !== last.isSum || span.record.kind !== last.record.kind ||
				(!(span.flags & 16) && span.record.place !== last.record.place);

		if (begins) runs.push([]);
		runs.at(-1).push(span);
	});
	const stepTo = (run, i) => (i > 0 ? run[i].record.start - run[i - 1].record.start : 0);

	for (const word of [1, spans.length]) writer.word(word);
	for (const run of runs) run.forEach((_, i) => writer.word(stepTo(run, i)));
	for (const {record} of spans) writer.word(record.duration);
	for (const {record} of spans) writer.word(record.stack ?? 0);
	writer.number(runs.length);
	for (const value of [
		([{flags}]) => flags,
		([{record}]) => record.kind,
		([{record}]) => (record.place ?? -1) + 1,
		run => run.length,
		([{record}]) => signed(record.start),
	])
		runs.forEach(run => writer.number(value(run)));
	for (const run of runs) {
		run.forEach(({record}, i) => {
			for (const number of [stepTo(run, i), record.duration]) if (number >= LARGE) writer.number(number);
		});
		if (run[0].isSum) for (const {record} of run) writer.number(record.number);
		if (run[0].flags & 16) for (const {record} of run) writer.number((record.place ?? -1) + 1);
	}
	return writer.bytes();
}

export function encodeDetails(spans) {
	const writer = makeWriter();

	for (const word of [2, spans.length]) writer.word(word);
	spans.forEach(({record}, i) =>
		writer.word(((record.correlation ?? 0) - (spans[i - 1]?.record.correlation ?? 0)) >>> 0),
	);
	for (const {record} of spans) writer.word(record.shape ?? 0);
	for (const {record, isSum} of spans) writer.number(isSum ? 0 : (record.node ?? 0));
	for (const {record} of spans) writer.number(record.bytes ?? 0);
	return writer.bytes();
}

export function encodeHead({
	spans = 0,
	sums = 0,
	summed = 0,
	lost = 0,
	lostShapes = 0,
	reason = "",
	shapes = [],
} = {}) {
	const writer = makeWriter(),
		text = Buffer.from(reason);

	for (const word of [0, spans]) writer.word(word);
	for (const number of [sums, summed, lost, lostShapes, text.length]) writer.number(number);
	for (const byte of text) {
		// as it is, not as a number
		if (byte < 128) writer.number(byte);
		else throw new Error("a reason in ASCII");
	}
	writer.number(shapes.length);
	for (let i = 0; i < 9; i++) for (const shape of shapes) writer.number(shape[i]);
	return writer.bytes();
}

// Parts of a timeline {records, sums, lost, ...} of a profile with these places; of a null one there are none.
export function encodeTimeline({timeline, places = []}, partSpans = 1 << 17) {
	if (!timeline) return [];
	const {records = [], sums = [], ...head} = timeline,
		spans = orderSpans(records, sums, places),
		parts = [encodeHead({...head, spans: spans.length, sums: sums.length})];

	for (const encode of [encodeSpans, encodeDetails])
		for (let i = 0; i < spans.length; i += partSpans) parts.push(encode(spans.slice(i, i + partSpans)));
	return parts;
}

// A file to open, from the built page (build/profiler/web/page.html).
export function makePage(page, profile) {
	const element = bytes =>
		`</script>\n<script type="application/octet-stream" class="timeline">${gzipSync(bytes).toString("base64")}`;

	return (
		`${page}${gzipSync(encodeProfile(profile)).toString("base64")}` +
		`${encodeTimeline(profile).map(element).join("")}</script>\n</body>\n</html>\n`
	);
}

// Like splitmix64 in tests/unit/unit.h, but of 32 bits: the same numbers at each run.
export function makeRandom(seed) {
	let state = seed >>> 0;

	return below => {
		state = (state + 0x9e3779b9) >>> 0;
		let z = state;

		z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
		z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
		return ((z ^ (z >>> 16)) >>> 0) % below;
	};
}

const WORDS = [
	"forward",
	"backward",
	"attention",
	"linear",
	"dispatch",
	"apply",
	"reduce",
	"gather",
	"scatter",
	"copy",
	"allocate",
	"schedule",
	"tokenize",
	"encode",
	"decode",
	"normalize",
	"dropout",
	"embed",
	"step",
	"update",
	"worker",
	"queue",
];

// A program like a training job: Python and C++, kernels and copies, in several processes.
export function makeBigProfile(nodes, seed = 1) {
	const random = makeRandom(seed),
		frames = [],
		stacks = [],
		rows = [],
		places = [];
	const pick = list => list[random(list.length)];

	for (let i = 0; i < 6000; i++) {
		const a = pick(WORDS),
			b = pick(WORDS),
			c = pick(WORDS);

		switch (i % 8) {
			case 0:
			case 1:
			case 2:
				frames.push({
					class: 0,
					name: `at::native::${a}<float, std::tuple<${b}, ${c}> >::${b}_${c}(at::Tensor const&, c10::ArrayRef<long>)`,
					shortName: `at::native::${a}<…>::${b}_${c}`,
					module: `/opt/lib/lib${a}.so`,
					role: i % 64 === 0 ? 5 : 4,
					folded: `[lib${a}.so]`,
				});
				break;
			case 3:
			case 4:
				frames.push({
					class: 1,
					name: `${a}_${b} (${c}.py:${i})`,
					file: `/app/models/${c}.py`,
					line: i,
					...(i % 3 === 0 ? {role: 0} : {role: 4, folded: `[${c}]`}),
				});
				break;
			case 5:
				frames.push({class: 3, name: `do_${a}_${b}`, role: 3});
				break;
			case 6:
				frames.push({
					class: 6,
					name: `[GPU_Kernel]void ${a}_kernel<${i}, ${b}, ${c}>(float*, int)`,
					shortName: `${a}_kernel<${i}, ${b}, ${c}>`,
				});
				break;
			default:
				frames.push(
					i % 16 === 7
						? {class: 7, name: `[GPU_Memcpy ${pick(["HtoD", "DtoH", "DtoD"])}]`}
						: {
								class: 4,
								name: pick([
									"cudaLaunchKernel",
									"cudaMemcpyAsync",
									"cuLaunchKernelEx",
								]),
							},
				);
		}
	}
	for (let process = 0; process < 4; process++)
		for (let thread = 0; thread < 6; thread++)
			for (let stream = 0; stream < 4; stream++)
				places.push([process, 1000 + process * 10 + thread, process % 2, 1, 7 + stream]);
	for (let i = 0; i < nodes; i++) {
		// near the end: deep and narrow, with some wide levels
		const outer = i < 3 ? i : Math.max(1, i - random(random(12) === 0 ? i : 40));
		let frame = random(6000);

		while (i < 3 && frames[frame].class !== 1) frame = random(6000);
		stacks.push({outer: i < 3 ? i : outer, frame});
	}
	for (let i = 1; i <= nodes; i++) {
		const gpu = [6, 7].includes(frames[stacks[i - 1].frame].class);

		if (gpu) {
			let at = stacks[i - 1];

			while (at.outer > 0 && frames[at.frame].class > 1) at = stacks[at.outer - 1];
			stacks[i - 1].site = at.frame;
		}

		if (gpu || random(3) === 0)
			rows.push({
				stack: i,
				kind: gpu ? 1 : random(12) === 0 ? 2 : 0,
				place: random(places.length),
				count: 1 + random(50),
				ns: 1 + random(1 << 24),
				bytes: gpu && frames[stacks[i - 1].frame].class === 7 ? random(1 << 30) : 0,
			});
	}
	return {
		facts: {
			command: "python3 train.py --batch 64",
			"elapsed ns": 91e9,
			"own cpu ns": 2.2e9,
			"sample ns": 2e7,
			"cpu samples": 41000,
		},
		losses: {"CPU samples dropped": 12},
		frames,
		stacks,
		rows,
		places,
		processes: [0, 1, 2, 3].map(number => ({
			number,
			pid: 4000 + number,
			name: `train.py ${4000 + number}`,
		})),
		threads: places
			.filter(([, , , , stream]) => stream === 7)
			.map(([process, tid]) => ({process, tid, name: `worker ${tid}`})),
		devices: [0, 1, 2, 3].map(process => ({
			process,
			number: process % 2,
			label: `GPU ${process % 2}`,
			name: "Made-up GPU",
		})),
	};
}
