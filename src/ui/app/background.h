/* background.h: work between two frames: it reads saved runs, and calls the screens' `work`
 * functions (measurements, for example), which continue while another screen is in front. */
#ifndef TINCA_UI_APP_BACKGROUND_H
#define TINCA_UI_APP_BACKGROUND_H

#include <stdbool.h>

struct app;

/* Lets the readers and every screen do a little work. Returns whether a screen wants to be called
 * again at once. */
bool background_step(struct app *app);

/* Returns in how many seconds background_step must be called again; INFINITY: only after the next
 * key. */
double background_seconds_to_next(const struct app *app);

#endif
