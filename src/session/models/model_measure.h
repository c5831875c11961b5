/* model_measure.h: measures a model file: its accuracy on a data set, and the time and energy of
 * one image on a device. */
#ifndef TINCA_SESSION_MODELS_MODEL_MEASURE_H
#define TINCA_SESSION_MODELS_MODEL_MEASURE_H

#include "session/model/evaluate.h"
#include "session/models/model_figures.h"

/* How many images times are measured on, unless the request says otherwise. */
enum { MODEL_TIMED_IMAGES = 500 };

struct model_measure_request {
    const char *data, *device;     /* SPEC; name */
    size_t threads;                /* 0: all cores */
    size_t timed;                  /* images to time, one at a time; 0: MODEL_TIMED_IMAGES */
    bool only_accuracy;            /* the times are known: they do not depend on the data */
    evaluation_progress *progress; /* NULL: no progress is reported */
    void *context;
};

/* Measures the accuracy on all images of the set, in batches, then the time and energy of single
 * images. The precision is the one in which the device computes this model by default. Stores the
 * result (model_figures_put). Returns false with an error. */
bool model_measure_file(const char *path, const struct model_measure_request *request,
                        struct model_figures *figures, struct error *error);

/* Lets a model and those that it was made from take turns (turns.h): paths[0] is its file, the
 * others are theirs; `count` is at most TURNS_MODELS. Stores a pair (model_figures_put_pair) for
 * each of them in the model's figures. Returns false with an error. */
bool model_measure_pairs(const char *const *paths, size_t count,
                         const struct model_measure_request *request, struct model_figures *figures,
                         struct error *error);

/* Computes the median of `count` times and its 95 % interval by order statistics: NaN for none, an
 * interval of NaN for fewer than six. Sorts the times. */
void model_median(double *times, size_t count, double *median, double *low, double *high);

#endif
