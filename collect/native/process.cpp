#include "process.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "clocks.h"

namespace tracelode {

namespace {

// What says which rank this process is, and which devices it sees.
const char* const environment[] = {
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "SLURM_PROCID", "SLURM_LOCALID",
    "SLURM_NTASKS", "SLURM_JOB_ID", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALRANKID", "CUDA_VISIBLE_DEVICES"};

std::string host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string executable() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

std::vector<std::string> command() {
  constexpr size_t most = 1 << 16;
  std::string text;
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  char part[4096];
  for (ssize_t got; file >= 0 && text.size() < most && (got = read(file, part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(got));
  }
  if (file >= 0) close(file);
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The folder that the agent in this process has chosen, which is here before us: "<pid>:<folder>". A child has that of
// its parent, until its own agent begins; and a process that becomes another program by exec has that of the former,
// whose recording stays as it is.
std::string agreed_folder(const std::string& recording) {
  const char* const text = std::getenv("TRACELODE_RECORD_PROCESS");
  char* rest = nullptr;
  if (!text || std::strtol(text, &rest, 10) != getpid() || *rest != ':') return "";
  const std::string folder = rest + 1;
  const bool plain = folder.find('/') == std::string::npos && folder != "." && folder != "..";
  const bool taken = access((recording + "/" + folder + "/events.spool").c_str(), F_OK) == 0;
  return plain && !taken ? folder : "";
}

}  // namespace

std::string process_folder(const std::string& recording) {
  const std::string agreed = agreed_folder(recording);
  if (!agreed.empty()) return agreed;
  std::string name = host();
  for (char& letter : name) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
    if (!plain) letter = '_';
  }
  char rest[64];
  const auto start = static_cast<unsigned long long>(now(CLOCK_REALTIME));
  std::snprintf(rest, sizeof rest, "-%d-%llx", static_cast<int>(getpid()), start);
  return name + rest;
}

Json process_facts() {
  Json set;
  for (const char* name : environment) {
    if (const char* value = std::getenv(name)) set.add(name, value);
  }
  Json json;
  json.add("pid", static_cast<int>(getpid())).add("ppid", static_cast<int>(getppid()));
  json.add("start_unix_ns", now(CLOCK_REALTIME)).add("host", host());
  return json.add("executable", executable()).add("command", command()).add("environment", set);
}

}  // namespace tracelode
