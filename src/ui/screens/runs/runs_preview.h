/* runs_preview.h: the panel beside the run table on wide terminals: the curves of the selected run
 * and what is known of it. A saved run is read in the background as soon as the selection rests. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_PREVIEW_H
#define TINCA_UI_SCREENS_RUNS_RUNS_PREVIEW_H

#include "session/history/run_reader.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot.h"
#include "ui/terminal/layout.h"

#include <stdbool.h>
#include <stdint.h>

struct app;

struct runs_preview {            /* starts as {0} */
    char wanted[512];            /* directory of the run to show; "": none */
    uint64_t since;              /* when it was selected (clock_nanoseconds) */
    struct run_reader *reader;   /* reads it; NULL: not now */
    char read[512];              /* directory of `run` or of the run that cannot be read */
    struct run *run;             /* the last run that was read; NULL: none */
    struct error error;          /* why it cannot be read */
    const struct run *curves_of; /* the run whose points are in `curves` */
    char curves_id[RUN_ID_SIZE]; /* and its ID */
    struct curves curves;
    struct value_range range; /* of the values shown */
    struct plot plot;
};

/* Frees everything and leaves `*preview` {0}. */
void runs_preview_free(struct runs_preview *preview);

/* Frees the run if it is the one in `directory`, because the folder changes or disappears. */
void runs_preview_forget(struct runs_preview *preview, const char *directory);

/* Returns how many columns of the body the panel takes; 0: there is no room for it. */
int runs_preview_columns(struct rect body);

/* Draws the panel, and requests the selected run if it is not read yet. */
void runs_preview_draw(struct app *app, struct rect area);

/* Takes over what was read, and begins to read what was requested. */
void runs_preview_work(struct app *app);

/* Returns in how many seconds runs_preview_work has something to do; INFINITY: nothing. */
double runs_preview_busy(const struct app *app);

#endif
