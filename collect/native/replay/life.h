// From the first use of CUDA in a process to its end.
#pragma once

#include "replayer.h"

namespace tracelode {

// What this process has of the plan that TRACELODE_REPLAY_PLAN names. When the process ends in order, the counts are
// added to the file that TRACELODE_REPLAY_COUNTS names.
Replayer& replayer();

}  // namespace tracelode
