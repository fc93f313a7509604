// Secrets in URLs: users, passwords, signatures and tokens.
#pragma once

#include <string>
#include <string_view>

namespace feedrate {

// What replaces a secret.
inline constexpr std::string_view kHidden = "***";

// Whether `text` is a URL with a user or password before its host, or with a
// query that holds a signature, token or password, judged by the names of its
// parameters. False for text without "://".
bool HasUrlSecrets(std::string_view text);

// `text` as it may be written to files and terminals. If it is a URL, there is
// no user or password, the names of the query's parameters are kept, and all
// their values and the fragment are replaced by kHidden: which of them are
// secrets is only a guess.
//
//   https://me:pw@h/a?id=7&sig=x -> https://h/a?id=***&sig=***
std::string ShownUrl(std::string_view text);

// What identifies the object: `url` without user, password, fragment and the
// parameters of a signature, which change whenever the URL is signed again. May
// hold a secret with an unusual name, so write only its hash.
std::string ObjectUrl(std::string_view url);

// `text`, a message of another program, with `url` and the secrets in it
// hidden.
std::string HideUrl(std::string_view text, std::string_view url);

}  // namespace feedrate
