# faults.so makes calls of the system fail; sanitizers bring their own allocation, and do not meet it:
# their library only stops runs (%D%/hold.sh)
FAULT_TESTS = %D%/faults_test.sh %D%/torture_test.sh %D%/crash_states_test.sh
TESTS += $(FAULT_TESTS)
EXTRA_DIST += $(FAULT_TESTS) %D%/faults.c %D%/record.c %D%/record.h \
	%D%/commands.py %D%/commands_faults.py %D%/commands_faults_test.sh \
	%D%/crash_states.py tests/journal_lines.py %D%/disk.py %D%/same_run.sh %D%/hold.sh \
	tests/cli/control_group.sh
if SANITIZED
FAULTS_LIBRARY = faults_without_memory.so
else
FAULTS_LIBRARY = faults.so
endif
check_DATA += $(FAULTS_LIBRARY)
CLEANFILES += faults.so faults_without_memory.so
FAULTS_COMMAND = $(CC) $(CFLAGS) -D_GNU_SOURCE -shared -fPIC -o $@ $(srcdir)/%D%/faults.c \
	$(srcdir)/%D%/record.c -ldl
faults.so: %D%/faults.c %D%/record.c %D%/record.h
	$(AM_V_CCLD)$(FAULTS_COMMAND)
faults_without_memory.so: %D%/faults.c %D%/record.c %D%/record.h
	$(AM_V_CCLD)$(FAULTS_COMMAND) -DWITHOUT_MEMORY
