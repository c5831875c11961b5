/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_MODELS_INTERNAL_H
#define TINCA_UI_SCREENS_MODELS_INTERNAL_H

#include "base/axis.h"
#include "base/threads/background_job.h"
#include "studies/models/model_table.h"
#include "ui/app/app.h"
#include "ui/plot/scatter.h"
#include "ui/terminal/layout.h"

#include <stdbool.h>
#include <stddef.h>

/* --- models_model.c --- */

/* The state of the screen Models: the table of all models, which a background job reads and
 * measures, and the scatter plot of accuracy against one cost. No drawing. */

struct app;

/* The background job fills the table of models. It owns this struct until it has ended. */
struct models_job {
    struct model_table table;
    char device[DEVICE_NAME_SIZE];
    bool measures;        /* measure what is not measured */
    size_t failed;        /* models that could not be measured */
    struct error failure; /* why the first one could not, or that it was stopped */
};

enum models_view { MODELS_TABLE, MODELS_SCATTER, MODELS_LAYERS, MODELS_VIEWS };
enum models_cost { MODELS_MS, MODELS_BYTES, MODELS_FLOPS, MODELS_COSTS };

struct models_model {
    struct background_job *job; /* NULL: none */
    struct models_job next;     /* what it makes */
    uint64_t done, of;          /* its progress: models measured */
    struct model_table table;   /* what is shown */
    bool made;                  /* there is a table */
    struct error error;         /* why the last job made none; kind ERROR_NONE: it did */
    size_t failed;              /* as of the last job */
    char device[DEVICE_NAME_SIZE];
    size_t sort; /* index in model_sort_names; beyond them: in the order of reading */
    enum models_view view;
    size_t selected, top; /* rows: the selected one, the first one shown */
    size_t layer;         /* the first layer shown */
    int page;             /* rows of the last frame */
    enum models_cost cost;
    bool log; /* the scale of the cost */
    struct plot plot;
    struct scatter_point *points; /* as of models_model_points */
    size_t point_count, point_capacity;
    size_t *front; /* rows, in the order of the cost */
    size_t front_count, front_capacity;
};

/* Returns the state of the screen. */
static inline struct models_model *models_model(const struct app *app)
{
    return app_state(app, SCREEN_MODELS);
}

/* Starts to read the table, and to measure what is not measured if `measures` is set. */
void models_model_start(struct models_model *model, bool measures);
/* Takes the table of a job that has ended. Returns whether one has. */
bool models_model_take(struct models_model *model);
/* Cancels the job and frees everything. */
void models_model_free(struct models_model *model);

/* Goes on to the next device, or the next order of the rows. */
void models_model_next_device(struct models_model *model);
void models_model_next_order(struct models_model *model);

/* Returns the number of rows that are not measured on the device. */
size_t models_model_unmeasured(const struct models_model *model);

/* Finds the points of the plot, the rows that have the selected row's data set and both figures,
 * and the front. Returns false with an error if out of memory. */
bool models_model_points(struct models_model *model, struct error *error);

/* Returns the layers of the selected model; none if it is not quantized. */
const struct model_layers *models_model_layers(const struct models_model *model);

/* Returns the mark of a row: a letter, '#' beyond them. */
char models_model_mark(size_t row);

/* --- models_view.c --- */

/* Draws the screen Models. */

/* Draws the whole screen. */
void models_draw(struct app *app, struct rect body);

#endif
