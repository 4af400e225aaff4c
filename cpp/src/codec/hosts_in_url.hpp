// Names of hosts and databases in the form that a URL needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace resonate {

// Escapes every byte that has a meaning in a URL.
inline std::string escaped_in_url(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string made;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain) {
      made += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    made += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return made;
}

// A host in a URL: an address of IPv6 has brackets, and the folder of a socket has its slashes escaped.
inline std::string host_in_url(const std::string& host) {
  if (host.find(':') != std::string::npos && host.front() != '/') return "[" + host + "]";
  return escaped_in_url(host);
}

// libpq has lists of hosts and ports, with commas; a URL has pairs.
inline std::string hosts_in_url(const std::string& hosts, const std::string& ports) {
  const auto split = [](const std::string& list) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t end = std::min(list.find(',', at), list.size());
      parts.push_back(list.substr(at, end - at));
      at = end + 1;
    }
    return parts;
  };
  const std::vector<std::string> names = split(hosts);
  const std::vector<std::string> numbers = split(ports);
  std::string text;
  for (std::size_t at = 0; at < names.size(); ++at) {
    const std::string& port = numbers.size() == 1 ? numbers.front() : numbers[std::min(at, numbers.size() - 1)];
    text += (at > 0 ? "," : "") + host_in_url(names[at]) + (port.empty() ? "" : ":" + port);
  }
  return text;
}

}  // namespace resonate
