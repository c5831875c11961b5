/* sweep_set.h: deciding in the set-up of a sweep: which values each list offers and which of them
 * are chosen, and the few lines that are typed. Everything else comes from the form. No drawing. */
#ifndef TINCA_UI_SCREENS_SWEEP_SWEEP_SET_H
#define TINCA_UI_SCREENS_SWEEP_SWEEP_SET_H

#include "session/sweep/sweep.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

enum sweep_row {
    SWEEP_ROW_GRID, /* a study's, or one's own */
    SWEEP_ROW_NETWORKS,
    SWEEP_ROW_TECHNIQUES,
    SWEEP_ROW_BATCHES,
    SWEEP_ROW_DEVICES,
    SWEEP_ROW_VARY, /* any other setting: "lr=0.1,0.01 seed=1,2" */
    SWEEP_ROW_DATA,
    SWEEP_ROW_ITERATIONS,
    SWEEP_ROW_EPOCHS,
    SWEEP_ROW_NAME,
    SWEEP_ROWS
};

enum { SWEEP_ITEMS = 24 };

struct sweep_list {
    struct {
        char text[64];
        bool chosen;
    } items[SWEEP_ITEMS];
    size_t count, selected;
};

struct sweep_set {
    struct run_config base;              /* what the form says */
    size_t grid;                         /* of sweep_presets; past them: one's own */
    struct sweep_list lists[SWEEP_ROWS]; /* of the rows that are lists */
    char vary[256];                      /* "": no other setting varies */
    char name[SWEEP_NAME];               /* "": made from networks and data */
    size_t focus, top;
    bool editing;
    struct line_edit edit;
    struct error edit_error; /* why what was typed was not taken; kind ERROR_NONE: none */
    bool changed;            /* since the owner looked */
};

/* Begins with what the form says: one value of each list. */
void sweep_set_begin(struct sweep_set *set, const struct run_config *config);

const char *sweep_set_label(enum sweep_row row); /* translated */
bool sweep_set_is_list(enum sweep_row row);
/* The value of a row that is no list, or the chosen ones with commas between. Returns `text`. */
char *sweep_set_text(const struct sweep_set *set, enum sweep_row row, char *text, size_t size);

void sweep_set_move(struct sweep_set *set, int rows);
/* Left or right: along a list; the next study's grid or data set. */
void sweep_set_turn(struct sweep_set *set, int direction);
void sweep_set_toggle(struct sweep_set *set); /* the selected value of a list */
void sweep_set_all(struct sweep_set *set);    /* chooses the whole list, or only the selected one */
/* Begins to type; false when there is nothing to type in this row. */
bool sweep_set_edit(struct sweep_set *set);
void sweep_set_key(struct sweep_set *set, int key); /* while editing */

/* The grid as it is set up; false with what is missing. To be freed. */
bool sweep_set_grid(const struct sweep_set *set, struct sweep_grid *grid, struct error *error);

#endif
