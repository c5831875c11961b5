/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_SWEEP_INTERNAL_H
#define TINCA_UI_SCREENS_SWEEP_INTERNAL_H

#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_table.h"
#include "ui/app/app.h"
#include "ui/shared/completion_sources.h"
#include "ui/shared/sweep_job.h"
#include "ui/widgets/completion.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

/* --- sweep_set.c --- */

/* The set-up of a sweep: which values each list offers and which are chosen, and the lines that are
 * typed. All other settings come from the form. No drawing. */

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

/* --- sweep_model.c --- */

/* The state of the screen Sweep: the set-up, the selection and the list of saved sweeps. The sweep
 * that is open or running is shared (ui/shared/sweep_job.h). No drawing. */

struct app;

enum sweep_kind { SWEEP_SET_UP, SWEEP_CELLS, SWEEP_EARLIER, SWEEP_KINDS };

struct sweep_model {
    enum sweep_kind kind; /* the view in front */

    struct sweep_set set; /* the set-up */
    bool begun;           /* `set` was filled from the form */
    struct sweep plan;    /* the cells that `set` gives */
    struct error problem; /* why there is no plan; kind ERROR_NONE: there is one */
    size_t planned;       /* cells of `plan` that have a forecast */

    enum sweep_measure measure; /* the value that the cells show */
    size_t selected, top, left; /* selected cell; first row and column shown */

    char **names; /* names of the saved sweeps */
    size_t name_count, name_selected, name_top;
};

/* Returns the state of the screen. */
static inline struct sweep_model *sweep_model(const struct app *app)
{
    return app_state(app, SCREEN_SWEEP);
}

/* Frees the model's memory. */
void sweep_model_free(struct sweep_model *model);

/* Fills the set-up from a configuration: on the first call, and with `afresh` on every call. */
void sweep_model_begin(struct sweep_model *model, const struct run_config *config, bool afresh);

/* Does a little work for the view in front, such as the forecast of one cell. Returns whether there
 * is more. */
bool sweep_model_work(struct sweep_model *model, struct sweep_job *job);

/* Starts the sweep that is set up and shows its cells. Returns false with an error if the set-up is
 * incomplete or a sweep is already running. */
bool sweep_model_start(struct sweep_model *model, struct sweep_job *job, struct error *error);
/* Opens a saved sweep and shows its cells. Returns false with an error if a sweep is running or the
 * file cannot be read. */
bool sweep_model_open(struct sweep_model *model, struct sweep_job *job, const char *name,
                      struct error *error);
/* Fills in the names of the saved sweeps. Returns false with an error if the folder cannot be read
 * or there is no memory. */
bool sweep_model_list(struct sweep_model *model, struct error *error);

/* --- sweep_view.c --- */

/* Drawing of the three views of the screen Sweep. */

/* Draws the set-up and a summary of the planned sweep. */
void sweep_draw_set_up(struct app *app, struct rect area);
/* Draws the cells of the open sweep as a table, and the selected cell's details. */
void sweep_draw_cells(struct app *app, struct rect area);
/* Draws the list of saved sweeps. */
void sweep_draw_earlier(struct app *app, struct rect area);

#endif
