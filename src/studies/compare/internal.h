/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_STUDIES_COMPARE_INTERNAL_H
#define TINCA_STUDIES_COMPARE_INTERNAL_H

#include "studies/compare/advise.h"
#include "studies/compare/compare_significance.h"

#include <stdint.h>

/* --- advise_evidence.c --- */

/* Answers the questions of the flowchart from the rows of a comparison. */

#define ADVISE_NO_ROW SIZE_MAX

struct advise_inquiry {
    const struct comparison *table;
    const struct advise_request *request;
    struct advice *advice;
    size_t plain; /* the row of the network without a technique, or ADVISE_NO_ROW */
};

/* Adds a sentence to the reasons, translated, unless it is there already. */
void advise_note(struct advise_inquiry *inquiry, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a question of the flowchart with its answer. */
void advise_note_question(struct advise_inquiry *inquiry, enum advise_question question,
                          const char *technique, enum advise_reply answer);

/* Adds to advice->missing a run of the network with `technique`, and the command that trains it
 * with the other settings of an existing run. */
void advise_note_untrained(struct advise_inquiry *inquiry, const char *technique);

/* Returns a row of the comparison. */
const struct compare_row *advise_row(const struct advise_inquiry *inquiry, size_t row);

/* Returns whether the row is a run of the network in question, with any technique. */
bool advise_concerns(const struct compare_row *row, const struct advice *advice);

/* Returns the most accurate run of the technique on advice->data, or ADVISE_NO_ROW. */
size_t advise_find_row(const struct advise_inquiry *inquiry, const char *technique);

/* Returns the row's time on advice->device, or NULL. */
const struct measurement *advise_time(const struct advise_inquiry *inquiry, size_t row);

/* Returns what is known of the row's time and that of the network without a technique. */
struct compare_test advise_test_times(const struct advise_inquiry *inquiry, size_t row);

/* Each returns whether the run of a row meets a requirement. An unknown answer adds an item to
 * advice->missing. advise_is_faster compares with the network without a technique; advise_is_fast
 * does so unless there is a limit in ms. */
enum advise_reply advise_is_faster(struct advise_inquiry *inquiry, size_t row);
enum advise_reply advise_is_fast(struct advise_inquiry *inquiry, size_t row);
enum advise_reply advise_is_small(struct advise_inquiry *inquiry, size_t row);
enum advise_reply advise_is_accurate(struct advise_inquiry *inquiry, size_t row);

#endif
