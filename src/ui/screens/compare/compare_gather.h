/* compare_gather.h: chooses and reads the runs that the screen Compare shows. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_GATHER_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_GATHER_H

#include <stdbool.h>

struct app;

/* Shows the screen, and starts to read the marked runs or, if none is marked, those that match the
 * filter of the list of runs. */
void compare_gather_begin(struct app *app);
/* Keeps a key that acts on the compared runs until they have been read and drawn. Returns false if
 * it can act now. */
bool compare_gather_hold(struct app *app, int key);
/* Reads on, builds the table after the last run, and then lets the kept keys act, one after each
 * frame. Returns whether it wants to be called again at once. */
bool compare_gather_work(struct app *app);
/* Returns in how many seconds compare_gather_work wants to be called. */
double compare_gather_busy(const struct app *app);

#endif
