/* Modules that are missing, damaged or of a different version are refused with a message. The real
 * module, if it was built, loads, and without a driver or a GPU reports what is missing. */
#include "engine/devices/cuda/cuda.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void refuses(const char *path, const char *word)
{
    char reason[256] = "";
    const struct cuda_module *module = cuda_load_module(path, reason, sizeof reason);
    tap_ok(!module && strstr(reason, word), "%s is refused: %s", path, reason);
}

/* The module of the build tree may be loaded without a GPU. */
static void test_real(void)
{
    char reason[256] = "";
    struct cuda_report report;
    if (access("./" CUDA_MODULE_FILE, F_OK) != 0) {
        tap_skip("this build has no module");
        return;
    }
    const struct cuda_module *module =
        cuda_load_module("./" CUDA_MODULE_FILE, reason, sizeof reason);
    if (!tap_ok(module, "the module loads (%s)", reason))
        return;
    tap_note("toolkit %s, architectures %s", module->toolkit, module->architectures);
    const size_t count = module->count(&report);
    if (count > 0)
        tap_ok(report.failure_kind == CUDA_FINE, "it finds %zu GPUs", count);
    else
        tap_ok(report.failure_kind != CUDA_FINE && report.text[0],
               "it reports why there is no GPU (%d: %s)", (int)report.failure_kind, report.text);
}

TEST_CASE(cuda_module_test)
{
    char damaged[] = "damaged_module.so";
    FILE *file = fopen(damaged, "w");
    if (file) {
        fputs("\177ELF and then nothing", file);
        fclose(file);
    }
    refuses("./no_such_module.so", "was it installed");
    refuses("./damaged_module.so", "cannot be loaded");
    refuses("./fake_module_old.so", "another version");
    refuses("./fake_module_version.so", "0.0.7");
    refuses("./fake_module_nothing.so", "has no table of functions");
    refuses("./fake_module_other.so", "is not a CUDA module");
    unlink(damaged);
    test_real();
    return tap_done();
}
