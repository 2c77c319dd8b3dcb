// SPDX-License-Identifier: MIT
// Numbers as people read them.

// Three or four digits that matter: 1.234, 12.3, 123.
function digits(value) {
	if (value >= 100) return value.toFixed(0);
	return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const TIMES = [
	["h", 3600e9],
	["min", 60e9],
	["s", 1e9],
	["ms", 1e6],
	["µs", 1e3],
];

export function formatTime(ns) {
	for (const [unit, size] of TIMES) if (ns >= size) return `${digits(ns / size)} ${unit}`;
	return ns > 0 ? `${Math.round(ns)} ns` : "0";
}

const SIZES = [
	["TiB", 2 ** 40],
	["GiB", 2 ** 30],
	["MiB", 2 ** 20],
	["KiB", 2 ** 10],
];

export function formatBytes(bytes) {
	for (const [unit, size] of SIZES) if (bytes >= size) return `${digits(bytes / size)} ${unit}`;
	return `${bytes} B`;
}

// An amount in a unit as CUPTI calls it: "byte", "nanosecond", "warp", or "" for none.
export function formatAmount(amount, unit) {
	if (unit === "nanosecond") return formatTime(amount);
	if (unit === "byte") return formatBytes(Math.round(amount));
	return unit === "" ? formatNumber(amount) : `${formatNumber(amount)} ${unit}`;
}

// Groups of three digits: 1,234,567.
export function formatCount(count) {
	return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

// Any number: whole ones and large ones without a fraction.
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

// Bytes per nanosecond are gigabytes per second.
export function formatRate(bytes, ns) {
	return ns > 0 && bytes > 0 ? `${digits(bytes / ns)} GB/s` : "–";
}

// "1 sample", "2 samples"
export function plural(count, one, many = `${one}s`) {
	return `${formatCount(count)} ${count === 1 ? one : many}`;
}

// Names come from the profiled program and may be a megabyte long.
export function clip(text, length) {
	return text.length <= length
		? text
		: `${text.slice(0, length)}… (${formatCount(text.length)} characters)`;
}
