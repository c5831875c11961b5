/* eval_errors.h: what tinca eval shows of a model's errors: the confusion matrix, figures of each
 * class, calibration, a file of all predictions, and the misclassified pictures. */
#ifndef TINCA_CLI_EVAL_ERRORS_H
#define TINCA_CLI_EVAL_ERRORS_H

#include "base/json/json.h"
#include "session/model/error_analysis.h"
#include "session/model/predictions_file.h"

struct eval_errors {
    bool confusion, per_class;       /* print or add them */
    const char *predictions, *wrong; /* paths; NULL: not asked for */

    const struct model *model;
    const struct dataset *dataset;
    struct error_analysis analysis;
    struct predictions_file file;
    bool file_open;
    size_t wrong_written;
    struct error failed; /* what could not be written; kind ERROR_NONE: nothing */
};

/* Prepares what was asked for. Returns false with an error if a target cannot be written, or the
 * network has no classes. Keeps `model` and `dataset` until eval_errors_finish. */
bool eval_errors_begin(struct eval_errors *errors, const struct model *model,
                       const struct dataset *dataset, struct error *error);

/* Take each image's outcome (outcome_watch), and end the evaluation after a failure to write
 * (evaluation_progress). `context` is a struct eval_errors. */
void eval_errors_watch(void *context, const struct outcome *outcome, const float *logits);
bool eval_errors_progress(void *context, uint64_t done, uint64_t of, struct error *error);

/* Completes the file of predictions. Returns false with an error. */
bool eval_errors_finish(struct eval_errors *errors, struct error *error);

/* Prints what was asked for. Returns the exit status. */
int eval_errors_print(const struct eval_errors *errors);

/* Adds "confusion", "per_class", "macro_f1", "calibration" and "wrong" as asked for. Returns false
 * if out of memory. */
bool eval_errors_add(const struct eval_errors *errors, struct json *root);

/* Frees everything; an incomplete file of predictions is abandoned. */
void eval_errors_free(struct eval_errors *errors);

#endif
