/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_STUDY_INTERNAL_H
#define TINCA_UI_SCREENS_STUDY_INTERNAL_H

#include "base/text.h"
#include "studies/pictures/study_file.h"
#include "studies/pictures/study_pictures.h"
#include "ui/screens/study/study_session.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"
#include "ui/widgets/completion.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- study_screen.c --- */

/* The state of the screen Study, which prepares perceptual studies: the participant, the runs whose
 * pictures are judged, the results of earlier votes, and the pictures that are being generated. No
 * drawing; study_session.h runs the session itself. */

enum study_field { STUDY_PARTICIPANT, STUDY_PICTURES, STUDY_SECONDS, STUDY_RESULTS, STUDY_FIELDS };

/* A run whose network generates images. */
struct study_run {
    char directory[512], name[96], network[96];
    bool chosen;
};

enum study_state { STUDY_IDLE, STUDY_MAKING, STUDY_READY };

struct study_model {
    bool begun;
    char values[STUDY_FIELDS][512];
    size_t focus; /* a field; from STUDY_FIELDS on a run */
    bool editing; /* the focused field is being typed */
    struct line_edit edit;
    struct completion completion; /* the candidates for `edit` */
    int scroll;                   /* first line of the page shown */
    int furthest;                 /* the greatest `scroll`; 0: the whole page is visible */
    bool follow;                  /* the scrolling follows the focus */

    struct study_run *runs;
    size_t run_count, run_capacity;

    struct study_file file;     /* the results */
    struct error file_error;    /* why they cannot be read; kind ERROR_NONE: they were */
    struct error display_error; /* why the terminal cannot show pictures, likewise */

    enum study_state state;
    size_t current; /* run whose pictures are made or ready */
    bool outdated;  /* the settings have changed: discard the pictures being made */
    struct background_job *background_job; /* makes the pictures; NULL: none */
    struct study_job job;
    size_t done, of; /* progress of `background_job` in pictures */
};

/* --- study_view.c --- */

/* Draws the page: the form, the runs, the results. Adjusts model->scroll so that the focused line
 * is visible. */
void study_draw(struct study_model *model, struct canvas *canvas, struct rect body);

#endif
