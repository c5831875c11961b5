/* caffe.h: makes networks of Caffe's files (.prototxt, .caffemodel), writes such files, and reads
 * solver files.
 *
 * An import reads the network as Caffe builds it for testing: layers that an include or exclude
 * rule keeps for training are left out, and so are those that only measure (Accuracy, Silence). The
 * losses of training become tinca's, those before the last one with their weights as auxiliary
 * heads. Without protobuf-c only the text formats are read and written.
 */
#ifndef TINCA_EXCHANGE_CAFFE_CAFFE_H
#define TINCA_EXCHANGE_CAFFE_CAFFE_H

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "engine/graph/tensor.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>

enum caffe_file_kind { CAFFE_NO_FILE, CAFFE_TEXT_FILE, CAFFE_BINARY_FILE };

/* Returns what a path is by its ending: .prototxt or .caffemodel. */
enum caffe_file_kind caffe_file_kind(const char *path);

/* --- networks --- */

enum { CAFFE_NAME = 96 };

/* A layer of the file that no layer of tinca computes. */
struct caffe_missing {
    char layer[CAFFE_NAME], type[CAFFE_NAME];
    char why[160];
};

struct caffe_import_request {
    const char *network;   /* the .prototxt file; NULL: the network is in the weights' file */
    const char *weights;   /* the .caffemodel file, or NULL: only a network file is written */
    const char *model;     /* the saved model to write; NULL if there are no weights */
    const char *file;      /* the network file to write */
    const char *normalise; /* how images are normalised (dataset.h); "": as the file says */
    bool rgb;              /* the network was trained on RGB images; false: on BGR, as Caffe reads
                              images, and the weights that read them are reordered */
    struct shape input;    /* for files that do not have it; channels 0: none */
};

struct caffe_import_result { /* caffe_import_result_free frees it */
    size_t layers, parameters;
    char network[64]; /* the network's name */
    struct caffe_missing *missing;
    size_t missing_count, missing_capacity;
    size_t left_out;    /* outputs but the last */
    size_t auxiliary;   /* losses but the last */
    size_t multipliers; /* layers with an lr_mult or decay_mult other than 1, which tinca lacks */
    bool softmax_left_out;
    const char *kept; /* graph_probabilities: its name; NULL: none */
    bool picture;     /* the output is taken as a picture */
    size_t channels;  /* of the images */
    bool reordered;   /* weights were brought from BGR to RGB */
    struct normalisation normalisation;
    char mean_file[256]; /* the file names this file of means, which is not read; "": none */
};

/* Makes a network file, and with weights a saved model. Returns false with an error; if that is
 * because layers are missing, result->missing lists them. No file is then written. */
bool caffe_import(const struct caffe_import_request *request, struct caffe_import_result *result,
                  struct error *error);
void caffe_import_result_free(struct caffe_import_result *result);

/* Writes the layers of a network, in inference, as a .prototxt file and, unless `weights` is NULL,
 * its values as the .caffemodel file `binary`. Returns false with an error that names the first
 * layer that Caffe lacks; no file is then written. */
bool caffe_export(const struct network *network, const struct weights *weights, const char *path,
                  const char *binary, struct error *error);

/* --- solvers --- */

enum { CAFFE_MAX_SETTINGS = 16, CAFFE_MAX_LEFT_OUT = 32 };

/* A solver file as settings of a run, in the form that config_set reads. */
struct caffe_solver {
    struct {
        char key[16], value[32];
    } settings[CAFFE_MAX_SETTINGS];
    size_t count;
    char left_out[CAFFE_MAX_LEFT_OUT][32]; /* fields that are no settings of a run */
    size_t left_out_count;
    size_t iter_size; /* batches whose gradients are added before an update; 1 as a rule */
};

/* Returns whether a .prototxt file is a solver's and not a network's. Without an error for files
 * that cannot be read. */
bool caffe_is_solver(const char *path);

/* Reads a solver file. Returns false with an error, also for what tinca has no setting for and what
 * would change the training. */
bool caffe_solver_read(const char *path, struct caffe_solver *solver, struct error *error);

/* Sets the fields of a configuration that config_set has not set yet. Returns false with an error.
 */
bool caffe_solver_apply(const struct caffe_solver *solver, struct run_config *config,
                        struct error *error);

#endif
