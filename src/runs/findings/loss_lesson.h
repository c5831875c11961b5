/* loss_lesson.h: explains Caffe's running mean of the loss at one iteration, step by step, to show
 * where a negative loss comes from. Uses the recorded losses alone.
 *
 * `tinca explain` and the workbench show the same lesson. It has plain values and texts, and no
 * reference to the run.
 */
#ifndef TINCA_RUNS_FINDINGS_LOSS_LESSON_H
#define TINCA_RUNS_FINDINGS_LOSS_LESSON_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/training/loss_meter.h"
#include "runs/values/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LESSON_OPERATIONS = 3 };

struct loss_lesson {
    uint64_t iteration;
    size_t window; /* losses in the mean: the setting average-loss */
    struct loss_step step;
    /* rounding error of each operation (first, second, after): float32 result - exact result */
    double rounding[LESSON_OPERATIONS];
    double step_rounding;  /* effect of the three errors on the mean */
    float loss, caffe;     /* the iteration's loss; Caffe's mean as the run has recorded it */
    bool is_record;        /* false: the recorded mean differs from this arithmetic, because a log
                              has only six digits of the losses */
    double exact;          /* mean of the same losses in double precision */
    double residue;        /* caffe - exact */
    float largest;         /* largest loss so far */
    uint64_t largest_at;   /* its iteration */
    double ulp;            /* its unit in the last place */
    double worst_rounding; /* largest step_rounding so far */
    uint64_t worst_at;     /* its iteration */
};

/* The state of a walk along the losses, from which the next iteration costs one step. Initialise it
 * with {0}. */
struct loss_walk {
    const struct series *series;
    size_t window;
    size_t done; /* points that it has passed */
    float mean;
    struct loss_step step;
    float largest;
    uint64_t largest_at, worst_at;
    double worst_rounding;
};

/* Fills the lesson of `iteration` (from 1). Returns false with an error if the record lacks a loss
 * that the mean depends on. */
bool loss_walk_to(struct loss_walk *walk, const struct series *series, size_t window,
                  uint64_t iteration, struct loss_lesson *lesson, struct error *error);

/* Returns the most interesting iteration: the first with a negative mean, else the first whose mean
 * is mostly residue, else the last; 0 if there is none. */
uint64_t loss_lesson_choose(const struct series *series);

/* Returns the next iteration after `iteration` at which Caffe's mean falls below zero; continues
 * from the beginning after the last. Returns 0 if it never does. */
uint64_t loss_lesson_next_negative(const struct series *series, uint64_t iteration);

/* --- as text --- */

/* A line of the lesson. A label without value is a heading. */
struct lesson_line {
    const char *label;
    char value[24];    /* decimal; reads back as the same number */
    char bits[24];     /* exact, hexadecimal; "" if not shown */
    char rounding[24]; /* rounding error; "" for a value that no operation computed */
};
enum { LESSON_LINES_MAX = 24 };

/* Fills `lines` and returns their number. */
size_t loss_lesson_lines(const struct loss_lesson *lesson,
                         struct lesson_line lines[LESSON_LINES_MAX]);

/* Writes the conclusion in sentences. Returns `text`. */
char *loss_lesson_conclude(const struct loss_lesson *lesson, char *text, size_t size);

/* Adds the lesson to `object`. Returns false if out of memory. */
bool loss_lesson_to_json(const struct loss_lesson *lesson, struct json *object);

#endif
