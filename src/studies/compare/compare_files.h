/* compare_files.h: reads the files of a run's directory that a comparison shows besides the run. */
#ifndef TINCA_STUDIES_COMPARE_COMPARE_FILES_H
#define TINCA_STUDIES_COMPARE_COMPARE_FILES_H

#include "models/measure/measurement.h"
#include "models/saved/correct_images.h"
#include "runs/folder/run_name.h"
#include "runs/values/run_facts.h"

struct compare_files {
    char name[520];            /* the run's name, as a command's operand */
    char given[RUN_NAME_SIZE]; /* the name that the user gave it, or "" */
    uint64_t model_bytes;
    struct measurements ms;
    struct correct_images correct; /* {0}: unknown, or damaged */
};

/* Reads the files. Returns false with an error if the measurements cannot be read; the rest is
 * valid even then. */
bool compare_read_files(struct compare_files *files, const struct run_facts *facts,
                        struct error *error);
void compare_files_free(struct compare_files *files);

#endif
