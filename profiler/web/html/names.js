// SPDX-License-Identifier: MIT
// Names cut to the room that there is.

const LONGEST_NAME = 400; // no box has room for more

// The text with its outermost template arguments as "<…>": "f<…>::g". As it is if brackets are not in
// pairs, as in "operator<"; and so are brackets that follow no name: "<module>", "<T as U>::f".
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

// Where names inside others begin: after each "::" outside of brackets.
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

// The most characters that fit, as `fits` says of a text; at the end of a word if one is near.
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
	// not within a pair of surrogates
	if (/[\ud800-\udbff]/.test(text[low - 1])) low--;
	const word = text.slice(0, low).search(/[^A-Za-z0-9][A-Za-z0-9]*$/);

	if (word > 0 && low - word <= 4 && /[A-Za-z0-9]/.test(text[low] ?? "")) low = word;
	text = text.slice(0, low).trimEnd();
	return /^_*$/.test(text) ? "" : `${text}…`; // "__…" tells nothing
}

// The best form of a name that fits; "" if nothing useful does.
export function cutName(name, fits) {
	let text = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;

	if (fits(text)) return text;
	// "forward (model.py:42)": the function alone
	const place = text.search(/ \([^()]*\)$/);

	if (place > 0) {
		text = text.slice(0, place);
		if (fits(text)) return text;
	}
	const plain = elideArguments(text);

	if (fits(plain)) return plain;
	const starts = partStarts(plain);

	for (const start of starts) {
		const inner = `…${plain.slice(start)}`;

		if (fits(inner)) return inner;
	}
	const last = starts.length > 0 ? plain.slice(starts.at(-1)) : plain;

	return cutTail(last.endsWith("<…>") ? last.slice(0, -3) : last, fits);
}
