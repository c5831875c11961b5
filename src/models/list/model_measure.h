/* model_measure.h: measures a model file: its accuracy on a data set, and the time and energy of
 * one image on a device; and reads the report of its quantization. */
#ifndef TINCA_MODELS_LIST_MODEL_MEASURE_H
#define TINCA_MODELS_LIST_MODEL_MEASURE_H

#include "models/list/model_figures.h"
#include "models/saved/evaluate.h"

/* The number of images that are timed, unless the request says otherwise. */
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

/* Measures a model in turns with those that it was made from (turns.h): paths[0] is its file, the
 * others are theirs; `count` is at most TURNS_MODELS. Stores a pair (model_figures_put_pair) for
 * each of them in the model's figures. Returns false with an error. */
bool model_measure_pairs(const char *const *paths, size_t count,
                         const struct model_measure_request *request, struct model_figures *figures,
                         struct error *error);

/* Computes the median of `count` times and its 95 % interval by order statistics: NaN for none, an
 * interval of NaN for fewer than six. Sorts the times. */
void model_median(double *times, size_t count, double *median, double *low, double *high);

/* --- the measurements of tinca quantize of each layer of a model, from the model's file
 * (models/saved/model_file.h: tinca.quantization) --- */

struct model_layer {
    char name[NODE_NAME_SIZE];
    bool int8;                       /* else its weights are float32 */
    double weight_sqnr, output_sqnr; /* signal to quantization noise, dB; NaN: none */
    double top1_loss, loss_rise;     /* of this layer alone: points, and loss; NaN: not measured */
};

struct model_layers {
    struct model_layer *list; /* in the order of the network; free() */
    size_t count;             /* 0: the model is not quantized */
    size_t images;            /* images with which the losses were measured */
};

/* Reads the layers of a model file; a model without a report has none. Returns false with an error
 * if the file cannot be read, its report is damaged, or memory runs out. */
bool model_layers_read(const char *path, struct model_layers *layers, struct error *error);

#endif
