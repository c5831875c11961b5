/* importer.h: what the importers of networks share: a graph that grows node by node, the list of
 * what tinca lacks, the losses of training, the network file and the saved model.
 *
 * An importer reads the nodes of its file in their order and maps each to an operator by the rows
 * of its table. A node whose inputs a missing node would compute is passed over, so that the list
 * of what is missing has each node that is, and nothing else. After the first error nothing is
 * added. */
#ifndef TINCA_EXCHANGE_FRAME_IMPORTER_H
#define TINCA_EXCHANGE_FRAME_IMPORTER_H

#include "base/error.h"
#include "engine/graph/graph.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"
#include "exchange/frame/exchange.h"
#include "models/saved/model_file.h"

#include <stdbool.h>
#include <stddef.h>

enum { IMPORTER_TEXT = 96, IMPORTER_LOSSES = 16 };

/* A row of a format's table: an operator that reads one value and has no weights. The same row
 * serves import and export. */
struct mapping {
    const char *type, *group; /* the format's name; of Caffe: the message with the values */
    const struct op *op;      /* NULL ends a table */
    struct mapping_value {
        const char *name; /* the format's name; NULL ends the list */
        enum { MAPPING_FLOAT, MAPPING_COUNT, MAPPING_FIXED } kind;
        size_t offset; /* in union attributes; of MAPPING_FIXED none: tinca has one value only */
        float usual;   /* where a file has none */
        float limit;   /* of MAPPING_COUNT: the most; of MAPPING_FIXED: the value */
    } values[5];
};

/* A node of the file that no operator of tinca computes. */
struct importer_missing {
    char node[IMPORTER_TEXT], type[IMPORTER_TEXT];
    char why[160];
};

/* The words of a format for what all importers say. Texts for messages are marked N_. */
struct importer_words {
    const char *what;        /* "the ONNX model", of which memory may run out */
    const char *advice;      /* for a damaged file; NULL: none */
    const char *lacking;     /* "tinca has no layer for %zu of its %zu nodes" */
    const char *change;      /* what to do then */
    const char *node, *type; /* keys of the list in JSON */
};

struct importer;

/* Writes the values of parameter `to`, which the import's graph has as number `from`. They have the
 * values that the layer begins with. Returns false if the import has failed. */
typedef bool importer_fill(struct importer *im, size_t from, const struct parameter *to,
                           float *values);

struct importer { /* importer_free frees what it has */
    const struct importer_words *words;
    importer_fill *fill;
    const char *path; /* of the file */
    struct error *error;
    bool failed; /* error is set: the file is damaged, or memory ran out */
    struct graph graph;
    struct importer_missing *missing;
    size_t missing_count, missing_capacity;
    /* the losses of training before the main one, relative to it */
    struct importer_loss {
        size_t node;
        float weight;
    } heads[IMPORTER_LOSSES];
    size_t head_count;
    /* what is reported at the end */
    char *model_path, *network_path;
    char network[64]; /* its name */
    size_t layers, parameters, left_out;
    bool softmax_left_out, picture;
    const char *kept; /* graph_probabilities: its name; NULL: none */
};

/* Chooses the names of the files that are written: `output`, or after the file in the present
 * folder. With `model` a saved model and the network file beside it; else the latter alone. Returns
 * false with an error, also if a file exists that the user has not named. */
bool importer_name_files(struct importer *im, const char *output, bool model);

/* Frees graph, lists and paths. */
void importer_free(struct importer *im);

/* Notes that memory ran out or that error is set otherwise; returns false. */
bool importer_fail(struct importer *im);

/* Sets the error about a part of the file, once; returns false. `why` is marked N_; `line` 0: none.
 */
bool importer_damaged(struct importer *im, size_t line, const char *what, const char *why);

/* Adds a node to the list of what is missing; returns false. `why` is marked N_. */
bool importer_lacks(struct importer *im, const char *node, const char *type, const char *why);

/* Returns whether nothing is missing; else sets the error. `count`: the nodes of the file. */
bool importer_is_complete(struct importer *im, size_t count);

/* Writes a name that no node has, made of `wanted` and `suffix`, to name[NODE_NAME_SIZE]. '/'
 * becomes '.', as in PyTorch's names. */
void importer_choose_name(const struct importer *im, const char *wanted, const char *suffix,
                          char *name);

/* Sets name and title of a network to `given` or, if that is "", to the name of the file. */
void importer_name_network(const struct importer *im, const char *given, struct network *head);

/* Names the classes of a model by their numbers. Returns false if memory runs out. */
bool importer_number_classes(struct model *model, struct error *error);

/* The network that an import makes, after its nodes. */
struct importer_end {
    size_t output;
    const char *loss;    /* of training; "": the usual one */
    bool classified;     /* its losses are those of a classifier */
    struct network head; /* name, title, normalisation */
    /* Changes how images are prepared, and names the classes. */
    bool (*describe)(struct importer *im, struct model *origin);
    bool (*finish)(struct importer *im, struct weights *weights); /* changes them; NULL: nothing */
    enum weights_format format;
    const char *quantization, *record, *parent; /* metadata of a saved model; NULL: none */
};

/* Adds the losses, leaves out what the output does not need, and writes the files. Returns false
 * with an error. */
bool importer_save(struct importer *im, struct importer_end *end);

/* Adds to the report what was made (`imported`) and what became of the network's end, or else what
 * is missing. */
void importer_report(const struct importer *im, bool imported, struct exchange_report *report);

#endif
