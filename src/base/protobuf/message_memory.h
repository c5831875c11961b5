/* message_memory.h: limits the memory that protobuf-c takes to unpack an untrusted file. The
 * smallest message takes two bytes in a file and a hundred in memory, so a hostile file would take
 * a hundred times its size. A message that is written goes to a stream piece by piece. */
#ifndef TINCA_BASE_PROTOBUF_MESSAGE_MEMORY_H
#define TINCA_BASE_PROTOBUF_MESSAGE_MEMORY_H

#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Set up by message_memory_prepare. `left` may be set anew before each message. */
struct message_memory {
    ProtobufCAllocator allocator; /* for the functions *__unpack and *__free_unpacked */
    size_t left;                  /* bytes that may still be allocated; freeing returns none */
};

static inline void *message_memory_allocate(void *context, size_t size)
{
    struct message_memory *memory = context;
    if (size > memory->left)
        return NULL;
    memory->left -= size;
    return malloc(size > 0 ? size : 1);
}

static inline void message_memory_release(void *context, void *bytes)
{
    (void)context;
    free(bytes);
}

/* Allows `bytes` bytes. The structure must stay where it is. */
static inline void message_memory_prepare(struct message_memory *memory, size_t bytes)
{
    memory->allocator =
        (ProtobufCAllocator){message_memory_allocate, message_memory_release, memory};
    memory->left = bytes;
}

/* Writes messages that protobuf-c packs to a stream. */
struct message_stream {
    ProtobufCBuffer base;
    FILE *stream;
};

static inline void message_stream_append(ProtobufCBuffer *buffer, size_t length,
                                         const uint8_t *data)
{
    fwrite(data, 1, length, ((struct message_stream *)buffer)->stream);
}

/* Returns the size of a file, 0 if it is not known. */
static inline uint64_t message_file_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

/* Returns the memory limit for a file of `size` bytes: twice its size for arrays, and 160 times its
 * size, at most `most` bytes, for messages. */
static inline size_t message_memory_of_file(size_t size, size_t most)
{
    const size_t growth = 160, margin = 1 << 20;
    return margin + 2 * size + (size < most / growth ? growth * size : most);
}

#endif
