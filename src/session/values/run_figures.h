/* run_figures.h: what the results of a run mean wherever they are shown: the list of runs, the
 * comparison, sweeps, reports, and messages at the end. Thread-safe. */
#ifndef TINCA_SESSION_VALUES_RUN_FIGURES_H
#define TINCA_SESSION_VALUES_RUN_FIGURES_H

#include "session/values/run_snapshot.h"
#include "session/values/series.h"

/* Accuracies are in percent. NaN: there is none yet, or the run has no such figure. */
struct run_figures {
    bool has_loss;               /* an iteration is done, so a loss of NaN is what it computed */
    bool has_validation;         /* a validation is done, likewise */
    double loss;                 /* "loss": the training loss of the last iteration */
    double validation_loss;      /* "val. loss": the loss of the last validation */
    double top1, top5;           /* "top-1", "top-5": the accuracies of the last validation */
    double best_top1;            /* "best top-1": the highest top-1 of all validations */
    double best_validation_loss; /* "best val. loss": the lowest loss of all validations */
    double test_loss;            /* "test loss": the loss of the best model on the test set */
    double test_top1, test_top5; /* "test top-1", "test top-5": its accuracies there */
};

/* Returns figures of which none is known. */
struct run_figures run_figures_unknown(void);

/* Returns the figures of a run. `series`: its curves; NULL: they are not read, and the best
 * validation loss of a run of an earlier version is not known. */
struct run_figures run_figures_of(const struct run_snapshot *now, const struct series *series);

#endif
