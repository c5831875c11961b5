/* caffe_message.h: what reading and writing .caffemodel files share about protobuf-c's messages.
 */
#ifndef TINCA_EXCHANGE_CAFFE_CAFFE_MESSAGE_H
#define TINCA_EXCHANGE_CAFFE_CAFFE_MESSAGE_H

#include <caffe.pb-c.h>

#include <stddef.h>
#include <stdint.h>

#define CAFFE_FILE_LIMIT  ((size_t)INT32_MAX) /* of protobuf, in bytes */
#define CAFFE_SMALL_LIMIT ((size_t)256 << 20) /* of memory beside the arrays, in bytes */

/* Returns the bytes of one value of a repeated field. */
static inline size_t caffe_value_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
        return sizeof(int64_t);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    default:
        return sizeof(int32_t);
    }
}

#endif
