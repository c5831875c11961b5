#include "session/finding.h"

static const struct {
    const char *name, *words;
} kinds[] = {[FINDING_NEGATIVE_LOSS] = {"negative-loss", "negative loss"},
             [FINDING_OVERFITTING] = {"overfitting", "overfitting"},
             [FINDING_DIVERGENCE] = {"divergence", "divergence"},
             [FINDING_PLATEAU] = {"plateau", "plateau"},
             [FINDING_MEMORY] = {"memory", "memory"},
             [FINDING_DATA] = {"data", "data"}};

const char *finding_kind_name(enum finding_kind kind)
{
    return kinds[kind].name;
}

const char *finding_kind_words(enum finding_kind kind)
{
    return kinds[kind].words;
}
