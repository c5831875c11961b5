/* views.h: what the run screen can show of a run, one file view_*.c each, behind one table. The
 * tabs, the key that cycles and the digits that go to a view directly are made from it. */
#ifndef TINCA_UI_SCREENS_RUN_VIEWS_H
#define TINCA_UI_SCREENS_RUN_VIEWS_H

#include "ui/screens/run/run_text.h"
#include "ui/shared/run_list.h"
#include "ui/terminal/keys.h"
#include "ui/terminal/layout.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

struct view {
    const char *name; /* of its tab; shown by gettext */
    bool spreads;     /* where there is little room, it takes the figures' too */
    bool looks;       /* shows what looks inside the run have seen: they are asked for while this
                         view is in sight */
    bool (*available)(const struct run_entry *entry); /* NULL: of every run */
    void (*draw)(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *news);
    bool (*act)(struct app *app, enum action action); /* false: none of its; NULL: it has none */
};

extern const struct view view_curves, view_findings, view_memory, view_arena, view_layers,
    view_gemm, view_weights, view_sample, view_loss;

/* The view in sight: the one that was chosen or, where the run has no such thing, the first. */
const struct view *views_shown(const struct app *app, const struct run_entry *entry);

/* The next view of the run; view number `digit`, from 1. */
void views_next(struct app *app, const struct run_entry *entry);
void views_go(struct app *app, const struct run_entry *entry, size_t digit);

/* The tabs in one line: digits and names, or where `columns` are few the name of the view in sight
 * alone. Returns the column after them. */
int views_draw_tabs(struct app *app, const struct run_entry *entry, struct rect area, int columns);

#endif
