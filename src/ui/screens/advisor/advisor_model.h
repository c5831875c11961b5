/* advisor_model.h: the state of the screen Advisor: the question, the runs that are read, the
 * answers, and a measurement in the background. No drawing. */
#ifndef TINCA_UI_SCREENS_ADVISOR_ADVISOR_MODEL_H
#define TINCA_UI_SCREENS_ADVISOR_ADVISOR_MODEL_H

#include "session/compare/advise.h"
#include "session/history/run_reader.h"
#include "session/measure/measurement.h"
#include "ui/screens/advisor/advisor_other.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

enum advisor_field {
    ADVISOR_NEED,
    ADVISOR_DEVICE,
    ADVISOR_LIMIT_MS,
    ADVISOR_LIMIT_MB,
    ADVISOR_LOSS,
    ADVISOR_NETWORK,
    ADVISOR_FIELDS
};
enum { ADVISOR_CHOICES = 24 };

struct advisor_model {
    /* the question */
    bool begun;                      /* the fields hold their first values */
    char values[ADVISOR_FIELDS][64]; /* "": none; ADVISOR_NETWORK: all networks */
    size_t focus; /* a field; from ADVISOR_FIELDS on a missing item of the answers */
    bool editing; /* the focused field is being typed */
    struct line_edit edit;

    /* the runs, read one after the other; saved runs are loaded for the advisor alone */
    bool gathering;            /* not all are read yet */
    size_t next;               /* next run to read (app_run_at) */
    struct run_reader *reader; /* reads one run; NULL: none */
    struct run **loaded;       /* saved runs that the model owns */
    size_t loaded_count, loaded_capacity;
    struct comparison comparison;

    /* the answers, one for each network */
    struct advice *answers;
    size_t answer_count;
    struct error error; /* why there is no answer; kind ERROR_NONE: there are answers */
    int scroll;         /* first line of the answers shown */
    int furthest;       /* the greatest `scroll`; 0: all lines are visible */
    bool follow;        /* the scrolling follows the focused missing item */

    /* the measurement in the background */
    struct background_job *background_job; /* NULL: none */
    struct measure_job job;
    char measuring[256]; /* the measured run, as shown to the user */

    struct advisor_other other; /* the second page */
    uint64_t done, of;          /* its progress */
};

/* Sets the fields' initial values on the first call. */
void advisor_model_begin(struct advisor_model *model);
/* Cancels a measurement and frees the model's memory. */
void advisor_model_free(struct advisor_model *model);

/* Frees the runs and the answers, so that the runs can be read again. */
void advisor_model_free_runs(struct advisor_model *model);

/* Fills in the choices of a field (at most ADVISOR_CHOICES) and returns their number; 0: the user
 * types a number. The texts stay valid until the runs are freed. */
size_t advisor_model_choices(const struct advisor_model *model, enum advisor_field field,
                             const char **choices);
/* Selects the next (+1) or previous (-1) choice of the focused field. */
void advisor_model_cycle(struct advisor_model *model, int direction);
/* Sets the focused field to a number; "" removes a limit. Returns false if `text` is not a number.
 */
bool advisor_model_set(struct advisor_model *model, const char *text);

/* Returns the question as the second page asks it. Its network is NULL for all networks. */
struct means_request advisor_model_means(const struct advisor_model *model);
/* Returns the device of the second page, on which times are measured. */
const char *advisor_model_device(const struct advisor_model *model);

/* Computes the answers from the runs read so far, and those of the second page if it is shown. */
void advisor_model_answer(struct advisor_model *model);

/* Returns the number of missing runs and measurements in all answers. */
size_t advisor_model_missing_count(const struct advisor_model *model);
/* Returns the focused missing item and writes the answer to which it belongs, or returns NULL if
 * the focus is on a field. */
const struct advise_missing *advisor_model_missing(const struct advisor_model *model,
                                                   const struct advice **answer);

#endif
