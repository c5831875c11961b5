# How tests run. The tests of a folder are one program with a case for each file: tests/engine/plan_test.c in TESTS is
# `./engine_test plan_test` (case.sh). Scripts are tests by themselves.
CASES_MAIN = %D%/cases.c %D%/tap.h
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
C_LOG_DRIVER = $(LOG_DRIVER)
C_LOG_COMPILER = $(SHELL) $(srcdir)/%D%/case.sh
TEST_EXTENSIONS = .c .sh
# an allocation too large to be true must come back as NULL under AddressSanitizer, too
AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)'; export srcdir; TINCA='$(abs_top_builddir)/tinca'; export TINCA; \
	XDG_CACHE_HOME=/dev/null; export XDG_CACHE_HOME; OPENBLAS_THREAD_TIMEOUT=4; export OPENBLAS_THREAD_TIMEOUT; \
	ASAN_OPTIONS=allocator_may_return_null=1:$$ASAN_OPTIONS; export ASAN_OPTIONS; \
	LSAN_OPTIONS=suppressions='$(abs_top_srcdir)/%D%/leaks.txt':print_suppressions=0:$$LSAN_OPTIONS; export LSAN_OPTIONS;
EXTRA_DIST += %D%/leaks.txt %D%/case.sh %D%/comments.sh %D%/check.sh %D%/random_fill.h %D%/sample.h %D%/sanitized.h %D%/tap.h
# operators: one list of cases, and a harness that runs any kernel on it
check_LIBRARIES += libopharness.a
libopharness_a_SOURCES = \
	%D%/blocked_arrays.h %D%/guarded_memory.c %D%/guarded_memory.h \
	%D%/op_cases.c %D%/op_cases.h \
	%D%/op_harness.c %D%/op_harness.h \
	%D%/op_values.c %D%/op_values.h
OP_TEST_LIBS = libopharness.a libengine.a $(BASE_LIBS)
ROOT_TESTS = %D%/check_test.sh %D%/structure_test.sh
TESTS += $(ROOT_TESTS)
EXTRA_DIST += $(ROOT_TESTS)

# whole networks on plain loops take a sanitizer half an hour; their operators are tested by themselves,
# those of the emulated GPU by cuda_kernels_test
if SANITIZED
TOO_SLOW = %D%/parity/trajectory_test.c %D%/cuda/cuda_device_test.c
endif
# The longest begin first, so that none of them is left alone at the end.
LONGEST_CASES = threads/chains threads/inspection threads/resume kernels/inference training/roofline \
	library/library screens/storm cuda/cuda_batches cuda/cuda_finish cuda/cuda_group cuda/cuda_kernels \
	cuda/cuda_layouts cuda/cuda_run cuda/cuda_tensor cuda/cuda_training
LONGEST = $(LONGEST_CASES:%=%D%/%_test.c)
# check-unit: the compiled tests alone. Neither it nor check-threads builds the program, which their tests do not run.
UNIT_TESTS = $(filter-out %.sh $(TOO_SLOW),$(TESTS))
test_programs = $(filter %_test$(EXEEXT),$(check_PROGRAMS))
check-unit: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(chart_PROGRAMS) check-TESTS check_LIBRARIES= check_PROGRAMS='$(test_programs)' \
		TESTS='$(filter $(LONGEST),$(UNIT_TESTS)) $(filter-out $(LONGEST),$(UNIT_TESTS))'
# check-named: the tests in NAMED, such as plan_test or tests/cli/usage_test.sh; of the programs theirs, and those that
# scripts run
named_tests = $(foreach test,$(NAMED),$(or $(filter $(test)$(EXEEXT),$(TESTS)),$(filter %/$(test).c,$(TESTS)),$(test)))
named_programs = $(filter-out %.sh %.c,$(named_tests)) $(filter-out $(test_programs),$(check_PROGRAMS)) \
	$(sort $(foreach test,$(filter %.c,$(named_tests)),$(notdir $(patsubst %/,%,$(dir $(test))))_test$(EXEEXT)))
check-named:
	@for test in $(filter-out $(TESTS),$(named_tests)); do \
	    test -f "$(srcdir)/$$test" || { echo "there is no test $$test: name a script below tests, or a C file without .c" >&2; exit 2; }; \
	done
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(named_tests)' check_LIBRARIES= check_PROGRAMS='$(named_programs)'
# check-threads: those where threads meet (for --enable-tsan)
THREAD_TESTS = $(THREADS_CASES) %D%/screens/storm_test.c
thread_programs = threads_test$(EXEEXT) screens_test$(EXEEXT)
if LIBRARY
THREAD_TESTS += $(LIBRARY_CASES)
thread_programs += library_test$(EXEEXT)
endif
check-threads: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_LIBRARIES= check_DATA= check_PROGRAMS='$(thread_programs)' TESTS='$(THREAD_TESTS)'
# check-package: what a package runs when it is built: half a minute, no network is trained for long
PACKAGE_TESTS = %D%/base/text_test.c %D%/base/json_test.c %D%/base/file_test.c %D%/base/random_test.c \
	%D%/base/float16_test.c %D%/data/image_test.c %D%/engine/network_test.c %D%/engine/plan_test.c \
	%D%/cli/usage_test.sh %D%/cli/completion_test.sh %D%/cli/export_operands_test.sh
check-package: all
	$(MAKE) $(AM_MAKEFLAGS) check check_LIBRARIES= check_DATA= TESTS='$(PACKAGE_TESTS)' \
		check_PROGRAMS='base_test$(EXEEXT) data_test$(EXEEXT) engine_test$(EXEEXT) json_look$(EXEEXT)'
.PHONY: check-package check-unit check-named check-threads

# what cppcheck and clang-tidy say, as far as they are here; .clang-tidy and tests/cppcheck.txt
# tell which of their rules are ours, and why the others are not
lint: $(BUILT_SOURCES)
	@srcdir='$(srcdir)' CPPFLAGS='$(AM_CPPFLAGS)' $(SHELL) $(srcdir)/%D%/lint.sh
.PHONY: lint
EXTRA_DIST += .clang-tidy %D%/cppcheck.txt %D%/lint.sh
