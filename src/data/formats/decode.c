/* Decodes JPEG with libjpeg or libjpeg-turbo.
 *
 * Where data is missing, libjpeg fills in grey and only warns. This file turns every warning that
 * means lost pixels into an error and ignores harmless ones (extra bytes before a marker, an
 * unknown JFIF revision). Errors leave libjpeg by longjmp, so everything that must survive one is
 * in a struct in the caller's frame. This file also converts CMYK and YCCK, which Adobe stores
 * inverted, to RGB.
 */
#include "data/formats/internal.h"

#include "base/language.h"
#include "base/memory.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h> /* after stdio.h */

#include <jerror.h> /* after jpeglib.h */

size_t decode_scale(size_t width, size_t height, size_t shorter_side)
{
    const size_t shorter = width < height ? width : height;
    size_t scale = 1;
    while (shorter_side && scale < 8 && shorter / (2 * scale) >= shorter_side)
        scale *= 2;
    return scale;
}

/* Limits the scans. In a few bytes each, a progressive file can demand any number of passes over
 * the whole picture; real files have about ten. */
enum { MAX_SCANS = 200 };

struct jpeg_reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr manager;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    const struct decode_request *request;
    struct error *error;
    struct image *image;
    uint8_t *row; /* a row from libjpeg, if its colours need conversion */
    char complaint[JMSG_LENGTH_MAX];
};

static void leave(j_common_ptr common)
{
    struct jpeg_reading *reading = common->client_data;
    common->err->format_message(common, reading->complaint);
    longjmp(reading->escape, 1);
}

/* Treats warnings about lost pixels as errors. `level` is -1 for warnings, 0 and above for traces.
 */
static void handle_message(j_common_ptr common, int level)
{
    static const int fatal[] = {JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE,
                                JWRN_MUST_RESYNC, JWRN_ARITH_BAD_CODE};
    if (level >= 0)
        return;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (common->err->msg_code == fatal[i])
            leave(common);
}

static void limit_scans(j_common_ptr common)
{
    struct jpeg_reading *reading = common->client_data;
    if (reading->jpeg.input_scan_number <= MAX_SCANS)
        return;
    snprintf(reading->complaint, sizeof reading->complaint, _("more than %d scans"), MAX_SCANS);
    longjmp(reading->escape, 1);
}

static bool is_cmyk(const struct jpeg_decompress_struct *jpeg)
{
    return jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
}

/* Chooses libjpeg's output colours. It can produce grey from YCbCr and grey only; other files are
 * decoded to RGB or CMYK first. So is YCbCr unless its luma is wanted: for colours outside of RGB,
 * the luma differs from the grey of the displayed colour. */
static void choose_colours(struct jpeg_reading *reading)
{
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    const bool luma = jpeg->jpeg_color_space == JCS_GRAYSCALE ||
                      (jpeg->jpeg_color_space == JCS_YCbCr && reading->request->luma);
    if (is_cmyk(jpeg))
        jpeg->out_color_space = JCS_CMYK;
    else if (reading->request->channels == 1 && luma)
        jpeg->out_color_space = JCS_GRAYSCALE;
    else
        jpeg->out_color_space = JCS_RGB;
}

/* Decodes at a half, a quarter or an eighth of the size if that leaves enough pixels. This is
 * faster, and a better low-pass filter than bilinear sampling. */
static void choose_scale(struct jpeg_reading *reading)
{
    reading->jpeg.scale_num = 1;
    reading->jpeg.scale_denom = (unsigned)decode_scale(
        reading->image->width, reading->image->height, reading->request->shorter_side);
}

/* Records the memory for the coefficients of a file with several scans: libjpeg collects all of
 * them, two bytes each, before it computes a pixel. */
static void report_cost(struct jpeg_reading *reading)
{
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    uint64_t coefficients = 0;
    for (int c = 0; c < jpeg->num_components && jpeg_has_multiple_scans(jpeg); c++)
        coefficients += (uint64_t)jpeg->comp_info[c].width_in_blocks *
                        jpeg->comp_info[c].height_in_blocks * DCTSIZE2;
    reading->request->cost->shrinks = true;
    reading->request->cost->extra_kib = (uint32_t)(coefficients * sizeof(JCOEF) >> 10);
}

static void convert_row(const struct jpeg_reading *reading, uint8_t *out)
{
    const struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    const uint8_t *in = reading->row;
    size_t channels = reading->image->channels;
    bool inverted = jpeg->saw_Adobe_marker;
    for (size_t x = 0; x < jpeg->output_width; x++, in += jpeg->output_components) {
        unsigned colour[3] = {in[0], in[1], in[2]};
        for (int c = 0; c < 3 && jpeg->output_components == 4; c++) {
            unsigned ink = inverted ? in[c] : 255u - in[c];
            unsigned black = inverted ? in[3] : 255u - in[3];
            colour[c] = (ink * black + 127) / 255;
        }
        if (channels == 1)
            *out++ = image_grey(colour[0], colour[1], colour[2]);
        else
            for (int c = 0; c < 3; c++)
                *out++ = (uint8_t)colour[c];
    }
}

static bool read_pixels(struct jpeg_reading *reading)
{
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    struct image *image = reading->image;
    if (!image_create(image, jpeg->output_width, jpeg->output_height, reading->request->channels,
                      reading->error))
        return false;
    bool direct = (size_t)jpeg->output_components == image->channels;
    size_t row_bytes = (size_t)jpeg->output_width * (size_t)jpeg->output_components;
    reading->row = memory_new(row_bytes, 1, reading->request->path, reading->error);
    if (!reading->row)
        return false;
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *out = image->pixels + jpeg->output_scanline * image->width * image->channels;
        JSAMPROW target = direct ? out : reading->row;
        jpeg_read_scanlines(jpeg, &target, 1);
        if (!direct)
            convert_row(reading, out);
    }
    jpeg_finish_decompress(jpeg);
    return true;
}

static bool decode(struct jpeg_reading *reading, FILE *stream)
{
    if (setjmp(reading->escape))
        return error_set(reading->error, ERROR_INPUT, reading->request->path,
                         "replace the file or leave it out", "not a readable JPEG: %s",
                         reading->complaint);
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    jpeg_create_decompress(jpeg);
    jpeg->progress = &reading->progress;
    jpeg_stdio_src(jpeg, stream);
    jpeg_read_header(jpeg, TRUE);
    reading->image->width = jpeg->image_width;
    reading->image->height = jpeg->image_height;
    reading->image->channels = reading->request->channels;
    if (!image_check_size(reading->request->path, jpeg->image_width, jpeg->image_height,
                          reading->error))
        return false;
    choose_colours(reading);
    choose_scale(reading);
    if (reading->request->cost)
        report_cost(reading);
    if (reading->request->header_only)
        return true;
    jpeg_start_decompress(jpeg);
    return read_pixels(reading);
}

bool decode_jpeg(struct image *image, FILE *stream, const struct decode_request *request,
                 struct error *error)
{
    *image = (struct image){0};
    struct jpeg_reading reading = {.request = request, .error = error, .image = image};
    reading.jpeg.err = jpeg_std_error(&reading.manager);
    reading.manager.error_exit = leave;
    reading.manager.emit_message = handle_message;
    reading.progress.progress_monitor = limit_scans;
    reading.jpeg.client_data = &reading;
    bool decoded = decode(&reading, stream);
    jpeg_destroy_decompress(&reading.jpeg);
    free(reading.row);
    if (!decoded)
        image_free(image);
    return decoded;
}

/* Decodes PNG with libpng.
 *
 * libpng converts every colour type to 8-bit grey+alpha or RGB+alpha; this file then blends the
 * pixels with white. libpng reports errors by longjmp, so everything that must survive one is in a
 * struct in the caller's frame, and the function that calls setjmp has no locals that change.
 */

struct png_reading {
    png_structp png;
    png_infop info;
    const struct decode_request *request;
    struct error *error;
    struct image *image;
    uint8_t
        *samples; /* libpng's output, 2 or 4 bytes a pixel: a row, or all of an interlaced file */
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
static void report_png_cost(struct png_reading *reading)
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
        report_png_cost(reading);
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
