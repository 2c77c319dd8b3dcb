// SPDX-License-Identifier: MIT
// Canvases that people point at: what pointers, fingers and the wheel do becomes what it means: to point, click, drag, stretch.
import {make} from "./dom.js";

const DOUBLE_CLICK_MS = 500,
	STILL_CLICK = 5, // pixels that a pointer may move in a click
	PINCH_LEAST = 8, // pixels between two fingers
	WHEEL_MOST = 60, // of a turn
	WHEEL_E = 120; // a turn by this much stretches by e

// Makes a canvas that shows the part of `sheet` that `element` is scrolled to. draw() calls `drawNow` in the next frame.
export function makeCanvasPane(label, details, drawNow) {
	const canvas = make("canvas", {tabindex: "0", role: "application", "aria-label": label, "aria-describedby": details}),
		sheet = make("div", {class: "sheet"}, canvas),
		element = make("div", {class: "graph"}, sheet),
		tip = make("div", {class: "tip", hidden: true});
	let isWaiting = false;
	const draw = () => {
		if (!isWaiting)
			requestAnimationFrame(() => {
				isWaiting = false;
				drawNow();
			});
		isWaiting = true;
	};

	for (const event of ["focus", "blur"]) canvas.addEventListener(event, draw);
	element.addEventListener("scroll", draw);
	// Scrolls to show what is between two heights.
	const scrollTo = (top, bottom) =>
		(element.scrollTop = Math.max(Math.min(element.scrollTop, top), bottom - element.clientHeight));
	return {canvas, sheet, element, tip, draw, scrollTo};
}

// `on` has, with x in pixels from the canvas's left:
//   begin(event)           returns what a drag from there does, a word for drag()
//   drag(word, pointer)    {x, startX, dx, dy}: where it is and where it began; how far it went
//   end(word, isClick)     a drag is over; null: it was given up
//   click(event, isAgain)  isAgain: if it is where the last one was, it is a double-click or a second tap
//   hover(event)           the pointer is there, with no button down; null: it left
//   stretch(factor, x), pan(dx, dy)
//   zoomsAt(x)             true where the wheel alone stretches
// Returns {again, leave}: again() calls hover() once more, when the picture below a pointer has changed; leave() forgets it.
export function listenToPointers(canvas, on) {
	const pointers = new Map();
	let rest = null, // the last event of a pointer with no button down
		word = null,
		isMoved = false,
		lastClick = -Infinity;
	const xOf = event => event.clientX - canvas.getBoundingClientRect().left;

	function hover(event) {
		rest = event?.pointerType === "touch" ? null : event;
		on.hover?.(rest);
	}

	function move(event) {
		const pointer = pointers.get(event.pointerId);

		if (!pointer) {
			hover(event);
			return;
		}
		const x = xOf(event),
			dx = x - pointer.x,
			dy = event.clientY - pointer.y,
			other = [...pointers.values()].find(one => one !== pointer);

		Object.assign(pointer, {x, y: event.clientY, dx, dy});
		if (other) {
			const before = Math.abs(x - dx - other.x),
				after = Math.abs(x - other.x);
			isMoved = true;
			if (before > PINCH_LEAST && after > PINCH_LEAST) on.stretch(before / after, (x + other.x) / 2);
			return;
		}
		const isFar = Math.max(Math.abs(x - pointer.startX), Math.abs(event.clientY - pointer.startY)) > STILL_CLICK;

		if (!isMoved && !isFar) return;
		isMoved = true;
		canvas.classList.add("dragged");
		hover(null);
		on.drag(word, pointer);
	}

	function release(event) {
		const wasDown = pointers.delete(event.pointerId),
			isUp = event.type === "pointerup",
			isClick = wasDown && isUp && !isMoved;

		canvas.classList.remove("dragged");
		if (!wasDown) return;
		on.end?.(isUp ? word : null, isClick);
		if (isClick) {
			on.click?.(event, event.pointerType === "touch" || event.timeStamp - lastClick < DOUBLE_CLICK_MS);
			lastClick = event.timeStamp;
		}
		if (isUp) hover(event);
	}

	canvas.addEventListener("pointerdown", event => {
		const x = xOf(event),
			y = event.clientY;

		if (event.button !== 0) return;
		isMoved = pointers.size > 0;
		if (isMoved) on.end?.(null, false);
		word = isMoved ? "" : (on.begin?.(event) ?? "");
		canvas.setPointerCapture(event.pointerId);
		pointers.set(event.pointerId, {x, y, startX: x, startY: y, dx: 0, dy: 0});
	});
	canvas.addEventListener("pointermove", move);
	canvas.addEventListener("pointerup", release);
	canvas.addEventListener("pointercancel", release);
	canvas.addEventListener("pointerleave", () => hover(null));
	canvas.addEventListener(
		"wheel",
		event => {
			const isZoom = event.ctrlKey || event.metaKey,
				isSideways = !isZoom && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY));
			if (!isZoom && !isSideways && !on.zoomsAt?.(xOf(event))) return;
			event.preventDefault();
			if (isSideways) on.pan(-(event.deltaX || event.deltaY), 0);
			else on.stretch(Math.exp(Math.max(-WHEEL_MOST, Math.min(WHEEL_MOST, event.deltaY)) / WHEEL_E), xOf(event));
		},
		{passive: false},
	);
	return {again: () => rest && pointers.size === 0 && on.hover?.(rest), leave: () => hover(null)};
}
