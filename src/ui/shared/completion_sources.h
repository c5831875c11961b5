/* completion_sources.h: the candidates for the texts that a run is configured with. */
#ifndef TINCA_UI_SHARED_COMPLETION_SOURCES_H
#define TINCA_UI_SHARED_COMPLETION_SOURCES_H

#include "session/config/config.h"
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

#endif
