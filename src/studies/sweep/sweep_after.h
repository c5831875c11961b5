/* sweep_after.h: techniques that a sweep applies to the model of each cell after its training.
 *
 * The grid lists chains of techniques (technique.h). When a cell's run is done, each chain is
 * applied to its model, step by step in processes of their own (sweep_step.h), and the result is
 * measured. The model as it was trained is measured, too, as the chain "". Chains with a common
 * beginning share its models.
 *
 *   ID/after/RUN/CHAIN.safetensors   the model after a chain, or after the beginning of one
 *   ID/after/RUN/CHAIN.safetensors.run   the run that trains it, until it is there
 *   ID/after/RUN/CHAIN.txt           the messages of its last step
 *   ID/after/RUN/CHAIN.json          the result: what was measured, or why there is none
 *
 * A result is never computed again unless its run is another one or it failed and is to be tried
 * again (sweep_after_reset). An interrupted chain goes on with its next step. One whose command was
 * killed, or found no memory or no room on the disk, waits for the next call, with the reason.
 *
 * Times are measured on this machine: with several jobs at a time they are too long. */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_AFTER_H
#define TINCA_STUDIES_SWEEP_SWEEP_AFTER_H

#include "base/text.h"
#include "models/list/model_figures.h"
#include "studies/sweep/sweep.h"

enum sweep_after_state { SWEEP_AFTER_WAITING, SWEEP_AFTER_DONE, SWEEP_AFTER_FAILED };

struct sweep_after_result {
    enum sweep_after_state state;
    struct error reason;            /* why it failed, or waits again; ERROR_NONE: neither */
    struct model_description facts; /* if it is done */
    struct model_measured measured;
};

/* Returns the number of results of a cell: of its model and of each chain; 0: the grid has none. */
size_t sweep_after_count(const struct sweep *sweep);
/* Returns the chain of a result; "" for the model as it was trained. */
const char *sweep_after_chain(const struct sweep *sweep, size_t number);

/* Reads a result of a cell; one that does not exist waits. */
void sweep_after_read(const struct sweep *sweep, size_t index, size_t number,
                      struct sweep_after_result *result);

/* Returns the state of a cell whose name stands for that of the result, as in tables. */
enum sweep_state sweep_after_cell_state(const struct sweep_after_result *result);

/* Sets cell->after_due and cell->after_failed, which count results, from the files. Only the
 * results of a cell whose run is done are due. */
void sweep_after_refresh(struct sweep *sweep, size_t index);

/* Computes the results of a cell that wait. The caller has locked the cell. A chain that fails or
 * is cut off is recorded, and the others are computed all the same. `stop` is asked whether to
 * stop. Returns false with an error if it was stopped or a result cannot be recorded. */
bool sweep_after_compute(struct sweep *sweep, size_t index, bool (*stop)(void *context),
                         void *context, struct error *error);

/* Makes the failed results of a cell wait again. */
bool sweep_after_reset(struct sweep *sweep, size_t index, struct error *error);

/* Makes the settings of a cell's techniques: all that have a meaning in a fine-tuning, for so many
 * epochs (0: none). They reach the control, too. Returns false with an error that names a setting.
 */
bool sweep_after_settings(const struct run_config *cell, size_t epochs, struct run_config *settings,
                          struct error *error);

/* Returns whether a chain can be applied as far as that is known without a model: no step follows
 * quantize that needs weights of float32, and teachers are models. If not, the error says why. */
bool sweep_chain_check(const char *chain, struct error *error);
/* Checks the chains whose results some cell waits for, and the settings of their fine-tuning. */
bool sweep_after_check(const struct sweep *sweep, struct error *error);

/* --- sweep_table.c --- */

/* Writes what a chain is called in tables: the chain, or of the control the epochs it trains on.
 * Returns `text`. */
char *sweep_after_label(const struct sweep *sweep, const char *chain, char *text, size_t size);

/* Adds the results of a cell to its object. Returns false if out of memory. */
bool sweep_after_to_json(const struct sweep *sweep, size_t index, struct json *object);

#endif
