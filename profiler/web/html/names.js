// SPDX-License-Identifier: MIT
// Cuts names to the available room.

const LONGEST_NAME = 400; // no box has room for more

// Returns the text with its outermost template arguments as "<…>": "f<…>::g". A text with
// unpaired brackets, as "operator<", stays. So do brackets that follow no name: "<module>", "<T
// as U>::f".
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
	let low = 0,
		high = text.length;

	while (low < high) {
		const middle = (low + high + 1) >> 1;

		if (fits(`${text.slice(0, middle)}…`)) low = middle;
		else high = middle - 1;
	}
	if (fits(text)) return text;
	if (low < 2) return "";
	// do not split a surrogate pair
	if (/[\ud800-\udbff]/.test(text[low - 1])) low--;
	const word = text.slice(0, low).search(/[^A-Za-z0-9][A-Za-z0-9]*$/);

	if (word > 0 && low - word <= 4 && /[A-Za-z0-9]/.test(text[low] ?? "")) low = word;
	text = text.slice(0, low).trimEnd();
	return /^_*$/.test(text) ? "" : `${text}…`; // "__…" tells nothing
}

// Returns the best form of a name that fits, or "" if no useful one does. The prefix of a range or an
// operator goes first: "op:aten::mm", not "op::run". Then of a layer's path the outer parts.
export function cutName(name, fits, isLayer = false) {
	let text = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;

	if (fits(text)) return text;
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
