/* completion_sources.h: the candidates for the texts that a run is configured with. */
#ifndef TINCA_UI_SHARED_COMPLETION_SOURCES_H
#define TINCA_UI_SHARED_COMPLETION_SOURCES_H

#include "runs/settings/config.h"
#include "ui/widgets/completion.h"

/* The field that is completed: the `context` of completion_update for the sources below. */
struct completion_subject {
    const struct config_field *field;
    const char *typed; /* an earlier value of the field that stays on offer, or "" */
};

/* Returns whether a field has candidates. */
bool completion_has_source(const struct config_field *field);

/* Adds candidates for the value of a field: networks with their suffixes and network files; kinds
 * of data sets, their folders, options and classes; for the other fields the usual values. */
completion_source completion_of_field;

/* Adds candidates for a data set; the context is not used. */
completion_source completion_of_data;

/* Adds candidates for settings that a sweep varies, as in "lr=0.1,0.01 seed=1,2": the keys of
 * settings, and the values of the one before the cursor. The context is not used. */
completion_source completion_of_varied;

#endif
