/* sweep_model.h: the state of the screen Sweep: the set-up, the selection and the list of saved
 * sweeps. The sweep that is open or running is shared (ui/shared/sweep_job.h). No drawing. */
#ifndef TINCA_UI_SCREENS_SWEEP_SWEEP_MODEL_H
#define TINCA_UI_SCREENS_SWEEP_SWEEP_MODEL_H

#include "session/sweep/sweep_table.h"
#include "ui/screens/sweep/sweep_set.h"
#include "ui/shared/sweep_job.h"

#include <stdbool.h>
#include <stddef.h>

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
struct sweep_model *sweep_model(const struct app *app);

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

#endif
