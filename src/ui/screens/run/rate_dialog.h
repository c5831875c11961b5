/* rate_dialog.h: the dialog for another learning rate of the run that is on. */
#ifndef TINCA_UI_SCREENS_RUN_RATE_DIALOG_H
#define TINCA_UI_SCREENS_RUN_RATE_DIALOG_H

struct app;

/* Asks for a learning rate; proposes the present one times `factor`. */
void ask_rate(struct app *app, double factor);

#endif
