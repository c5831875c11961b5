/* factorize.h: replaces the layers of a trained network by products of smaller ones (factor.h).
 *
 * It begins with the decomposition of every layer, which takes nearly all of the time; then any
 * ranks cost little. One number chooses the ranks of all layers. It is either the energy, the share
 * of its squared singular values that each layer keeps; or the price that size has. Then each layer
 * gets the ranks with the least sum of what it loses, as a share of its squared singular values,
 * and the price of its size: a singular value that keeps much and costs little stays. A layer whose
 * parts would not be smaller, in parameters and in FLOPs, stays as it is.
 */
#ifndef TINCA_ENGINE_COMPRESS_FACTORIZE_H
#define TINCA_ENGINE_COMPRESS_FACTORIZE_H

#include "engine/compress/factor.h"
#include "engine/compress/factor_layers.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum factor_convolutions { CONVOLUTIONS_SPATIAL, CONVOLUTIONS_TUCKER, CONVOLUTIONS_NONE };

/* Patterns are those of name_pattern.h; NULL: none. */
struct factorize_settings {
    enum factor_convolutions convolutions; /* 1 x 1 convolutions: svd, unless it is NONE */
    bool linear;                           /* factorize linear layers */
    const char *layers;                    /* only these; NULL: all */
    const char *keep;                      /* these not */
};

/* What becomes of a layer with weights. */
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
    bool excluded;        /* stays as it is although it would be smaller: FACTOR_SLOWER */
    bool pinned;          /* is replaced, if it becomes smaller, whatever that loses */
    struct factor factor; /* of a candidate */
    double size;          /* its share of the network's size, to which the price applies: that of
                             the parameters, unless the caller sets another one */
    size_t ranks[FACTOR_MODES];
    struct factor_fit fit; /* of FACTOR_REPLACED, once factorization_weights has made the parts */
    struct layer_cost before, after;
};

struct factorization {
    const struct network *network; /* borrowed, like the weights */
    const struct weights *weights;
    struct factorized_layer *layers;
    size_t count;
    size_t training_parameters; /* of the layers that only training computes */
    double price;               /* what factorization_choose_at got last */
};

/* Is called before layer number `done` of `count` is decomposed. Returning false, with an error,
 * ends the work. */
typedef bool factorize_progress(void *context, const char *layer, size_t done, size_t count,
                                struct error *error);

/* Returns the bytes that factorization_begin takes for a network, at the most at once. */
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

/* Chooses the ranks at this price, from 0: what the whole network's size costs, as layers lose
 * shares of their squared singular values. The size never grows with the price. Returns false with
 * an error if out of memory. */
bool factorization_choose_at(struct factorization *factorization, double price,
                             struct error *error);

/* Pins the layers that are replaced now, or no layer. Ranks at a lower price can then use up what
 * is left to a target: a layer would otherwise go from its parts to the whole at once. */
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
