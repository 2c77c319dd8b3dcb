// SPDX-License-Identifier: MIT
// Lists what the profile says, at the top of the page: the verdict, and the findings after it.
import {make} from "./dom.js";

const SHOWN = 6; // findings besides the verdict

function cellOf(table, row, label) {
	return row[table.columns.findIndex(column => column.label === label)] ?? "";
}

// Returns a list that can be closed, or null if the profile has no findings.
export function makeFindings(profile) {
	const table = (profile.figures ?? []).find(({key}) => key === "findings");

	if (!table || table.rows.length === 0) return null;
	const [verdict, ...others] = table.rows.map(row => ({
		claim: cellOf(table, row, "Claim"),
		title: [cellOf(table, row, "Certainty"), cellOf(table, row, "Next")]
			.filter(text => text !== "")
			.join("; next: "),
	}));

	return make(
		"details",
		{id: "findings", open: true},
		make("summary", {text: verdict.claim, title: verdict.title}),
		make(
			"ul",
			{},
			...others.slice(0, SHOWN).map(({claim, title}) => make("li", {text: claim, title})),
		),
	);
}
