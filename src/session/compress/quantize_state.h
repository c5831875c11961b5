/* quantize_state.h: a quantization in progress, and its parts. Internal to session/compress. */
#ifndef TINCA_SESSION_COMPRESS_QUANTIZE_STATE_H
#define TINCA_SESSION_COMPRESS_QUANTIZE_STATE_H

#include "engine/quantize/quantize.h"
#include "session/compress/quantize_model.h"
#include "session/compress/sample_images.h"

/* A network with its weights. */
struct made_network {
    struct network *network;
    struct weights weights;
};

void made_network_free(struct made_network *made); /* leaves it {0} */

struct quantize_state {
    const struct quantize_request *request;
    const struct quantize_hooks *hooks;
    struct quantize_result *result;
    struct model model;         /* the original */
    struct made_network folded; /* without batch norms */
    struct sample_images sample;
    bool *layers; /* by node of the folded network: its weights are quantized */
    struct quantize_plan plan;
    struct sample_range *ranges;              /* by node */
    struct quantization *grids;               /* by node */
    struct made_network quantized, simulated; /* the result, and the same with rounding, which has
                                                 the values of the result */
};

/* Reports what begins. Returns false with an error if the work shall end. */
bool quantize_step(const struct quantize_state *state, const char *text, struct error *error);

/* quantize_calibrate.c: sets the ranges of all nodes that the plan gives a grid, by the method. */
bool quantize_calibrate(struct quantize_state *state, struct error *error);

/* Returns the bytes of a quantization besides copies of the weights. */
uint64_t quantize_bytes(const struct network *network, const void *request);

/* Makes the network that `plan` describes; with `simulate`, one whose graph rounds. The chain of
 * techniques gets `step` (NULL: none). Call made_network_free in any case. */
bool quantize_make(const struct quantize_state *state, const struct quantize_plan *plan,
                   bool simulate, const char *step, struct made_network *made, struct error *error);

/* quantize_layers.c: quantizes each layer alone, and fills its part of the report. */
bool quantize_measure_layers(struct quantize_state *state, struct error *error);

/* Fills the noise of weights and outputs of the quantized network. */
bool quantize_measure_noise(struct quantize_state *state, struct error *error);

/* quantize_tune.c: returns whether the network has lost so much that it is to be trained. */
bool quantize_must_tune(const struct quantize_state *state);

/* Trains the saved network in a run of its own, and reads its weights into those of the state.
 * Returns false with an error. */
bool quantize_tune(struct quantize_state *state, struct error *error);

#endif
