// SPDX-License-Identifier: MIT
// A small language model's training step in C++ and CUDA, without a framework: work for captures.
// train [STEPS]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace model
{

constexpr int batch = 8, context = 128, width = 256, layers = 3, rows = batch * context;
constexpr int block_size = 256, tile = 16;

void check(cudaError_t error)
{
	if (error != cudaSuccess) {
		fprintf(stderr, "%s\n", cudaGetErrorString(error));
		exit(1);
	}
}

template <typename T> __global__ void layer_norm_forward(T *out, const T *in, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	T mean = 0, variance = 0;

	if (row >= n)
		return;
	for (int i = 0; i < width; i++)
		mean += in[row * width + i] / width;
	for (int i = 0; i < width; i++)
		variance += (in[row * width + i] - mean) * (in[row * width + i] - mean) / width;
	for (int i = 0; i < width; i++)
		out[row * width + i] = (in[row * width + i] - mean) * rsqrtf(variance + 1e-5f);
}

template <typename T, int Tile> __global__ void matmul(T *out, const T *a, const T *b, int n, int k)
{
	__shared__ T left[Tile][Tile], right[Tile][Tile];
	int row = blockIdx.y * Tile + threadIdx.y, column = blockIdx.x * Tile + threadIdx.x;
	T sum = 0;

	for (int at = 0; at < k; at += Tile) {
		left[threadIdx.y][threadIdx.x] = a[row * k + at + threadIdx.x];
		right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + column];
		__syncthreads();
		for (int i = 0; i < Tile; i++)
			sum += left[threadIdx.y][i] * right[i][threadIdx.x];
		__syncthreads();
	}
	out[row * n + column] = sum;
}

template <typename T> __global__ void softmax_forward(T *x, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	T largest = -INFINITY, sum = 0;

	if (row >= n)
		return;
	for (int i = 0; i < width; i++)
		largest = fmaxf(largest, x[row * width + i]);
	for (int i = 0; i < width; i++)
		sum += x[row * width + i] = expf(x[row * width + i] - largest);
	for (int i = 0; i < width; i++)
		x[row * width + i] /= sum;
}

template <typename T> __global__ void gelu_backward(T *grad, const T *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		grad[i] *= 0.5f * (1 + erff(x[i] * 0.7071f)) +
			   x[i] * 0.3989f * expf(-0.5f * x[i] * x[i]);
}

__global__ void adam_step(float *weight, float *m, float *v, const float *grad, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	m[i] = 0.9f * m[i] + 0.1f * grad[i];
	v[i] = 0.999f * v[i] + 0.001f * grad[i] * grad[i];
	weight[i] -= 3e-4f * m[i] / (sqrtf(v[i]) + 1e-8f);
}

class Tensor
{
      public:
	explicit Tensor(size_t n) : size(n)
	{
		check(cudaMalloc(&data, n * sizeof(float)));
		check(cudaMemset(data, 0, n * sizeof(float)));
	}
	~Tensor()
	{
		cudaFree(data);
	}
	Tensor(const Tensor &) = delete;
	Tensor &operator=(const Tensor &) = delete;
	float *data;
	size_t size;
};

struct Layer {
	Tensor weight{width * width}, m{width * width}, v{width * width}, grad{width * width};
	Tensor activation{rows * width}, out{rows * width};

	const float *forward(const float *in, cudaStream_t stream)
	{
		dim3 grid(width / tile, rows / tile), threads(tile, tile);

		layer_norm_forward<float>
			<<<rows / block_size, block_size, 0, stream>>>(activation.data, in, rows);
		matmul<float, tile><<<grid, threads, 0, stream>>>(out.data, activation.data,
								  weight.data, width, width);
		softmax_forward<float>
			<<<rows / block_size, block_size, 0, stream>>>(out.data, rows);
		return out.data;
	}

	void backward(cudaStream_t stream)
	{
		dim3 grid(width / tile, width / tile), threads(tile, tile);

		gelu_backward<float><<<rows * width / block_size, block_size, 0, stream>>>(
			out.data, activation.data, rows * width);
		matmul<float, tile><<<grid, threads, 0, stream>>>(grad.data, activation.data,
								  out.data, width, width);
	}

	void update(cudaStream_t stream)
	{
		adam_step<<<width * width / block_size, block_size, 0, stream>>>(
			weight.data, m.data, v.data, grad.data, width * width);
	}
};

class DataLoader
{
      public:
	const std::vector<float> &next()
	{
		for (float &value : buffer)
			value = static_cast<float>(step = step * 1103515245u + 12345u) /
				4294967296.0f;
		return buffer;
	}

      private:
	std::vector<float> buffer = std::vector<float>(rows * width);
	unsigned int step = 1;
};

float train_step(std::vector<Layer> &network, DataLoader &loader, Tensor &input,
		 cudaStream_t stream)
{
	const std::vector<float> &data = loader.next();
	const float *x = input.data;
	float first;

	check(cudaMemcpyAsync(input.data, data.data(), data.size() * sizeof(float),
			      cudaMemcpyHostToDevice, stream));
	for (Layer &layer : network)
		x = layer.forward(x, stream);
	for (Layer &layer : network)
		layer.backward(stream);
	for (Layer &layer : network)
		layer.update(stream);
	check(cudaMemcpyAsync(&first, x, sizeof(first), cudaMemcpyDeviceToHost, stream));
	check(cudaStreamSynchronize(stream));
	return first;
}

} // namespace model

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20;
	std::vector<model::Layer> network(model::layers);
	model::Tensor input(model::rows * model::width);
	model::DataLoader loader;
	cudaStream_t stream;
	float first = 0;

	model::check(cudaStreamCreate(&stream));
	for (int i = 0; i < steps; i++)
		first = model::train_step(network, loader, input, stream);
	printf("%g\n", static_cast<double>(first));
	return 0;
}
