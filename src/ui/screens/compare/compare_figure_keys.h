/* compare_figure_keys.h: the keys of the views of a comparison that show figures: the scatter plot
 * and the parallel coordinates. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_FIGURE_KEYS_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_FIGURE_KEYS_H

#include "ui/terminal/keys.h"

#include <stdbool.h>

struct app;
struct compare_model;

/* Applies a key to the chooser of figures, which is open, and takes the figure that was chosen.
 * Returns true. */
bool compare_take_chooser_key(struct compare_model *model, int key);

/* Each does what an action means in its view. They return false if it means nothing special there.
 */
bool compare_act_on_scatter(struct app *app, enum action action);
bool compare_act_on_parallel(struct app *app, enum action action);

#endif
