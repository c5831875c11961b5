/* study.h: the perceptual study of Gondim Santos 2019: can people tell generated pictures from real
 * ones?
 *
 * Fifty pictures, half of them generated, are shown one by one; after each the participant says
 * "real" or "generated". The first fifth (half generated, too) is practice with feedback and does
 * not count. Which pictures are shown is the same for all participants, because an image counts as
 * fooled when the majority of all votes calls it real; the order is each participant's own.
 *
 * Here is the protocol alone: it knows no pixels (study_pictures.h), no file (study_file.h) and no
 * terminal. Not thread safe.
 */
#ifndef TINCA_SESSION_STUDY_STUDY_H
#define TINCA_SESSION_STUDY_STUDY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STUDY_IMAGES = 50, STUDY_MAX_IMAGES = 1000, STUDY_NAME_SIZE = 64 };

struct study_image {
    char name[160]; /* where it comes from; never shown to a participant */
    size_t source;  /* which of the real, or of the generated candidates */
    bool generated; /* by the network */
    bool practice;  /* answered with right or wrong, and not counted */
};

struct study_answer {
    size_t image;
    bool real;      /* what the participant said */
    double seconds; /* from the question to the answer */
};

/* One participant's answers, in the order in which the pictures were shown. */
struct study_vote {
    char participant[STUDY_NAME_SIZE];
    char created[24];             /* RFC 3339 */
    char graphics[16];            /* how the pictures were shown: "kitty", "256", ... */
    size_t columns, rows;         /* of the terminal */
    struct study_answer *answers; /* one an image */
};

struct study {
    char network[STUDY_NAME_SIZE];  /* what the votes are about */
    char real[512], generated[600]; /* where the pictures come from, in words */
    char fingerprint[17];           /* of the pictures: other ones are another study */
    uint64_t seed;
    double seconds;          /* that each picture is shown */
    bool training_known;     /* whether anything is known of the training pictures */
    size_t seen_in_training; /* pictures whose pair was trained on */
    size_t shown_twice;      /* scenes of which both the real and the generated picture are shown */
    struct study_image *images;
    size_t count;
    struct study_vote *votes;
    size_t vote_count, vote_capacity;
};

/* Leaves it {0}. */
void study_free(struct study *study);

/* --- before a session --- */

/* What pictures there are. A scene is what a picture shows: the real and the generated picture of
 * one pair have the same scene. */
struct study_pool {
    const uint32_t *real_scenes, *generated_scenes; /* by candidate */
    size_t real, generated;                         /* how many */
};

/* Chooses `wanted` pictures (0: STUDY_IMAGES, or what there is when that is less), half of them
 * generated, by study->seed; the real ones show other scenes than the generated ones as far as
 * there are enough. Fills images (but for their names), count and shown_twice. Fails for an odd
 * `wanted`, for more than there are, and when there is not even one of each kind for practice and
 * one that counts. */
bool study_choose(struct study *study, const struct study_pool *pool, size_t wanted,
                  struct error *error);

/* The order of a participant, which depends on study->seed and the name only: practice first.
 * `order` has study->count places. */
void study_order(const struct study *study, const char *participant, uint32_t *order);

/* How many of the pictures are practice, generated and practice, ... */
size_t study_count(const struct study *study, bool generated, bool practice);

/* UTF-8 of 1 to STUDY_NAME_SIZE - 1 bytes without control characters; else an error that names
 * `option`. */
bool study_check_name(const char *name, const char *option, struct error *error);

/* --- votes --- */

/* Appends a copy of `vote`; its answers must be one an image. Fails for a participant who has voted
 * already. */
bool study_add_vote(struct study *study, const struct study_vote *vote, struct error *error);

struct study_result {
    size_t voters;
    size_t images;          /* generated ones that count */
    size_t fooled;          /* of those: called real by more than half of the votes */
    double error_rate;      /* fooled / images: the perceptual error rate. NaN: nobody has voted */
    double low, high;       /* its 95 % interval over the images (Wilson 1927); NaN likewise */
    double called_real;     /* share of all votes on those images that say real */
    double real_recognised; /* the same of the real images: a check on the participants */
};

void study_result(const struct study *study, struct study_result *result);

/* --- what was published --- */

struct study_published {
    const char *network; /* "pix2pix-dsc" */
    double error_rate;
};
extern const struct study_published study_published[];
extern const size_t study_published_count;

#endif
