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
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>

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
