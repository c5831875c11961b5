/* preview.h: reads pictures of a training set in the background.
 *
 * A thread opens the set and reads the requested pictures one after the other, in the order of a
 * training epoch. No function here waits for it, however slow the folder is. One thread may call
 * them. The thread is a detached task (base/threads/detached_task.h).
 */
#ifndef TINCA_TRAINING_INSPECT_PREVIEW_H
#define TINCA_TRAINING_INSPECT_PREVIEW_H

#include "data/dataset/dataset.h"
#include "engine/graph/tensor.h"
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stdint.h>

enum { PREVIEW_MAX_PICTURES = 128 }; /* in one request */

struct preview;

/* Begins to open the training data of `config`. `input` is the network's input shape, or NULL if it
 * is unknown. Returns NULL with an error if no thread can start. */
struct preview *preview_open(const struct run_config *config, const struct shape *input,
                             struct error *error);

/* Ends the preview. Never waits. NULL is allowed. */
void preview_close(struct preview *preview);

/* Returns whether the preview shows the images on which this configuration would train. */
bool preview_is_of(const struct preview *preview, const struct run_config *config,
                   const struct shape *input);

enum preview_status { PREVIEW_OPENING, PREVIEW_OPENED, PREVIEW_FAILED };

/* Returns the status. Fills *facts if the set is open, or *error if opening failed. */
enum preview_status preview_status(struct preview *preview, struct dataset_facts *facts,
                                   struct error *error);

/* Returns how many images the classes have, without the counts of the single ones; zeros unless the
 * set is open. */
struct dataset_balance preview_balance(struct preview *preview);

struct preview_request {
    uint64_t epoch;     /* from 0 */
    size_t from, count; /* positions in the order of that epoch, which wrap around */
    bool as_trained;    /* augmented as the network sees them, else as stored */
    /* The settings of the configuration. */
    char augment[AUGMENTATION_TEXT];
    bool balanced; /* sampling */
    size_t batch;  /* mixup and cutmix mix the images of a batch */
    uint64_t seed;
};

/* Requests pictures; replaces the previous request. */
void preview_request_pictures(struct preview *preview, const struct preview_request *request);

struct preview_picture {
    struct image image; /* owned by the caller; a pair's images side by side; {0} if unreadable */
    size_t place;       /* position in the request, from 0 */
    char label[96];     /* the class, or both of a mixed image; or the number of a pair */
    char why[240];      /* why the image is unreadable; else "" */
};

/* Moves the next complete picture of the latest request to the caller. Returns false if there is
 * none. */
bool preview_take(struct preview *preview, struct preview_picture *picture);

/* Returns whether the set is being opened, or pictures are still to be read or taken. */
bool preview_is_busy(struct preview *preview);

#endif
