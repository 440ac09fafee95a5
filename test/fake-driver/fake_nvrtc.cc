// A stand-in libnvrtc: it finds the kernels of a source and writes PTX that declares them, so that the
// stand-in driver loads it and does the kernels that it knows by these names. Its machine code is PTX as
// well. A source with #error, an undeclared kernel and an unknown option fail as in the real one.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "../../native/nvrtc_api.h"

using namespace p2p::nvrtc;

struct _nvrtcProgram {
  std::string source;
  std::string file;
  std::vector<std::string> wanted;
  std::map<std::string, std::string> lowered;
  std::string log;
  std::string ptx;
};

namespace {

std::vector<int> architectures() {
  const char* list = std::getenv("P2PLAB_FAKE_NVRTC_ARCHS");
  std::vector<int> known;
  for (const char* at = list ? list : "75,80,90,100"; *at; ++at) {
    char* end = nullptr;
    known.push_back(static_cast<int>(std::strtol(at, &end, 10)));
    if (!*end) break;
    at = end;
  }
  return known;
}

std::string lineOf(const std::string& source, std::size_t at) {
  return std::to_string(1 + std::count(source.begin(), source.begin() + static_cast<long>(at), '\n'));
}

struct Found {
  std::string parameters;
  bool exists = false;
};

// The text between the brackets of `name(` behind a __global__.
Found kernelIn(const std::string& source, const std::string& name) {
  for (std::size_t at = source.find("__global__"); at != std::string::npos;
       at = source.find("__global__", at + 1)) {
    const std::size_t open = source.find('(', at);
    if (open == std::string::npos) break;
    std::size_t end = open;
    while (end > at && std::isspace(static_cast<unsigned char>(source[end - 1]))) --end;
    std::size_t begin = end;
    while (begin > at &&
           (std::isalnum(static_cast<unsigned char>(source[begin - 1])) || source[begin - 1] == '_'))
      --begin;
    if (source.substr(begin, end - begin) != name) continue;
    const std::size_t close = source.find(')', open);
    return {source.substr(open + 1, close - open - 1), true};
  }
  return {};
}

std::vector<std::string> kernelNames(const std::string& source) {
  std::vector<std::string> names;
  for (std::size_t at = source.find("__global__"); at != std::string::npos;
       at = source.find("__global__", at + 1)) {
    const std::size_t open = source.find('(', at);
    std::size_t begin = open;
    while (begin > at && source[begin - 1] != ' ') --begin;
    names.push_back(source.substr(begin, open - begin));
  }
  return names;
}

// As PTX declares a parameter of such a type; what is no known type is a structure of 12 bytes.
std::string parameterType(const std::string& declared) {
  const auto has = [&](const char* word) { return declared.find(word) != std::string::npos; };
  if (has("*") || has("long") || has("64") || has("size_t")) return ".u64";
  if (has("double")) return ".f64";
  if (has("float") || has("T ")) return ".f32";
  if (has("char") || has("bool")) return ".u8";
  if (has("short")) return ".u16";
  if (has("int") || has("unsigned")) return ".u32";
  return "";
}

std::string entry(const std::string& name, const std::string& parameters) {
  std::string text = ".visible .entry " + name + "(";
  std::string part;
  int index = 0;
  for (const char character : parameters + ",") {
    if (character != ',') {
      part += character;
      continue;
    }
    if (part.find_first_not_of(" \n") == std::string::npos) break;
    const std::string own = name + "_param_" + std::to_string(index++);
    const std::string type = parameterType(part + " ");
    text += (index > 1 ? ",\n" : "\n") + std::string(".param ") +
            (type.empty() ? ".align 4 .b8 " + own + "[12]" : type + " " + own);
    part.clear();
  }
  return text + "\n)\n{\nret;\n}\n";
}

Result give(const std::string& text, std::size_t* bytes) {
  *bytes = text.size() + 1;
  return kSuccess;
}

Result give(const std::string& text, char* data) {
  std::memcpy(data, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

Result nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return kSuccess;
}

const char* nvrtcGetErrorString(Result) {
  return "NVRTC_ERROR_FAKE";
}

Result nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(architectures().size());
  return kSuccess;
}

Result nvrtcGetSupportedArchs(int* known) {
  const std::vector<int> all = architectures();
  std::copy(all.begin(), all.end(), known);
  return kSuccess;
}

Result nvrtcCreateProgram(Program* program, const char* source, const char* file, int, const char* const*,
                          const char* const*) {
  *program = new _nvrtcProgram{source, file, {}, {}, {}, {}};
  return kSuccess;
}

Result nvrtcDestroyProgram(Program* program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}

Result nvrtcAddNameExpression(Program program, const char* name) {
  program->wanted.emplace_back(name);
  return kSuccess;
}

Result nvrtcCompileProgram(Program program, int count, const char* const* options) {
  std::string architecture = "?";
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (option.starts_with("--gpu-architecture="))
      architecture = option.substr(option.find('=') + 1);
    else if (!option.starts_with("-D") && !option.starts_with("--std=") &&
             !option.starts_with("--include-path=")) {
      program->log = "nvrtc: error: unrecognized option " + option + " found";
      return kInvalidOption;
    }
  }
  if (const std::size_t at = program->source.find("#error"); at != std::string::npos) {
    const std::size_t end = program->source.find('\n', at);
    program->log = program->file + "(" + lineOf(program->source, at) + "): catastrophic error: " +
                   program->source.substr(at, end == std::string::npos ? end : end - at) +
                   "\n\n1 catastrophic error detected in the compilation of \"" + program->file + "\".\n";
    return kCompilation;
  }
  if (program->source.find("#warning") != std::string::npos)
    program->log = program->file + "(1): warning: #warning directive\n";
  // Code for the GPU that nobody launches may be of any version that the driver takes.
  program->ptx = ".version 7.0\n.target sm_70\n.address_size 64\n// compiled for " + architecture + "\n";
  for (const std::string& name : kernelNames(program->source))
    program->ptx += entry(name, kernelIn(program->source, name).parameters);
  for (const std::string& name : program->wanted) {
    const std::string plain = name.substr(0, name.find('<'));
    const Found found = kernelIn(program->source, plain);
    if (!found.exists) {
      program->log = "__nv_name_map(2): error: identifier \"" + plain +
                     "\" is undefined\n__nv_name_map(2): error: Error in parsing name expression for lowered "
                     "name lookup.\n";
      return kCompilation;
    }
    std::string lowered = plain == name ? name : "_Z" + name;
    std::replace_if(
        lowered.begin(), lowered.end(),
        [](char character) { return !std::isalnum(static_cast<unsigned char>(character)); }, '_');
    if (lowered != plain) program->ptx += entry(lowered, found.parameters);
    program->lowered[name] = lowered;
  }
  return kSuccess;
}

Result nvrtcGetLoweredName(Program program, const char* name, const char** lowered) {
  const auto it = program->lowered.find(name);
  if (it == program->lowered.end()) return kNameExpressionNotValid;
  *lowered = it->second.c_str();
  return kSuccess;
}

Result nvrtcGetPTXSize(Program program, std::size_t* bytes) {
  return give(program->ptx, bytes);
}

Result nvrtcGetPTX(Program program, char* data) {
  return give(program->ptx, data);
}

Result nvrtcGetCUBINSize(Program program, std::size_t* bytes) {
  *bytes = program->ptx.size();
  return kSuccess;
}

Result nvrtcGetCUBIN(Program program, char* data) {
  std::memcpy(data, program->ptx.data(), program->ptx.size());
  return kSuccess;
}

Result nvrtcGetProgramLogSize(Program program, std::size_t* bytes) {
  return give(program->log, bytes);
}

Result nvrtcGetProgramLog(Program program, char* data) {
  return give(program->log, data);
}

}  // extern "C"
