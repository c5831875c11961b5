/* A picture that begins as a JPEG does. */
#include "fuzz.h"
#include "picture.h"

void fuzz_jpeg(const uint8_t *data, size_t size)
{
    picture_walk("picture.jpeg", data, size);
}
