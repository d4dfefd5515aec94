/* GPUs for kernels: a table of functions of CUDA's driver, filled at run time, and what a kernel needs of a device.
 *
 * There is no cuda.h here: libcuda.so.1 comes with every driver, and its functions keep their names and arguments. A
 * stand-in in host memory (stand_in.c) has the same functions, so that all of this runs on machines without a GPU. */
#ifndef LABKIT_DEVICE_H
#define LABKIT_DEVICE_H

#include <stddef.h>

#include "kernel.h"

typedef unsigned long long Address; /* CUdeviceptr */
typedef struct {
    char bytes[64];
} IpcHandle; /* CUipcMemHandle */

/* X(name, arguments): every function of the driver that kernels or Python call, without its prefix cu. Devices are int,
 * contexts, streams, events, modules and functions are pointers. Python reads the names from the library (gpu.c). */
#define CUDA_FUNCTIONS(X)                                                                                       \
    X(Init, (unsigned))                                                                                         \
    X(DriverGetVersion, (int *))                                                                                \
    X(DeviceGetCount, (int *))                                                                                  \
    X(DeviceGet, (int *, int))                                                                                  \
    X(DeviceGetName, (char *, int, int))                                                                        \
    X(DeviceGetAttribute, (int *, int, int))                                                                    \
    X(DeviceTotalMem_v2, (size_t *, int))                                                                       \
    X(DeviceCanAccessPeer, (int *, int, int))                                                                   \
    X(DevicePrimaryCtxRetain, (void **, int))                                                                   \
    X(CtxSetCurrent, (void *))                                                                                  \
    X(CtxSynchronize, (void))                                                                                   \
    X(CtxEnablePeerAccess, (void *, unsigned))                                                                  \
    X(CtxDisablePeerAccess, (void *))                                                                           \
    X(MemAlloc_v2, (Address *, size_t))                                                                         \
    X(MemFree_v2, (Address))                                                                                    \
    X(MemAllocHost_v2, (void **, size_t))                                                                       \
    X(MemFreeHost, (void *))                                                                                    \
    X(MemAllocManaged, (Address *, size_t, unsigned))                                                           \
    X(MemcpyHtoD_v2, (Address, const void *, size_t))                                                           \
    X(MemcpyDtoH_v2, (void *, Address, size_t))                                                                 \
    X(MemcpyHtoDAsync_v2, (Address, const void *, size_t, void *))                                              \
    X(MemcpyDtoHAsync_v2, (void *, Address, size_t, void *))                                                    \
    X(MemcpyDtoDAsync_v2, (Address, Address, size_t, void *))                                                   \
    X(MemcpyPeerAsync, (Address, void *, Address, void *, size_t, void *))                                      \
    X(StreamCreate, (void **, unsigned))                                                                        \
    X(StreamSynchronize, (void *))                                                                              \
    X(EventCreate, (void **, unsigned))                                                                         \
    X(EventRecord, (void *, void *))                                                                            \
    X(EventSynchronize, (void *))                                                                               \
    X(EventElapsedTime, (float *, void *, void *))                                                              \
    X(IpcGetMemHandle, (IpcHandle *, Address))                                                                  \
    X(IpcOpenMemHandle_v2, (Address *, IpcHandle, unsigned))                                                    \
    X(IpcCloseMemHandle, (Address))                                                                             \
    X(ModuleLoadData, (void **, const void *))                                                                  \
    X(ModuleGetFunction, (void **, void *, const char *))                                                       \
    X(LaunchKernel,                                                                                             \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    X(GetErrorName, (int, const char **))

typedef struct {
#define X(name, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(X)
#undef X
} Cuda;

/* What a kernel needs of a GPU; `labkit.kernels.cuda` mirrors this structure. Arguments.extra points to it. */
typedef struct {
    const Cuda *cuda;
    void *stream, *begin, *end; /* begin and end are events */
    void *empty;                /* a function that does nothing, to launch */
    void *context, *far_context;
    Address remote;            /* memory of another process, as this one sees it */
    char *device[2], *host[2]; /* staging.c: buffers in device memory, and the pinned memory they are copied through */
    int64_t room[2], itemsize; /* their sizes, and that of an element, B */
    int32_t rank, ranks;
} Gpu;

/* Codes of the driver lie below those of errno, which kernels return with a minus. */
enum { CUDA_CODES = 10000 };
#define TRY_CUDA(call)                           \
    do {                                         \
        int cuda_ = (call);                      \
        if (cuda_) return -(CUDA_CODES + cuda_); \
    } while (0)

#endif
