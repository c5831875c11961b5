/* Decodes PNG with libpng.
 *
 * libpng converts every colour type to 8-bit grey+alpha or RGB+alpha; this file then blends the
 * pixels with white. libpng reports errors by longjmp, so everything that must survive one is in a
 * struct in the caller's frame, and the function that calls setjmp has no locals that change.
 */
#include "data/formats/decode.h"

#include "base/memory.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct png_reading {
    png_structp png;
    png_infop info;
    const struct decode_request *request;
    struct error *error;
    struct image *image;
    uint8_t *
        samples; /* what libpng writes, 2 or 4 bytes a pixel: a row, or all of an interlaced file */
    png_bytep *rows;
    size_t sample_channels;
    bool deep; /* the samples are of 16 bits */
    char complaint[160];
};

static void remember_error(png_structp png, png_const_charp message)
{
    struct png_reading *reading = png_get_error_ptr(png);
    snprintf(reading->complaint, sizeof reading->complaint, "%s", message);
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void read_stream(png_structp png, png_bytep bytes, size_t count)
{
    FILE *stream = png_get_io_ptr(png);
    if (fread(bytes, 1, count, stream) != count)
        png_error(png, "the file is truncated");
}

static bool check_header(struct png_reading *reading)
{
    size_t width = png_get_image_width(reading->png, reading->info);
    size_t height = png_get_image_height(reading->png, reading->info);
    reading->image->width = width;
    reading->image->height = height;
    reading->image->channels = reading->request->channels;
    return image_check_size(reading->request->path, width, height, reading->error);
}

/* Returns whether the samples of the picture are to keep 16 bits. */
static bool is_deep(const struct png_reading *reading)
{
    return reading->request->deep && png_get_bit_depth(reading->png, reading->info) == 16;
}

/* Sets up the conversion to 8 bits, or 16 if they are kept, with alpha, in the requested number of
 * channels. */
static void choose_transformations(struct png_reading *reading)
{
    png_structp png = reading->png;
    reading->deep = is_deep(reading);
    if (!reading->deep)
        png_set_scale_16(png);
    png_set_expand(png); /* palettes, fewer than 8 bits, transparent colours */
    png_set_add_alpha(png, reading->deep ? 0xffff : 0xff, PNG_FILLER_AFTER);
    png_byte type = png_get_color_type(png, reading->info);
    if (!(type & PNG_COLOR_MASK_COLOR) && reading->request->channels == 3)
        png_set_gray_to_rgb(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, reading->info);
    reading->sample_channels = png_get_channels(png, reading->info);
}

/* Returns whether all rows must be in memory before the first one is complete. */
static bool is_interlaced(const struct png_reading *reading)
{
    return png_get_interlace_type(reading->png, reading->info) != PNG_INTERLACE_NONE;
}

static bool allocate_rows(struct png_reading *reading)
{
    size_t row_bytes = png_get_rowbytes(reading->png, reading->info);
    size_t height = is_interlaced(reading) ? reading->image->height : 1;
    reading->samples = memory_new(height, row_bytes, reading->request->path, reading->error);
    reading->rows =
        memory_new(height, sizeof *reading->rows, reading->request->path, reading->error);
    if (!reading->samples || !reading->rows)
        return false;
    for (size_t y = 0; y < height; y++)
        reading->rows[y] = reading->samples + y * row_bytes;
    return true;
}

static bool set_complaint(struct png_reading *reading)
{
    return error_set(reading->error, ERROR_INPUT, reading->request->path,
                     "replace the file or leave it out", "not a readable PNG: %s",
                     reading->complaint);
}

static inline uint8_t over_white(unsigned sample, unsigned alpha)
{
    return (uint8_t)((sample * alpha + 255 * (255 - alpha) + 127) / 255);
}

/* Returns a sample of two big-endian bytes. */
static inline double deep_at(const uint8_t *in)
{
    return (double)(in[0] << 8 | in[1]);
}

/* Writes row `y` of a deep image of one channel. */
static void blend_deep_row(struct png_reading *reading, size_t y, const uint8_t *in)
{
    const struct image *image = reading->image;
    const size_t colours = reading->sample_channels - 1;
    float *out = image->deep + y * image->width;
    for (size_t i = 0; i < image->width; i++, in += 2 * (colours + 1)) {
        const double alpha = deep_at(in + 2 * colours) / 65535;
        const double sample =
            colours == 1
                ? deep_at(in)
                : (19595 * deep_at(in) + 38470 * deep_at(in + 2) + 7471 * deep_at(in + 4)) / 65536;
        *out++ = (float)((sample * alpha + 65535 * (1 - alpha)) / 257);
    }
}

/* Writes row `y` of the image, from a row of samples with alpha. */
static void blend_row_with_white(struct png_reading *reading, size_t y, const uint8_t *in)
{
    const struct image *image = reading->image;
    if (reading->deep) {
        blend_deep_row(reading, y, in);
        return;
    }
    const size_t colours = reading->sample_channels - 1, channels = image->channels;
    uint8_t *out = image->pixels + y * image->width * channels;
    for (size_t i = 0; i < image->width; i++, in += colours + 1, out += channels) {
        unsigned alpha = in[colours];
        if (colours == 3 && channels == 1 && reading->request->luma)
            *out = over_white(image_grey(in[0], in[1], in[2]), alpha);
        else if (colours == 3 && channels == 1)
            *out = image_grey(over_white(in[0], alpha), over_white(in[1], alpha),
                              over_white(in[2], alpha));
        else
            for (size_t c = 0; c < channels; c++)
                out[c] = over_white(in[c], alpha);
    }
}

static void read_rows(struct png_reading *reading)
{
    const size_t height = reading->image->height;
    if (is_interlaced(reading)) {
        png_read_image(reading->png, reading->rows);
        for (size_t y = 0; y < height; y++)
            blend_row_with_white(reading, y, reading->rows[y]);
        return;
    }
    for (size_t y = 0; y < height; y++) {
        png_read_row(reading->png, reading->rows[0], NULL);
        blend_row_with_white(reading, y, reading->rows[0]);
    }
}

/* Records the memory for the rows of an interlaced picture. */
static void report_cost(struct png_reading *reading)
{
    const struct image *image = reading->image;
    const bool grey = reading->request->channels == 1 &&
                      !(png_get_color_type(reading->png, reading->info) & PNG_COLOR_MASK_COLOR);
    reading->request->cost->deep = png_get_bit_depth(reading->png, reading->info) == 16;
    const bool deep = reading->request->channels == 1 && reading->request->cost->deep;
    if (is_interlaced(reading))
        reading->request->cost->extra_kib =
            (uint32_t)(image->width * image->height * (grey ? 2 : 4) * (deep ? 2 : 1) >> 10);
}

/* Reads the header and, unless only that is requested, the pixels. Returns false with an error. */
static bool read_samples(struct png_reading *reading, FILE *stream)
{
    if (setjmp(png_jmpbuf(reading->png)))
        return set_complaint(reading);
    png_set_read_fn(reading->png, stream, read_stream);
    png_set_user_limits(reading->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    /* ignore texts and colour profiles: libpng would allocate the size that they claim, up to 2
     * GiB, before it reads them */
    png_set_keep_unknown_chunks(reading->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(reading->png, reading->info);
    if (!check_header(reading))
        return false;
    if (reading->request->cost)
        report_cost(reading);
    if (reading->request->header_only)
        return true;
    choose_transformations(reading);
    struct image *image = reading->image;
    if (!allocate_rows(reading) ||
        !(reading->deep ? image_create_deep : image_create)(
            image, image->width, image->height, reading->request->channels, reading->error))
        return false;
    read_rows(reading);
    png_read_end(reading->png, NULL); /* fails if the file is truncated after the pixels */
    return true;
}

bool decode_png(struct image *image, FILE *stream, const struct decode_request *request,
                struct error *error)
{
    *image = (struct image){0};
    struct png_reading reading = {.request = request, .error = error, .image = image};
    reading.png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, remember_error, ignore_warning);
    reading.info = reading.png ? png_create_info_struct(reading.png) : NULL;
    bool decoded = reading.info ? read_samples(&reading, stream)
                                : error_set_memory(error, request->path, sizeof reading);
    png_destroy_read_struct(&reading.png, &reading.info, NULL);
    free(reading.rows);
    free(reading.samples);
    if (!decoded)
        image_free(image);
    return decoded;
}
