/* An ONNX file has no magic number: it is a protobuf message. It is recognised by its fields: their
 * numbers, their types, and that one of them is the graph. Only keys and lengths are read. */
#include "exchange/onnx/onnx.h"

#include "base/files/file.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2, FIELD_GRAPH = 7, MAX_FIELDS = 4096 };

/* The fields of a model that are texts or messages, and those that are numbers, as bits. */
static const uint32_t byte_fields = 1u << 2 | 1u << 3 | 1u << 4 | 1u << 6 | 1u << FIELD_GRAPH |
                                    1u << 8 | 1u << 14 | 1u << 20 | 1u << 25 | 1u << 26;
static const uint32_t number_fields = 1u << 1 | 1u << 5;

/* Reads a number of 7 bits a byte at *offset, and moves it behind it. */
static bool read_number(int file, uint64_t *offset, uint64_t *number)
{
    uint8_t bytes[10];
    const ssize_t got = pread(file, bytes, sizeof bytes, (off_t)*offset);
    *number = 0;
    for (ssize_t i = 0; i < got; i++) {
        *number |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) {
            *offset += (uint64_t)i + 1;
            return true;
        }
    }
    return false;
}

/* A file that ends too early is still an ONNX file, if it got as far as the graph. */
static bool has_graph(int file, uint64_t size)
{
    uint64_t offset = 0, key, number;
    bool graph = false;
    for (size_t i = 0; offset < size && i < MAX_FIELDS; i++) {
        if (!read_number(file, &offset, &key) || !read_number(file, &offset, &number))
            return graph;
        const uint64_t field = key >> 3, wire = key & 7;
        if (field > 26 || !((wire == WIRE_BYTES    ? byte_fields
                             : wire == WIRE_NUMBER ? number_fields
                                                   : 0) >>
                                field &
                            1))
            return false;
        graph |= field == FIELD_GRAPH;
        if (wire == WIRE_BYTES && number > size - offset)
            return graph;
        offset += wire == WIRE_BYTES ? number : 0;
    }
    return graph;
}

bool onnx_file_is(const char *path)
{
    const char *end = strrchr(path, '.');
    struct stat status;
    if (end && strcmp(end, ".onnx") == 0)
        return true;
    const int file = file_open_if_regular(path, O_RDONLY | O_CLOEXEC, &status);
    if (file < 0)
        return false;
    const bool is = has_graph(file, (uint64_t)status.st_size);
    close(file);
    return is;
}
