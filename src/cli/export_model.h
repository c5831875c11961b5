/* export_model.h: what tinca export does for every format of models: it finds the model. */
#ifndef TINCA_CLI_EXPORT_MODEL_H
#define TINCA_CLI_EXPORT_MODEL_H

#include "cli/runs.h"

#include "engine/weights/weights.h"

/* Returns whether an operand names a saved model, by its content or its ending, and not a run. */
bool export_operand_is_model(const char *operand);

/* Returns the path of the run's best model, or of its last one, which the caller frees; NULL with
 * an error. */
char *export_model_of_run(const struct run *run, struct error *error);

/* Returns the path of the saved model that the operand names, or of the model of the run, which the
 * caller frees; NULL with an error. */
char *export_model_path(const char *operand, struct error *error);

/* Returns the format of this name (weights_format_names); float32 for NULL. */
enum weights_format export_format(const char *name);

#endif
