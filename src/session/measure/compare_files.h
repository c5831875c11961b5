/* compare_files.h: what a comparison reads of a run's directory beside the run. */
#ifndef TINCA_SESSION_MEASURE_COMPARE_FILES_H
#define TINCA_SESSION_MEASURE_COMPARE_FILES_H

#include "session/files/run_name.h"
#include "session/measure/measurement.h"
#include "session/values/run_facts.h"

struct compare_files {
    char name[520]; /* what commands call the run */
    char given[RUN_NAME_SIZE];
    uint64_t model_bytes;
    struct measurements ms;
};

/* Reads them. False, with what could be read, when the measurements cannot be understood. */
bool compare_read_files(struct compare_files *files, const struct run_facts *facts,
                        struct error *error);
void compare_files_free(struct compare_files *files);

#endif
