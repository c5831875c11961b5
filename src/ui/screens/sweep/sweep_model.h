/* sweep_model.h: what the screen Sweep holds: the set-up, the selection and the saved sweeps. The
 * sweep that is open or on is shared (ui/shared/sweep_job.h). No drawing. */
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

    struct sweep_set set;
    bool begun;           /* the set-up is filled from the form */
    struct sweep plan;    /* the cells that the set-up comes to */
    struct error problem; /* why there is no plan; kind ERROR_NONE: there is one */
    size_t planned;       /* how many of its cells have a forecast */

    enum sweep_measure measure; /* what the cells show */
    size_t selected, top, left; /* cell; first row and column in sight */

    char **names; /* of saved sweeps */
    size_t name_count, name_selected, name_top;
};

/* Returns the state of the screen. */
struct sweep_model *sweep_model(const struct app *app);

void sweep_model_free(struct sweep_model *model);

/* Fills the set-up from a configuration the first time; always if `afresh` is set. */
void sweep_model_begin(struct sweep_model *model, const struct run_config *config, bool afresh);

/* Does a little of the work that the view in front waits for. Returns whether there is more. */
bool sweep_model_work(struct sweep_model *model, struct sweep_job *job);

/* Starts what is set up and shows its cells. Errors: the set-up is incomplete; one is on. */
bool sweep_model_start(struct sweep_model *model, struct sweep_job *job, struct error *error);
/* Opens a saved sweep and shows its cells. Errors: one is on; it cannot be read. */
bool sweep_model_open(struct sweep_model *model, struct sweep_job *job, const char *name,
                      struct error *error);
/* Lists the saved sweeps. Errors: the folder cannot be read; no memory. */
bool sweep_model_list(struct sweep_model *model, struct error *error);

#endif
