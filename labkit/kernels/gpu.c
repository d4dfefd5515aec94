/* What a GPU costs its host: copies, launches, synchronisation. Only gpu_ipc_copy has several processes.
 *
 * A copy goes through a stream, and ends when the host knows that it has ended. */
#include "device.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC const char *const labkit_cuda_functions[] = {
#define X(name, arguments) "cu" #name,
    CUDA_FUNCTIONS(X)
#undef X
        NULL};

PUBLIC const int64_t labkit_gpu_size = sizeof(Gpu);

enum { TO_DEVICE = 0, TO_HOST = 1, ON_DEVICE = 2, TO_PEER = 3 }; /* args->mode of a copy */
enum { PUT = 0, GET = 1 };                                       /* of a copy between processes */
enum { STREAM = 0, CONTEXT = 1, EVENT = 2 };                     /* what is waited for */

#define GPU              const Gpu *const gpu = (const Gpu *)(const void *)args->extra
#define ADDRESS(pointer) ((Address)(uintptr_t)(pointer))

/* `window` copies of one message. */
static int copies(const Arguments *args)
{
    GPU;
    const Cuda *cuda = gpu->cuda;
    const size_t size = (size_t)args->count;
    for (int j = 0; j < args->window; j++) {
        char *to = args->recv + j * args->stride, *from = args->send + j * args->stride;
        switch (args->mode) {
        case TO_DEVICE:
            TRY_CUDA(cuda->MemcpyHtoDAsync_v2(ADDRESS(to), from, size, gpu->stream));
            break;
        case TO_HOST:
            TRY_CUDA(cuda->MemcpyDtoHAsync_v2(to, ADDRESS(from), size, gpu->stream));
            break;
        case ON_DEVICE:
            TRY_CUDA(cuda->MemcpyDtoDAsync_v2(ADDRESS(to), ADDRESS(from), size, gpu->stream));
            break;
        default:
            TRY_CUDA(
                cuda->MemcpyPeerAsync(ADDRESS(to), gpu->far_context, ADDRESS(from), gpu->context, size, gpu->stream));
        }
    }
    return 0;
}

/* From the first call to the end of the last copy, on the host's clock. */
KERNEL(gpu_copy)
{
    GPU;
    TIMED(TRY(copies(args)); TRY_CUDA(gpu->cuda->StreamSynchronize(gpu->stream));, );
    return 0;
}

/* The same between two events on the device's clock, as nvbandwidth times its copies. */
KERNEL(gpu_copy_events)
{
    GPU;
    const Cuda *cuda = gpu->cuda;
    float ms = 0;
    TIMED_RECORD(TRY_CUDA(cuda->EventRecord(gpu->begin, gpu->stream)); TRY(copies(args));
                 TRY_CUDA(cuda->EventRecord(gpu->end, gpu->stream)); TRY_CUDA(cuda->EventSynchronize(gpu->end));
                 , TRY_CUDA(cuda->EventElapsedTime(&ms, gpu->begin, gpu->end));
                 PHASE(0) = (int64_t)((double)ms * 1e6 + 0.5);, );
    return 0;
}

/* An empty kernel: phase 0 is the time until the host knows that it has run, 1 that of the call, 2 that of waiting. */
KERNEL(gpu_launch)
{
    GPU;
    int64_t called = 0, begun = 0;
    TIMED_RECORD(begun = now_ns();
                 TRY_CUDA(gpu->cuda->LaunchKernel(gpu->empty, 1, 1, 1, 1, 1, 1, 0, gpu->stream, NULL, NULL));
                 called = now_ns(); TRY_CUDA(gpu->cuda->StreamSynchronize(gpu->stream));
                 , PHASE(1) = called - begun; PHASE(2) = PHASE(0) - PHASE(1);, );
    return 0;
}

/* Waiting for work that has ended already. */
KERNEL(gpu_synchronise)
{
    GPU;
    const Cuda *cuda = gpu->cuda;
    TRY_CUDA(cuda->EventRecord(gpu->begin, gpu->stream));
    TRY_CUDA(cuda->CtxSynchronize());
    switch (args->mode) {
    case STREAM:
        TIMED(TRY_CUDA(cuda->StreamSynchronize(gpu->stream));, );
        break;
    case CONTEXT:
        TIMED(TRY_CUDA(cuda->CtxSynchronize());, );
        break;
    default:
        TIMED(TRY_CUDA(cuda->EventSynchronize(gpu->begin));, );
    }
    return 0;
}

/* The active process copies into the memory of the other one, or from it, while the other waits. */
KERNEL(gpu_ipc_copy)
{
    GPU;
    if (!args->active) return 0;
    const Address to = args->mode == PUT ? gpu->remote : ADDRESS(args->recv);
    const Address from = args->mode == PUT ? ADDRESS(args->send) : gpu->remote;
    TIMED(TRY_CUDA(gpu->cuda->MemcpyDtoDAsync_v2(to, from, (size_t)args->count, gpu->stream));
          TRY_CUDA(gpu->cuda->StreamSynchronize(gpu->stream));, );
    return 0;
}
