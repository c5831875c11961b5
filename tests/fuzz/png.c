/* A picture that begins as a PNG does. */
#include "fuzz.h"
#include "picture.h"

void fuzz_png(const uint8_t *data, size_t size)
{
    picture_walk("picture.png", data, size);
}
