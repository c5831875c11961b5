/* run_filter.h: filters a list of runs. The same language serves the list of the workbench and
 * `tinca runs FILTER...`:
 *
 *   word              a text that occurs in the run's ID, name, tags, note, status, network,
 *                     technique, data, batch or device, whatever the case
 *   field:value       the field contains the text; a tag is that tag; a number is equal
 *   field:a..b        the number lies in the range; one of the two may be missing
 *   field:a,b         the number is one of these
 *   field=value       the text is exactly this, the number equal; a tag is that tag
 *   field!=value      not so; also where the run has no value
 *   field~text        the field contains the text; field!~text: it does not
 *   field>x field<x field>=x field<=x    compares numbers
 *   -term             not this term
 *   "two words"       a text with spaces; also after field:
 *
 * Every term must match. A status, or a setting that is one of a few words, is compared with a
 * word that it can have; "finished" is "done". Fields are those of run_field.h. Thread-safe. */
#ifndef TINCA_RUNS_HISTORY_RUN_FILTER_H
#define TINCA_RUNS_HISTORY_RUN_FILTER_H

#include "base/error.h"
#include "runs/history/run_field.h"

#include <stdbool.h>
#include <stddef.h>

enum { FILTER_TERMS = 16, FILTER_RANGES = 8, FILTER_WORD = 200 };

struct run_term {
    bool negated, exact;
    bool part;    /* of a tag, too */
    size_t field; /* FIELD_NONE: a word */
    char text[FILTER_WORD];
    struct {
        double low, high;
        bool above, below; /* the ends do not belong to the range */
    } ranges[FILTER_RANGES];
    size_t range_count; /* of a field with numbers */
};

struct run_filter { /* {0} matches every run */
    struct run_term terms[FILTER_TERMS];
    size_t count;
    bool unknown_field; /* the text was refused because it names a field that does not exist */
};

/* Parses a filter. Returns false with an error that names the term, what is wrong with it and, for
 * an unknown field, the fields that may be meant; only filter->unknown_field is then defined. */
bool run_filter_parse(struct run_filter *filter, const char *text, struct error *error);

/* Returns the operator of a term and sets *length to its length; the end of the term and 0 if it
 * has none. */
const char *run_filter_operator(const char *term, size_t *length);

/* Returns whether a run matches. A run that is not known yet matches by its ID alone. */
bool run_filter_matches(const struct run_filter *filter, const struct run_record *record);

/* Returns whether a term asks for this field. */
bool run_filter_has(const struct run_filter *filter, const char *field);

/* --- completion --- */

enum { FILTER_CANDIDATES = 64 };

struct run_completion {
    size_t from;                                     /* the candidates replace the text from here */
    char candidates[FILTER_CANDIDATES][FILTER_WORD]; /* whole terms, sorted */
    size_t count;
};

/* Gives record number `index`, which stays valid until the next call. Returns false after the last.
 */
typedef bool run_records(void *context, size_t index, struct run_record *record);

/* Fills in what the last term of `text` may become: fields ("lr:"), or the values that occur in the
 * runs after "field:" and the like. */
void run_filter_complete(struct run_completion *completion, const char *text, run_records *records,
                         void *context);

/* Writes the longest beginning that all candidates have in common. Returns `text`. */
char *run_completion_common(const struct run_completion *completion, char *text, size_t size);

#endif
