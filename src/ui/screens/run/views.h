/* views.h: the run screen's drawing. Each of its views is one file *_view.c with one table; views.c
 * lists them. The tabs, the key for the next view and the digit keys are made from that list. */
#ifndef TINCA_UI_SCREENS_RUN_VIEWS_H
#define TINCA_UI_SCREENS_RUN_VIEWS_H

#include "ui/screens/run/run_text.h"
#include "ui/shared/run_list.h"
#include "ui/terminal/keys.h"
#include "ui/terminal/layout.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

#define VIEW_MOVE(action) (1U << ((action)-ACTION_UP))
enum {
    VIEW_SCROLLS = VIEW_MOVE(ACTION_UP) | VIEW_MOVE(ACTION_DOWN),
    VIEW_TURNS = VIEW_MOVE(ACTION_LEFT) | VIEW_MOVE(ACTION_RIGHT),
    VIEW_ENDS = VIEW_MOVE(ACTION_FIRST) | VIEW_MOVE(ACTION_LAST),
    VIEW_PAGES = VIEW_MOVE(ACTION_PAGE_UP) | VIEW_MOVE(ACTION_PAGE_DOWN),
    VIEW_OPENS = VIEW_MOVE(ACTION_OPEN),
    VIEW_TABLE = VIEW_SCROLLS | VIEW_TURNS | VIEW_ENDS | VIEW_PAGES | VIEW_OPENS
};

struct view {
    const char *name;    /* on its tab; translated when drawn */
    bool covers_figures; /* on a small screen it also uses the rows of the run's values */
    bool inspects;       /* needs inspections (insight.h), requested while it is in front */
    /* Returns whether the run has this view. NULL: every run has it. */
    bool (*available)(const struct run_entry *entry);
    void (*draw)(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display);
    unsigned moves; /* VIEW_MOVE of the actions from ACTION_UP to ACTION_OPEN that it has */
    /* Applies an action; returns false if it is none of the view's. NULL: the view has no actions.
     */
    bool (*act)(struct app *app, enum action action);
};

extern const struct view view_curves, view_findings, view_memory, view_arena, view_layers,
    view_gemm, view_weights, view_sample, view_loss, view_ranks;

/* Returns the view in front: the chosen one or, if the run does not have it, the first. */
const struct view *views_shown(const struct app *app, const struct run_entry *entry);

/* Returns whether there is a view number `digit` and the run has it. */
bool views_are_offered(const struct run_entry *entry, size_t digit);
/* Returns the translated name of view number `digit`, or NULL if there is none. */
const char *views_name(size_t digit);
/* Goes to the next view that the run has. */
void views_next(struct app *app, const struct run_entry *entry);
/* Returns the number of a view, counted from 1: the digit at its tab; 10 has a letter. */
size_t views_digit(const struct view *view);
/* Goes to view number `digit`, counted from 1. */
void views_go(struct app *app, const struct run_entry *entry, size_t digit);

/* Draws the shown run: the tabs, the view in front, the run's values and its progress. */
void run_view_draw(struct app *app, struct rect body);

/* Draws the tabs in one line: digits and names or, where they do not all fit, only the name of the
 * view in front. */
void views_draw_tabs(struct app *app, const struct run_entry *entry, struct rect area);

#endif
