/* means_apply.h: applies what the second page of the flowchart advises, one technique after the
 * other, within a time budget.
 *
 * Each result is a model file in $XDG_STATE_HOME/tinca/models/, which stays there, and a row of the
 * table of models. The best result so far is known at every moment; if a file is named for it, that
 * is replaced, as a whole, whenever a better one exists. An interrupt or the end of the budget ends
 * the technique that is on; what was made before stays. */
#ifndef TINCA_STUDIES_MODELS_MEANS_APPLY_H
#define TINCA_STUDIES_MODELS_MEANS_APPLY_H

#include "studies/models/other_means.h"

struct means_apply {
    const struct model_table_request *models; /* the table that is read before each decision */
    struct means_request request;
    struct means_settings settings;
    const char *output; /* the file of the best result; NULL: none */
    double seconds;     /* the budget; 0: one technique */
    bool (*stop)(void *context);
    void (*report)(void *context, const char *line); /* a line of progress, translated */
    void *context;
};

/* Applies techniques until a model meets the limits, nothing is left to try, the budget ends or
 * `stop` says so (then the error is of kind ERROR_INTERRUPTED, and the result is filled in all the
 * same). Fills the last table, which the caller frees also after an error, and the last advice. */
bool means_apply(struct means_apply *apply, struct model_table *table, struct means_advice *advice,
                 struct error *error);

#endif
