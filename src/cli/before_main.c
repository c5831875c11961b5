/* Limits OpenBLAS to one thread before it is loaded, if this process may map few addresses only
 * (ulimit -v, -d).
 *
 * OpenBLAS initialises itself in a constructor, before main. There it starts a thread for each
 * core; since 0.3.29 it also maps 128 MiB for each of them at once, and retries for ever if that
 * fails. tinca computes with its own threads and never uses these.
 *
 * The environment variable OPENBLAS_NUM_THREADS is the only thing that the constructor obeys:
 * - openblas_set_num_threads and its relatives run after the constructor. With 0.3.21 on two cores,
 *   the extra thread and 136 MiB of addresses are still there after the call.
 * - The serial library (libopenblas0-serial) starts no thread, but on Debian and Ubuntu it has the
 *   same soname as the threaded one, and the alternatives system decides which of them is loaded.
 *   The threaded one has the higher priority. A program cannot choose, nor can its package.
 *
 * The variable must be set before any constructor runs. A function in .preinit_array does run
 * before them (System V gABI, "Initialization and Termination Functions"), but the C library has no
 * environment yet, so setenv has no effect. Therefore this file executes the program again with the
 * variable set. No message can be translated at this point. */
#include "base/host/host_load.h"
#include "base/program_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__ELF__) /* other systems have no such array of functions */

static const char blas_threads[] = "OPENBLAS_NUM_THREADS=";

/* Executes the program again with one thread for OpenBLAS, unless the variable is set already. */
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
    if (!program_file_path(path, sizeof path))
        return;
    /* execve returns only if it fails; OpenBLAS then starts all of its threads */
    execve(path, argv, changed);
}

/* Ends the program with a message if not even one buffer of OpenBLAS can be mapped; OpenBLAS would
 * retry for ever. */
static void refuse_few_addresses(void)
{
    static const char refusal[] =
        "tinca: memory: OpenBLAS needs 128 MiB of addresses and cannot have them: raise the limit "
        "(ulimit -v, ulimit -d)\n";
    const size_t wanted = (128u << 20) + (8u << 20); /* and what other libraries need */
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

#endif
