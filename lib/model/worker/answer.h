// How a measured process of lib/model answers: JSON lines, on descriptor 3
// where a runner listens, else on standard output.
#ifndef FEEDRATE_LIB_MODEL_WORKER_ANSWER_H_
#define FEEDRATE_LIB_MODEL_WORKER_ANSWER_H_

#include <functional>
#include <string>

namespace feedrate {

// Writes `json` and a newline.
void Answer(const std::string& json);

// Runs `body` and returns the exit code of main. What it throws becomes the
// answer {"event":"error","kind":"oom"|"failed","error":…} and exit code 1.
int AnswerMain(const std::function<void()>& body);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_ANSWER_H_
