/* others.h: the runs that other processes have. While one is in sight it is read live; it is never
 * commanded, but for being asked to stop where nobody else can. */
#ifndef TINCA_UI_APP_OTHER_RUNS_H
#define TINCA_UI_APP_OTHER_RUNS_H

#include "ui/shared/run_list.h"
#include "ui/terminal/draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;

struct other_runs { /* starts as {0} */
    uint64_t due;   /* when they are to be looked at again (clock_nanoseconds) */
    size_t probe;   /* of those that are over: which is next asked whether it is on again */
    struct run_reader *news;     /* of those that are live; NULL: none is being read */
    struct run_reader *probes;   /* those that are being asked; NULL: none */
    struct run_reader *greeting; /* the same at the start */
    bool greets;                 /* at the start: once it is known which runs there are */
};

/* Shows the run that `tinca attach` has named, whoever has it. */
void others_attach(struct app *app);

/* Looks in the background whether there are runs of other processes; others_announce_step says so.
 */
void others_announce(struct app *app);
void others_announce_step(struct app *app);
bool others_announce_busy(const struct app *app);

void others_free(struct other_runs *view);

/* Takes what is new of those in sight, and has it read again when it is time. */
void others_step(struct app *app);
/* In how many seconds it is to be called again; negative: none is in sight. */
double others_seconds_to_next(const struct app *app);

/* --- others_words.c --- */

/* One line about who has the run that is watched, and how it ended; false: there is nothing to say
 * of it, or no room. */
bool others_draw_line(struct app *app, const struct run_entry *entry, struct rect line);

/* What has changed since `before`, as news. */
void others_report_changes(struct app *app, const struct run_entry *entry,
                           const struct run_snapshot *before);

/* Says who has the run instead of commanding it; false: nobody else has it. */
bool others_reject_command(struct app *app, const struct run_entry *entry);

/* Asks whether its process is to be stopped, or says why it cannot be from here; false: nobody else
 * has it. */
bool others_ask_stop(struct app *app, const struct run_entry *entry);

/* "process 4711 on host". Returns `text`. */
char *others_owner_text(const struct run_entry *entry, char *text, size_t size);

#endif
