/* advisor_view.h: what the advisor's screen holds: what is asked, the runs that are read, the
 * answers, and what is being measured. No drawing. */
#ifndef TINCA_UI_SCREENS_ADVISOR_ADVISOR_MODEL_H
#define TINCA_UI_SCREENS_ADVISOR_ADVISOR_MODEL_H

#include "session/compare/advise.h"
#include "session/history/run_reader.h"
#include "session/measure/measurement.h"
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
    /* what is asked */
    bool begun;                      /* the fields hold their first values */
    char values[ADVISOR_FIELDS][64]; /* "": none; of the network: all of them */
    size_t focus;                    /* a field, and beyond them a gap of the answers */
    bool editing;
    struct line_edit edit;

    /* the runs: opened for the advisor alone, one between two frames */
    bool gathering;
    size_t next;
    struct run_reader *reader; /* of the run that is being read, or NULL */
    struct run **own;          /* those of earlier sessions */
    size_t own_count, own_capacity;
    struct comparison comparison;

    /* the answers, one a network */
    struct advice *answers;
    size_t answer_count;
    struct error error; /* kind ERROR_NONE: the question can be answered */
    int scroll;
    bool follow; /* the scroll follows the focused gap */

    /* what is measured in the background */
    struct background_job *background_job; /* NULL: nothing */
    struct measure_job job;
    char measuring[128]; /* its run, for people */
    uint64_t done, of;
};

void advisor_model_begin(struct advisor_model *view);
void advisor_model_free(struct advisor_model *view);

/* Forgets the runs, to read them again. */
void advisor_model_free_runs(struct advisor_model *view);

/* What a field offers; returns how many. None: a number is typed. Texts live as the view does. */
size_t advisor_model_choices(const struct advisor_model *view, enum advisor_field field,
                             const char **choices);
/* The next (+1) or previous (-1) choice of the focused field. */
void advisor_model_cycle(struct advisor_model *view, int direction);
/* Sets the focused number; false: it is none. "" takes a limit away. */
bool advisor_model_set(struct advisor_model *view, const char *text);

/* Answers what is asked from the runs that are there. */
void advisor_model_answer(struct advisor_model *view);

size_t advisor_model_gap_count(const struct advisor_model *view);
/* The gap and the answer it belongs to; NULL: the focus is on a field. */
const struct advise_gap *advisor_model_gap(const struct advisor_model *view,
                                           const struct advice **answer);

#endif
