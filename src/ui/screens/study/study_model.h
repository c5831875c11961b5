/* study_view.h: what the workbench's screen of perceptual studies holds: who takes part, which
 * runs' pictures are judged, what earlier votes came to, and the pictures that are being made. No
 * drawing; the session itself is study_screen.h's. */
#ifndef TINCA_UI_SCREENS_STUDY_STUDY_MODEL_H
#define TINCA_UI_SCREENS_STUDY_STUDY_MODEL_H

#include "session/study/study_file.h"
#include "session/study/study_pictures.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

enum study_field { STUDY_PARTICIPANT, STUDY_PICTURES, STUDY_SECONDS, STUDY_RESULTS, STUDY_FIELDS };

/* A run whose network makes pictures. */
struct study_run {
    char directory[512], name[96], network[96];
    bool chosen;
};

enum study_state { STUDY_IDLE, STUDY_MAKING, STUDY_READY };

struct study_model {
    bool begun;
    char values[STUDY_FIELDS][512];
    size_t focus; /* a field, and beyond them a run */
    bool editing;
    struct line_edit edit;
    int scroll;
    bool follow; /* the scroll follows the focus */

    struct study_run *runs;
    size_t run_count, run_capacity;

    struct study_file file;
    struct error file_error, display_error; /* kind ERROR_NONE: they are fine */

    enum study_state state;
    size_t current; /* run */
    bool outdated;  /* what is being made is not what is asked for any more */
    struct background_job *background_job;
    struct study_job job;
    size_t done, of;
};

void study_model_begin(struct study_model *view);
void study_model_free(struct study_model *view);

/* Reads the results anew. */
void study_model_read_results(struct study_model *view);

bool study_model_add_run(struct study_model *view, const char *directory, const char *network,
                         struct error *error);

/* Checks and takes what was typed into the focused field. */
bool study_model_set(struct study_model *view, const char *text, struct error *error);

/* The first chosen run from `from` on; run_count: there is none. */
size_t study_model_chosen(const struct study_model *view, size_t from);

/* Begins to make the pictures of a run, in `threads` threads (0: all cores). */
bool study_model_start_pictures(struct study_model *view, size_t run, size_t threads,
                                struct error *error);
/* True when the making has come to its end: `made`, or `error` says why not. */
bool study_model_poll_pictures(struct study_model *view, bool *made, struct error *error);
/* What is asked for has changed: pictures that are ready are thrown away, a making is called off.
 */
void study_model_invalidate_pictures(struct study_model *view);
/* Throws the pictures away. */
void study_model_free_pictures(struct study_model *view);

#endif
