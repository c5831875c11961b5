/* arena_view.h: the state of the map of the plan's memory. */
#ifndef TINCA_UI_SCREENS_RUN_ARENA_MODEL_H
#define TINCA_UI_SCREENS_RUN_ARENA_MODEL_H

#include <stddef.h>

struct arena_model {
    size_t arena;    /* of the networks' plans */
    size_t selected; /* of its arrays by size, the largest first */
};

#endif
