/* network.h: builds the graph of a network from its name or file.
 *
 * Networks are JSON files (networks/NAME.json, also compiled into the program;
 * man/tinca-network.5): a list of layers, each an operator of ops/op.h or a block of
 * blocks/block.h, optionally repeated. A name and the file of that name give the same network. A
 * network that generates images may have a discriminator: a second graph that learns to distinguish
 * these images from real ones during training (gan.h). A variation changes the architecture before
 * training (blocks/block.h). A saved model (FILE.safetensors, models/saved/model_file.h) contains
 * the text of its network file and can be named in the place of one.
 */
#ifndef TINCA_ENGINE_NETWORK_NETWORK_H
#define TINCA_ENGINE_NETWORK_NETWORK_H

#include "base/error.h"
#include "engine/blocks/technique.h"
#include "engine/graph/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct safetensors;

/* The widths of the hidden layers, in order. */
enum { NETWORK_MAX_WIDTHS = 16, NETWORK_MAX_WIDTH = 65536 };

struct network_widths {
    size_t count;
    size_t each[NETWORK_MAX_WIDTHS];
};

/* Reads widths such as "512,256". Returns false unless `text` has 1 to 16 numbers of 1 to 65536. */
bool network_widths_parse(const char *text, char separator, struct network_widths *widths);

/* Prints widths into `text` and returns it. */
char *network_widths_print(const struct network_widths *widths, char separator, char *text,
                           size_t size);

/* The operators that the word "activation" of a network file can stand for; NULL-terminated. */
extern const char *const network_activations[];

/* The network to build. The name can have suffixes in any order, as the studies print them: a
 * technique, a width rate, a block rate ("resnet20-dsc-0.36", "resnet110-2.3_block"), widths and an
 * activation ("mlp-w800x400-tanh"). A suffix means the same as the member below; if the two differ,
 * that is an error. */
struct network_request {
    const char *network;          /* name with suffixes, or path of a file or of a saved model */
    const char *text;             /* the file's text (of a saved model), or NULL: read the file */
    enum technique technique;     /* none: the one of the name */
    size_t classes;               /* 0: those of the file */
    size_t groups;                /* groups of shuffle; 0: as in the file, else NETWORK_GROUPS */
    double width_rate;            /* divides every width; 0: none */
    double block_rate;            /* residual blocks become bottlenecks of width / rate; 0: none */
    struct network_widths widths; /* for files that have "widths"; count 0: those of the file */
    const char *activation;       /* for files that have one; NULL or "": that of the file */
    size_t input_height, input_width; /* pixels; 0: those of the file */
    /* Output layers for which the file gives another number than `classes` get `classes` outputs;
     * otherwise the file's number stays. */
    bool remake_outputs;
    /* A network with a chain of techniques after training ignores `classes` and keeps its outputs:
     * `kept_classes` (set by network_build for a saved model); 0: the number in the file. */
    bool keep_compressed;
    size_t kept_classes;
};

/* The longest name, chain of techniques in a network file, and both together, each with its final
 * zero. */
enum {
    NETWORK_NAME = 64,
    NETWORK_COMPRESSION = 160,
    NETWORK_SHORT_NAME = NETWORK_NAME + NETWORK_COMPRESSION
};

enum { NETWORK_GROUPS = 2, NETWORK_MAX_GROUPS = 4096 };
#define NETWORK_MIN_RATE 0.01
#define NETWORK_MAX_RATE 100.0

struct network {
    char name[NETWORK_NAME]; /* as printed: "resnet20" */
    char title[128];
    char normalisation[16]; /* normalisation of the input; see data/dataset/dataset.h */
    enum technique technique;
    size_t groups;                         /* groups of shuffle; 0 with the other techniques */
    size_t usual_groups;                   /* the file's groups for shuffle, or NETWORK_GROUPS */
    double width_rate, block_rate;         /* 0: none */
    struct network_widths widths;          /* count 0: the file has no "widths" */
    char activation[16];                   /* empty: the file has no "activation" */
    bool widths_chosen, activation_chosen; /* they differ from those of the file */
    /* The techniques that were applied to the trained network, in order, each KIND or
     * KIND:ARGUMENT, joined by "+": "prune:0.5+quantize:percentile". Empty: none. */
    char compression[NETWORK_COMPRESSION];
    /* The result of graph_classes (class_outputs.h), whatever the file says; 0: the output is an
     * image. */
    size_t classes;
    size_t remade; /* the number of outputs before remake_outputs changed it; 0: it has not */
    struct shape input;
    struct graph graph;
    /* Reads [C + D, H, W]: the network's input and an output of it, concatenated. Its output is
     * logits, its loss a binary cross-entropy against a second input. A network without
     * discriminator has no nodes here. */
    struct graph discriminator;
    char *source; /* the text of the network file, which a saved model includes */
};

/* Builds the requested network; network_free frees it. Returns NULL with an error that names file,
 * line and key, or lists the built-in networks. */
struct network *network_build(const struct network_request *request, struct error *error);

/* Returns whether a network is named by a path: of a network file (FILE.json), of a saved model
 * (FILE.safetensors), or any text with a slash. */
bool network_is_path(const char *name);

/* Returns whether a text is the name of a built-in network, with or without suffixes. */
bool network_is_name(const char *name);

/* Returns whether a path is that of a saved model by its ending. */
bool network_is_model(const char *name);

/* Returns the length of a path without the ending of a network file or saved model. */
size_t network_path_stem(const char *path);

/* Returns the technique that a request asks for, by itself or by the suffix of its name. */
enum technique network_request_technique(const struct network_request *request);

/* Frees a network; NULL is allowed. */
void network_free(struct network *network);

/* Sets the weight of the main loss in the sum that training minimises; it is 1 at first. */
void network_set_loss_weight(struct network *network, float weight);

/* Sets the label smoothing of every softmax_cross_entropy, auxiliary heads included. Returns false,
 * and changes nothing, unless network_has_cross_entropy. */
bool network_set_label_smoothing(struct network *network, float smoothing);

/* Returns the operator's name of a loss over classes, one other than softmax_cross_entropy if there
 * is one; NULL if no loss of the network reads labels. */
const char *network_class_loss(const struct network *network);

/* Returns whether the network has losses over classes and all are softmax_cross_entropy: labels can
 * then be smoothed, mixed and weighted. */
bool network_has_cross_entropy(const struct network *network);

/* Returns whether the network has a discriminator. */
static inline bool network_has_discriminator(const struct network *network)
{
    return network->discriminator.node_count > 0;
}

/* The built-in networks, in the order in which they are shown. */
struct network_builtin {
    const char *name, *text; /* the JSON file */
};
extern const struct network_builtin network_builtins[];
extern const size_t network_builtin_count;

/* Prints the network's name with its suffixes, "resnet20-dsc-0.36", into `text` and returns it. A
 * compressed network's name ends with "+" and the chain: "resnet20-dsc+prune:0.5". */
char *network_full_name(const struct network *network, char *text, size_t size);

/* Prints the name without suffixes, but with the chain, into `text` and returns it. */
char *network_short_name(const struct network *network, char *text, size_t size);

/* Builds the network of a network file's tree, which network_free frees. It has the name that the
 * tree gives. Returns NULL with an error. */
struct network *network_from_json(const struct json *root, struct error *error);

/* --- saved models --- */

/* Builds the network of a saved model, an open file, as it was saved: from its metadata, whose keys
 * models/saved/model_file.h lists. Returns NULL with an error if these are missing or wrong. */
struct network *network_of_model(const struct safetensors *file, struct error *error);

/* Sets the input and the stated number of classes of the network of a saved model, an open file,
 * without building it. Returns false with an error if the metadata or the head of the network's
 * text are wrong. */
bool network_head_of_model(const struct safetensors *file, struct shape *input, size_t *classes,
                           struct error *error);

/* Sets the error for a metadata key, with the reason `why` (marked N_), and returns false. */
bool network_refuse_metadata(const struct safetensors *file, const char *key, const char *why,
                             struct error *error);

#endif
