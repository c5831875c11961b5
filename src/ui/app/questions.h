/* questions.h: the dialogs Stop and Quit, and commands to the active run. */
#ifndef TINCA_UI_APP_QUESTIONS_H
#define TINCA_UI_APP_QUESTIONS_H

#include "runs/record/run.h"

#include <stdbool.h>

struct app;

/* Sends a command to questions_target_run. Returns false, with a message for the user, if there is
 * no such run or its command queue is full. `value` is the command's argument, 0 if it has none. */
bool questions_send_command(struct app *app, enum run_command command, double value);
/* Returns the run that is shown if it is active, else the active run of the session, or NULL. */
struct run_entry *questions_target_run(const struct app *app);

/* Asks whether the run stops now or after its epoch, and sends the command. */
void ask_stop(struct app *app);

#endif
