// SPDX-License-Identifier: MIT
// Runs that are made up: a training job on several GPUs, with its timeline.
import {makeRandom} from "./made_page.mjs";

const NATIVE = 0,
	PYTHON = 1,
	API = 4,
	NVTX = 5,
	GPU_KERNEL = 6,
	GPU_WORK = 7;
const KERNELS = [
	[
		"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8::Params)",
		"cutlass::Kernel2<…>",
		42000,
	],
	[
		"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::{lambda()#1}>(int, at::native::GeluCUDAKernelImpl)",
		"at::native::vectorized_elementwise_kernel<…>",
		9000,
	],
	[
		"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, true, false>(Flash_fwd_params)",
		"flash_fwd_kernel<…>",
		65000,
	],
	[
		"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*)",
		"at::native::(anonymous namespace)::vectorized_layer_norm_kernel<…>",
		7000,
	],
];

// About `events` records of `gpus` GPUs, each with a compute stream, one of copies and one of NCCL,
// and as many threads; the same at each run.
export function makeTraining({events = 20000, gpus = 2, seed = 7} = {}) {
	const random = makeRandom(seed),
		frames = [],
		stacks = [],
		places = [],
		records = [],
		sums = new Map();
	const frame = (kind, name, more = {}) =>
		frames.push({class: kind, name, shortName: name.replace(/^\[GPU_Kernel\]/, ""), ...more}) -
		1;
	const push = (outer, f) => stacks.push({outer, frame: f});
	const main = push(
		push(0, frame(NATIVE, "_start")),
		frame(PYTHON, "<module> (train.py:1)", {file: "/app/train.py", line: 1}),
	);
	const step = push(
		main,
		frame(PYTHON, "train_step (train.py:88)", {file: "/app/train.py", line: 88}),
	);
	const forward = push(
		push(step, frame(NVTX, "[NVTX] forward")),
		frame(PYTHON, "Transformer.forward (model.py:210)", {file: "/app/model.py", line: 210}),
	);
	const backward = push(
		push(step, frame(NVTX, "[NVTX] backward")),
		frame(PYTHON, "backward (_tensor.py:492)"),
	);
	const load = push(
		step,
		frame(PYTHON, "DataLoader.__next__ (dataloader.py:630)", {
			file: "/usr/lib/torch/dataloader.py",
			line: 630,
		}),
	);
	const decode = push(
		load,
		frame(NATIVE, "jpeg::decode_mcu(jpeg::Decoder*)", {module: "/usr/lib/libjpeg.so.62"}),
	);
	const launchFrame = frame(API, "cudaLaunchKernel"),
		copyFrame = frame(API, "cudaMemcpyAsync"),
		waitFrame = frame(API, "cudaStreamSynchronize");
	const phases = [forward, backward].map((outer, phase) => {
		const attention = push(
				outer,
				frame(
					PYTHON,
					`${phase ? "AttentionBackward" : "Attention.forward"} (attention.py:${40 + phase})`,
					{file: "/app/attention.py"},
				),
			),
			range = push(attention, frame(NVTX, "[NVTX] attention")),
			launch = push(range, launchFrame);

		return {
			launch,
			own: attention,
			kernels: KERNELS.map(([name, shortName, ns]) => ({
				stack: push(launch, frame(GPU_KERNEL, `[GPU_Kernel]${name}`, {shortName})),
				ns,
			})),
		};
	});
	const copyCall = push(load, copyFrame),
		copy = push(copyCall, frame(GPU_WORK, "[GPU_Memcpy HtoD]")),
		reduceCall = push(backward, launchFrame),
		reduce = push(
			reduceCall,
			frame(
				GPU_KERNEL,
				"[GPU_Kernel]ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
				{shortName: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
			),
		),
		wait = push(step, waitFrame);
	const at = [];

	for (let gpu = 0; gpu < gpus; gpu++) {
		const first = places.length;

		places.push([0, 100 + gpu, -1, -1, -1]);
		for (const stream of [7, 13, 20]) places.push([0, 100 + gpu, gpu, 1, stream]);
		at.push({
			thread: first,
			compute: first + 1,
			copies: first + 2,
			nccl: first + 3,
			cpu: 2e6,
			gpu: 0,
			copied: 0,
			reduced: 0,
			sample: 0,
		});
	}
	let correlation = 1;
	const add = record => {
		records.push(record);
		const kind = [0, -1, 1, 2, 3][record.kind];

		if (kind < 0) return;
		const key = `${record.stack}.${kind}.${record.place}`,
			row = sums.get(key) ?? {
				stack: record.stack,
				kind,
				place: record.place,
				count: 0,
				ns: 0,
				bytes: 0,
			};

		row.count++;
		row.ns += record.duration;
		row.bytes += record.bytes ?? 0;
		sums.set(key, row);
	};
	const sampleUntil = (state, time, stack) => {
		for (; state.sample < time; state.sample += 1e6)
			add({kind: 0, place: state.thread, start: state.sample, duration: 1e6, stack});
	};

	while (records.length < events)
		for (const state of at) {
			const begin = state.cpu;

			state.cpu += 9e5 + random(4e5);
			sampleUntil(state, state.cpu, decode);
			add({
				kind: 1,
				place: state.thread,
				start: state.cpu,
				duration: 9000,
				stack: copyCall,
				correlation,
			});
			state.copied = Math.max(state.copied, state.cpu + 12000);
			add({
				kind: 2,
				place: state.copies,
				start: state.copied,
				duration: 350000,
				stack: copy,
				correlation: correlation++,
				bytes: 9633792,
			});
			state.copied += 350000;
			state.gpu = Math.max(state.gpu, state.copied);
			phases.forEach((phase, back) => {
				for (let layer = 0; layer < 24; layer++) {
					for (const kernel of phase.kernels) {
						const duration = Math.round(
							kernel.ns * (back ? 1.7 : 1) * (0.9 + random(200) / 1000),
						);

						add({
							kind: 1,
							place: state.thread,
							start: state.cpu,
							duration: 3800 + random(900),
							stack: phase.launch,
							correlation,
						});
						state.gpu = Math.max(state.gpu, state.cpu + 6000);
						add({
							kind: 2,
							place: state.compute,
							start: state.gpu,
							duration,
							stack: kernel.stack,
							correlation: correlation++,
							shape: 1 + random(3),
						});
						state.gpu += duration + 900;
						state.cpu += 7000 + random(1500);
					}
					if (back && layer % 6 === 5) {
						add({
							kind: 1,
							place: state.thread,
							start: state.cpu,
							duration: 5200,
							stack: reduceCall,
							correlation,
						});
						state.reduced = Math.max(state.reduced, state.gpu);
						add({
							kind: 2,
							place: state.nccl,
							start: state.reduced,
							duration: 780000,
							stack: reduce,
							correlation: correlation++,
							shape: 4,
						});
						state.reduced += 780000;
						state.cpu += 8000;
					}
				}
				sampleUntil(state, state.cpu, phase.own);
			});
			const done = Math.max(state.gpu, state.reduced);

			add({
				kind: 3,
				place: state.thread,
				start: state.cpu,
				duration: done - state.cpu,
				stack: wait,
			});
			state.cpu = done + 30000;
			state.sample = state.cpu;
			if (begin > state.cpu) throw new Error("time goes back");
		}
	const rows = [...sums.values()].sort((a, b) => a.stack - b.stack),
		elapsed = Math.max(...at.map(state => state.cpu)) + 3e6;

	return {
		facts: {
			command: "python3 train.py --model 7b --batch 64",
			"elapsed ns": elapsed,
			"cpu ns": 1,
			"gpu ns": 1,
			"sample ns": 1e6,
		},
		frames,
		stacks,
		places,
		rows,
		processes: [{number: 0, pid: 4000, name: "train.py 4000"}],
		threads: at.map((_, gpu) => ({process: 0, tid: 100 + gpu, name: `rank ${gpu} 41${gpu}0`})),
		devices: at.map((_, gpu) => ({
			process: 0,
			number: gpu,
			label: `GPU ${gpu}`,
			name: "NVIDIA H200",
		})),
		timeline: {
			records,
			shapes: [
				[256, 4, 1, 128, 1, 1, 0, 98304, 168],
				[1184, 1, 1, 256, 1, 1, 16, 0, 32],
				[64, 32, 2, 256, 1, 1, 1024, 65536, 255],
				[24, 1, 1, 544, 1, 1, 79856, 0, 96],
			],
		},
	};
}
