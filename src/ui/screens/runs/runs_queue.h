/* runs_queue.h: runs of the list that wait in other processes (ui/shared/queue_list.h). */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_QUEUE_H
#define TINCA_UI_SCREENS_RUNS_RUNS_QUEUE_H

#include "ui/shared/run_list.h"
#include "ui/terminal/keys.h"

struct app;

/* Asks whether to take the run out of the queue. Does nothing, and returns false, if it does not
 * wait in another process. */
bool runs_ask_leave(struct app *app, const struct run_entry *entry);

/* Returns why an action has no purpose for a run that waits in another process, as a translated
 * sentence; NULL: it has one, or the run does not wait there. */
const char *runs_queue_refuses(const struct run_entry *entry, enum action action);

/* Writes where the run waits: "place 2 of the queue since 12:30:04 UTC, process 4711 on host"; ""
 * if it does not wait in another process. Returns `text`. */
char *runs_queue_text(const struct app *app, const struct run_entry *entry, char *text,
                      size_t size);

#endif
