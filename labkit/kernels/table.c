/* What Python needs to know of this build: the names of the functions of MPI and of OpenSHMEM in their order, the size of `Arguments`, and
 * message buffers as the OSU benchmarks have them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shmem.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC const char *const labkit_mpi_functions[] = {
#define X(name, arguments) "MPI_" #name,
    MPI_FUNCTIONS(X)
#undef X
        NULL};

PUBLIC const char *const labkit_shmem_functions[] = {
#define X(result, name, arguments) "shmem_" #name,
    SHMEM_FUNCTIONS(X)
#undef X
        NULL};

PUBLIC const int64_t labkit_arguments_size = sizeof(Arguments);

/* Page-aligned, prefaulted memory. Huge pages are refused unless asked for: numpy asks for them by itself, which makes
 * it 10-20 % faster than the programs we compare with. */
PUBLIC void *labkit_allocate(int64_t size, int huge)
{
    const int64_t page = huge ? 2 << 20 : 4096, rounded = (size + page - 1) / page * page;
    void *memory = NULL;
    if (posix_memalign(&memory, (size_t)page, (size_t)rounded)) return NULL;
    madvise(memory, (size_t)rounded, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(memory, 'a', (size_t)rounded);
    return memory;
}

PUBLIC void labkit_free(void *memory) { free(memory); }

/* The import system finds this file by its name; nothing runs this function. */
#ifdef HANDLE_INT
PUBLIC void *PyInit__kernels_int(void) { return NULL; }
#else
PUBLIC void *PyInit__kernels_ptr(void) { return NULL; }
#endif
