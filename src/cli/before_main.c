/* Prepares the process for OpenBLAS, which starts when it is loaded, before main: it starts a
 * thread a core, and newer versions (0.3.29) map 128 MiB for each at once; where they cannot, they
 * try for ever. The threads that compute are ours. So where addresses are limited (ulimit -v, -d)
 * OpenBLAS is given one thread, and what is left for a run is known.
 *
 * A function of .preinit_array comes before every library (System V gABI, "Initialization and
 * Termination Functions"), also before the C library has an environment of its own. A variable can
 * therefore only be set by executing the program again, and no message can be translated. */
#include "base/host/host_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char blas_threads[] = "OPENBLAS_NUM_THREADS=";

/* Executes the program again with one thread for OpenBLAS, unless it was started so. */
static void limit_blas_threads(char **argv, char **environment)
{
    char path[4096], setting[sizeof blas_threads + 1];
    size_t count = 0, kept = 0;
    snprintf(setting, sizeof setting, "%s1", blas_threads);
    for (; environment[count]; count++)
        if (strcmp(environment[count], setting) == 0)
            return;
    char *changed[count + 2];
    for (size_t i = 0; i < count; i++)
        if (strncmp(environment[i], blas_threads, sizeof blas_threads - 1) != 0)
            changed[kept++] = environment[i];
    changed[kept++] = setting;
    changed[kept] = NULL;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    /* It returns only when it fails; OpenBLAS then starts all of its threads. */
    execve(path, argv, changed);
}

static void refuse_few_addresses(void)
{
    static const char refusal[] =
        "tinca: memory: OpenBLAS needs 128 MiB of addresses and cannot have them: raise the limit "
        "(ulimit -v, ulimit -d)\n";
    const size_t wanted = (128u << 20) + (8u << 20); /* and what libraries take to begin */
    void *part = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (part == MAP_FAILED) {
        const ssize_t unused = write(STDERR_FILENO, refusal, sizeof refusal - 1);
        (void)unused;
        _exit(EXIT_FAILURE);
    }
    munmap(part, wanted);
}

static void prepare_blas(int argc, char **argv, char **environment)
{
    (void)argc;
    if (!host_addresses_are_limited())
        return;
    limit_blas_threads(argv, environment);
    refuse_few_addresses();
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **, char **) = prepare_blas;
