/* run_actions.h: the actions on a run that several screens offer: copy its settings into the form,
 * resume it, drop it from its list. An action opens a dialog if it needs an answer, and shows
 * failures as messages. `index` is the run's number in app_run_at; app_run_count means that no run
 * is selected.
 */
#ifndef TINCA_UI_APP_RUN_ACTIONS_H
#define TINCA_UI_APP_RUN_ACTIONS_H

#include <stddef.h>

struct app;
struct run_entry;

/* Returns the run that the open dialog is about (shared.subject), or NULL if it no longer exists.
 * Dialogs store a run's directory because lists may change their order while a dialog is open. */
struct run_entry *run_actions_subject(const struct app *app);

/* Copies the run's settings into the form and shows the form. */
void run_actions_clone(struct app *app, size_t index);

/* Asks with which checkpoint or model of the run a new one begins, then shows the form with the
 * run's settings. */
void ask_fork(struct app *app, size_t index);

/* Resumes a run that is not complete: it moves into the list of this session's runs and starts when
 * no other run is active. */
void run_actions_resume(struct app *app, size_t index);

#endif
