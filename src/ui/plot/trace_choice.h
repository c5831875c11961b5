/* trace_choice.h: which curves of a run are on: one of the pictures that fit it, or a choice of
 * one's own. And the list in which curves are switched on and off. No drawing here but the list's.
 */
#ifndef TINCA_UI_PLOT_TRACE_CHOICE_H
#define TINCA_UI_PLOT_TRACE_CHOICE_H

#include "ui/plot/trace.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

struct trace_choice { /* starts as {0}: the losses */
    size_t picture;
    bool own;
    unsigned chosen; /* when own; also curves that have no values yet */
    /* the list */
    bool open;
    size_t selected, top;
};

/* The curves to be drawn of a run: those that are on and have values. */
unsigned trace_choice_shown(const struct trace_choice *choice, const struct series *series);

/* The next picture of what this run has; returns its name. */
const char *trace_choice_next(struct trace_choice *choice, const struct series *series);

/* Opens the list, with what is in sight (`shown`) switched on. */
void trace_list_open(struct trace_choice *choice, const struct series *series, unsigned shown);
/* What a key does to the open list. */
void trace_list_key(struct trace_choice *choice, const struct series *series, int key);
/* The traces in the list, in its order; returns how many. */
size_t trace_list_items(const struct series *series, enum trace items[TRACES]);

#endif
