/* preview.h: pictures of a training set, fetched in the background.
 *
 * A thread opens the set and then reads the pictures that are asked for, one after the other;
 * nothing here waits for it, whatever the folder is like. Pictures come in the order in which an
 * epoch of training shows them. One thread asks; see background.h for how it ends.
 */
#ifndef TINCA_SESSION_INSPECT_PREVIEW_H
#define TINCA_SESSION_INSPECT_PREVIEW_H

#include "data/dataset/dataset.h"
#include "engine/graph/tensor.h"
#include "session/config/config.h"

#include <stdbool.h>
#include <stdint.h>

enum { PREVIEW_MAX_PICTURES = 128 }; /* pictures at a time */

struct preview;

/* Begins to open config->data. `input`: what the network takes, where it is known; else NULL. */
struct preview *preview_open(const struct run_config *config, const struct shape *input,
                             struct error *error);
void preview_close(struct preview *preview); /* never waits; may be NULL */

/* Whether it shows what this configuration would train on. */
bool preview_is_of(const struct preview *preview, const struct run_config *config,
                   const struct shape *input);

enum preview_status { PREVIEW_OPENING, PREVIEW_OPENED, PREVIEW_FAILED };

/* Fills what is known by now: facts when it is open, the error when it failed. */
enum preview_status preview_status(struct preview *preview, struct dataset_facts *facts,
                                   struct error *error);

struct preview_request {
    uint64_t epoch;     /* from 0 */
    size_t from, count; /* places in the order of that epoch, past the end from its beginning */
    bool as_trained;    /* cropped and flipped as the network sees it, else as it is stored */
    bool augment;       /* of the configuration, like the seed */
    uint64_t seed;
};

/* Wants these pictures, and no longer those asked for before. */
void preview_request_pictures(struct preview *preview, const struct preview_request *wish);

struct preview_picture {
    struct image image; /* the caller's; of a pair both beside each other; empty: see why */
    size_t place;       /* in the wish, from 0 */
    char label[64];     /* the class; of a pair the number of the image */
    char why[240];      /* it cannot be shown; else "" */
};

/* The next picture of the newest wish that is ready; false: none yet. */
bool preview_take(struct preview *preview, struct preview_picture *picture);

/* Whether anything is still to come. */
bool preview_is_busy(struct preview *preview);

#endif
