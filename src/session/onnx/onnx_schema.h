/* onnx_schema.h: the messages of an ONNX file, which protobuf-c generates from onnx.proto at build
 * time, the numbers of their enumerations, and the metadata that tinca adds. Internal to this
 * folder.
 */
#ifndef TINCA_SESSION_ONNX_SCHEMA_H
#define TINCA_SESSION_ONNX_SCHEMA_H

#include <onnx.pb-c.h>

/* The types of a tensor's values. */
enum onnx_type {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_BOOL = 9,
    ONNX_FLOAT16 = 10,
    ONNX_DOUBLE = 11,
    ONNX_BF16 = 16
};

enum onnx_attribute_type {
    ONNX_ATTRIBUTE_FLOAT = 1,
    ONNX_ATTRIBUTE_INT = 2,
    ONNX_ATTRIBUTE_STRING = 3,
    ONNX_ATTRIBUTE_TENSOR = 4,
    ONNX_ATTRIBUTE_GRAPH = 5,
    ONNX_ATTRIBUTE_FLOATS = 6,
    ONNX_ATTRIBUTE_INTS = 7
};

/* The zero point of unsigned integers that stand for signed ones. */
enum { ONNX_OFFSET = 128 };

/* Where an array lies that is not in the model's file. */
enum { ONNX_EXTERNAL = 1 };

/* The model's metadata: the head of its network file, a JSON object. The other keys are those of a
 * saved model (session/model/model_file.h). */
#define ONNX_NETWORK_KEY "tinca.network"

#endif
