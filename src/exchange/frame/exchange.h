/* exchange.h: models and runs as files of other programs, and back. formats.h has the table of the
 * formats; what they read and write is described here. */
#ifndef TINCA_EXCHANGE_FRAME_EXCHANGE_H
#define TINCA_EXCHANGE_FRAME_EXCHANGE_H

#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "engine/graph/tensor.h"
#include "engine/weights/weights.h"

#include <stdbool.h>
#include <stddef.h>

/* The messages about an import or an export. Starts as {0}; exchange_report_free frees it. */
struct exchange_report {
    struct text result; /* lines for standard output */
    struct text notes;  /* lines for standard error */
    struct json *json;  /* the same as a document; NULL: there is none */
    bool incomplete;    /* memory ran out for json */
};

void exchange_report_free(struct exchange_report *report);

/* Appends to a text of a report as printf does; strings are escaped (base/escape/visible.h). */
void exchange_tell(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- import of a model --- */

struct model_import {
    const char *const *paths; /* the file, or files that belong together */
    size_t count;
    const char *output; /* the file to write; NULL: named after the file, in this folder */
    const char
        *normalise;      /* how images are normalised (dataset.h); "": as the file says, or usual */
    const char *network; /* of a state dict: name or file; NULL: the built-in one that fits */
    const char *names;   /* of a state dict: a mapping; "": the one that fits */
    size_t classes;      /* of a state dict; 0: as its last layer has */
    const char *weights; /* of Caffe: the .caffemodel file; NULL: among the paths, or none */
    bool rgb;            /* of Caffe: trained on RGB images; false: on BGR, as Caffe reads them */
    struct shape input;  /* of Caffe, for files that do not have it; channels 0: none */
};

/* Makes a network file, a saved model, or both. Returns false with an error; the report then lists
 * what is missing, and no file is written. */
typedef bool model_importer(const struct model_import *import, struct exchange_report *report,
                            struct error *error);

model_importer onnx_import, caffe_import, torch_import;

/* --- export of a model --- */

struct model_export {
    const char *model;          /* the saved model; NULL: `network` */
    const char *network;        /* of Caffe: a name or a network file */
    const char *record;         /* how it was trained, a JSON text (model_record); or NULL */
    bool format_given;          /* the weights are written in `format`, not as the model has them */
    enum weights_format format; /* not of quantized layers */
    bool fold;                  /* of ONNX: make batch norms part of the layers before them */
    bool signed_weights; /* of ONNX: int8, not uint8 with the zero point 128, in quantized layers */
    const char *names;   /* of a state dict: a mapping; "": the one that is built in */
};

/* Writes the file `path` (output_file.h). Returns false with an error. */
typedef bool model_exporter(const struct model_export *export, const char *path,
                            struct exchange_report *report, struct error *error);

model_exporter onnx_export, torch_export, caffe_export_text, caffe_export_weights, c_array_export,
    npz_export_model;

struct run;

/* Returns how a run was trained as a JSON text, which the caller frees: its configuration and its
 * results. NULL with an error. */
char *model_record(const struct run *run, struct error *error);

#endif
