/* machine_file.h: the file with the figures of machines (engine/graph/machine_model.h).
 *
 * $XDG_CACHE_HOME/tinca/machines.json (~/.cache by default) has an entry for each processor and
 * instruction set, because machines may share a home directory. An entry has the figures of one
 * thread, and those of several threads by their number:
 *
 *   {"format": "tinca-machines", "version": 1, "machines": [
 *     {"processor": "...", "instruction_set": "avx2", "measured": "2026-01-31T12:00:00Z",
 *      "seconds": {"vector_operation": 2e-10, ...},
 *      "threads": [{"threads": 4, "hand_over": 1e-6, "task": 3e-8}]}]}
 *
 * The file is a cache: one that is unreadable, damaged or of another version counts as empty.
 */
#ifndef TINCA_RUNS_MACHINE_MACHINE_FILE_H
#define TINCA_RUNS_MACHINE_MACHINE_FILE_H

#include "base/error.h"
#include "engine/graph/machine_model.h"

#include <stdbool.h>
#include <stddef.h>

/* The processor, instruction set and number of threads that the figures were measured with. */
struct machine_key {
    char processor[128];
    const char *instruction_set;
    size_t threads;
};

/* Returns the key of this machine, for the kernels that run here. */
struct machine_key machine_key_here(size_t threads);

/* Returns the path of the file, owned by the caller, or NULL with an error if neither HOME nor
 * XDG_CACHE_HOME is set. */
char *machine_file_path(struct error *error);

/* Sets *model to the figures of `key`. Returns false, and a model that is not measured, if the file
 * lacks one of them or has implausible ones. The figures of one thread are set in any case if the
 * file has them all, plausible ones; *alone (may be NULL) says whether it has. */
bool machine_file_read(const char *path, const struct machine_key *key, struct machine_model *model,
                       bool *alone);

/* Stores the figures of `key`, and keeps the other entries of the file. Returns false with an error
 * if it cannot be written. */
bool machine_file_write(const char *path, const struct machine_key *key,
                        const struct machine_model *model, struct error *error);

#endif
