// Addresses that a server names: which of them may be sent what was meant for
// the server itself.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/storage/http/url.h"

namespace feedrate {

// Hosts that the user allows, from "10.0.0.*,*.ais.example:8081": a star stands
// for any text; without a port, any port will do. InvalidArgument for text that
// cannot be a host.
absl::StatusOr<std::vector<std::string>> ParseRedirectHosts(
    absl::string_view text);

// What a redirect of a signed request may lead to.
struct RedirectRules {
  // The host is Amazon's own: those of other regions will do, for this bucket.
  bool is_amazon = false;
  // "bucket." if the host begins with the bucket's name, otherwise empty.
  std::string bucket_label;
  std::vector<std::string> hosts;  // As ParseRedirectHosts returns them.
};

struct RedirectTarget {
  Url url;                   // Encoded as signatures want it.
  bool is_new_host = false;  // Must not get the session token.
};

// The address to which the server at `current` sends on a read that the user
// meant for `named`: no text of a server becomes a host that gets a signature
// except through this function. It must be the same object: the same path and
// query. The host must be that of `named`, one below it, Amazon's for the same
// bucket in another region, or one that the user allows, which may add to the
// query (AIStore does). From https only to https. FailedPrecondition
// otherwise.
absl::StatusOr<RedirectTarget> FollowRedirect(const Url& named,
                                              const Url& current,
                                              const std::string& location,
                                              const RedirectRules& rules);

// The address at which the server at `named` takes an upload in parts. Its host
// must be that of `named`, a neighbor of it at Google, or one that the user
// allows. FailedPrecondition otherwise.
absl::StatusOr<std::string> CheckUploadAddress(
    const Url& named, const std::string& address,
    const std::vector<std::string>& hosts);

}  // namespace feedrate
