/* The studies' CSV files (Trindade 2017): a row an iteration, and a row a run. */
#include "base/file.h"
#include "base/host.h"
#include "base/json.h"
#include "session/export.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *mode_of(const struct run *run)
{
    return strncmp(run_config(run)->device, "cuda", 4) == 0 ? "GPU" : "CPU";
}

/* A network file's name may hold what would break a row. */
static void clean(const char *name, char *out, size_t size)
{
    size_t i = 0;
    for (; name[i] && i + 1 < size; i++)
        out[i] = isalnum((unsigned char)name[i]) || strchr("._-", name[i]) ? name[i] : '_';
    out[i] = '\0';
}

/* "network,mode,batch": how every row begins. The technique is part of the name, as in the studies.
 */
static void row_head(const struct run *run, char *head, size_t size)
{
    const struct run_facts *facts = run_facts(run);
    char name[64];
    clean(facts->network, name, sizeof name);
    bool plain = strcmp(facts->technique, "none") == 0 || strstr(name, facts->technique);
    snprintf(head, size, "%s%s%s,%s,%03zu", name, plain ? "" : "-", plain ? "" : facts->technique,
             mode_of(run), run_config(run)->batch);
}

static double seconds_of(const struct run *run, const struct series_point *point)
{
    return (double)point->ms_per_image * 1e-3 * (double)run_config(run)->batch;
}

static void put_losses(FILE *stream, const struct run *run)
{
    const struct series *series = run_series(run);
    char head[128];
    row_head(run, head, sizeof head);
    for (size_t i = 0, count = series_count(series); i < count; i++) {
        const struct series_point *point = &series->points[i];
        fprintf(stream, "%s,%" PRIu64 ",%.9g,%.6g\n", head, point->iteration,
                json_float(point->loss), seconds_of(run, point));
    }
}

static void put_times(FILE *stream, const struct run *run)
{
    const struct series *series = run_series(run);
    size_t count = series_count(series);
    double sum = 0;
    char head[128];
    row_head(run, head, sizeof head);
    for (size_t i = 0; i < count; i++)
        sum += seconds_of(run, &series->points[i]);
    if (count > 0)
        fprintf(stream, "%s,%.6g\n", head, sum / (double)count);
}

static bool write_table(struct run *const *runs, size_t count, const char *directory,
                        const char *what, const char *columns,
                        void (*put)(FILE *stream, const struct run *run), struct error *error)
{
    struct host host;
    struct file_writer writer;
    char host_name[sizeof host.name], name[sizeof host.name + 32];
    host_describe(&host);
    clean(host.name, host_name, sizeof host_name);
    snprintf(name, sizeof name, "%s_%s_tinca.csv", what, host_name);
    char *path = file_join(directory, name);
    bool opened =
        path ? file_writer_open(&writer, path, false, error) : error_set_memory(error, "a path", 0);
    free(path);
    if (!opened)
        return false;
    fprintf(writer.stream, "#network,mode,batch,%s\n", columns);
    for (size_t i = 0; i < count; i++)
        put(writer.stream, runs[i]);
    return file_writer_commit(&writer, error);
}

bool export_csv(struct run *const *runs, size_t count, const char *directory, struct error *error)
{
    return file_make_directories(directory, error) &&
           write_table(runs, count, directory, "loss", "step,loss,time", put_losses, error) &&
           write_table(runs, count, directory, "times", "avg_time", put_times, error);
}
