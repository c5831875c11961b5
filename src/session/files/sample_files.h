/* sample_files.h: finds the pictures of a run (sample-EPOCH.png). Each has a row per example:
 * input, output, target. */
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
    uint64_t stamp; /* time of modification, nanoseconds: it changes when the file is rewritten */
};

/* Finds the newest picture. Returns false if there is none. */
bool sample_file_newest(const char *run_directory, struct sample_file *file);

/* Returns how many examples the run's pictures show; 0 if its network makes no pictures. */
size_t sample_examples(const struct run_facts *facts);

#endif
