/* background.h: what goes on besides the runs and the keys: saved runs that are read, and the work
 * of the screens, such as measurements, which goes on while another screen is in front. */
#ifndef TINCA_UI_APP_BACKGROUND_H
#define TINCA_UI_APP_BACKGROUND_H

#include <stdbool.h>

struct app;

/* Lets the readers and every screen do a little work. Returns whether a screen wants to go on at
 * once. */
bool background_step(struct app *app);

/* Returns in how many seconds background_step has something to do; INFINITY: after the next key. */
double background_seconds_to_next(const struct app *app);

#endif
