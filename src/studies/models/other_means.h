/* other_means.h: the second page of the advisor's flowchart: techniques after training.
 *
 * It reads the measured rows of the table of models, those of one network and one data set:
 *   1. a model meets the limits and loses no more accuracy than accepted: use it;
 *   2. a figure that decides is not measured: measure it;
 *   3. a model meets the limits, or would in int8, but has lost too much: distill it, with the
 *      network as teacher;
 *   4. else take the accurate model that is nearest to the limits, and the next technique:
 *      to be faster: int8 if it is expected to be enough, else prune to the share that is missing,
 *        then int8 if it is expected to gain anything; factorize where linear layers have a good
 *        share of the FLOPs;
 *      to be smaller: half precision up to 2 times, int8 up to 4 times, beyond that factorize
 *        (linear layers) or prune to the share that int8 then makes small enough;
 *   5. nothing is left to try.
 * The expected gain of int8 is the median of its gains on the device in the rows of the network or,
 * without any, in all rows; without such a row a gain is assumed, and the advice says so. A device
 * that does not compute in int8 gains nothing. A technique whose result is in the table is not
 * tried again, factorization and pruning once in a chain; int8 and half precision end it. The
 * accuracies are compared as they were measured: the reasons name their intervals. */
#ifndef TINCA_STUDIES_MODELS_OTHER_MEANS_H
#define TINCA_STUDIES_MODELS_OTHER_MEANS_H

#include "studies/models/model_table.h"

/* The epochs of fine-tuning unless another number is given: pruning loses most of what it loses
 * only until then. */
enum { MEANS_EPOCHS = 1 };
enum { MEANS_REASONS = 12, MEANS_REASON = 480, MEANS_STEP = 1100, MEANS_EXCLUDED = 32 };

struct means_request {
    const char *network; /* without techniques; NULL: the only one in the table */
    bool faster, smaller;
    double limit_ms;    /* for one image; NaN: any speed-up is enough */
    double limit_mb;    /* size of the file, 10^6 bytes; NaN: any reduction is enough */
    double accept_loss; /* points of top-1 */
    /* of results that could not be made: the name, and the checksum of what they were made from */
    struct means_exclusion {
        char name[MODEL_NAME], parent[MODEL_CHECKSUM];
    } excluded[MEANS_EXCLUDED];
    size_t excluded_count;
    /* how techniques are applied: a result of --apply that was made with other settings does not
     * count as tried; NULL: it does */
    const struct means_settings *settings;
};

/* On what techniques train, and how. */
struct means_settings {
    const char *data; /* SPEC; NULL: that of the run of the network */
    size_t epochs;    /* of fine-tuning, where the data are known; 0: none */
    size_t seed;
};

/* Returns the SPEC to train with for a row; NULL: it is not known. */
const char *means_training_data(const struct model_table *table, size_t row, size_t reference,
                                const struct means_settings *settings);

/* Writes the name of the file in which --apply stores the result of a step on a row. It depends on
 * the contents of the row's file and of the teacher's, on the step, the data and the settings, so
 * that equal names mean equal results. Returns `name`. */
enum { MEANS_FILE_NAME = 160 };
char *means_file_name(const struct model_table *table, size_t row, size_t reference,
                      const char *step, const struct means_settings *settings,
                      char name[MEANS_FILE_NAME]);

enum means_verdict { MEANS_USE, MEANS_MEASURE, MEANS_TRY, MEANS_NOTHING };
/* Returns the verdict's name in JSON: "use", ... */
const char *means_verdict_name(enum means_verdict verdict);

struct means_advice {
    enum means_verdict verdict;
    char network[MODEL_NAME];
    size_t reference; /* the row without techniques after training: its accuracy is compared */
    size_t row;       /* the row to use, to measure, or to apply the technique to */
    size_t best;      /* the best row so far: accurate, and nearest to the limits */
    size_t evidence;  /* the row from which the gain is expected; MODEL_NO_ROW: it is assumed */
    char step[MEANS_STEP]; /* of MEANS_TRY: the technique, as technique.h */
    char name[MODEL_NAME]; /* of MEANS_TRY: the name of the result */
    char reasons[MEANS_REASONS][MEANS_REASON];
    size_t reason_count;
};

/* Fills `advice`. Fails if the network is not named and the table has several, or if it has none.
 */
bool means_advise(const struct model_table *table, const struct means_request *request,
                  struct means_advice *advice, struct error *error);

/* Adds the advice to `object`. Returns false if out of memory. */
bool means_to_json(const struct model_table *table, const struct means_advice *advice,
                   struct json *object);

/* Returns whether row `a` comes nearer to the request than row `b`: it is accurate enough, then
 * nearer to the limits, then more accurate. */
bool means_is_better(const struct model_table *table, const struct means_request *request,
                     size_t reference, size_t a, size_t b);

/* Writes the verdict in one sentence, translated. Returns `text`. */
char *means_verdict_text(const struct model_table *table, const struct means_advice *advice,
                         char *text, size_t size);

#endif
