#include "private_bus.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];

const char *private_bus_folder(void) { return folder; }

/// Runs before any test: whichever comes first, none talks to the bus of this machine, and the
/// first does not settle on an address that a later one cannot use.
__attribute__((constructor)) static void turn_from_real_bus(void) {
  snprintf(folder, sizeof folder, "/tmp/flotilla-avahi-%d", (int)getpid());
  char address[96];
  snprintf(address, sizeof address, "unix:path=%s/near", folder);
  setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
}
