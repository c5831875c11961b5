/* factorize.h: replaces the layers of a trained network by products of smaller ones (factor.h).
 *
 * It begins with the decomposition of every layer, which takes nearly all of the time; then any
 * ranks cost little. One number chooses the ranks of all layers: the energy or a price. The energy
 * is the share of its squared singular values that each layer keeps. With a price, each layer gets
 * the ranks with the least sum of the share of its squared singular values that it loses and the
 * price of its size: a singular value that keeps much and costs little stays. A layer whose parts
 * would not be smaller, in parameters and in FLOPs, stays as it is.
 */
#ifndef TINCA_ENGINE_COMPRESS_FACTORIZE_H
#define TINCA_ENGINE_COMPRESS_FACTORIZE_H

#include "base/json/json.h"
#include "engine/compress/factor.h"
#include "engine/graph/graph.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- a network with some of its layers replaced by others (factor_layers.c) ---
 *
 * A graph is not changed in place. It is written as the tree of a network file (network_write.h),
 * in which each layer is one operator; a new tree is made of it layer by layer, and the new network
 * is built from that. Weights go from one network to the other by name. */

/* The layers that replace one of the network's. */
struct rewritten_layer {
    struct json *layers; /* append the new layers here, in order */
    /* The layer's inputs, for the first of the new layers: "from", with the new names. Its owner is
     * the tree that is being made; copy it. */
    const struct json *from;
    char output[NODE_NAME_SIZE]; /* set it to the new layer that others read instead of this one */
};

enum rewrite { REWRITE_KEEP, REWRITE_REPLACE, REWRITE_FAIL };

/* Decides about node number `node` of the network's graph. For REWRITE_REPLACE it has filled
 * `layer`, for REWRITE_FAIL it has set the error, otherwise the layer stays as it is. */
typedef enum rewrite rewrite_layer(void *context, size_t node, struct rewritten_layer *layer,
                                   struct error *error);

/* Returns the network as a tree in which `rewrite` has replaced layers; the caller frees it. A
 * discriminator stays as it is. Returns NULL with an error. */
struct json *rewrite_network(const struct network *network, rewrite_layer *rewrite, void *context,
                             struct error *error);

/* --- the layers that take the place of a factorized one --- */

/* One of the new layers. They are called NAME.0, NAME.1, ... after the old one, as PyTorch calls
 * the parts of a Sequential, and each reads the one before. */
struct factor_layer {
    const struct op *op;
    union attributes attributes;
    size_t part; /* index of the part in factor.h */
};

/* The parameters and FLOPs of layers. */
struct layer_cost {
    size_t parameters;
    uint64_t flops; /* of one image, forward */
};

/* Returns whether the node is a layer that factor.h can factorize: linear or a convolution that is
 * not transposed. */
bool factor_layers_fit(const struct node *node);

/* Returns the kernel of such a node, with the weights that `values` holds for the graph. */
struct factor_kernel factor_layers_kernel(const struct graph *graph, const struct node *node,
                                          const float *values);

/* Writes the layers for these ranks, in order, and returns their number: 2 or 3; 1 if tucker's
 * ranks are both full. */
size_t factor_layers_make(const struct node *node, const struct factor *factor, const size_t *ranks,
                          struct factor_layer layers[FACTOR_PARTS]);

/* Computes the cost of the layers in the node's place. Returns false with an error if they do not
 * fit there or if out of memory. */
bool factor_layers_cost(const struct graph *graph, const struct node *node,
                        const struct factor_layer *layers, size_t count, struct layer_cost *cost,
                        struct error *error);

/* Appends the layers to a network that is rewritten. Returns false if out of memory. */
bool factor_layers_write(const struct node *node, const struct factor_layer *layers, size_t count,
                         struct rewritten_layer *rewritten);

enum { FACTOR_LAYER_NAME_SIZE = NODE_NAME_SIZE + 24 };

/* Writes the name of the new layer number `i`. Returns `name`. */
char *factor_layers_name(const struct node *node, size_t i, char name[FACTOR_LAYER_NAME_SIZE]);

/* --- the factorization of a network --- */

enum factor_convolutions { CONVOLUTIONS_SPATIAL, CONVOLUTIONS_TUCKER, CONVOLUTIONS_NONE };

/* Patterns are those of name_pattern.h; NULL: none. */
struct factorize_settings {
    enum factor_convolutions convolutions; /* 1 x 1 convolutions: svd, unless it is NONE */
    bool linear;                           /* factorize linear layers */
    const char *layers;                    /* only layers that match; NULL: all */
    const char *keep;                      /* layers that stay as they are */
};

/* A layer with weights is replaced by its parts, or kept for one of these reasons. */
enum factor_state {
    FACTOR_REPLACED,
    FACTOR_NOT_SMALLER, /* its parts would have as many parameters or more FLOPs */
    FACTOR_NOT_WORTH,   /* its parts would save too little for what they lose */
    FACTOR_SLOWER,      /* its parts were measured to take longer */
    FACTOR_NOT_CHOSEN,  /* settings.layers does not name it, or settings excludes its kind */
    FACTOR_KEPT,        /* settings.keep names it */
    FACTOR_TRANSPOSED,  /* no method is for transposed convolutions */
    FACTOR_TRAINING,    /* only training computes it: a head whose loss helps the others to learn */
    FACTOR_STATES
};

/* One of the layers with a matrix or kernel of weights, in the order of the network. */
struct factorized_layer {
    size_t node;
    enum factor_state state;
    bool candidate;       /* it was decomposed: the state is one of the first four */
    bool excluded;        /* stays as it is although its parts would be smaller: FACTOR_SLOWER */
    bool pinned;          /* is replaced if that makes it smaller, however much it loses */
    struct factor factor; /* only for a candidate */
    double size; /* its share of the network's size, to which the price applies: the share of the
                    parameters, unless the caller sets another one */
    size_t ranks[FACTOR_MODES];
    struct factor_fit fit; /* of FACTOR_REPLACED, once factorization_weights has made the parts */
    struct layer_cost before, after;
};

struct factorization {
    const struct network *network; /* borrowed, like the weights */
    const struct weights *weights;
    struct factorized_layer *layers;
    size_t count;
    size_t training_parameters; /* parameters of the layers that only training computes */
    double price;               /* the last argument of factorization_choose_at */
};

/* Is called before layer number `done` of `count` is decomposed. Returning false, with an error,
 * ends the work. */
typedef bool factorize_progress(void *context, const char *layer, size_t done, size_t count,
                                struct error *error);

/* Returns the peak memory of factorization_begin for a network, in bytes. */
uint64_t factorization_bytes(const struct network *network,
                             const struct factorize_settings *settings);

/* Decomposes the layers; factorization_free releases the result. `progress` may be NULL. Returns
 * false with an error: a pattern that matches nothing, no layer that fits, weights that are not
 * finite, or out of memory. */
bool factorization_begin(struct factorization *factorization, const struct network *network,
                         const struct weights *weights, const struct factorize_settings *settings,
                         factorize_progress *progress, void *context, struct error *error);

/* Frees the decompositions and leaves `factorization` zeroed. */
void factorization_free(struct factorization *factorization);

/* Chooses the smallest ranks with which each layer keeps this share of its squared singular values.
 * Returns false with an error if out of memory. */
bool factorization_choose_energy(struct factorization *factorization, double energy,
                                 struct error *error);

/* Chooses the ranks at this price, from 0: the price of the size of the whole network, in shares of
 * squared singular values lost. The size never grows with the price. Returns false with an error if
 * out of memory. */
bool factorization_choose_at(struct factorization *factorization, double price,
                             struct error *error);

/* Pins the layers that are replaced now, or unpins all. Ranks at a lower price can then use up the
 * rest of a size target: otherwise a layer would switch from its parts back to the whole at once.
 */
void factorization_pin(struct factorization *factorization, bool pin);

/* Chooses the ranks at the lowest price at which the network has at most this share of its
 * parameters, without those that only training uses, by bisection. Returns false with an error that
 * names the least share if that is not small enough. */
bool factorization_choose_parameters(struct factorization *factorization, double share,
                                     struct error *error);

/* Returns the number of the network's parameters with the ranks chosen last, and the number of its
 * layers that are replaced. */
size_t factorization_parameters(const struct factorization *factorization);
size_t factorization_replaced(const struct factorization *factorization);

/* Returns the network with these ranks as the tree of a network file, which the caller frees; NULL
 * with an error. */
struct json *factorization_tree(const struct factorization *factorization, struct error *error);

/* Writes the weights of the network that was built from that tree, and sets the layers' fit.
 * Returns false with an error. */
bool factorization_weights(struct factorization *factorization, struct weights *weights,
                           struct error *error);

#endif
