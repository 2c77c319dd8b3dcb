// SPDX-License-Identifier: MIT
// Formats numbers for people.

// Returns three or four significant digits: 1.234, 12.3, 123.
function digits(value) {
	if (value >= 100) return value.toFixed(0);
	return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const TIMES = {h: 3600e9, min: 60e9, s: 1e9, ms: 1e6, µs: 1e3},
	SIZES = {TiB: 2 ** 40, GiB: 2 ** 30, MiB: 2 ** 20, KiB: 2 ** 10};

// Formats a value in the first unit that it reaches.
function formatIn(units, value) {
	const unit = Object.keys(units).find(name => value >= units[name]);
	return unit && `${digits(value / units[unit])} ${unit}`;
}

export const formatTime = ns => formatIn(TIMES, ns) ?? (ns > 0 ? `${Math.round(ns)} ns` : "0");
export const formatBytes = bytes => formatIn(SIZES, bytes) ?? `${bytes} B`;

// Formats an amount in a unit of CUPTI: "byte", "nanosecond", "warp", or "" for none.
export function formatAmount(amount, unit) {
	if (unit === "nanosecond") return formatTime(amount);
	if (unit === "byte") return formatBytes(Math.round(amount));
	return unit === "" ? formatNumber(amount) : `${formatNumber(amount)} ${unit}`;
}

// Groups three digits: 1,234,567.
export function formatCount(count) {
	return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

// Formats any number. Whole and large ones have no fraction.
export function formatNumber(number) {
	if (Number.isInteger(number) || Math.abs(number) >= 1000) return formatCount(Math.round(number));
	return Math.abs(number) >= 0.01 ? number.toFixed(2) : number.toPrecision(2);
}

export function formatShare(part, whole) {
	if (!(whole > 0)) return "–";
	const percent = (100 * part) / whole;
	if (!(part > 0)) return "0 %";
	if (percent < 0.01) return "< 0.01 %";
	return `${percent >= 10 ? percent.toFixed(1) : percent.toFixed(2)} %`;
}

// Formats a bandwidth: bytes per nanosecond are gigabytes per second.
export function formatRate(bytes, ns) {
	return ns > 0 && bytes > 0 ? `${digits(bytes / ns)} GB/s` : "–";
}

// Returns "1 sample", "2 samples".
export function plural(count, one, many = `${one}s`) {
	return `${formatCount(count)} ${count === 1 ? one : many}`;
}

const COMPARED = 4096; // characters

// Returns a function that cuts texts to a length, in their middle: what follows the beginning that texts have in common stays.
export function makeCutter(texts, length) {
	const head = Math.max(length >> 2, 1),
		rest = Math.max(length - head - 2, 1),
		alike = new Map(); // by beginning

	for (const text of texts) {
		const known = alike.get(text.slice(0, head)) ?? {text, same: COMPARED};
		let same = 0;
		if (text.length <= length) continue;
		while (same < Math.min(known.same, text.length) && text[same] === known.text[same]) same++;
		alike.set(text.slice(0, head), {text, same});
	}
	return text => {
		if (text.length <= length) return text;
		const same = (alike.get(text.slice(0, head))?.same ?? 0) - 2,
			from = Math.min(Math.max(same, head), text.length - rest);
		if (from <= head + 1) return `${text.slice(0, length - 1)}…`;
		return `${text.slice(0, head)}…${text.slice(from, from + rest)}${from + rest < text.length ? "…" : ""}`;
	};
}

// Joins those of texts that say something.
export function joinTexts(texts, between = " · ") {
	return texts.filter(text => text).join(between);
}

// Cuts names, which come from the profiled program and may be a megabyte long.
export function clip(text, length) {
	return text.length <= length ? text : `${text.slice(0, length)}… (${formatCount(text.length)} characters)`;
}

// Cuts names where there is little room.
export function cut(text, length) {
	return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
