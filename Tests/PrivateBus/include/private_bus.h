#pragma once

/// The folder in which tests that need D-Bus start one of their own; the same for the whole life
/// of the process, because libdbus reads the bus's address once.
const char *private_bus_folder(void);
