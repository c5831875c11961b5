/* run_actions.h: the actions on a run that several screens offer: copy its settings into the form,
 * resume it, drop it from its list. An action opens a dialog if it needs an answer, and shows
 * failures as messages. `index` is the run's number in app_run_at; app_run_count means that no run
 * is selected.
 */
#ifndef TINCA_UI_APP_RUN_ACTIONS_H
#define TINCA_UI_APP_RUN_ACTIONS_H

#include "runs/history/run_field.h"
#include "runs/record/run.h"
#include "ui/shared/run_list.h"

#include <stdbool.h>
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

/* --- run cells ---
 *
 * what the run table and other lists show of a run: its record (run_field.h), its ID
 * and its name, and whether it matches the filter of the table. */

struct app;

/* Fills in the record of a run, which borrows from the entry. A saved run whose outline is not read
 * yet has only its ID. */
void runs_record(const struct run_entry *entry, struct run_record *record);

/* Returns whether the run matches the filter of the run table (shared.runs_filter). */
bool runs_match(const struct app *app, size_t index);
/* Returns whether any run that the filter lets pass is marked. */
bool runs_any_marked(const struct app *app);

/* Shows the run with this ID on the run screen. Returns false if no list has it. */
bool runs_show(struct app *app, const char *id);

/* Returns the run's ID; "": the run has not started. */
const char *runs_id(const struct run_entry *entry);
/* Returns the run's name, or its ID if it has none. */
const char *runs_display_name(const struct run_entry *entry);

/* --- questions ---
 *
 * the dialogs Stop and Quit, and commands to the active run. */

struct app;

/* Sends a command to questions_target_run. Returns false, with a message for the user, if there is
 * no such run or its command queue is full. `value` is the command's argument, 0 if it has none. */
bool questions_send_command(struct app *app, enum run_command command, double value);
/* Returns the run that is shown if it is active, else the active run of the session, or NULL. */
struct run_entry *questions_target_run(const struct app *app);

/* Asks whether the run stops now or after its epoch, and sends the command. */
void ask_stop(struct app *app);

/* --- exporting ---
 *
 * the export that a background thread writes, whichever screen has started it. */

struct app;
struct error;

/* Writes into `path` the path of the file `name` in the export folder, a setting. */
void exporting_path(const struct app *app, const char *name, char *path, size_t size);

/* Returns whether an export is being written. */
bool exporting_is_active(const struct app *app);

/* Shows a message when the export has ended: the file that was written, or why it failed. */
void exporting_poll(struct app *app);

/* Opens the dialog for the file name again and shows `error` in it, so that the user can correct
 * the name. */
void exporting_reopen_dialog(struct app *app, const struct error *error);

#endif
