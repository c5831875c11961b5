/* sample_files.h: the pictures that a run leaves in its directory (sample-EPOCH.png): a row an
 * example, in it the input, what the network makes of it, and the target. */
#ifndef TINCA_SESSION_FILES_SAMPLE_FILES_H
#define TINCA_SESSION_FILES_SAMPLE_FILES_H

#include "session/values/run_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLES = 4 }; /* examples at most */

struct sample_file {
    char path[640];
    size_t epoch;
    uint64_t stamp; /* when it was written, nanoseconds; a file written again has another one */
};

/* The newest one; false: there is none (yet). */
bool sample_file_newest(const char *run_directory, struct sample_file *file);

/* How many examples the run's pictures show; 0: its network makes no pictures. */
size_t sample_examples(const struct run_facts *facts);

#endif
