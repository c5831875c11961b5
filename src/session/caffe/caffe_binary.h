/* caffe_binary.h: the contents of a .caffemodel file. Internal to this folder. */
#ifndef TINCA_SESSION_CAFFE_BINARY_H
#define TINCA_SESSION_CAFFE_BINARY_H

#include "session/caffe/caffe_tree.h"

#include <stdint.h>

struct caffe_model;

/* An array of the file: floats; if that is NULL, doubles; if both are, floats that lie in the file
 * from `offset` on. */
struct caffe_blob {
    const float *floats;
    const double *doubles;
    size_t count;
    int file; /* borrowed */
    uint64_t offset;
};

/* Reads a file; caffe_model_free frees it. Memory is limited to a multiple of the file's size.
 * Returns NULL with an error. */
struct caffe_model *caffe_model_read(const char *path, struct error *error);
void caffe_model_free(struct caffe_model *model);

/* Fills a tree with the fields of the network, without the arrays. The tree borrows texts of the
 * model. Returns false with an error. */
bool caffe_model_tree(const struct caffe_model *model, const char *path, struct caffe_tree *tree,
                      struct error *error);

/* Returns the number of arrays of the first layer of this name that has some; 0: there is none. */
size_t caffe_model_blobs(const struct caffe_model *model, const char *layer);

/* Returns array `n`, which is less than that number. */
struct caffe_blob caffe_model_blob(const struct caffe_model *model, const char *layer, size_t n);

/* A layer and its arrays, for a file that is to be written. */
struct caffe_written_blob {
    const float *values;
    const size_t *dims;
    size_t rank;
};
struct caffe_written_layer {
    const char *name;
    struct caffe_written_blob blobs[3];
    size_t blob_count;
};

/* Writes a .caffemodel file with what the text says and the arrays of these layers, which have the
 * text's order. Returns false with an error. */
bool caffe_binary_write(const char *text, size_t length, const struct caffe_written_layer *layers,
                        size_t count, const char *path, struct error *error);

/* Returns whether this build can write one; if not, sets the error. */
bool caffe_binary_check(const char *path, struct error *error);

#endif
