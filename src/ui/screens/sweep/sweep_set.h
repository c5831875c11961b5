/* sweep_set.h: the set-up of a sweep: which values each list offers and which are chosen, and the
 * lines that are typed. All other settings come from the form. No drawing. */
#ifndef TINCA_UI_SCREENS_SWEEP_SWEEP_SET_H
#define TINCA_UI_SCREENS_SWEEP_SWEEP_SET_H

#include "session/sweep/sweep.h"
#include "ui/shared/completion_sources.h"
#include "ui/widgets/completion.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

enum sweep_row {
    SWEEP_ROW_GRID, /* a study's grid, or a custom one */
    SWEEP_ROW_NETWORKS,
    SWEEP_ROW_TECHNIQUES,
    SWEEP_ROW_BATCHES,
    SWEEP_ROW_DEVICES,
    SWEEP_ROW_VARY, /* any other setting: "lr=0.1,0.01 seed=1,2" */
    SWEEP_ROW_DATA,
    SWEEP_ROW_ITERATIONS,
    SWEEP_ROW_EPOCHS,
    SWEEP_ROW_AFTER, /* chains of techniques after training: "half,prune:0.5+quantize" */
    SWEEP_ROW_NAME,
    SWEEP_ROWS
};

enum { SWEEP_ITEMS = 24, SWEEP_ITEM_TEXT = CONFIG_LONGEST };

struct sweep_list {
    struct {
        char text[SWEEP_ITEM_TEXT];
        bool chosen;
    } items[SWEEP_ITEMS];
    size_t count, selected;
};

struct sweep_set {
    struct run_config base;              /* the form's settings */
    size_t grid;                         /* index in sweep_presets; beyond them: custom */
    struct sweep_list lists[SWEEP_ROWS]; /* by row; empty for rows that are not lists */
    char vary[256];                      /* "": no other setting varies */
    char after[512];                     /* "": nothing after training */
    char name[SWEEP_NAME];               /* "": made from networks and data */
    size_t focus, top;                   /* rows: the focused one, the first one shown */
    bool editing;                        /* the focused row is being typed */
    struct line_edit edit;
    struct completion completion;      /* the candidates for `edit` */
    struct completion_subject subject; /* the setting of the list that a value is typed for */
    struct error edit_error; /* why the typed text was rejected; kind ERROR_NONE: it was not */
    bool changed;            /* set by every change; the owner clears it */
};

/* Begins with the form's settings: each list has one chosen value. */
void sweep_set_begin(struct sweep_set *set, const struct run_config *config);

/* Returns the translated label of a row. */
const char *sweep_set_label(enum sweep_row row);
/* Returns whether the row is a list of values that can be chosen. */
bool sweep_set_is_list(enum sweep_row row);
/* Writes the value of a row; for a list the chosen values, separated by commas. Returns `text`. */
char *sweep_set_text(const struct sweep_set *set, enum sweep_row row, char *text, size_t size);

/* Moves the focus by `rows` rows; it stops at the ends. */
void sweep_set_move(struct sweep_set *set, int rows);
/* Selects the next (+1) or previous (-1) value of the focused row, if it is a list, the grid or the
 * data set. */
void sweep_set_turn(struct sweep_set *set, int direction);
/* Chooses the selected value of the focused list, or removes it from the chosen ones. */
void sweep_set_toggle(struct sweep_set *set);
/* Chooses all values of the focused list or, if all are chosen, only the selected one. */
void sweep_set_all(struct sweep_set *set);
/* Ends editing without a change and frees what the completion has read. */
void sweep_set_cancel_edit(struct sweep_set *set);
/* Adds candidates that have become known in the meantime. */
void sweep_set_step(struct sweep_set *set);
/* Returns whether candidates of the row that is edited are missing. */
bool sweep_set_is_waiting(const struct sweep_set *set);
/* Returns whether the focused row can be completed. */
bool sweep_set_completes(const struct sweep_set *set);
/* Begins to edit the focused row, or to type a value that the focused list does not offer. Returns
 * false if the row cannot be typed. */
bool sweep_set_edit(struct sweep_set *set);
/* Handles a key while the row is being edited. */
void sweep_set_key(struct sweep_set *set, int key);

/* Fills in the grid that is set up; the caller frees it. Returns false with an error that says what
 * is missing. */
bool sweep_set_grid(const struct sweep_set *set, struct sweep_grid *grid, struct error *error);

#endif
