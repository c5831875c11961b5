/* loss_view.h: what the negative-loss laboratory remembers between frames. */
#ifndef TINCA_UI_SCREENS_RUN_LOSS_MODEL_H
#define TINCA_UI_SCREENS_RUN_LOSS_MODEL_H

#include "session/findings/loss_lesson.h"

struct loss_model {              /* starts as {0} */
    const struct series *series; /* of the run in sight */
    struct loss_walk walk;
    double cursor;      /* of the curves, when the view went there; NaN: never */
    uint64_t iteration; /* 0: none was chosen */
    int top, hidden;    /* the first line in sight, and how many do not fit */
};

#endif
