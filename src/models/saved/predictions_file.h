/* predictions_file.h: writes a model's prediction for each image of a set as CSV (RFC 4180).
 *
 * Columns: image (its number in the set), origin (file or record), label, label_name, guess,
 * guess_name, probability, top1, top1_probability ... top5, top5_probability (fewer with fewer
 * classes), logit_0 ... logit_N. If the network's output is NaN, guess and the columns that depend
 * on it are empty. */
#ifndef TINCA_MODELS_SAVED_PREDICTIONS_FILE_H
#define TINCA_MODELS_SAVED_PREDICTIONS_FILE_H

#include "base/files/output_file.h"
#include "models/saved/evaluate.h"

struct predictions_file {
    struct output_file output;
    const struct dataset *dataset; /* borrowed, as is the model */
    const struct model *model;
    bool failed; /* memory was short */
};

/* Begins a file at `name`. Returns false with an error. */
bool predictions_file_open(struct predictions_file *file, const char *name,
                           const struct model *model, const struct dataset *dataset,
                           struct error *error);

/* Appends a row. */
void predictions_file_add(struct predictions_file *file, const struct outcome *outcome,
                          const float *logits);

/* Completes the file. Returns false with an error if it cannot be written. */
bool predictions_file_close(struct predictions_file *file, struct error *error);

/* Leaves the target as it was. */
void predictions_file_abandon(struct predictions_file *file);

#endif
