// SPDX-License-Identifier: MIT
// Makes elements from untrusted texts: never from markup.

// `values`: "text", "on" (an object of listeners), and attributes. Null and false are left out.
export function make(tag, values = {}, ...children) {
	const element = document.createElement(tag);

	for (const [key, value] of Object.entries(values)) {
		if (key === "text") element.textContent = value;
		else if (key === "on")
			for (const [event, listener] of Object.entries(value))
				element.addEventListener(event, listener);
		else if (value !== null && value !== false)
			element.setAttribute(key, value === true ? "" : value);
	}
	element.append(...children.filter(child => child !== null));
	return element;
}

// Makes buttons, one of which is pressed. `choices`: [value, label, title].
export function makeChoice(choices, value, choose) {
	return choices.map(([choice, label, title]) =>
		make("button", {
			type: "button",
			text: label,
			title: title ?? null,
			"aria-pressed": String(choice === value),
			on: {click: () => choose(choice)},
		}),
	);
}

// Replaces the children. The focus goes to the button with the text of the one that had it.
export function refill(element, ...children) {
	const active = document.activeElement;
	const text = active !== element && element.contains(active) ? active.textContent : null;

	element.replaceChildren(...children.filter(child => child !== null));
	if (text !== null)
		[...element.querySelectorAll("button")]
			.find(button => button.textContent === text)
			?.focus({preventScroll: true});
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
