/* weights_match.h: begins a training with weights from a file, by name and shape. */
#ifndef TINCA_ENGINE_WEIGHTS_WEIGHTS_MATCH_H
#define TINCA_ENGINE_WEIGHTS_WEIGHTS_MATCH_H

#include "engine/weights/safetensors.h"
#include "engine/weights/weights.h"
#include "engine/weights/weights_names.h"

enum { WEIGHTS_NAMES_SIZE = 64 };

/* The number of arrays of a file and of a network that fit each other, and of those that do not. */
struct weights_match {
    size_t loaded;     /* arrays that were read from the file */
    size_t identities; /* arrays that the file lacks and that pass values on unchanged */
    size_t reset;      /* arrays of the network that keep their initial values */
    size_t unused;     /* arrays of the file that the network has no place for */
    char example[128]; /* the name of an unused array */
    size_t outputs;    /* outputs of the file's output layers if they are reset; else 0 */
    char names[WEIGHTS_NAMES_SIZE]; /* the mapping of names; "": the file has the network's */
};

/* Says when the output layers (class_outputs.h) keep their initial values, as those of `reset` do.
 */
enum weights_outputs {
    WEIGHTS_OUTPUTS_READ,
    WEIGHTS_OUTPUTS_FIT,  /* if the file's layers have another number of outputs */
    WEIGHTS_OUTPUTS_RESET /* in any case */
};

struct weights_source {
    const char *path;
    const char *reset; /* patterns of layers that keep their values (name_pattern.h); "": none */
    const char *names; /* a mapping (weights_names.h); "": the built-in one that fits, if needed */
    enum weights_outputs outputs;
};

/* A file of weights beside a network: its entries have the network's names. */
struct weights_pairing {
    const struct graph *graph;
    const char *reset;
    enum weights_outputs outputs;
    bool *is_output; /* [node_count]: marks the output layers */
    struct safetensors file;
    struct safetensors_entry *original; /* the entries with the file's names, in the same order */
    struct weights_names mapping;
    char names[WEIGHTS_NAMES_SIZE]; /* the mapping's; "": none */
};

/* Opens the file and chooses the mapping; weights_pairing_close releases it. Without a mapping that
 * the source names, and if the file does not fit, it takes the built-in one that fits best, if it
 * fits better. Returns false with an error if file or mapping cannot be read. */
bool weights_pairing_open(struct weights_pairing *pairing, const struct graph *graph,
                          const struct weights_source *source, struct error *error);
void weights_pairing_close(struct weights_pairing *pairing);

enum weights_fit {
    WEIGHTS_FIT_LOADED,
    WEIGHTS_FIT_IDENTITY, /* the file lacks it, and the mapping makes it an identity */
    WEIGHTS_FIT_RESET,
    WEIGHTS_FIT_SHAPE, /* the file's array has another shape or is no array of floats */
    WEIGHTS_FIT_MISSING
};

/* Returns how a parameter fits, and sets *entry to its number in the file, unless it lacks it. */
enum weights_fit weights_pairing_fit(const struct weights_pairing *pairing,
                                     const struct parameter *parameter, size_t *entry);

/* Returns whether the network has a place for entry number `i` of the file, or the entry is a
 * counter of a batch norm (num_batches_tracked), which says nothing about the values. */
bool weights_pairing_uses(const struct weights_pairing *pairing, size_t i);

/* Returns how many arrays of the network are missing or have another shape in the file. */
size_t weights_pairing_mismatches(const struct weights_pairing *pairing);

/* Returns how many arrays of the file have no place in the network. */
size_t weights_pairing_unused(const struct weights_pairing *pairing);

/* Makes a parameter pass values on unchanged: in a convolution, the middle of the kernel connects
 * each input channel to an output channel in the middle of the outputs, as a shortcut that pads
 * channels with zeros (He et al. 2016, option A); a batch norm changes nothing. */
void weights_fill_identity(const struct graph *graph, const struct parameter *parameter,
                           float *values);

/* Reads the parameters and running statistics of the graph from a safetensors file, except those
 * that are reset, which keep their values. Returns false with an error that names the arrays that
 * are missing, have another shape or are left over; the weights are then undefined. */
bool weights_begin(struct weights *weights, const struct weights_source *source,
                   struct weights_match *match, struct error *error);

/* Puts the outputs into another order: output `i` becomes what output numbers[i] was. Returns false
 * with an error, and changes nothing, if the output layers are not known or a layer among them
 * depends on the order of its channels. */
bool weights_order_outputs(struct weights *weights, const size_t *numbers, struct error *error);

#endif
