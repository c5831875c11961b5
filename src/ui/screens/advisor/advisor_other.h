/* advisor_other.h: the second page of the screen Advisor, techniques after training: the table of
 * models, which a background job reads, the advice from it, and its application within a time
 * budget. No drawing. */
#ifndef TINCA_UI_SCREENS_ADVISOR_ADVISOR_OTHER_H
#define TINCA_UI_SCREENS_ADVISOR_ADVISOR_OTHER_H

#include "base/threads/background_job.h"
#include "session/models/means_apply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the job works on. It owns this until it has ended. */
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

#endif
