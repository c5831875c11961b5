/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_STUDIES_MODELS_INTERNAL_H
#define TINCA_STUDIES_MODELS_INTERNAL_H

#include "studies/models/other_means.h"

/* --- an inquiry for means --- */

/* The question of the flowchart's second page (other_means.h), the figures of rows, and the
 * techniques that can be taken. */

struct inquiry {
    const struct model_table *table;
    const struct means_request *request;
    struct means_advice *advice;
};

/* --- rows and requirements (means_requirements.c) --- */

/* Adds a sentence, which is translated, to the reasons; does nothing if there are too many. */
__attribute__((format(printf, 2, 3))) void inquiry_note(struct inquiry *inquiry, const char *format,
                                                        ...);
/* Return a row of the table, and its model's name. */
const struct model_row *inquiry_row(const struct inquiry *inquiry, size_t row);
const char *inquiry_name(const struct inquiry *inquiry, size_t row);
/* Returns the size of the row's file in 10^6 bytes. */
double inquiry_megabytes(const struct model_row *row);

/* Returns whether the row is a classifier of the network that is asked about. */
bool inquiry_is_of_network(const struct inquiry *inquiry, size_t row);
/* Returns whether the row is of the network and has the reference's data set. */
bool inquiry_concerns(const struct inquiry *inquiry, size_t row);
/* Returns whether the row has all figures that decide. */
bool inquiry_is_measured(const struct inquiry *inquiry, size_t row);

/* Returns whether turns gave a verdict about the times of both rows (turns.h). */
bool inquiry_is_compared(const struct inquiry *inquiry, size_t reference, size_t row);

/* Return how many times too slow, too large, or the greater of both, a row is: at most 1, it meets
 * the limit. Without a limit in ms it is too slow unless turns show that it is faster than the
 * reference. NaN: its time is not measured. */
double inquiry_slowness(const struct inquiry *inquiry, size_t reference, size_t row);
double inquiry_largeness(const struct inquiry *inquiry, size_t reference, size_t row);
double inquiry_excess(const struct inquiry *inquiry, size_t reference, size_t row);
/* Returns how many points of top-1 the row has lost. */
double inquiry_loss(const struct inquiry *inquiry, size_t reference, size_t row);

/* --- techniques (means_techniques.c) --- */

/* The factor by which int8 makes a file smaller for certain: four, less for its scales and its
 * report. */
static const double means_int8_bytes = 3.7;

/* Returns whether a name contains a technique of this kind: "resnet20+prune:0.5" has "prune". */
bool means_has_kind(const char *name, const char *kind);
/* Returns whether no technique can follow: the model is in int8 or in half precision. */
bool means_is_ended(const char *name);
/* Returns how many times the speed int8 is expected to have, and notes why; 1: none. */
double means_int8_speed(struct inquiry *inquiry);
/* Makes the technique the advice for the row. Returns false if it was tried already. */
bool means_take(struct inquiry *inquiry, size_t row, const char *step);
/* Take a technique for a row that is `over` times too slow, or too large. Return false if none is
 * left. `int8`: the speed that int8 is expected to have. */
bool means_try_faster(struct inquiry *inquiry, size_t row, double over, double int8);
bool means_try_smaller(struct inquiry *inquiry, size_t row, double over);

#endif
