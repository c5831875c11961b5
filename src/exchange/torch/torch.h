/* torch.h: writes saved models as state dicts of PyTorch, and makes saved models of state dicts.
 *
 * Both are safetensors files, which PyTorch's package of that name reads and writes. A mapping
 * (weights_names.h) translates the names of the arrays. A state dict has no network: an import
 * needs one whose arrays have the same shapes. */
#ifndef TINCA_EXCHANGE_TORCH_TORCH_H
#define TINCA_EXCHANGE_TORCH_TORCH_H

#include "base/error.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"
#include "engine/weights/weights_match.h"

#include <stdbool.h>
#include <stddef.h>

/* --- export --- */

struct torch_export_request {
    const char *model; /* the saved model */
    const char *names; /* a mapping; "": the one that is built in for the network */
    bool format_given; /* the weights are written in `format`, not as the model has them */
    enum weights_format format;
};

struct torch_export_result {
    size_t arrays;     /* without the counters */
    size_t counters;   /* num_batches_tracked of batch norms, which are 0 */
    size_t zeros;      /* arrays that the network does not need, and PyTorch's does */
    size_t identities; /* arrays that were left out: PyTorch's network has none there */
    char names[WEIGHTS_NAMES_SIZE];
};

/* Writes a saved model as the state dict `path`. Running statistics stay float32. An array that the
 * mapping lists as an identity is left out if it and all others of its block that are listed are
 * one, as they are after an import. Returns false with an error: also for a quantized model, and if
 * the mapping has no name for an array. */
bool torch_export(const struct torch_export_request *request, const char *path,
                  struct torch_export_result *result, struct error *error);

/* --- import --- */

struct torch_import_request {
    const char *path;      /* the state dict */
    const char *model;     /* the saved model to write, .safetensors */
    const char *network;   /* name or file; NULL: the built-in one that the arrays fit exactly */
    size_t classes;        /* 0: as many as the last layer of the state dict has */
    const char *names;     /* a mapping; "": the one that fits */
    const char *normalise; /* how images are normalised (dataset.h); "": as the network's file says,
                              and unit if that is "measured" */
};

/* The network and how the arrays fit it; torch_import_free releases it. */
struct torch_import {
    struct network *network;        /* NULL: none was found or built */
    struct weights_pairing pairing; /* valid if `network` is not NULL */
    size_t mismatches;              /* arrays that are missing or have another shape */
    struct weights_match match;     /* valid if the import succeeded */
    char normalisation[16];         /* likewise */
};

/* Makes a saved model of a state dict. Returns false with an error; if that is because arrays do
 * not fit, import->mismatches is above 0. Nothing is then written. */
bool torch_import(const struct torch_import_request *request, struct torch_import *import,
                  struct error *error);
void torch_import_free(struct torch_import *import);

#endif
