/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_ADVISOR_INTERNAL_H
#define TINCA_UI_SCREENS_ADVISOR_INTERNAL_H

#include "base/threads/background_job.h"
#include "models/measure/measurement.h"
#include "studies/compare/advise.h"
#include "studies/compare/run_reader.h"
#include "studies/models/means_apply.h"
#include "ui/terminal/draw.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- advisor_other.c --- */

/* The second page of the screen Advisor, techniques after training: the table of models, which a
 * background job reads, the advice from it, and its application within a time budget. No drawing.
 */

/* The background job reads the table, advises and applies steps. It owns this struct until it has
 * ended. */
struct advisor_other_job {
    struct model_table table;
    char device[DEVICE_NAME_SIZE], network[MODEL_NAME];
    struct means_request request;
    double minutes;              /* the budget; 0: read the table only */
    size_t epochs;               /* of fine-tuning */
    struct means_advice advice;  /* the last one */
    struct background_job *self; /* set by the work */
    size_t steps;                /* lines that were reported */
};

struct advisor_other {
    bool shown;                 /* the second page is in front */
    struct background_job *job; /* NULL: none */
    struct advisor_other_job next;
    uint64_t steps;           /* of the job that applies */
    struct model_table table; /* as of the last job */
    bool made;
    struct means_advice *advice; /* one for each network */
    size_t count;
    struct error error; /* why there is none; kind ERROR_NONE: there is */
};

/* Starts to read the table of models for a device. */
void advisor_other_read(struct advisor_other *other, const char *device);
/* Starts to apply what is advised for the network of `request`, within `minutes`, with so
 * many epochs of fine-tuning. */
void advisor_other_apply(struct advisor_other *other, const struct means_request *request,
                         const char *device, double minutes, size_t epochs);
/* Takes the table of a job that has ended. Returns whether one has. */
bool advisor_other_take(struct advisor_other *other);
/* Returns whether techniques are being applied. */
bool advisor_other_is_applying(const struct advisor_other *other);

/* Computes the advice for the request: for its network or, without one, for each of the table. */
void advisor_other_advise(struct advisor_other *other, const struct means_request *request);

/* Cancels the job and frees everything. */
void advisor_other_free(struct advisor_other *other);

/* --- advisor_model.c --- */

/* The state of the screen Advisor: the question, the runs that are read, the answers, and a
 * measurement in the background. No drawing. */

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

/* --- advisor_view.c --- */

/* Draws the screen Advisor: the form and the answers. */

/* Draws form and answers. Adjusts model->scroll so that the focused missing run or
 * measurement is visible. */
void advisor_draw(struct advisor_model *model, struct canvas *canvas, struct rect body);

#endif
