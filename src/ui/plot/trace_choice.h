/* trace_choice.h: which curves of a run are shown: a predefined set of curves that fits the run, or
 * the user's own choice; and the keys of the list in which curves are switched on and off. No
 * drawing. */
#ifndef TINCA_UI_PLOT_TRACE_CHOICE_H
#define TINCA_UI_PLOT_TRACE_CHOICE_H

#include "ui/plot/trace.h"

#include <stdbool.h>
#include <stddef.h>

struct trace_choice {     /* starts as {0}: the losses */
    size_t curve_set;     /* the predefined set in use, unless `custom` */
    bool custom;          /* the user chose the curves in the list */
    unsigned chosen;      /* that choice; it may contain curves without values */
    bool open;            /* the list is open */
    size_t selected, top; /* its selected item and the first visible one */
};

/* Returns the curves to draw: those that are switched on and have values. */
unsigned trace_choice_shown(const struct trace_choice *choice, const struct series *series);

/* Switches to the next predefined set that fits the run. Returns its translated name. */
const char *trace_choice_next(struct trace_choice *choice, const struct series *series);

/* Opens the list; the visible curves (`shown`) are switched on in it. */
void trace_list_open(struct trace_choice *choice, const struct series *series, unsigned shown);

/* Handles a key of the open list. */
void trace_list_key(struct trace_choice *choice, const struct series *series, int key);

/* Fills `items` with the traces in the order of the list. Returns how many there are. */
size_t trace_list_items(const struct series *series, enum trace items[TRACES]);

#endif
