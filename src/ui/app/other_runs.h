/* other_runs.h: runs that other processes compute. While such a run is shown, or the run table is,
 * its files are polled three times a second. The workbench never commands these runs; it can only
 * ask the process of a run without a terminal to stop. */
#ifndef TINCA_UI_APP_OTHER_RUNS_H
#define TINCA_UI_APP_OTHER_RUNS_H

#include "ui/shared/run_list.h"
#include "ui/terminal/draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;

struct other_runs {             /* starts as {0} */
    uint64_t due;               /* time of the next poll (clock_nanoseconds) */
    bool elsewhere;             /* at the last poll neither runs nor one of them were in front */
    size_t probe;               /* saved run that was last checked for a new owner */
    struct run_reader *updates; /* reads new records of live runs; NULL: not reading */
    struct run_reader *probes;  /* checks whether ended runs are active again; NULL: not checking */
    struct run_reader *announcing; /* counts live runs at the start; NULL: not counting */
    bool announces;                /* that count starts when the runs have been listed */
};

/* Shows the run that `tinca attach` has named, whichever process computes it. */
void others_attach(struct app *app);

/* Starts to count the runs of other processes, in the background. others_announce_step shows the
 * count as a message. */
void others_announce(struct app *app);
/* Continues the count; shows the message when it is complete. */
void others_announce_step(struct app *app);
/* Returns whether the count is not complete yet. */
bool others_announce_busy(const struct app *app);

/* Frees the readers and resets the struct. */
void others_free(struct other_runs *others);

/* Takes over what was read of live runs and, when it is time, starts to read again. */
void others_step(struct app *app);
/* Returns in how many seconds others_step must be called again. */
double others_seconds_to_next(const struct app *app);

/* --- words about such a run --- */

/* Draws one line about the process that computes the run and how it ended. Returns false if there
 * is nothing to draw or the rectangle is empty. */
bool others_draw_line(struct app *app, const struct run_entry *entry, struct rect line);

/* Shows who owns the run if another process computes it, so that it takes no command from here.
 * Returns false otherwise. */
bool others_reject_command(struct app *app, const struct run_entry *entry);

/* Asks whether the process that computes the run shall stop, or shows why this is impossible.
 * Returns false if no other process computes it. */
bool others_ask_stop(struct app *app, const struct run_entry *entry);

/* Writes "process 4711 on host". Returns `text`. */
char *others_owner_text(const struct run_entry *entry, char *text, size_t size);

#endif
