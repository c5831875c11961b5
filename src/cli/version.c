/* One table of parts serves the text and the JSON document. What configure chose stands in
 * config.h, the commit in build_commit; the libraries are asked which version is loaded now. No
 * date and no folder of the build is among them, so that two builds of one commit are the same. */
#include "config.h"

#include "cli/internal.h"

#include "cli/command.h"
#include "cli/output.h"

#include "base/host/host.h"
#include "base/host/host_software.h"
#include "base/json/json.h"
#include "base/language.h"
#include "engine/cluster/cluster_module.h"
#include "engine/devices/blas.h"
#include "engine/devices/cuda/module.h"
#include "exchange/export/canvas.h"
#include "runs/machine/module_file.h"
#include "ui/terminal/terminal.h"

#include <png.h>
#include <stdio.h>
#include <zlib.h>

#include <jpeglib.h>
#if HAVE_ONNX || HAVE_TENSORBOARD
#include <protobuf-c/protobuf-c.h>
#endif
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

enum { TEXT = 600, LABEL_COLUMNS = 18 };

/* Write a part of the description into text[0..TEXT). */
typedef void part_writer(char *text);

static void write_commit(char *text)
{
    snprintf(text, TEXT, "%s", build_commit);
}

static void write_compiler(char *text)
{
    struct host_software software;
    host_software_describe(&software);
    snprintf(text, TEXT, "%s", software.compiler);
}

static void write_flags(char *text)
{
    snprintf(text, TEXT, "%s", BUILD_FLAGS);
}

static void write_system(char *text)
{
#ifdef __GLIBC__
    snprintf(text, TEXT, "%s, glibc %s", BUILD_SYSTEM, gnu_get_libc_version());
#else
    snprintf(text, TEXT, "%s", BUILD_SYSTEM);
#endif
}

static void write_blas(char *text)
{
    blas_name(text, TEXT);
}

static void write_kernels(char *text)
{
    snprintf(text, TEXT, "%s", BUILD_KERNELS);
}

/* Writes the instruction sets that kernels use on this processor. */
static void write_in_use(char *text)
{
    const enum host_vnni vnni = host_vnni();
    snprintf(text, TEXT, "%s%s%s%s%s", instruction_set_name(host_instruction_set()),
             host_has_bf16() ? ", avx512 with bf16" : "", host_has_amx() ? ", amx with bf16" : "",
             vnni != VNNI_NONE ? ", vnni" : "", host_has_amx_int8() ? ", amx with int8" : "");
}

/* Writes what configure says of a module, and where it is. A package may hold the modules apart. */
static void write_module(char *text, bool built, const char *report, const char *name)
{
    char path[TEXT / 2];
    const bool found = module_file_find(name, path, sizeof path);
    if (found)
        snprintf(text, TEXT, "%s: %s", built ? report : _("from another build"), path);
    else if (built)
        snprintf(text, TEXT, _("none: %s is not installed"), path);
    else
        snprintf(text, TEXT, "%s", report);
}

static void write_cuda(char *text)
{
    write_module(text, CUDA_TOOLKIT_VERSION[0] != '\0', BUILD_CUDA, CUDA_MODULE_FILE);
}

static void write_mpi(char *text)
{
    write_module(text, HAVE_MPI, BUILD_MPI, CLUSTER_MODULE_FILE);
}

static void write_charts(char *text)
{
    write_module(text, HAVE_CAIRO, BUILD_CHARTS, CANVAS_MODULE_FILE);
}

static void write_onnx(char *text)
{
    snprintf(text, TEXT, "%s", BUILD_ONNX);
}

static void write_tensorboard(char *text)
{
    snprintf(text, TEXT, "%s", BUILD_TENSORBOARD);
}

static void write_protobuf(char *text)
{
#if HAVE_ONNX || HAVE_TENSORBOARD
    snprintf(text, TEXT, "%s", protobuf_c_version());
#else
    text[0] = '\0';
#endif
}

static void write_png(char *text)
{
    snprintf(text, TEXT, "%s", png_get_libpng_ver(NULL));
}

/* libjpeg tells its version to the compiler alone. */
static void write_jpeg(char *text)
{
#define QUOTED(value) #value
#define VALUE(name)   QUOTED(name)
#ifdef LIBJPEG_TURBO_VERSION
    snprintf(text, TEXT, "turbo %s", VALUE(LIBJPEG_TURBO_VERSION));
#else
    snprintf(text, TEXT, "%s", VALUE(JPEG_LIB_VERSION));
#endif
}

static void write_curses(char *text)
{
    snprintf(text, TEXT, "%s", terminal_library_version());
}

static void write_json_library(char *text)
{
    snprintf(text, TEXT, "%s", json_library_version());
}

static void write_zlib(char *text)
{
    snprintf(text, TEXT, "%s", zlibVersion());
}

static const struct part {
    const char *key, *label;
    part_writer *write;
    bool is_library; /* a member of "libraries" in the JSON document */
} parts[] = {
    {"commit", N_("commit"), write_commit, false},
    {"compiler", N_("compiler"), write_compiler, false},
    {"flags", N_("its options"), write_flags, false},
    {"system", N_("system"), write_system, false},
    {"blas", "BLAS", write_blas, false},
    {"kernels", N_("kernels"), write_kernels, false},
    {"kernels_in_use", N_("in use here"), write_in_use, false},
    {"cuda", "CUDA", write_cuda, false},
    {"mpi", "MPI", write_mpi, false},
    {"charts", N_("charts"), write_charts, false},
    {"onnx", "ONNX", write_onnx, false},
    {"tensorboard", "TensorBoard", write_tensorboard, false},
    {"protobuf-c", "protobuf-c", write_protobuf, true},
    {"libpng", "libpng", write_png, true},
    {"libjpeg", "libjpeg", write_jpeg, true},
    {"ncurses", "ncurses", write_curses, true},
    {"cjson", "cJSON", write_json_library, true},
    {"zlib", "zlib", write_zlib, true},
};
enum { PARTS = sizeof parts / sizeof *parts };

static int print_json(void)
{
    char text[TEXT];
    struct json *root = json_new_object();
    struct json *libraries = NULL;
    bool complete = root && json_add_string(root, "version", PACKAGE_VERSION);
    for (size_t i = 0; complete && i < PARTS; i++) {
        parts[i].write(text);
        if (parts[i].is_library && !libraries)
            libraries = json_add_object(root, "libraries");
        struct json *object = parts[i].is_library ? libraries : root;
        complete = text[0] ? json_add_string(object, parts[i].key, text)
                           : json_add_null(object, parts[i].key);
    }
    return output_json(root, complete);
}

int version_print(bool as_json)
{
    char text[TEXT];
    if (as_json)
        return print_json();
    output_print(_("tinca %s\n"
                   "Copyright (c) 2026 the tinca authors. MIT licence: there is no warranty.\n"),
                 PACKAGE_VERSION);
    for (size_t i = 0; i < PARTS; i++) {
        parts[i].write(text);
        output_print("  %-*s", LABEL_COLUMNS - 2, gettext(parts[i].label));
        output_print_wrapped(text[0] ? text : _("unknown"), LABEL_COLUMNS, LABEL_COLUMNS,
                             OUTPUT_WIDTH);
    }
    return EXIT_DONE;
}
