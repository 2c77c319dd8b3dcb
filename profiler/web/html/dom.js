// SPDX-License-Identifier: MIT
// Makes elements from untrusted texts: never from markup.

// `values`: "text", "on" (listeners), "style", and attributes. What is undefined, null or false is left out, also of children.
export function make(tag, values = {}, ...children) {
	const element = document.createElement(tag);

	for (const [key, value] of Object.entries(values)) {
		if (key === "text") element.textContent = value;
		else if (key === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
		else if (key === "style") Object.assign(element.style, value);
		else if ((value ?? false) !== false) element.setAttribute(key, value === true ? "" : value);
	}
	element.append(...children.filter(child => (child ?? false) !== false));
	return element;
}

// `act` is called for a click, with the event.
export function makeButton(text, act, more = {}) {
	return make("button", {type: "button", text, on: {click: act}, ...more});
}

// Makes buttons, one of which is pressed. `choices`: [value, label, title].
export function makeChoice(choices, value, choose) {
	return choices.map(([choice, label, title = null]) =>
		makeButton(label, () => choose(choice), {title, "aria-pressed": String(choice === value)}),
	);
}

export function makeGroup(label, ...choice) {
	return make("div", {class: "group", role: "group", "aria-label": label}, ...makeChoice(...choice));
}

// Makes a list to choose from. `choices`: [value, label].
export function makeSelect(label, choices, choose, more = {}) {
	return make(
		"select",
		{"aria-label": label, on: {change: event => choose(event.target.value)}, ...more},
		...choices.map(([value, text]) => make("option", {value, text})),
	);
}

// Makes a square of the colour that a word beside it stands for.
export function makeSwatch(colour, title = null) {
	return make("i", {title, style: {background: colour}});
}

// Makes the bar of a share below a text. What is beside the bar takes 18 pixels.
export function makeBar(share, style = {}) {
	return make("b", {"aria-hidden": "true", style: {width: `calc((100% - 18px) * ${share})`, ...style}});
}

export function makeEntry(colour, text, title = null) {
	return make("li", {title}, makeSwatch(colour), text);
}

// Makes a table from the cells of its head, if any, and from rows.
export function makeTable(values, head, rows) {
	return make("table", values, head && make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}

// Makes a view: "section" with a class of its own.
export function makeView(name, label, ...parts) {
	return make("section", {class: `view ${name}`, "aria-label": label}, ...parts);
}

// Shows a text; what has none is hidden.
export function setText(element, text) {
	element.textContent = text;
	element.hidden = text === "";
}

// Replaces the children. The focus goes to the button with the text of the one that had it.
export function refill(element, ...children) {
	const active = document.activeElement;
	const text = active !== element && element.contains(active) ? active.textContent : null;
	element.replaceChildren(...children.filter(child => (child ?? false) !== false));
	if (text !== null)
		[...element.querySelectorAll("button")].find(button => button.textContent === text)?.focus({preventScroll: true});
}

const COPIED_MS = 1000;

// Copies a text, and says so on the button; without a clipboard, as in pages that are no secure context, by a selection.
export async function copyText(text, button) {
	const label = button.textContent;

	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = document.body.appendChild(make("textarea", {class: "skip"}));
		area.value = text;
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	button.textContent = "Copied";
	setTimeout(() => {
		button.textContent = label;
	}, COPIED_MS);
}
