// SPDX-License-Identifier: MIT
// Trees whose nodes are made on demand, because all of them would be many times the tree: callers inside
// the functions that time was spent in, and callees of a frame wherever it is.

// `focus` is a frame that is wanted with everything inside it; -1: all frames with time of their own.
// `isCallees`: callees of the focus in place of its callers.
export function makeCallers(tree, weights, focus, outermostNodes, rank, isCallees = false) {
	const frame = [-1],
		parent = [-1],
		depth = [0],
		total = [0],
		start = [0];
	const own = [0],
		operations = [0],
		bytes = [0],
		byKind = weights.byKind.map(() => [0]);
	const leaves = [[]],
		positions = [[]]; // of each node, until it has its children
	const children = [null];
	const isOwn = focus < 0,
		weight = isOwn ? weights.own : weights.total,
		sums = [
			[total, weight],
			[operations, isOwn ? weights.ownOperations : weights.operations],
			[bytes, isOwn ? weights.ownBytes : weights.bytes],
			...byKind.map((list, kind) => [list, (isOwn ? weights.ownByKind : weights.byKind)[kind]]),
		];
	const add = (node, leaf) => {
		for (const [list, of] of sums) list[node] += of[leaf];
	};
	const push = (child, leaf, position) => {
		leaves[child].push(leaf);
		positions[child].push(position);
	};
	const addLeaf = i => {
		push(0, i, i);
		add(0, i);
	};

	if (isOwn) {
		for (let i = 1; i < tree.count; i++) if (weight[i] > 0) addLeaf(i);
	} else {
		outermostNodes.forEach(addLeaf);
	}

	function expand(node) {
		const byFrame = new Map(),
			list = [];

		for (let i = 0; i < leaves[node].length; i++) {
			const leaf = leaves[node][i],
				position = positions[node][i],
				f = tree.frame[position];
			let child = byFrame.get(f);

			if (child === undefined) {
				child = frame.length;
				byFrame.set(f, child);
				list.push(child);
				frame.push(f);
				parent.push(node);
				depth.push(depth[node] + 1);
				start.push(0);
				own.push(0);
				for (const [list] of sums) list.push(0);
				leaves.push([]);
				positions.push([]);
				children.push(null);
			}
			add(child, leaf);
			if (isCallees) {
				own[child] += weights.own[position];
				for (let c = tree.first[position]; c < tree.first[position + 1]; c++)
					if (weight[tree.list[c]] > 0) push(child, tree.list[c], tree.list[c]);
			} else if (tree.parent[position] > 0) {
				push(child, leaf, tree.parent[position]);
			} else {
				own[child] += weight[leaf];
			}
		}
		leaves[node] = positions[node] = null;
		list.sort((a, b) => (rank ? rank[frame[a]] - rank[frame[b]] : total[b] - total[a] || a - b));
		let at = start[node];

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
		levelsBelow: node => (children[node] ? +(children[node].length > 0) : +(leaves[node].length > 0)),
		// frames from the child of the root on: "12.3.4"
		nameOf(node) {
			const path = [];
			for (; node > 0; node = parent[node]) path.push(frame[node]);
			return path.reverse().join(".");
		},
		nodeOf(name) {
			let node = 0;

			for (const part of name === "" ? [] : name.split(".")) {
				const next = childrenOf(node).find(child => String(frame[child]) === part);
				if (next === undefined) return node;
				node = next;
			}
			return node;
		},
	};
}
