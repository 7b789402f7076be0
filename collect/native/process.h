// Who and where this process is.
#pragma once

#include <string>

#include "json.h"

namespace tracelode {

// A name of a folder in the recording that no other process has: the one that the agent has chosen, or made of host,
// process and the time of asking.
std::string process_folder(const std::string& recording);

// Host, process, command and the launcher's variables.
Json process_facts();

}  // namespace tracelode
