/* A stand-in for CUDA's driver in host memory: the functions of device.h, for machines without a GPU.
 *
 * It stands in for correctness, never for speed. Device memory cannot be accessed at its address, as on a GPU: it is
 * mapped twice, where the program sees it without any permission, and elsewhere for the copies. Work in a stream is
 * done when somebody waits for it, as late as a GPU might, so that a wait that is missing shows. There are two devices. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"

#define DRIVER(name) __attribute__((visibility("default"))) int stand_in_cu##name

/* The compiler compares each definition below with the table. */
#define X(name, arguments) DRIVER(name) arguments;
CUDA_FUNCTIONS(X)
#undef X

enum { DEVICES = 2, BLOCKS = 256 };
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500 };
enum { ALREADY_ENABLED = 704, NOT_ENABLED = 705, NOT_READY = 600 };

typedef struct {
    char *device, *shadow; /* where the program sees it, and where copies find it; the same for managed memory */
    size_t size;
    int file;
} Block;

typedef struct {
    void *to; /* of a copy; an event to stamp if `from` is NULL; NULL for a kernel, which does nothing */
    const void *from;
    size_t size;
} Task;

typedef struct {
    int64_t ns;
    int reached;
} Event;

typedef struct {
    int pid, file;
    uint64_t size;
} Shared; /* what an IpcHandle holds */

static Block blocks[BLOCKS];
static Task *queue;
static size_t tasks, room;
static int contexts[DEVICES], streams, module, function, current, peers;

/* Where copies find an address; NULL if it is no device memory, or not so much of it. */
static char *found(Address address, size_t size)
{
    char *at = (char *)(uintptr_t)address;
    for (int k = 0; k < BLOCKS; k++)
        if (blocks[k].device && at >= blocks[k].device && at + size <= blocks[k].device + blocks[k].size)
            return blocks[k].shadow + (at - blocks[k].device);
    return NULL;
}

static int do_all(void)
{
    for (size_t k = 0; k < tasks; k++) {
        if (queue[k].from)
            memcpy(queue[k].to, queue[k].from, queue[k].size);
        else if (queue[k].to)
            *(Event *)queue[k].to = (Event){now_ns(), 1};
    }
    tasks = 0;
    return OK;
}

static int later(void *to, const void *from, size_t size)
{
    if (tasks == room) {
        Task *more = realloc(queue, (room ? 2 * room : 64) * sizeof *queue);
        if (!more) return OUT_OF_MEMORY;
        queue = more, room = room ? 2 * room : 64;
    }
    queue[tasks++] = (Task){to, from, size};
    return OK;
}

static int on_device(Address device, size_t size, const char **place)
{
    *place = found(device, size);
    return *place ? OK : INVALID_VALUE;
}

DRIVER(Init)(unsigned flags) { return flags ? INVALID_VALUE : OK; }

DRIVER(DriverGetVersion)(int *version)
{
    *version = 0;
    return OK;
}

DRIVER(DeviceGetCount)(int *count)
{
    *count = DEVICES;
    return OK;
}

DRIVER(DeviceGet)(int *device, int number)
{
    *device = number;
    return number >= 0 && number < DEVICES ? OK : INVALID_DEVICE;
}

DRIVER(DeviceGetName)(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "stand-in %d in host memory", device);
    return OK;
}

DRIVER(DeviceGetAttribute)(int *value, int attribute, int device)
{
    (void)attribute, (void)device;
    *value = 0;
    return OK;
}

DRIVER(DeviceTotalMem_v2)(size_t *size, int device)
{
    (void)device;
    *size = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    return OK;
}

DRIVER(DeviceCanAccessPeer)(int *can, int device, int peer)
{
    *can = device != peer;
    return OK;
}

DRIVER(DevicePrimaryCtxRetain)(void **context, int device)
{
    *context = contexts + device;
    return OK;
}

DRIVER(CtxSetCurrent)(void *context)
{
    current = context != NULL;
    return OK;
}

DRIVER(CtxSynchronize)(void) { return current ? do_all() : INVALID_CONTEXT; }

DRIVER(CtxEnablePeerAccess)(void *context, unsigned flags)
{
    (void)context;
    if (flags || peers) return flags ? INVALID_VALUE : ALREADY_ENABLED;
    peers = 1;
    return OK;
}

DRIVER(CtxDisablePeerAccess)(void *context)
{
    (void)context;
    if (!peers) return NOT_ENABLED;
    peers = 0;
    return OK;
}

/* Map a file of memory twice and note the block. */
static int mapped(Address *device, int file, size_t size, int managed)
{
    int k = 0;
    while (k < BLOCKS && blocks[k].device) k++;
    if (k == BLOCKS || file < 0) return OUT_OF_MEMORY;
    char *shadow = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *seen = managed ? shadow : mmap(NULL, size, PROT_NONE, MAP_SHARED, file, 0);
    if (shadow == MAP_FAILED || seen == MAP_FAILED) return OUT_OF_MEMORY;
    blocks[k] = (Block){seen, shadow, size, file};
    *device = (Address)(uintptr_t)seen;
    return OK;
}

static int allocated(Address *device, size_t size, int managed)
{
    if (!current) return INVALID_CONTEXT;
    if (!size) return INVALID_VALUE;
    const int file = (int)syscall(SYS_memfd_create, "labkit-stand-in", MFD_CLOEXEC); /* glibc 2.17 has no function */
    if (file < 0) return OUT_OF_MEMORY;
    const int code = ftruncate(file, (off_t)size) ? OUT_OF_MEMORY : mapped(device, file, size, managed);
    if (code) close(file);
    return code;
}

DRIVER(MemAlloc_v2)(Address *device, size_t size) { return allocated(device, size, 0); }

DRIVER(MemAllocManaged)(Address *device, size_t size, unsigned flags)
{
    return flags == 1 ? allocated(device, size, 1) : INVALID_VALUE; /* CU_MEM_ATTACH_GLOBAL */
}

DRIVER(MemFree_v2)(Address device)
{
    do_all();
    for (int k = 0; k < BLOCKS; k++)
        if (blocks[k].device && (Address)(uintptr_t)blocks[k].device == device) {
            if (blocks[k].shadow != blocks[k].device) munmap(blocks[k].device, blocks[k].size);
            munmap(blocks[k].shadow, blocks[k].size);
            close(blocks[k].file);
            blocks[k] = (Block){0};
            return OK;
        }
    return INVALID_VALUE;
}

DRIVER(MemAllocHost_v2)(void **memory, size_t size)
{
    return posix_memalign(memory, 4096, size ? size : 1) ? OUT_OF_MEMORY : OK;
}

DRIVER(MemFreeHost)(void *memory)
{
    free(memory);
    return OK;
}

DRIVER(MemcpyHtoDAsync_v2)(Address device, const void *host, size_t size, void *stream)
{
    const char *to = NULL;
    (void)stream;
    const int code = on_device(device, size, &to);
    return code ? code : later((void *)(uintptr_t)to, host, size);
}

DRIVER(MemcpyDtoHAsync_v2)(void *host, Address device, size_t size, void *stream)
{
    const char *from = NULL;
    (void)stream;
    const int code = on_device(device, size, &from);
    return code ? code : later(host, from, size);
}

DRIVER(MemcpyDtoDAsync_v2)(Address to, Address from, size_t size, void *stream)
{
    const char *there = NULL, *here = NULL;
    (void)stream;
    const int code = on_device(to, size, &there) | on_device(from, size, &here);
    return code ? code : later((void *)(uintptr_t)there, here, size);
}

DRIVER(MemcpyPeerAsync)(Address to, void *context, Address from, void *own, size_t size, void *stream)
{
    return context && own ? stand_in_cuMemcpyDtoDAsync_v2(to, from, size, stream) : INVALID_CONTEXT;
}

DRIVER(MemcpyHtoD_v2)(Address device, const void *host, size_t size)
{
    const int code = stand_in_cuMemcpyHtoDAsync_v2(device, host, size, NULL);
    return code ? code : do_all();
}

DRIVER(MemcpyDtoH_v2)(void *host, Address device, size_t size)
{
    const int code = stand_in_cuMemcpyDtoHAsync_v2(host, device, size, NULL);
    return code ? code : do_all();
}

DRIVER(StreamCreate)(void **stream, unsigned flags)
{
    (void)flags;
    *stream = &streams;
    return current ? OK : INVALID_CONTEXT;
}

DRIVER(StreamSynchronize)(void *stream)
{
    (void)stream;
    return do_all();
}

DRIVER(EventCreate)(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(Event));
    return *event ? OK : OUT_OF_MEMORY;
}

DRIVER(EventRecord)(void *event, void *stream)
{
    (void)stream;
    ((Event *)event)->reached = 0;
    return later(event, NULL, 0);
}

DRIVER(EventSynchronize)(void *event)
{
    (void)event;
    return do_all();
}

DRIVER(EventElapsedTime)(float *ms, void *begin, void *end)
{
    const Event *first = begin, *last = end;
    if (!first->reached || !last->reached) return NOT_READY;
    *ms = (float)((double)(last->ns - first->ns) * 1e-6);
    return OK;
}

DRIVER(IpcGetMemHandle)(IpcHandle *handle, Address device)
{
    memset(handle, 0, sizeof *handle);
    for (int k = 0; k < BLOCKS; k++)
        if (blocks[k].device && (Address)(uintptr_t)blocks[k].device == device) {
            const Shared shared = {getpid(), blocks[k].file, blocks[k].size};
            memcpy(handle, &shared, sizeof shared);
            return OK;
        }
    return INVALID_VALUE;
}

DRIVER(IpcOpenMemHandle_v2)(Address *device, IpcHandle handle, unsigned flags)
{
    Shared shared;
    char path[64];
    memcpy(&shared, &handle, sizeof shared);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", shared.pid, shared.file);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    const int code = flags != 1 || file < 0 ? INVALID_VALUE : mapped(device, file, shared.size, 0);
    if (code && file >= 0) close(file);
    return code; /* 1: CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */
}

DRIVER(IpcCloseMemHandle)(Address device) { return stand_in_cuMemFree_v2(device); }

DRIVER(ModuleLoadData)(void **loaded, const void *image)
{
    *loaded = &module;
    return strstr(image, ".entry empty") ? OK : INVALID_VALUE;
}

DRIVER(ModuleGetFunction)(void **found_function, void *of, const char *name)
{
    *found_function = &function;
    return of == &module && !strcmp(name, "empty") ? OK : NOT_FOUND;
}

DRIVER(LaunchKernel)
(void *launched, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
 void *stream, void **parameters, void **extra)
{
    (void)shared, (void)stream, (void)parameters, (void)extra;
    if (launched != &function || !gx || !gy || !gz || !bx || !by || !bz) return INVALID_VALUE;
    return later(NULL, NULL, 0);
}

DRIVER(GetErrorName)(int code, const char **name)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {{INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
                 {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
                 {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                 {NOT_READY, "CUDA_ERROR_NOT_READY"},
                 {NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (names[k].code == code) {
            *name = names[k].name;
            return OK;
        }
    return INVALID_VALUE;
}
