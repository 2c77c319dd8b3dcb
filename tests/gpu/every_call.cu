/* SPDX-License-Identifier: MIT */
/*
 * Functions of the runtime and the driver that copy, set or launch, once, each in a function of its
 * own whose name ends in its: do_cudaMemcpy3DAsync. Prints "did NAME" for each. So the profile must
 * have GPU work under each of them, and none elsewhere. All of CUDA 13.0's, but for launches of
 * graphs, on several devices at once, the driver's batches and what is deprecated.
 *
 * Also built with --default-stream per-thread, where the runtime calls other entry points.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>

static void check(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "%s: error %d\n", what, error);
		exit(1);
	}
}

#define CHECK(call) check((int)(call), #call)
#define NOINLINE __attribute__((noinline, noclone))

enum { BYTES = 4096, WIDTH = 64, ROWS = 8, DEEP = 4, PITCH = 128 };

static __device__ char symbol[BYTES];
static char *device, *other, *pinned, *pageable;
static cudaArray_t array, array2, solid;
static cudaStream_t stream;
static CUfunction function;

__global__ void kernel(int *p)
{
	if (p)
		*p = 1;
}

static CUdeviceptr address(const void *p)
{
	return (CUdeviceptr)p;
}

static cudaMemcpy3DParms box(cudaMemcpyKind kind)
{
	cudaMemcpy3DParms p = {};
	bool in = kind == cudaMemcpyHostToDevice;

	p.srcPtr = make_cudaPitchedPtr(in ? pinned : device, WIDTH, WIDTH, ROWS);
	p.dstPtr = make_cudaPitchedPtr(in ? device : other, WIDTH, WIDTH, ROWS);
	p.extent = make_cudaExtent(WIDTH, ROWS, DEEP);
	p.kind = kind;
	return p;
}

static cudaMemcpy3DParms box_to_array()
{
	cudaMemcpy3DParms p = box(cudaMemcpyHostToDevice);

	p.dstPtr = {};
	p.dstArray = solid;
	return p;
}

static cudaMemcpy3DPeerParms peer_box()
{
	cudaMemcpy3DPeerParms p = {};

	p.srcPtr = make_cudaPitchedPtr(device, WIDTH, WIDTH, ROWS);
	p.dstPtr = make_cudaPitchedPtr(other, WIDTH, WIDTH, ROWS);
	p.extent = make_cudaExtent(WIDTH, ROWS, DEEP);
	return p;
}

static CUDA_MEMCPY2D rectangle()
{
	CUDA_MEMCPY2D c = {};

	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = pinned;
	c.srcPitch = PITCH;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = address(device);
	c.dstPitch = PITCH;
	c.WidthInBytes = WIDTH;
	c.Height = ROWS;
	return c;
}

static CUDA_MEMCPY3D driver_box()
{
	CUDA_MEMCPY3D c = {};

	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = pinned;
	c.srcPitch = WIDTH;
	c.srcHeight = ROWS;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = address(device);
	c.dstPitch = WIDTH;
	c.dstHeight = ROWS;
	c.WidthInBytes = WIDTH;
	c.Height = ROWS;
	c.Depth = DEEP;
	return c;
}

static CUcontext context()
{
	CUcontext current;

	CHECK(cuCtxGetCurrent(&current));
	return current;
}

static CUDA_MEMCPY3D_PEER driver_peer_box()
{
	CUDA_MEMCPY3D_PEER c = {};

	c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = address(device);
	c.dstDevice = address(other);
	c.srcContext = c.dstContext = context();
	c.srcPitch = c.dstPitch = WIDTH;
	c.srcHeight = c.dstHeight = ROWS;
	c.WidthInBytes = WIDTH;
	c.Height = ROWS;
	c.Depth = DEEP;
	return c;
}

static CUarray driver_array()
{
	return (CUarray)array;
}

static cudaError_t launch_ex()
{
	cudaLaunchConfig_t config = {};
	int *p = nullptr;
	void *arguments[] = {&p};

	config.gridDim = config.blockDim = dim3(1);
	config.stream = stream;
	return cudaLaunchKernelExC(&config, (const void *)kernel, arguments);
}

static cudaError_t launch_cooperative()
{
	int *p = nullptr;
	void *arguments[] = {&p};

	return cudaLaunchCooperativeKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0,
					   stream);
}

static CUresult driver_launch_ex()
{
	CUlaunchConfig config = {};
	int *p = nullptr;
	void *arguments[] = {&p};

	config.gridDimX = config.gridDimY = config.gridDimZ = 1;
	config.blockDimX = config.blockDimY = config.blockDimZ = 1;
	config.hStream = stream;
	return cuLaunchKernelEx(&config, function, arguments, nullptr);
}

static int *null_pointer;
static void *no_pointer[] = {&null_pointer};

#if CUDART_VERSION >= 13000
static const cudaMemLocation here = {cudaMemLocationTypeDevice, 0};

static cudaError_t copy_batch()
{
	void *to[] = {device, other};
	const void *from[] = {pinned, pinned + 1024};
	size_t sizes[] = {1024, 2048}, index = 0;
	cudaMemcpyAttributes how = {};

	how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	return cudaMemcpyBatchAsync(to, from, sizes, 2, &how, &index, 1, stream);
}

static cudaError_t copy_batch_3d()
{
	cudaMemcpy3DBatchOp op = {};

	op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
	op.src.op.ptr.ptr = pinned;
	op.dst.op.ptr.ptr = device;
	op.src.op.ptr.rowLength = op.dst.op.ptr.rowLength = WIDTH;
	op.src.op.ptr.layerHeight = op.dst.op.ptr.layerHeight = ROWS;
	op.src.op.ptr.locHint.type = cudaMemLocationTypeHost;
	op.dst.op.ptr.locHint = here;
	op.extent = make_cudaExtent(WIDTH, ROWS, DEEP);
	op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	return cudaMemcpy3DBatchAsync(1, &op, 0, stream);
}
#define SINCE_13(X)                           \
	X(cudaMemcpyBatchAsync, copy_batch()) \
	X(cudaMemcpy3DBatchAsync, copy_batch_3d())
#else
#define SINCE_13(X)
#endif

#define CALLS(X)                                                                                   \
	X(cudaMemcpy, cudaMemcpy(device, pageable, BYTES, cudaMemcpyHostToDevice))                 \
	X(cudaMemcpy_back, cudaMemcpy(pageable, device, BYTES, cudaMemcpyDeviceToHost))            \
	X(cudaMemcpy_within, cudaMemcpy(other, device, BYTES, cudaMemcpyDeviceToDevice))           \
	X(cudaMemcpyAsync, cudaMemcpyAsync(device, pinned, BYTES, cudaMemcpyDefault, stream))      \
	X(cudaMemcpyAsync_default, cudaMemcpyAsync(device, pinned, BYTES, cudaMemcpyDefault, 0))   \
	X(cudaMemcpyToSymbol, cudaMemcpyToSymbol(symbol, pageable, BYTES))                         \
	X(cudaMemcpyFromSymbol, cudaMemcpyFromSymbol(pageable, symbol, BYTES))                     \
	X(cudaMemcpyToSymbolAsync,                                                                 \
	  cudaMemcpyToSymbolAsync(symbol, pinned, BYTES, 0, cudaMemcpyHostToDevice, stream))       \
	X(cudaMemcpyFromSymbolAsync,                                                               \
	  cudaMemcpyFromSymbolAsync(pinned, symbol, BYTES, 0, cudaMemcpyDeviceToHost, stream))     \
	X(cudaMemcpy2D,                                                                            \
	  cudaMemcpy2D(device, PITCH, pageable, PITCH, WIDTH, ROWS, cudaMemcpyHostToDevice))       \
	X(cudaMemcpy2DAsync, cudaMemcpy2DAsync(device, PITCH, pinned, PITCH, WIDTH, ROWS,          \
					       cudaMemcpyHostToDevice, stream))                    \
	X(cudaMemcpy2DToArray,                                                                     \
	  cudaMemcpy2DToArray(array, 0, 0, pageable, WIDTH, WIDTH, ROWS, cudaMemcpyHostToDevice))  \
	X(cudaMemcpy2DToArrayAsync,                                                                \
	  cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, WIDTH, WIDTH, ROWS,                        \
				   cudaMemcpyHostToDevice, stream))                                \
	X(cudaMemcpy2DFromArray, cudaMemcpy2DFromArray(pageable, WIDTH, array, 0, 0, WIDTH, ROWS,  \
						       cudaMemcpyDeviceToHost))                    \
	X(cudaMemcpy2DFromArrayAsync,                                                              \
	  cudaMemcpy2DFromArrayAsync(pinned, WIDTH, array, 0, 0, WIDTH, ROWS,                      \
				     cudaMemcpyDeviceToHost, stream))                              \
	X(cudaMemcpy2DArrayToArray, cudaMemcpy2DArrayToArray(array2, 0, 0, array, 0, 0, WIDTH,     \
							     ROWS, cudaMemcpyDeviceToDevice))      \
	X(cudaMemcpy3D, cudaMemcpy3D(&to_device))                                                  \
	X(cudaMemcpy3DAsync, cudaMemcpy3DAsync(&on_device, stream))                                \
	X(cudaMemcpy3DAsync_array, cudaMemcpy3DAsync(&to_array, stream))                           \
	X(cudaMemcpyPeer, cudaMemcpyPeer(other, 0, device, 0, BYTES))                              \
	X(cudaMemcpyPeerAsync, cudaMemcpyPeerAsync(other, 0, device, 0, BYTES, stream))            \
	X(cudaMemcpy3DPeer, cudaMemcpy3DPeer(&peers))                                              \
	X(cudaMemcpy3DPeerAsync, cudaMemcpy3DPeerAsync(&peers, stream))                            \
	X(cudaMemset, cudaMemset(device, 1, BYTES))                                                \
	X(cudaMemsetAsync, cudaMemsetAsync(device, 1, BYTES, stream))                              \
	X(cudaMemset2D, cudaMemset2D(device, PITCH, 1, WIDTH, ROWS))                               \
	X(cudaMemset2DAsync, cudaMemset2DAsync(device, PITCH, 1, WIDTH, ROWS, stream))             \
	X(cudaMemset3D, cudaMemset3D(to_device.dstPtr, 1, to_device.extent))                       \
	X(cudaMemset3DAsync, cudaMemset3DAsync(to_device.dstPtr, 1, to_device.extent, stream))     \
	X(cudaLaunchKernel, (kernel<<<1, 1, 0, stream>>>(nullptr), cudaGetLastError()))            \
	X(cudaLaunchKernel_default, (kernel<<<1, 1>>>(nullptr), cudaGetLastError()))               \
	X(cudaLaunchKernelExC, launch_ex())                                                        \
	X(cudaLaunchCooperativeKernel, launch_cooperative())                                       \
	SINCE_13(X)                                                                                \
	X(cuMemcpy, cuMemcpy(address(other), address(device), BYTES))                              \
	X(cuMemcpyAsync, cuMemcpyAsync(address(other), address(device), BYTES, stream))            \
	X(cuMemcpyHtoD, cuMemcpyHtoD(address(device), pageable, BYTES))                            \
	X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync(address(device), pinned, BYTES, stream))            \
	X(cuMemcpyDtoH, cuMemcpyDtoH(pageable, address(device), BYTES))                            \
	X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync(pinned, address(device), BYTES, stream))            \
	X(cuMemcpyDtoD, cuMemcpyDtoD(address(other), address(device), BYTES))                      \
	X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync(address(other), address(device), BYTES, stream))    \
	X(cuMemcpyHtoA, cuMemcpyHtoA(driver_array(), 0, pageable, WIDTH))                          \
	X(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync(driver_array(), 0, pinned, WIDTH, stream))          \
	X(cuMemcpyAtoH, cuMemcpyAtoH(pageable, driver_array(), 0, WIDTH))                          \
	X(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync(pinned, driver_array(), 0, WIDTH, stream))          \
	X(cuMemcpyDtoA, cuMemcpyDtoA(driver_array(), 0, address(device), WIDTH))                   \
	X(cuMemcpyAtoD, cuMemcpyAtoD(address(device), driver_array(), 0, WIDTH))                   \
	X(cuMemcpyAtoA, cuMemcpyAtoA((CUarray)array2, 0, driver_array(), 0, WIDTH))                \
	X(cuMemcpy2D, cuMemcpy2D(&flat))                                                           \
	X(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned(&flat))                                         \
	X(cuMemcpy2DAsync, cuMemcpy2DAsync(&flat, stream))                                         \
	X(cuMemcpy3D, cuMemcpy3D(&deep))                                                           \
	X(cuMemcpy3DAsync, cuMemcpy3DAsync(&deep, stream))                                         \
	X(cuMemcpyPeer,                                                                            \
	  cuMemcpyPeer(address(other), context(), address(device), context(), BYTES))              \
	X(cuMemcpyPeerAsync,                                                                       \
	  cuMemcpyPeerAsync(address(other), context(), address(device), context(), BYTES, stream)) \
	X(cuMemcpy3DPeer, cuMemcpy3DPeer(&driver_peers))                                           \
	X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync(&driver_peers, stream))                         \
	X(cuMemsetD8, cuMemsetD8(address(device), 1, BYTES))                                       \
	X(cuMemsetD16, cuMemsetD16(address(device), 1, BYTES / 2))                                 \
	X(cuMemsetD32, cuMemsetD32(address(device), 1, BYTES / 4))                                 \
	X(cuMemsetD8Async, cuMemsetD8Async(address(device), 1, BYTES, stream))                     \
	X(cuMemsetD16Async, cuMemsetD16Async(address(device), 1, BYTES / 2, stream))               \
	X(cuMemsetD32Async, cuMemsetD32Async(address(device), 1, BYTES / 4, stream))               \
	X(cuMemsetD2D8, cuMemsetD2D8(address(device), PITCH, 1, WIDTH, ROWS))                      \
	X(cuMemsetD2D16, cuMemsetD2D16(address(device), PITCH, 1, WIDTH / 2, ROWS))                \
	X(cuMemsetD2D32, cuMemsetD2D32(address(device), PITCH, 1, WIDTH / 4, ROWS))                \
	X(cuMemsetD2D8Async, cuMemsetD2D8Async(address(device), PITCH, 1, WIDTH, ROWS, stream))    \
	X(cuMemsetD2D16Async,                                                                      \
	  cuMemsetD2D16Async(address(device), PITCH, 1, WIDTH / 2, ROWS, stream))                  \
	X(cuMemsetD2D32Async,                                                                      \
	  cuMemsetD2D32Async(address(device), PITCH, 1, WIDTH / 4, ROWS, stream))                  \
	X(cuLaunchKernel,                                                                          \
	  cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, no_pointer, nullptr))              \
	X(cuLaunchKernelEx, driver_launch_ex())                                                    \
	X(cuLaunchCooperativeKernel,                                                               \
	  cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, no_pointer))

static cudaMemcpy3DParms to_device, on_device, to_array;
static cudaMemcpy3DPeerParms peers;
static CUDA_MEMCPY2D flat;
static CUDA_MEMCPY3D deep;
static CUDA_MEMCPY3D_PEER driver_peers;

#define DEFINE(name, call)                            \
	NOINLINE static void do_##name()              \
	{                                             \
		CHECK(call);                          \
		CHECK(cudaStreamSynchronize(stream)); \
	}
CALLS(DEFINE)

static void prepare()
{
	cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&device, BYTES));
	CHECK(cudaMalloc(&other, BYTES));
	CHECK(cudaMallocHost(&pinned, BYTES));
	pageable = (char *)calloc(1, BYTES);
	CHECK(cudaMallocArray(&array, &bytes, WIDTH, ROWS));
	CHECK(cudaMallocArray(&array2, &bytes, WIDTH, ROWS));
	CHECK(cudaMalloc3DArray(&solid, &bytes, make_cudaExtent(WIDTH, ROWS, DEEP)));
	CHECK(cudaGetFuncBySymbol(&function, (const void *)kernel));
	to_device = box(cudaMemcpyHostToDevice);
	on_device = box(cudaMemcpyDeviceToDevice);
	to_array = box_to_array();
	peers = peer_box();
	flat = rectangle();
	deep = driver_box();
	driver_peers = driver_peer_box();
}

int main()
{
	prepare();
#define DO(name, call) \
	do_##name();   \
	puts("did do_" #name);
	CALLS(DO)
	return 0;
}
