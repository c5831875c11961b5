/* loss_lesson.h: the arithmetic of Caffe's running mean at one iteration, step by step, so that one
 * sees where a negative loss comes from. Made from the recorded losses alone.
 *
 * Nothing here is the run's: plain values and words, for tinca explain and the workbench alike.
 */
#ifndef TINCA_SESSION_FINDINGS_LOSS_LESSON_H
#define TINCA_SESSION_FINDINGS_LOSS_LESSON_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/training/loss_meter.h"
#include "session/values/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LESSON_OPERATIONS = 3 };

struct loss_lesson {
    uint64_t iteration;
    size_t window; /* N: average-loss */
    struct loss_step step;
    /* What float32 made of each operation's result, minus the result (first, second, after). */
    double rounding[LESSON_OPERATIONS];
    double step_rounding; /* of the three together, as it reaches the mean */
    float loss, caffe;    /* the iteration's loss; Caffe's mean as the run has recorded it */
    bool is_record;       /* false: the record has another mean than this arithmetic gives (its
                             losses are known to a log's six digits only) */
    double exact;         /* mean of the same losses, summed afresh */
    double residue;       /* caffe - exact */
    float largest;        /* loss so far */
    uint64_t largest_at;
    double ulp;            /* unit in the last place of it */
    double worst_rounding; /* of all steps so far, the one that changed the mean most */
    uint64_t worst_at;
};

/* A walk along the losses: keeps what it has seen, so that the next iteration costs one step.
 * Starts as {0}. */
struct loss_walk {
    const struct series *series;
    size_t window;
    size_t done; /* points behind it */
    float mean;
    struct loss_step step;
    float largest;
    uint64_t largest_at, worst_at;
    double worst_rounding;
};

/* Fills the lesson of `iteration` (from 1). False where the record does not allow it, with why. */
bool loss_walk_to(struct loss_walk *walk, const struct series *series, size_t window,
                  uint64_t iteration, struct loss_lesson *lesson, struct error *error);

/* The iteration most worth looking at: the first whose mean is negative, else the first whose mean
 * is mostly residue, else the last. 0: there is none. */
uint64_t loss_lesson_choose(const struct series *series);

/* Where Caffe's mean next falls below zero after `iteration`; from the beginning when there is none
 * behind it. 0: it never does. */
uint64_t loss_lesson_next_negative(const struct series *series, uint64_t iteration);

/* --- loss_lesson_text.c --- */

/* A line of the lesson: a label alone is a heading. */
struct lesson_line {
    const char *label;
    char value[24];    /* decimal, reads back as the same number */
    char bits[24];     /* hexadecimal, exact; "": none */
    char rounding[24]; /* by how much it was rounded; "": not at all a rounded value */
};
enum { LESSON_LINES_MAX = 24 };

size_t loss_lesson_lines(const struct loss_lesson *lesson,
                         struct lesson_line lines[LESSON_LINES_MAX]);

/* Why it is as it is, in sentences. Returns `text`. */
char *loss_lesson_conclude(const struct loss_lesson *lesson, char *text, size_t size);

/* Members of `object`; false when memory is out. */
bool loss_lesson_to_json(const struct loss_lesson *lesson, struct json *object);

/* Whether more than half of Caffe's mean is residue. */
bool loss_mean_is_wrong(double caffe, double exact);

#endif
