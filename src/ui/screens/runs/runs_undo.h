/* runs_undo.h: what can be undone in the list of runs: names, tags and notes as they were before
 * this session changed them, and in which order that and deletions were done. No drawing.
 */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_UNDO_H
#define TINCA_UI_SCREENS_RUNS_RUNS_UNDO_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { RUNS_UNDO_STEPS = 64 };

struct runs_undo_text {
    char *directory; /* of the run */
    char *text;      /* its label before the change */
};

struct runs_undo_step {
    bool is_deletion; /* the trash has what is needed to undo it */
    int label;        /* an enum runs_label */
    struct runs_undo_text *texts;
    size_t count, capacity;
};

struct runs_undo { /* starts as {0} */
    struct runs_undo_step steps[RUNS_UNDO_STEPS];
    size_t count; /* the newest step is the last one */
};

/* Adds a step without texts, or a deletion. If there are too many, the oldest step is forgotten. */
void runs_undo_begin(struct runs_undo *undo, int label);
void runs_undo_add_deletion(struct runs_undo *undo);

/* Adds the text of a run to the newest step. Returns false with an error if out of memory. */
bool runs_undo_add(struct runs_undo *undo, const char *directory, const char *text,
                   struct error *error);

/* Returns the newest step; NULL: there is none. */
const struct runs_undo_step *runs_undo_newest(const struct runs_undo *undo);

/* Removes the newest step. */
void runs_undo_drop(struct runs_undo *undo);

/* Removes all steps and frees the memory. */
void runs_undo_free(struct runs_undo *undo);

#endif
