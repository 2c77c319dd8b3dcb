// SPDX-License-Identifier: MIT
//
// Zoom, search and details for the picture that svg.c draws. All names come from the profiled
// program: they only ever become text nodes, never markup.
(function () {
'use strict';

const SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
// the numbers of svg.c
const MARGIN = 12, ROW = 18, BOX = 17, GAP = 0.6, NARROWEST = 1, LEGEND_ROW = 20;
const TITLE_COLUMN = 10.4, TOTALS_Y = 76, LEGEND_Y = 114;

const root = document.currentScript.closest('svg');
const alone = root === document.documentElement;
const find = (selector) => root.querySelector(selector);
const data = JSON.parse(find('script.data').textContent);
const rowKinds = data.rowKinds.length;

function make(parent, name, attributes, text) {
	const element = document.createElementNS(SVG, name);

	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	if (text !== undefined)
		element.textContent = text;
	parent.appendChild(element);
	return element;
}

function makeHtml(parent, name, properties) {
	const element = document.createElementNS(HTML, name);

	Object.assign(element, properties);
	parent.appendChild(element);
	return element;
}

// ---- the boxes: a caller, then its callees, the largest first ----

const count = countBoxes();
const nameOf = new Uint32Array(count), depth = new Uint32Array(count);
const parent = new Int32Array(count), end = new Uint32Array(count);
const start = new Float64Array(count), total = new Float64Array(count);
const own = new Float64Array(count);   // of all kinds together
const inner = new Float64Array(count); // of the boxes inside
const rest = new Float64Array(count);  // of the frames left out inside
const bytes = new Float64Array(count);
const leftOut = new Uint32Array(count);
const nsOf = [], countOf = []; // by kind, with all that is inside

function countBoxes() {
	let boxes = 0;

	for (let at = 0; at < data.boxes.length; boxes++)
		at = skipAmounts(at);
	return boxes;
}

function skipAmounts(at) {
	let bits = data.boxes[at + 2], numbers = 0;

	for (let bit = 0; bits; bit++, bits >>= 1)
		if (bits & 1)
			numbers += bit < 2 * rowKinds ? 2 : 1;
	return at + 3 + numbers;
}

function readBoxes() {
	const open = [];

	for (let k = 0; k < rowKinds; k++) {
		nsOf.push(new Float64Array(count));
		countOf.push(new Float64Array(count));
	}
	for (let i = 0, at = 0; i < count; i++) {
		const bits = data.boxes[at + 2];
		let value = at + 3;

		open.length -= data.boxes[at];
		parent[i] = open.length ? open[open.length - 1] : -1;
		depth[i] = open.length;
		open.push(i);
		nameOf[i] = data.boxes[at + 1];
		for (let bit = 0; bit < 2 * rowKinds; bit++) {
			if (!(bits >> bit & 1))
				continue;
			nsOf[bit % rowKinds][i] += data.boxes[value];
			countOf[bit % rowKinds][i] += data.boxes[value + 1];
			(bit < rowKinds ? own : rest)[i] += data.boxes[value];
			value += 2;
		}
		for (let bit = 2 * rowKinds; bit < 2 * rowKinds + 2; bit++)
			if (bits >> bit & 1)
				bytes[i] += data.boxes[value++];
		if (bits >> (2 * rowKinds + 2) & 1)
			leftOut[i] = data.boxes[value++];
		at = value;
	}
	for (let i = count - 1; i >= 0; i--) {
		const outer = parent[i];

		end[i] = Math.max(end[i], i + 1);
		total[i] = own[i] + rest[i] + inner[i];
		if (outer < 0)
			continue;
		end[outer] = Math.max(end[outer], end[i]);
		inner[outer] += total[i];
		bytes[outer] += bytes[i];
		for (let k = 0; k < rowKinds; k++) {
			nsOf[k][outer] += nsOf[k][i];
			countOf[k][outer] += countOf[k][i];
		}
	}
	for (let i = 0; i < count; i++)
		for (let child = i + 1, x = start[i]; child < end[i]; child = end[child]) {
			start[child] = x;
			x += total[child];
		}
}

function fullName(box) {
	return box === 0 ? 'all' : data.names[nameOf[box]][0];
}

function shortName(box) {
	return box === 0 ? 'all' : data.names[nameOf[box]][1] || data.names[nameOf[box]][0];
}

function kindOf(box) {
	return box === 0 ? null : data.kinds[data.names[nameOf[box]][2]];
}

// Of two runs that are compared: how the box changed.
function changeOf(box) {
	const [before, after, bound, kind] = data.changes.slice(4 * box, 4 * box + 4);

	return {before, after, bound, kind: data.changeKinds[kind]};
}

// One of four strengths of a colour, by name, as in svg.c.
function strength(name) {
	let hash = 2166136261, n = 0;

	for (const character of name) {
		if (n++ === 64)
			break;
		hash = Math.imul(hash ^ character.codePointAt(0), 16777619);
	}
	return ['', ' b', ' c', ' d'][(hash >>> 13) % 4];
}

const classOfName = data.names.map((name) => data.kinds[name[2]][0] + strength(name[0]));

function classOf(box) {
	if (box === 0)
		return 'root';
	return data.changes ? changeOf(box).kind[0] : classOfName[nameOf[box]];
}

// ---- texts ----

const amountWord = data.unit === undefined ? 'time' : 'amount';

function amountText(ns) {
	if (data.weights)
		return countText(Math.round(ns));
	if (data.unit === 'byte') {
		for (const [unit, word] of [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']])
			if (ns >= unit)
				return (ns / unit).toFixed(2) + ' ' + word;
		return ns.toFixed(0) + ' B';
	}
	if (data.unit !== undefined) {
		const space = data.unit ? ' ' : '';

		for (const [unit, word] of [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
			if (ns >= unit)
				return (ns / unit).toFixed(2) + ' ' + word + space + data.unit;
		return ns.toFixed(0) + space + data.unit;
	}
	for (const [unit, word] of [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s']]) {
		const amount = ns / unit;

		if (ns >= unit * 0.99995)
			return amount.toFixed(amount < 9.9995 ? 3 : amount < 99.995 ? 2 : 1) + ' ' + word;
	}
	return ns.toFixed(0) + ' ns';
}

function shareText(part, whole) {
	const percent = whole > 0 ? part / whole * 100 : 0;

	if (percent > 0 && percent < 0.01)
		return '< 0.01 %';
	return percent.toFixed(percent < 9.995 ? 2 : 1) + ' %';
}

function countText(number, word) {
	const text = String(number).replace(/\B(?=(\d{3})+$)/g, ',');

	return word ? text + ' ' + word + (number === 1 ? '' : 's') : text;
}

function bytesText(number) {
	const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
	let unit = 0;

	for (; number >= 1024 && unit < units.length - 1; unit++)
		number /= 1024;
	return (unit ? number.toFixed(number < 10 ? 2 : 1) : number) + ' ' + units[unit];
}

// ---- names in little room: frame_label.c does the same ----

function columnsOf(character) {
	const c = character.codePointAt(0);

	if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200d) || (c >= 0xfe00 && c <= 0xfe0f))
		return 0;
	return c < 0x590 || (c >= 0x1e00 && c <= 0x2bff) || c === 0xfffd ? 1 : 2;
}

function width(text) {
	let columns = 0;

	if (/^[\x20-\x7e]*$/.test(text))
		return text.length;
	for (const character of text)
		columns += columnsOf(character);
	return columns;
}

// Where the parts of a qualified name begin.
function partsOf(name, kind) {
	const parts = [], address = /^\[.*?(\+0x[0-9a-f]+\])$/s.exec(name);
	let level = 0;

	if (kind === 'layer')
		return [...name.matchAll(/\.(?=.)/gs)].map(dot => dot.index + 1);
	if (address) // of a function without a symbol
		return [name.length - address[1].length];
	for (let i = 0; i < name.length - 1; i++) {
		if ('(<['.includes(name[i]))
			level++;
		else if (')>]'.includes(name[i]) && level > 0)
			level--;
		if (level > 0)
			continue;
		if (name[i] === ':' && name[i + 1] === ':' && i + 2 < name.length)
			parts.push(++i + 1);
		else if (kind === 'python' && name[i] === '.' && name.slice(i) !== '.py')
			parts.push(i + 1);
	}
	return parts;
}

function isBorder(before, after) {
	const letter = /[a-z0-9\u0080-\uffff]/i;

	return !letter.test(before) || !letter.test(after) ||
		(!/[A-Z]/.test(before) && /[A-Z]/.test(after));
}

// The beginning that fits; at the end of a word if that leaves half of it.
function cutEnd(name, columns) {
	const characters = Array.from(name.slice(0, 2 * columns));
	let used = 0, n = 0, border = 0;

	while (n < characters.length && used + columnsOf(characters[n]) <= columns - 1) {
		used += columnsOf(characters[n++]);
		if (n < characters.length && isBorder(characters[n - 1], characters[n]))
			border = n;
	}
	if (border * 2 >= n)
		n = border;
	const text = characters.slice(0, n).join('').replace(/[ \u2026]+$/, '');

	return /^_*$/.test(text) ? '' : text + '\u2026'; // "__…" tells nothing
}

function fit(name, short, kind, columns) {
	let last = 0;

	if (name.length <= 4 * columns && width(name) <= columns)
		return name;
	if (columns < 3)
		return '';
	if (width(short) <= columns)
		return short;
	short = short.replace(/^(nvtx|op):(?=[^:])/, '');
	if (width(short) <= columns)
		return short;
	for (const part of partsOf(short, kind)) {
		if (width(short.slice(part)) + 1 <= columns)
			return '\u2026' + short.slice(part);
		last = part;
	}
	return cutEnd(short.slice(last), columns);
}

// ---- state ----

let zoom = 0, query = '';
let over = -1;     // the box with the pointer or the keys' mark on it
let matches = null; // by box; null: no search
let foundIn = null; // by box: whether there is a match inside
let pageWidth = 1200, column = 7.3, rows = 0, top = 0;
const drawn = new Map(); // rectangles by box

const boxes = find('.boxes'), tip = makeTip(), panel = makePanel();

// ---- drawing ----

function measureColumn() {
	const text = make(root, 'text', {x: 0, y: -50}, 'm'.repeat(50));
	const measured = text.getComputedTextLength() / 50;

	text.remove();
	if (measured > 3)
		column = measured * 1.01;
}

function labelOf(key) {
	return key.querySelector('text').textContent;
}

// Places swatches with their texts one after the other, from x and y on: the y of the last row.
function placeKeys(keys, x, y) {
	for (const key of keys) {
		const needed = 17 + width(labelOf(key)) * column;

		if (x > MARGIN && x + needed > pageWidth - MARGIN) {
			x = MARGIN;
			y += LEGEND_ROW;
		}
		key.setAttribute('transform', `translate(${x},${y})`);
		x += needed + 20;
	}
	return y;
}

function placeSplit(y) {
	let x = 0;

	find('.split').setAttribute('transform', `translate(${MARGIN},${y})`);
	for (const part of find('.split').children) {
		const w = Number(part.dataset.share) * (pageWidth - 2 * MARGIN);

		part.setAttribute('x', x);
		part.setAttribute('width', w);
		x += w;
	}
}

// In a narrow window the search gets rows of its own.
function placePanel(isNarrow, y) {
	const room = Math.min(panel.width, pageWidth - 2 * MARGIN);

	panel.frame.setAttribute('x', pageWidth - MARGIN - room);
	panel.frame.setAttribute('y', isNarrow ? y + 6 : 14);
	panel.frame.setAttribute('width', room);
	panel.result.setAttribute('x', pageWidth - MARGIN);
	panel.result.setAttribute('y', isNarrow ? y + 49 : 58);
}

// Moves what depends on the width.
function arrange() {
	const title = find('.command'), command = find(':scope > title').textContent;
	const isNarrow = pageWidth < 900;
	const room = pageWidth - 2 * MARGIN - (isNarrow ? 0 : panel.width + 24);
	const sum = find('.sum');
	let y;

	title.textContent = fit(command, command, null, Math.floor(room / TITLE_COLUMN));
	y = placeKeys(find('.totals').querySelectorAll('.key'),
		MARGIN + width(sum.textContent) * column + 20, TOTALS_Y);
	placeSplit(y + 9);
	placePanel(isNarrow, y + 14);
	y = placeKeys(find('.legend').children, MARGIN, y + (isNarrow ? 84 : LEGEND_Y - TOTALS_Y));
	top = y + 14;
}

function rowY(row) {
	return ROW * (data.flame ? rows - 1 - row : row);
}

function drawRect(fragment, box, className, x, row, w) {
	const rect = make(fragment, 'rect', {
		class: className, x: x.toFixed(2), y: rowY(row),
		width: Math.max(0.2, w - (w > 3 ? GAP : 0)).toFixed(2), height: BOX});

	if (w > 6)
		rect.setAttribute('rx', 1.5);
	rect.box = box;
	return rect;
}

function drawText(fragment, box, extra, x, row, w) {
	const columns = Math.floor((w - 8) / column);

	if (columns < 3)
		return;
	const kind = (kindOf(box) || ['root'])[0];
	const text = fit(fullName(box), shortName(box), kind, columns);

	make(fragment, 'text', {class: 'on-' + (data.changes ? classOf(box) : kind) + extra, x: (x + 4).toFixed(2), y: rowY(row) + 13}, text);
}

function highlight(box) {
	if (!matches)
		return '';
	return box > 0 && matches[box] ? ' found' : ' dim';
}

// Chooses what is visible: the boxes around the zoomed one, and those inside it, down to NARROWEST. A filler stands for
// narrower ones beside each other, from the box `first` to before `last`.
function choose(scale) {
	const shown = [], fillers = [], next = [zoom];
	let deepest = 0, hidden = 0;

	for (let box = parent[zoom]; box >= 0; box = parent[box])
		shown.push(box);
	while (next.length) {
		const box = next.pop();
		let child = box + 1;

		shown.push(box);
		deepest = Math.max(deepest, depth[box]);
		let from = start[box], first = child;
		const fill = to => {
			if ((to - from) * scale < NARROWEST)
				return;
			fillers.push({box, from, to, first, last: child});
			deepest = Math.max(deepest, depth[box] + 1);
		};

		for (; child < end[box]; child = end[child]) {
			if (total[child] * scale < NARROWEST) {
				hidden += end[child] - child;
				continue;
			}
			fill(start[child]);
			next.push(child);
			from = start[child] + total[child];
			first = end[child];
		}
		fill(start[box] + inner[box] + rest[box]);
	}
	return {shown, fillers, deepest, hidden};
}

function draw() {
	const inside = pageWidth - 2 * MARGIN;
	const scale = total[zoom] > 0 ? inside / total[zoom] : 0;
	const {shown, fillers, deepest, hidden} = choose(scale);
	const fragment = document.createDocumentFragment();

	rows = deepest + 1;
	drawn.clear();
	for (const box of shown) {
		const isOuter = box < zoom && end[box] > zoom;
		const x = box === zoom || isOuter ? 0 : (start[box] - start[zoom]) * scale;
		const w = box === zoom || isOuter ? inside : total[box] * scale;
		const extra = highlight(box) + (isOuter ? ' faded' : '');

		drawn.set(box, drawRect(fragment, box, classOf(box) + extra, x, depth[box], w));
		drawText(fragment, box, extra, x, depth[box], w);
	}
	for (const filler of fillers) {
		const rect = drawRect(fragment, filler.box,
			'more' + (matches ? isFoundFrom(filler) ? ' found' : ' dim' : ''),
			(filler.from - start[zoom]) * scale, depth[filler.box] + 1,
			(filler.to - filler.from) * scale);

		rect.filler = filler;
	}
	boxes.replaceChildren(fragment);
	boxes.setAttribute('transform', `translate(${MARGIN},${top})`);
	drawn.get(over)?.classList.add('over');
	find('.hidden').textContent = hidden === 0 ? '' :
		countText(hidden, 'frame') + (hidden === 1 ? ' is' : ' are') +
		' too narrow to draw at this zoom' + (hidden === 1 ? '' : '; many together are grey');
	find('.notes').setAttribute('transform', `translate(${MARGIN},${top + rows * ROW + 16})`);
	root.setAttribute('height', Math.max(top + rows * ROW + (data.changes ? 64 : 46), alone ? innerHeight - 1 : 0));
	panel.reset.disabled = zoom === 0 && query === '';
	showResult();
}

function resize() {
	const now = Math.max(320, Math.floor(root.getBoundingClientRect().width));

	if (now === pageWidth && top > 0)
		return;
	pageWidth = now;
	hideTip();
	arrange();
	draw();
}

// ---- search ----

// Returns null for a text that is no regular expression.
function expressionOf(text) {
	try {
		return new RegExp(text, 'iu');
	} catch {
		return null;
	}
}

const isKind = (text) => text.toLowerCase().startsWith('kind:');

// Whether a name matches: a regular expression; as plain text if it is none; "kind:" a kind.
function nameMatcher(text) {
	const lower = text.toLowerCase();

	if (isKind(text))
		return (name) => data.kinds[name[2]][1].toLowerCase().includes(lower.slice(5).trim());
	const expression = expressionOf(text);

	if (expression)
		return (name) => expression.test(name[0]);
	return (name) => name[0].toLowerCase().includes(lower);
}

// The same of a box. In a comparison the legend has kinds of changes, and so has "kind:".
function matcher(text) {
	const lower = text.toLowerCase();

	if (data.changes && isKind(text))
		return (box) => changeOf(box).kind[1].includes(lower.slice(5).trim());
	const found = data.names.map(nameMatcher(text));

	return (box) => found[nameOf[box]];
}

function search(text) {
	query = text;
	matches = null;
	foundIn = null;
	if (text !== '') {
		const test = matcher(text);

		matches = new Uint8Array(count);
		foundIn = new Uint8Array(count);
		for (let i = count - 1; i > 0; i--) {
			matches[i] = test(i);
			foundIn[i] |= matches[i];
			foundIn[parent[i]] |= foundIn[i];
		}
	}
	if (panel.input.value !== text)
		panel.input.value = text;
}

function isFoundFrom(filler) {
	for (let child = filler.first; child < filler.last; child = end[child])
		if (foundIn[child])
			return true;
	return false;
}

// The time of all matches inside a box; one inside another does not count again.
function sumMatches(box) {
	let ns = 0, frames = 0;

	for (let i = box, counted = 0; i < end[box]; i++) {
		if (i === 0 || !matches[i])
			continue;
		frames++;
		if (i < counted)
			continue;
		ns += total[i];
		counted = end[i];
	}
	return {ns, frames};
}

function showResult() {
	if (!matches) {
		panel.result.textContent = '';
		return;
	}
	const all = sumMatches(0), here = zoom ? sumMatches(zoom) : all;
	let text = `${countText(all.frames, 'frame')} found: ${amountText(all.ns)}, ` +
		`${shareText(all.ns, total[0])} of all`;

	if (zoom)
		text += `; here ${shareText(here.ns, total[zoom])}`;
	const isText = !isKind(query) && !expressionOf(query);

	panel.result.textContent = (isText ? 'read as text, no regular expression: ' : '') +
		(all.frames ? text : 'nothing found');
}

// ---- details ----

function makeTip() {
	const frame = make(root, 'foreignObject', {width: 1, height: 1, visibility: 'hidden'});
	const body = makeHtml(frame, 'div', {className: 'tip'});

	frame.style.pointerEvents = 'none';
	body.setAttribute('role', 'status');
	return {frame, body};
}

function row(table, ...cells) {
	const line = makeHtml(table, 'tr', {});

	for (const cell of cells)
		makeHtml(line, 'td', {textContent: cell});
}

function placeOf(box) {
	const where = box === 0 ? 0 : data.names[nameOf[box]][3];

	if (where === 0)
		return '';
	return typeof where === 'number' ? data.modules[where - 1] : where.join(':');
}

function cutText(text, limit) {
	return text.length > limit ? text.slice(0, limit - 200) + '\u2026' + text.slice(-200) : text;
}

function describeChange(table, box) {
	const {before, after, bound} = changeOf(box), by = after - before;

	row(table, 'before', amountText(before));
	row(table, 'after', amountText(after));
	row(table, 'difference', (by < 0 ? '-' : '+') + amountText(Math.abs(by)),
		before > 0 ? (by < 0 ? '' : '+') + (by / before * 100).toFixed(1) + ' %' : '');
	row(table, 'noise', 'up to ' + amountText(bound));
}

function describe(box) {
	const table = makeHtml(document.createDocumentFragment(), 'table', {});
	const kind = kindOf(box), place = placeOf(box), outer = parent[box];
	const nouns = ['sample', 'operation', 'part', 'call', ''];

	tip.body.replaceChildren();
	makeHtml(tip.body, 'b', {textContent: cutText(fullName(box), 700)});
	if (kind)
		makeHtml(tip.body, 'i', {textContent: place ? kind[1] + ' \u00b7 ' + place : kind[1]});
	row(table, amountWord, amountText(total[box]), shareText(total[box], total[0]) + ' of all',
		outer > 0 ? shareText(total[box], total[outer]) + ' of its caller' : '');
	if (own[box] > 0)
		row(table, 'own ' + amountWord, amountText(own[box]), shareText(own[box], total[0]) + ' of all');
	for (let k = 0; k < rowKinds; k++) {
		if (nsOf[k][box] === 0 && countOf[k][box] === 0)
			continue;
		// CPU time without a sample has a time alone, and so has idle time
		const isCounted = !data.weights && nouns[k] && countOf[k][box] > 0;

		row(table, data.rowKinds[k], amountText(nsOf[k][box]),
			isCounted ? countText(countOf[k][box], nouns[k]) : '',
			k === 1 && bytes[box] > 0 ? bytesText(bytes[box]) : '');
	}
	if (data.changes)
		describeChange(table, box);
	if (leftOut[box])
		row(table, 'left out', amountText(rest[box]), countText(leftOut[box], 'frame') + ' inside');
	tip.body.appendChild(table);
	return table;
}

// The frame there, among those that are drawn as one; -1: one that was left out.
function frameIn(filler, ns) {
	for (let child = filler.first; child < filler.last; child = end[child])
		if (ns < start[child] + total[child])
			return child;
	return -1;
}

// The frame under the pointer as any other, and what it is drawn with.
function describeFiller(filler, ns) {
	const child = frameIn(filler, ns);
	const isLast = filler.last === end[filler.box];
	const frames = filler.last - filler.first + (isLast ? leftOut[filler.box] : 0);
	const what = countText(frames, 'frame') + ' too narrow to draw';
	const where = 'inside ' + cutText(shortName(filler.box), 300);
	let table;

	if (child >= 0) {
		table = describe(child);
		table.before(makeHtml(tip.body, 'i',
			{textContent: (frames === 1 ? '' : 'one of ') + what + ', ' + where}));
	} else {
		tip.body.replaceChildren();
		makeHtml(tip.body, 'b', {textContent: what});
		makeHtml(tip.body, 'i', {textContent: where});
		table = makeHtml(tip.body, 'table', {});
	}
	if (child < 0 || frames > 1)
		row(table, child < 0 ? amountWord : 'all of these', amountText(filler.to - filler.from),
			shareText(filler.to - filler.from, total[0]) + ' of all');
}

// Beside a point of the window, but within it.
function showTip(clientX, clientY) {
	const page = root.getBoundingClientRect();
	const room = Math.min(640, pageWidth - 2 * MARGIN);

	tip.frame.setAttribute('width', room);
	tip.frame.setAttribute('height', 2000);
	tip.frame.setAttribute('visibility', 'visible');
	const size = tip.body.getBoundingClientRect();
	const w = Math.ceil(size.width) + 1, h = Math.ceil(size.height) + 1;
	let x = Math.min(clientX + 14, Math.min(innerWidth, page.right) - w - 6);
	let y = clientY + 18;

	if (y + h > innerHeight)
		y = Math.max(2, clientY - h - 12);
	x = Math.max(2, x);
	tip.frame.setAttribute('x', x - page.left);
	tip.frame.setAttribute('y', y - page.top);
	tip.frame.setAttribute('width', w);
	tip.frame.setAttribute('height', h);
}

function hideTip() {
	tip.frame.setAttribute('visibility', 'hidden');
}

function setOver(box) {
	drawn.get(over)?.classList.remove('over');
	over = box;
	drawn.get(over)?.classList.add('over');
}

// ---- what the user does ----

function makePanel() {
	const panelWidth = 400;
	const frame = make(root, 'foreignObject', {width: panelWidth, height: 30});
	const body = makeHtml(frame, 'div', {className: 'panel'});
	const input = makeHtml(body, 'input', {
		type: 'search', placeholder: 'Search ( / )', spellcheck: false, autocomplete: 'off',
		title: 'A regular expression, or kind:NAME for a kind of the legend. ' +
			'Enter leaves it as it is, Escape clears it.'});
	const reset = makeHtml(body, 'button', {
		type: 'button', textContent: 'Reset', title: 'Show everything (Escape)'});

	input.setAttribute('aria-label', 'Search');
	return {frame, input, reset, width: panelWidth,
		result: make(root, 'text', {class: 'about result'})};
}

// The state as a link: "#frame=12&search=gemm"
function stateText() {
	const state = new URLSearchParams();

	if (zoom)
		state.set('frame', zoom);
	if (query)
		state.set('search', query);
	return '#' + state;
}

// With `isStep`, the browser's way back leads to the state before.
function saveState(isStep) {
	const link = stateText();

	if (link === (location.hash || '#'))
		return;
	try {
		history[isStep ? 'pushState' : 'replaceState'](null, '', link);
	} catch {
		// not where the page's origin may not: then there is no link
	}
}

function loadState() {
	const state = new URLSearchParams(location.hash.slice(1));
	const box = Number(state.get('frame'));

	zoom = Number.isInteger(box) && box > 0 && box < count ? box : 0;
	search(state.get('search') || '');
}

function zoomTo(box) {
	hideTip();
	setOver(-1);
	if (box === zoom)
		return;
	zoom = box;
	saveState(true);
	draw();
	if (alone && !data.flame)
		showRow(depth[box]);
}

function searchFor(text) {
	search(text);
	saveState(false);
	draw();
}

function reset() {
	search('');
	zoom = 0;
	setOver(-1);
	saveState(true);
	draw();
}

// Scrolls so that a row is visible.
function showRow(at) {
	const y = root.getBoundingClientRect().top + top + rowY(at);

	if (y < 0 || y + ROW > innerHeight)
		scrollBy(0, y - innerHeight / 3);
}

// The marked box's neighbour in a direction, among those that are drawn.
function neighbour(key) {
	const inwards = data.flame ? 'ArrowUp' : 'ArrowDown';
	const sibling = [];

	if (!drawn.has(over))
		return zoom;
	if (key === inwards)
		return over + 1 < end[over] && drawn.has(over + 1) ? over + 1 : over;
	if (key === 'ArrowUp' || key === 'ArrowDown')
		return Math.max(parent[over], 0);
	// the boxes of the row, in order
	for (const box of drawn.keys())
		if (depth[box] === depth[over])
			sibling.push(box);
	sibling.sort((a, b) => a - b);
	const at = sibling.indexOf(over) + (key === 'ArrowRight' ? 1 : -1);

	return sibling[Math.min(Math.max(at, 0), sibling.length - 1)];
}

function moveTo(box) {
	setOver(box);
	showRow(depth[box]);
	const place = drawn.get(box).getBoundingClientRect();

	describe(box);
	showTip(place.left, place.bottom - 12);
}

function escape() {
	hideTip();
	if (query !== '')
		searchFor('');
	else
		zoomTo(0);
	setOver(-1);
}

function onKey(event) {
	const isTyping = event.target === panel.input;
	const isFind = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f';

	// a second Ctrl-F is the browser's own search
	if ((isFind && !isTyping) || (event.key === '/' && !isTyping && !event.ctrlKey)) {
		panel.input.focus();
		panel.input.select();
	} else if (event.key === 'Escape') {
		escape();
		panel.input.blur();
	} else if (isTyping && event.key === 'Enter' && !event.isComposing) {
		panel.input.blur();
	} else if (isTyping || event.ctrlKey || event.altKey || event.metaKey) {
		return;
	} else if (event.key.startsWith('Arrow')) {
		moveTo(neighbour(event.key));
	} else if (event.key === 'Enter' && over >= 0 && event.target !== panel.reset) {
		zoomTo(over);
	} else if (event.key === 'Backspace' && zoom) {
		zoomTo(parent[zoom]);
	} else {
		return;
	}
	event.preventDefault();
}

function onMove(event) {
	const rect = event.target;

	if (rect.box === undefined)
		return;
	if (rect.filler) {
		const {left, width: wide} = rect.getBoundingClientRect();
		const {from, to} = rect.filler;

		setOver(-1);
		describeFiller(rect.filler, from + (event.clientX - left) / wide * (to - from));
	} else if (rect.box !== over || tip.frame.getAttribute('visibility') === 'hidden') {
		setOver(rect.box);
		describe(rect.box);
	}
	showTip(event.clientX, event.clientY);
}

function listen() {
	boxes.addEventListener('pointermove', onMove);
	boxes.addEventListener('pointerleave', () => {
		setOver(-1);
		hideTip();
	});
	boxes.addEventListener('click', (event) => {
		if (event.target.box !== undefined && event.detail < 2)
			zoomTo(event.target.box);
	});
	boxes.addEventListener('dblclick', () => zoomTo(0));
	panel.input.addEventListener('input', () => searchFor(panel.input.value));
	panel.reset.addEventListener('click', reset);
	for (const key of find('.legend').children) {
		const text = 'kind:' + labelOf(key);

		key.classList.add('live');
		make(key, 'title', {}, 'Show where these frames are');
		key.addEventListener('click', () => searchFor(query === text ? '' : text));
	}
	(alone ? window : root).addEventListener('keydown', onKey);
	addEventListener('resize', resize);
	addEventListener('popstate', () => {
		loadState();
		hideTip();
		draw();
	});
}

readBoxes();
for (const part of find('.split').children)
	part.dataset.share = part.getAttribute('width') / (1200 - 2 * MARGIN);
boxes.classList.add('live');
root.removeAttribute('viewBox');
root.setAttribute('width', '100%');
measureColumn();
loadState();
listen();
resize();
if (top === 0) {
	arrange();
	draw();
}
root.setAttribute('data-ready', 'true');
}());
