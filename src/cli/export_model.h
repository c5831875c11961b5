/* export_model.h: what tinca export does for every format: it finds out what an operand is. */
#ifndef TINCA_CLI_EXPORT_MODEL_H
#define TINCA_CLI_EXPORT_MODEL_H

#include "cli/runs.h"

#include "engine/weights/weights.h"

enum export_operand {
    OPERAND_RUN,   /* a run's folder, or what else may name a run */
    OPERAND_MODEL, /* a safetensors file */
    OPERAND_ONNX,  /* an ONNX file */
    OPERAND_WRONG  /* a file that is none of them, such as a damaged model */
};

/* Returns what an operand is. The content of a file decides, not its name. A run whose name is also
 * that of a file of another kind is a run. Of OPERAND_WRONG `why` says what is wrong with the file.
 */
enum export_operand export_operand_kind(const char *operand, struct error *why);

/* Returns the path of the model that the operand names, which the caller frees: the operand itself,
 * or of a run its best model, or else its last one. *run is then the run, which the caller frees,
 * otherwise NULL. Returns NULL with an error. */
char *export_model_find(const char *operand, struct run **run, struct error *error);

/* Returns the format of this name (weights_format_names); float32 for NULL. */
enum weights_format export_format(const char *name);

#endif
