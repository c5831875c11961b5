/* run_outputs.h: the files outside its folder that a run writes at its end, in RUN/outputs.json, so
 * that a run which is resumed writes them as well. Internal to session/ and cli/. */
#ifndef TINCA_SESSION_FILES_RUN_OUTPUTS_H
#define TINCA_SESSION_FILES_RUN_OUTPUTS_H

#include "base/error.h"

#include <stdbool.h>

/* The paths, owned by the struct; NULL: none. */
struct run_outputs {
    char *save;               /* --save: the weights */
    char *session;            /* --export: the session of this run */
    char *group_session;      /* --export: the session of its group of seeds */
    struct run_outputs_lost { /* why a stored path is not among them; kind ERROR_NONE: it is */
        struct error save, session, group_session;
    } lost;
};

/* Stores those of the given paths that name files, as absolute paths, and keeps the stored ones of
 * the others. Standard output, FIFOs and devices are not stored: they belong to the command that
 * named them. Returns false with an error. */
bool run_outputs_write(const char *directory, const struct run_outputs *outputs,
                       struct error *error);

/* Reads those stored paths that may be written: this user has stored them on this host, since the
 * folder of a stranger could name any file, and their folders are there. Free them with
 * run_outputs_free. Returns false with an error if the file is damaged. */
bool run_outputs_read(struct run_outputs *outputs, const char *directory, struct error *error);
void run_outputs_free(struct run_outputs *outputs);

#endif
