/* run_offers.h: which actions do something in a run's present state. Key hints, help, menu and
 * command palette leave out the others. */
#ifndef TINCA_UI_SHARED_RUN_OFFERS_H
#define TINCA_UI_SHARED_RUN_OFFERS_H

#include "ui/shared/run_list.h"
#include "ui/terminal/keys.h"

#include <stdbool.h>

struct error;

/* Returns whether the run can be resumed here; the error (NULL: not wanted) says why not. A run
 * that another process computes cannot, without an error. */
bool run_offers_resume(const struct run_entry *entry, struct error *error);

/* Returns whether an action on a run (pause, stop, resume, name, copy, delete, try, compare,
 * export) does something in the run's present state; true for all other actions. `entry` NULL: no
 * run is selected. */
bool run_offers_action(const struct run_entry *entry, enum action action);

#endif
