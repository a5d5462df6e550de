#pragma once
// Nothing is called: the library is preloaded (LD_PRELOAD) into programs whose clock a test sets.
