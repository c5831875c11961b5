/* background.h: what the workbench has going on besides runs: kept runs that are read, models that
 * are tried out, measurements, the pictures of a study. Each belongs to a screen, but goes on
 * without it. */
#ifndef TINCA_UI_APP_BACKGROUND_H
#define TINCA_UI_APP_BACKGROUND_H

#include <stdbool.h>

struct app;

/* Takes what is new from all of them. */
void background_step(struct app *app);

/* Whether any of them is to be looked at again; `*seconds` says how soon. */
bool background_busy(const struct app *app, double *seconds);

#endif
