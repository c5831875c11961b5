/* sweep_dialogs.h: the dialogs of the screen Sweep. */
#ifndef TINCA_UI_SCREENS_SWEEP_SWEEP_DIALOGS_H
#define TINCA_UI_SCREENS_SWEEP_SWEEP_DIALOGS_H

struct app;

/* Asks whether the sweep stops now or after the cell that is being computed. */
void ask_sweep_stop(struct app *app);
/* Asks for a file or folder and writes the sweep's tables or charts into it. */
void ask_sweep_export(struct app *app);

#endif
