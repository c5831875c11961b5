/* network.h: a network's name or file -> its graph.
 *
 * Networks are JSON files (networks/NAME.json, also compiled into the program;
 * man/tinca-network.5): a list of layers, each an operator of ops/op.h or a block of
 * blocks/block.h, optionally repeated. A network that comes from a name and one from the same file
 * are the same. A network that makes images may have a discriminator, a second graph that tells its
 * images from real ones while it is trained (gan.h). A variation changes the architecture before
 * training: see blocks/block.h for how.
 */
#ifndef TINCA_ENGINE_NETWORK_NETWORK_H
#define TINCA_ENGINE_NETWORK_NETWORK_H

#include "base/error.h"
#include "engine/blocks/technique.h"
#include "engine/graph/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How wide hidden layers are, one after the other. */
enum { NETWORK_MAX_WIDTHS = 16, NETWORK_MAX_WIDTH = 65536 };
struct network_widths {
    size_t count;
    size_t each[NETWORK_MAX_WIDTHS];
};

/* "512,256", or with another separator. False: not 1 to 16 numbers of 1 to 65536. */
bool network_widths_parse(const char *text, char separator, struct network_widths *widths);
char *network_widths_print(const struct network_widths *widths, char separator, char *text,
                           size_t size); /* returns `text` */

/* What "activation" may stand for; NULL-terminated. */
extern const char *const network_activations[];

/* A name may carry suffixes in any order, as the studies print them: a technique, a width rate, a
 * block rate ("resnet20-dsc-0.36", "resnet110-2.3_block"), widths and an activation
 * ("mlp-w800x400-tanh"). They say the same as the fields here; a contradiction is an error. */
struct network_request {
    const char *network;      /* name with suffixes, or path of a file */
    const char *text;         /* the file's text, when it is at hand (a saved model); else NULL */
    enum technique technique; /* none: what the name says */
    size_t classes;           /* 0: as the file says */
    size_t groups;            /* of shuffle; 0: as the file says, else NETWORK_GROUPS */
    double width_rate;        /* divides every width; 0: none */
    double block_rate;        /* residual blocks become bottlenecks of width / rate; 0: none */
    struct network_widths widths;     /* for files that have "widths"; count 0: as the file says */
    const char *activation;           /* for files that have one; NULL or "": as the file says */
    size_t input_height, input_width; /* 0: as the file says */
};

enum { NETWORK_GROUPS = 2, NETWORK_MAX_GROUPS = 4096 };
#define NETWORK_MIN_RATE 0.01
#define NETWORK_MAX_RATE 100.0

struct network {
    char name[64]; /* as printed: "resnet20" */
    char title[128];
    char normalisation[16]; /* what its input expects; see data/dataset/dataset.h */
    enum technique technique;
    size_t groups;                         /* of shuffle; 0 with the other techniques */
    size_t usual_groups;                   /* what the file says for shuffle, or NETWORK_GROUPS */
    double width_rate, block_rate;         /* 0: none */
    struct network_widths widths;          /* count 0: its file has none that can be chosen */
    char activation[16];                   /* empty: its file has none that can be chosen */
    bool widths_chosen, activation_chosen; /* they are not the file's own */
    size_t classes;                        /* 0: its output is an image */
    struct shape input;
    struct graph graph;
    /* Reads [C + D, H, W], the input and an output of the network, concatenated; its output are
     * logits, its loss a binary cross-entropy against a second input. No nodes: there is none. */
    struct graph discriminator;
    char *source; /* the text of its file: a saved model carries it */
};

/* NULL with an error that names file, line and key, or lists the networks there are. */
struct network *network_build(const struct network_request *request, struct error *error);
void network_free(struct network *network); /* may be NULL */

/* The main loss's factor in what is minimised; 1 unless set. */
void network_set_loss_weight(struct network *network, float weight);

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

/* The network with its suffixes, "resnet20-dsc-0.36". Returns `text`. */
char *network_full_name(const struct network *network, char *text, size_t size);

#endif
