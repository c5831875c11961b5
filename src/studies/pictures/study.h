/* study.h: the perceptual study of Gondim Santos (2019): can people tell generated pictures from
 * real ones?
 *
 * Fifty pictures, half of them generated, are shown one by one; after each the participant answers
 * "real" or "generated". The first fifth, also half generated, is practice with feedback and does
 * not count. All participants see the same pictures, because an image counts as fooled if most
 * votes call it real. The order differs for each participant.
 *
 * This module is the protocol alone, without pixels (study_pictures.h), files (study_file.h) and
 * the terminal. Not thread-safe.
 */
#ifndef TINCA_STUDIES_PICTURES_STUDY_H
#define TINCA_STUDIES_PICTURES_STUDY_H

#include "base/error.h"
#include "base/escape/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STUDY_IMAGES = 50, STUDY_MAX_IMAGES = 1000, STUDY_NAME_SIZE = 64 };

struct study_image {
    char name[160]; /* its source; never shown to participants */
    size_t source;  /* index among the real or the generated candidates */
    bool generated; /* made by the network */
    bool practice;  /* the participant gets feedback, and the answer does not count */
};

struct study_answer {
    size_t image;
    bool real;      /* the answer: real (true) or generated */
    double seconds; /* from the question to the answer */
};

/* One participant's answers, in the order in which the pictures were shown. */
struct study_vote {
    char participant[STUDY_NAME_SIZE];
    char created[24];             /* RFC 3339 */
    char graphics[16];            /* graphics of the terminal: "kitty", "256", ... */
    size_t columns, rows;         /* size of the terminal */
    struct study_answer *answers; /* one for each image */
};

struct study {
    char network[STUDY_NAME_SIZE];  /* the network that generated the pictures */
    char real[512], generated[600]; /* the sources of the pictures, in words */
    char fingerprint[17]; /* hash of the pictures: different pictures make a different study */
    uint64_t seed;
    double seconds;          /* for which each picture is shown */
    bool training_known;     /* the training data could be read, so seen_in_training is valid */
    size_t seen_in_training; /* pictures whose pair was in the training data */
    size_t shown_twice;      /* scenes shown both as real and as generated picture */
    struct study_image *images;
    size_t count;
    struct study_vote *votes;
    size_t vote_count, vote_capacity;
};

/* Frees the votes and pictures of `study` and sets it to {0}. */
void study_free(struct study *study);

/* --- before a session --- */

/* The candidates. A scene is what a picture shows: the real and the generated picture of one pair
 * have the same scene. */
struct study_pool {
    const uint32_t *real_scenes, *generated_scenes; /* scene of each candidate */
    size_t real, generated;                         /* number of candidates */
};

/* Chooses `wanted` pictures by study->seed, half of them generated. With `wanted` 0 it chooses
 * STUDY_IMAGES, or fewer if there are fewer. Real pictures show other scenes than the generated
 * ones as far as possible. Fills images (except their names), count and shown_twice. Fails if
 * `wanted` is odd or too large, or if there are fewer than two pictures of each kind: one for
 * practice, one that counts. */
bool study_choose(struct study *study, const struct study_pool *pool, size_t wanted,
                  struct error *error);

/* Sets the order in which a participant sees the pictures: practice first. It depends only on
 * study->seed and the name. `order` has study->count elements. */
void study_order(const struct study *study, const char *participant, uint32_t *order);

/* Returns the number of pictures that are generated or real, and practice or counted. */
size_t study_count(const struct study *study, bool generated, bool practice);

/* Checks a name: UTF-8 of 1 to STUDY_NAME_SIZE - 1 bytes without control characters. The error
 * names `option`. */
bool study_check_name(const char *name, const char *option, struct error *error);

/* --- votes --- */

/* Appends a copy of `vote`, which has one answer for each image. Fails if the participant has voted
 * already. */
bool study_add_vote(struct study *study, const struct study_vote *vote, struct error *error);

struct study_result {
    size_t voters;
    size_t images;          /* generated images that count */
    size_t fooled;          /* images that more than half of the votes call real */
    double error_rate;      /* fooled / images, the perceptual error rate; NaN without votes */
    double low, high;       /* its 95 % interval over the images (Wilson 1927) */
    double called_real;     /* share of the votes on these images that say real */
    double real_recognised; /* the same for real images, to check the participants */
};

/* Evaluates the votes. */
void study_result(const struct study *study, struct study_result *result);

/* Appends the cells of the voters, the images that fooled them, the error rate, its interval and
 * the share of real images that were recognised; "-" without votes. */
void study_add_result(struct table *table, const struct study *study);

/* --- published error rates --- */

struct study_published {
    const char *network; /* "pix2pix-dsc" */
    double error_rate;
};
extern const struct study_published study_published[];
extern const size_t study_published_count;

#endif
