// SPDX-License-Identifier: MIT
// Trees whose nodes are made on demand, as all would be many: callers inside functions with time, and all callees of a frame.

import {getOrMake} from "./data.js";
import {pathTo} from "./tree.js";

// `focus`: a frame, with everything inside it; -1: all with time of their own. `isCallees`: its callees in place of callers.
export function makeCallers(tree, weights, focus, outermostNodes, rank, isCallees = false) {
	const isOwn = focus < 0,
		weight = isOwn ? weights.own : weights.total,
		sources = isOwn
			? [weight, weights.ownOperations, weights.ownBytes, ...weights.ownByKind]
			: [weight, weights.operations, weights.bytes, ...weights.byKind],
		sums = sources.map(() => []),
		[total, operations, bytes, ...byKind] = sums,
		[frame, parent, depth, start, own, children] = Array.from({length: 6}, () => []),
		pending = []; // by node until it has children: leaf and position of each path
	const makeNode = (of, outer) => {
		for (const list of [start, own, ...sums]) list.push(0);
		parent.push(outer);
		depth.push(outer < 0 ? 0 : depth[outer] + 1);
		children.push(null);
		pending.push([]);
		return frame.push(of) - 1;
	};
	const add = (node, leaf) => sums.forEach((list, k) => (list[node] += sources[k][leaf]));
	const addLeaf = leaf => {
		pending[0].push(leaf, leaf);
		add(0, leaf);
	};

	makeNode(-1, -1);
	if (!isOwn) outermostNodes.forEach(addLeaf);
	for (let i = 1; isOwn && i < tree.count; i++) if (weight[i] > 0) addLeaf(i);

	function expand(node) {
		const byFrame = new Map();

		for (let i = 0; i < pending[node].length; i += 2) {
			const leaf = pending[node][i],
				position = pending[node][i + 1],
				of = tree.frame[position],
				child = getOrMake(byFrame, of, () => makeNode(of, node));

			add(child, leaf);
			if (isCallees) {
				own[child] += weights.own[position];
				for (let c = tree.first[position]; c < tree.first[position + 1]; c++)
					if (weight[tree.list[c]] > 0) pending[child].push(tree.list[c], tree.list[c]);
			} else if (tree.parent[position] > 0) pending[child].push(leaf, tree.parent[position]);
			else own[child] += weight[leaf];
		}
		pending[node] = null;
		const list = [...byFrame.values()];
		let at = start[node];

		list.sort((a, b) => (rank ? rank[frame[a]] - rank[frame[b]] : total[b] - total[a] || a - b));
		for (const child of list) {
			start[child] = at;
			at += total[child];
		}
		return list;
	}

	const childrenOf = node => (children[node] ??= expand(node));

	return {
		isEndless: true, // the number of levels is unknown
		parent,
		frame,
		depth,
		total,
		start,
		own,
		operations,
		bytes,
		byKind,
		children: childrenOf,
		// the number of levels below is unknown until they are made
		levelsBelow: node => +((children[node] ?? pending[node]).length > 0),
		// frames from the child of the root on: "12.3.4"
		nameOf: node => pathTo(parent, node).map(at => frame[at]).join("."),
		nodeOf(name) {
			let node = 0;
			for (const part of name.split(".")) {
				const next = childrenOf(node).find(child => String(frame[child]) === part);
				if (next === undefined) break;
				node = next;
			}
			return node;
		},
	};
}
