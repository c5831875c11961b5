# Timings, which no check runs.
# how fast the kernels are: make bench
EXTRA_PROGRAMS = kernels_bench runs_bench
kernels_bench_SOURCES = %D%/kernels_bench.c
kernels_bench_LDADD = libopharness.a $(ENGINE_LIBS)
bench: bench-kernels
bench-kernels: kernels_bench$(EXEEXT)
	./kernels_bench$(EXEEXT) $(FAMILY)
.PHONY: bench-kernels
CLEANFILES += kernels_bench runs_bench

# how fast the list of 2,000 runs opens: make bench-runs
runs_bench_SOURCES = %D%/runs_bench.c
runs_bench_LDADD = $(STUDIES_LIBS)
EXTRA_DIST += %D%/rank_sums.c %D%/runs.sh
bench-runs: tinca$(EXEEXT) runs_bench$(EXEEXT)
	TINCA='$(abs_top_builddir)/tinca' BENCH='$(abs_top_builddir)/runs_bench' \
		$(SHELL) $(srcdir)/%D%/runs.sh
.PHONY: bench-runs
# how fast a run of a million iterations is read: make bench-long-run
EXTRA_DIST += %D%/long_run.py %D%/long_run.sh
bench-long-run: tinca$(EXEEXT) journal_lines$(EXEEXT)
	TINCA='$(abs_top_builddir)/tinca' srcdir='$(srcdir)' \
		$(SHELL) $(srcdir)/%D%/long_run.sh
.PHONY: bench-long-run
# bench: what this machine makes of each kernel and network, with FAMILY=conv (a family or a part of names) of
# these kernels alone
bench: all
	test -n '$(FAMILY)' || TINCA='$(abs_top_builddir)/tinca' $(SHELL) $(srcdir)/%D%/networks.sh
# bench-terminal: how long a key takes to reach the screen while a run computes on all cores
EXTRA_PROGRAMS += key_latency
key_latency_SOURCES = %D%/key_latency.c
key_latency_LDADD = libbase.a
CLEANFILES += key_latency
EXTRA_DIST += %D%/terminal.sh
bench-terminal: all key_latency$(EXEEXT)
	TINCA='$(abs_top_builddir)/tinca' $(SHELL) $(srcdir)/%D%/terminal.sh
EXTRA_DIST += %D%/networks.sh
.PHONY: bench bench-terminal
