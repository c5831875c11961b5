/* rate_dialog.h: the dialog that changes the learning rate of the active run. */
#ifndef TINCA_UI_SCREENS_RUN_RATE_DIALOG_H
#define TINCA_UI_SCREENS_RUN_RATE_DIALOG_H

struct app;

/* Opens the dialog with the present learning rate times `factor` as the proposal. */
void ask_rate(struct app *app, double factor);

#endif
