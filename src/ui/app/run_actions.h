/* runs_shelf.h: what can be done with runs that are kept: naming, taking their settings into the
 * form, going on with them, deleting. Each asks for what it needs. */
#ifndef TINCA_UI_APP_RUN_ACTIONS_H
#define TINCA_UI_APP_RUN_ACTIONS_H

#include <stddef.h>

struct app;
struct run_entry;

/* The run that the question in sight is about (table.subject), or NULL when it has gone. Lists may
 * change their order while a question stands. */
struct run_entry *run_actions_subject(const struct app *app);

/* `index` is one of app_run_at, or app_run_count: there is none. */
void ask_run_name(struct app *app, size_t index);
void run_actions_clone(struct app *app, size_t index);

/* Goes on with a run that is not complete: it becomes one of this sitting, and waits its turn. */
void run_actions_resume(struct app *app, size_t index);

/* Drops a run that waits from the queue; else asks whether the marked runs in sight, or without
 * marks this one, are to be deleted. */
void ask_run_removal(struct app *app, size_t index);

#endif
