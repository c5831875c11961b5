/* sweep_dialogs.h: what the screen Sweep asks. */
#ifndef TINCA_UI_SCREENS_SWEEP_SWEEP_DIALOGS_H
#define TINCA_UI_SCREENS_SWEEP_SWEEP_DIALOGS_H

struct app;

/* Asks whether the sweep stops now or after the present cell. */
void ask_sweep_stop(struct app *app);
/* Asks where the sweep's tables or figures are written. */
void ask_sweep_export(struct app *app);

#endif
