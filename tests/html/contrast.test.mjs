// SPDX-License-Identifier: MIT
// Whether text can be read: the contrast of all pairs of text and ground that pictures and reports can
// have, reckoned from their palettes by the formula of WCAG 2.2. At least 4.5, also where frames are
// dimmed, in the light and in the dark.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";
import {
	BOX_COLOURS,
	CONTRAST,
	DIM,
	contrast,
	faintTextOn,
	mixColours,
	shiftColour,
	textOn,
} from "../../profiler/web/html/draw.js";
import {CHANGE_COLOURS} from "../../profiler/web/html/difference.js";
import {KINDS, OFF_CPU_REASONS} from "../../profiler/web/html/kinds.js";

const source = path => readFileSync(new URL(`../../profiler/${path}`, import.meta.url), "utf8");
const THEMES = ["light", "dark"];

function expectReadable(text, ground, what) {
	const ratio = contrast(text, ground);

	assert.ok(ratio >= CONTRAST, `${what}: ${text} on ${ground} has ${ratio.toFixed(2)}`);
}

test("contrast is that of WCAG", () => {
	assert.equal(contrast("#000000", "#ffffff"), 21);
	assert.equal(contrast("#ffffff", "#000000"), 21);
	assert.equal(contrast("#123456", "#123456"), 1);
	// www.w3.org/TR/WCAG20-TECHS/G18: #767676 is the lightest grey that passes on white
	assert.ok(contrast("#767676", "#ffffff") >= 4.5 && contrast("#777777", "#ffffff") < 4.5);
});

test("black or white can be read on any colour, and so can what is faint", () => {
	for (let red = 0; red < 256; red += 15)
		for (let green = 0; green < 256; green += 15)
			for (let blue = 0; blue < 256; blue += 15) {
				const ground = `#${[red, green, blue].map(c => c.toString(16).padStart(2, "0")).join("")}`;

				expectReadable(textOn(ground), ground, "text");
				expectReadable(faintTextOn(ground), ground, "faint text");
			}
});

// ---- reports ----

// The custom properties of a page.
function variablesOf(css, selector) {
	const block = css.slice(css.indexOf(`${selector} {`)).match(/\{([^}]*)\}/)[1];

	return Object.fromEntries(
		[...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
	);
}

test("reports: boxes of each kind, in each shade, dimmed, in both themes", () => {
	for (const theme of THEMES) {
		const {page, root, text} = BOX_COLOURS[theme];

		expectReadable(text, root, "the root");
		for (const kind of [...KINDS, ...OFF_CPU_REASONS])
			for (let shade = -0.13; shade <= 0.131; shade += 0.01) {
				const fill = shiftColour(kind[theme], shade);

				expectReadable(textOn(fill), fill, `${kind.word}, ${theme}`);
				// in timelines dense boxes are stronger, in eight steps
				for (const opacity of [DIM, 0.22, 1].flatMap(part =>
					[0.3, 0.5, 0.8, 1].map(share => part * share),
				)) {
					const dimmed = mixColours(fill, page, opacity);

					expectReadable(faintTextOn(dimmed), dimmed, `${kind.word} dimmed, ${theme}`);
				}
			}
	}
});

test("reports: text of the page", () => {
	const css = source("web/html/style.css");

	for (const [theme, selector] of [
		["light", ":root"],
		["dark", ':root[data-theme="dark"]'],
	]) {
		const of = variablesOf(css, selector);

		assert.equal(of.page, BOX_COLOURS[theme].page);
		for (const ground of ["page", "raised", "row"])
			for (const text of ["text", "faint", "warn", "strong"])
				expectReadable(of[text], of[ground], `--${text} on --${ground}, ${theme}`);
		expectReadable(of["on-strong"], of.strong, `--on-strong, ${theme}`);
		// lines of source are the warmer the hotter they are
		for (let heat = 0; heat <= 0.3; heat += 0.05)
			expectReadable(of.text, mixColours(of.warn, of.page, heat), `source, ${theme}`);
	}
});

// ---- pictures ----

// [selectors, declarations] of a style sheet that has no blocks in blocks.
function rulesOf(css) {
	return [...css.matchAll(/([^{}]+)\{([^{}]*)\}/g)].map(([, selectors, body]) => [
		selectors.split(",").map(selector => selector.trim()),
		Object.fromEntries(
			body
				.split(";")
				.map(line => line.split(/:(.*)/s).map(part => part.trim()))
				.filter(([name]) => name),
		),
	]);
}

function themesOf(css) {
	const plain = css.replace(/\/\*.*?\*\//gs, ""),
		at = plain.indexOf("@media (prefers-color-scheme: dark)");
	const light = rulesOf(plain.slice(0, at)),
		dark = rulesOf(plain.slice(plain.indexOf("{", at) + 1, plain.lastIndexOf("}")));

	assert.ok(at > 0 && light.length > 40 && dark.length > 30);
	return {light, dark: [...light, ...dark]};
}

// What the last rule with one of these very selectors says of a property.
function valueOf(rules, wanted, property) {
	let value;

	for (const [selectors, declarations] of rules)
		if ([wanted].flat().some(selector => selectors.includes(selector)))
			value = declarations[property] ?? value;
	return value;
}

test("pictures: text on each colour, in each strength, dimmed and faded, in both themes", () => {
	const themes = themesOf(source("formats/svg/style.css"));
	const frames = [...KINDS.map(kind => kind.word), "root"],
		changes = ["new", "more3", "more2", "more1", "noise", "less1", "less2", "less3", "gone"];
	let pairs = 0;

	for (const theme of THEMES) {
		const rules = themes[theme],
			of = (selector, property) => valueOf(rules, selector, property);
		const page = of(".flame .page", "fill"),
			usual = of(".flame text", "fill");
		const strengths = [1, ...["b", "c", "d"].map(word => Number(of(`.flame .${word}`, "fill-opacity")))],
			dim = Number(of(".flame rect.dim", "fill-opacity")),
			faded = Number(of(".flame rect.faded", "fill-opacity"));

		assert.ok(dim > 0 && dim < 0.5 && faded > dim && strengths.every(strength => strength > 0.5));
		for (const word of [...frames, ...changes]) {
			const fill = of(`.flame .${word}`, "fill");
			const grounds = /^url/.test(fill)
				? ["ground", "line"].map(part => of(`.flame .${word}-${part}`, "fill"))
				: [fill];
			const text = of(`.flame .on-${word}`, "fill") ?? usual,
				without = of(`.flame .${word} text`, "fill") ?? usual; // drawn by no script

			assert.equal(text, without, word);
			for (const ground of grounds) {
				assert.match(ground, /^#[0-9a-f]{6}$/, word);
				for (const strength of changes.includes(word) ? [1] : strengths)
					expectReadable(text, mixColours(ground, page, strength), `${word}, ${theme}`);
				expectReadable(
					of(".flame text.dim", "fill"),
					mixColours(ground, page, dim),
					`${word} dimmed, ${theme}`,
				);
				expectReadable(
					of(".flame text.faded", "fill"),
					mixColours(ground, page, faded),
					`${word} faded, ${theme}`,
				);
				// around the zoomed frame, and not found
				expectReadable(
					of([".flame text.dim", ".flame text.faded"], "fill"),
					mixColours(
						ground,
						page,
						Number(of([".flame rect.dim", ".flame rect.faded"], "fill-opacity")),
					),
					`${word} dimmed and faded, ${theme}`,
				);
				pairs++;
			}
		}
		for (const what of [".flame .about", ".flame .foot", ".flame .key text"])
			expectReadable(of(what, "fill"), page, `${what}, ${theme}`);
		const tip = of(".flame .tip", "background");

		for (const what of [".flame .tip", ".flame .tip i", ".flame .tip td:first-child"])
			expectReadable(of(what, "color"), tip, `${what}, ${theme}`);
		expectReadable(of(".flame input", "color"), of(".flame input", "background"), `input, ${theme}`);
		expectReadable(
			of(".flame input::placeholder", "color"),
			of(".flame input", "background"),
			`placeholder, ${theme}`,
		);
		for (const ground of [".flame button", ".flame button:hover:enabled"])
			expectReadable(of(".flame input", "color"), of(ground, "background"), `button, ${theme}`);
		expectReadable(
			of(".flame button:disabled", "color"),
			of(".flame button", "background"),
			`disabled button, ${theme}`,
		);
	}
	assert.equal(pairs, 2 * (frames.length + changes.length + 2));
});

// ---- reports of comparisons ----

test("comparisons: names on the colours of changes", () => {
	for (const {label, light, dark} of CHANGE_COLOURS)
		for (const fill of [light, dark]) expectReadable(textOn(fill), fill, label);
});
