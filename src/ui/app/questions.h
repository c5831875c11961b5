/* questions.h: the dialogs that several screens ask. */
#ifndef TINCA_UI_APP_QUESTIONS_H
#define TINCA_UI_APP_QUESTIONS_H

#include "session/record/run.h"

#include <stdbool.h>

struct app;

/* Sends a command to the run that is shown, if it is on, or else to the one that is on; a message
 * says why it cannot be sent. Returns whether it was. */
bool questions_send_command(struct app *app, enum run_command command, double value);
/* Returns the run that questions_send_command sends to, or NULL. */
struct run_entry *questions_target_run(const struct app *app);

/* Asks whether the run that is on stops now or after its epoch. */
void ask_stop(struct app *app);
/* Asks how to quit while a run is on. */
void ask_quit(struct app *app);

#endif
