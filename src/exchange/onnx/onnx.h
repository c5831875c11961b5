/* onnx.h: writes saved models as ONNX files and makes saved models of ONNX files.
 *
 * A file has the network in inference: without auxiliary heads, losses and discriminator. Every
 * operator of a network has an equivalent in ONNX; a channel shift is a convolution of each channel
 * with a fixed kernel, a channel shuffle a transposition. A quantized network has pairs of
 * QuantizeLinear and DequantizeLinear ("QDQ") where its values lie on grids (quantization.h).
 *
 * An import reads what tinca writes and what PyTorch writes (torch.onnx), and other files as far as
 * their operators are tinca's. Exporting, importing and exporting again gives the same bytes.
 */
#ifndef TINCA_EXCHANGE_ONNX_ONNX_H
#define TINCA_EXCHANGE_ONNX_ONNX_H

#include "base/error.h"
#include "engine/weights/weights.h"

#include <stdbool.h>
#include <stddef.h>

struct run;

/* Returns whether a regular file is an ONNX model: by its content, or its name. Without an error
 * for files that cannot be read. */
bool onnx_file_is(const char *path);

/* --- export --- */

struct onnx_export_request {
    const char *model;          /* the saved model */
    const char *record;         /* how it was trained, a JSON text (onnx_record); or NULL */
    bool fold;                  /* make batch norms part of the layers before them */
    bool format_given;          /* the weights are written in `format`, not as the model has them */
    enum weights_format format; /* not of quantized layers */
    bool signed_weights;        /* int8, not uint8 with the zero point 128, for quantized layers */
};

struct onnx_export_result {
    size_t nodes;
    long long opset;
    bool noise_left_out; /* the model adds noise in inference, and the file does not */
};

/* Writes a saved model as the ONNX file `path` (output_file.h). Returns false with an error. */
bool onnx_export(const struct onnx_export_request *request, const char *path,
                 struct onnx_export_result *result, struct error *error);

/* Returns how a run was trained as a JSON text, which the caller frees: its configuration and its
 * results. NULL with an error. */
char *onnx_record(const struct run *run, struct error *error);

/* --- import --- */

enum { ONNX_NAME = 96 };

/* A node of the file that no layer of tinca computes. */
struct onnx_missing {
    char node[ONNX_NAME], type[ONNX_NAME]; /* name and operator */
    char why[160];
};

struct onnx_import_request {
    const char *path;    /* the ONNX file */
    const char *model;   /* the saved model to write, .safetensors */
    const char *network; /* the network file to write, .json */
    const char
        *normalise; /* how images are normalised (dataset.h); "": as the file says, or unit */
};

struct onnx_import_result { /* onnx_import_result_free frees it */
    size_t layers, parameters;
    char network[64]; /* the network's name */
    struct onnx_missing *missing;
    size_t missing_count, missing_capacity;
    size_t left_out; /* outputs but the first */
    bool softmax_left_out;
    const char *kept; /* graph_probabilities: its name; NULL: none */
    bool picture;     /* the output is taken as a picture */
};

/* Makes a network file and a saved model of an ONNX file. Returns false with an error; if that is
 * because nodes are missing, result->missing lists them. No file is then written. */
bool onnx_import(const struct onnx_import_request *request, struct onnx_import_result *result,
                 struct error *error);
void onnx_import_result_free(struct onnx_import_result *result);

#endif
